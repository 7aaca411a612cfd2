"""Measure how often `tclose init` is right: python -m benchmarks.suggestions --out docs/init.md."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.suggestions.accuracy import Accuracy, measure_accuracy, sum_up
from benchmarks.suggestions.known_tables import known_tables

_BEGIN = "<!-- written by python -m benchmarks.suggestions -->\n"
_END = "<!-- end -->\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write it between its marks in a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the page that has the table")
    page: Path | None = parser.parse_args(arguments).out
    with tempfile.TemporaryDirectory() as folder:
        measured = [measure_accuracy(table, Path(folder)) for table in known_tables()]
    text = render(measured)
    if page is None:
        print(text)
        return
    before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    page.write_text(f"{before}{_BEGIN}{text}{_END}{after}", encoding="utf-8")


def render(measured: Sequence[Accuracy]) -> str:
    """Return the table as Markdown."""
    lines = [
        "| table | written as | columns | types and formats right | identifiers left out | others left out | wrong |",  # noqa: E501
        "|---|---|---|---|---|---|---|",
    ]
    for m in measured:
        n_identifiers = len(m.table.identifiers)
        wrong = ", ".join(f"`{name}`" for name in m.wrong)
        lines.append(
            f"| {m.table.name} | {m.table.convention} | {m.n_columns} | {m.n_right} of {m.n_facts} "
            f"| {n_identifiers - len(m.released)} of {n_identifiers} | {len(m.left_out)} | {wrong} |"
        )
    n_right, n_facts = sum(m.n_right for m in measured), sum(m.n_facts for m in measured)
    n_released = sum(len(m.released) for m in measured)
    lines.append(
        f"\n{n_right} of {n_facts} types and formats ({sum_up(measured):.1%}) are right; identifiers "
        f"suggested for release: {n_released}."
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
