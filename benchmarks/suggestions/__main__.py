"""Measure how often `tclose init` is right: python -m benchmarks.suggestions --out docs/init.md."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.suggestions.accuracy import Accuracy, hide_names, measure_accuracy
from benchmarks.suggestions.known_tables import known_tables

_BEGIN = "<!-- written by python -m benchmarks.suggestions -->\n"
_END = "<!-- end -->\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write it between its marks in a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the page that has the table")
    page: Path | None = parser.parse_args(arguments).out
    tables = known_tables()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        measured = [measure_accuracy(table, Path(first)) for table in tables]
        hidden = [measure_accuracy(hide_names(table), Path(second)) for table in tables]
    text = render(measured, hidden)
    if page is None:
        print(text)
        return
    before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    page.write_text(f"{before}{_BEGIN}{text}{_END}{after}", encoding="utf-8")


def render(measured: Sequence[Accuracy], hidden: Sequence[Accuracy]) -> str:
    """Return the table as Markdown; ``hidden``: the same tables, their columns without names."""
    heads = ("table", "written as", "columns", "types and formats right", "identifiers left out",
             "others left out", "wrong")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *map(_render_row, measured)]
    lines += [
        "",
        f"Together {_sum_up(measured)}.",
        f"The same tables with names of columns that say nothing: {_sum_up(hidden)}.",
    ]
    return "\n".join(lines) + "\n"


def _render_row(m: Accuracy) -> str:
    n_identifiers = len(m.table.identifiers)
    cells = (
        m.table.name, m.table.convention, m.n_columns, f"{m.n_right} of {m.n_facts}",
        f"{n_identifiers - len(m.released)} of {n_identifiers}", len(m.left_out),
        ", ".join(f"`{name}`" for name in m.wrong),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _sum_up(measured: Sequence[Accuracy]) -> str:
    n_right, n_facts = sum(m.n_right for m in measured), sum(m.n_facts for m in measured)
    n_identifiers = sum(len(m.table.identifiers) for m in measured)
    n_left_out = n_identifiers - sum(len(m.released) for m in measured)
    return (
        f"{n_right} of {n_facts} types and formats ({n_right / n_facts:.1%}), and {n_left_out} of "
        f"{n_identifiers} identifiers"
    )


if __name__ == "__main__":
    main()
