"""The loss table: what refinement saves, beside the method as it is printed, at the same k and t.

``python -m benchmarks.loss.quality [--full] [--only TEXT] [--out RESULTS.md]``

All releases are made by the pipeline, one after the other, in this process. Methods:

- ``reference``: t-closeness-first on the whole table, classes of the size that the paper gives;
- ``off``, ``fast`` and ``full``: in blocks, with a class size that is chosen for that refinement.
"""

import argparse
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.loss.catalogue import SECTIONS, Row, Section
from benchmarks.loss.comparisons import Compared, render_section
from benchmarks.loss.releases import METHODS, Measurement, make_release
from benchmarks.microdata.correlated import generate_correlated
from benchmarks.microdata.sources import Stored, generated, store
from benchmarks.results import describe_call, say, update_page
from tclose.errors import TcloseError

NOTE_TITLE = "Loss"
NOTE = (
    "How much less is lost than by the method as it is printed, at the same k and t, in the same "
    "run. `reference`: t-closeness-first on the whole table, class size by eq. (3), unrefined; "
    "`off`, `fast`, `full`: in blocks, `class_size: auto`, with that refinement. SSE is the "
    "normalised one over all quasi-identifiers, means unrounded (`round: false`). Clusters that "
    "are released alike are one class, and the less is lost, the more clusters are alike: what is "
    "wanted of sizes is wanted of clusters; smallest, mean and largest are of classes. `merged`: "
    "the share of planned clusters that went into others to bring classes within t (once any do, "
    "so do those that are released alike). `numeric loss`: of the numeric quasi-identifiers' sum "
    "of squares (each divided by its squared range), the share within classes. Refinement time: "
    "`microaggregate s` less that of `off`."
)
WARMING_ROWS = 500


def main() -> None:
    """Run the sections and print them."""
    parser = argparse.ArgumentParser(description="Compare the loss of releases.")
    parser.add_argument("--full", action="store_true", help="all tables of the catalogue")
    parser.add_argument("--only", default="", metavar="TEXT", help="sections with it in the title")
    parser.add_argument("--out", type=Path, help="write the sections into this page, too")
    given = parser.parse_args()
    chosen = [s for s in SECTIONS if given.only in s.title and (given.full or s.reduced)]
    how = describe_call("benchmarks.loss.quality")
    with tempfile.TemporaryDirectory(prefix="tclose-loss-") as name:
        folder = Path(name)
        warm_up(folder)
        for section in chosen:
            body = measure_section(section, folder, how)
            if body and given.out:
                update_page(given.out, {NOTE_TITLE: NOTE, section.title: body})


def measure_section(section: Section, folder: Path, how: str) -> str:
    """Measure, print and render one section; nothing where its data are missing."""
    try:
        stored = store(section.source, folder, "source")
    except FileNotFoundError as error:
        say(f"skipped: {section.title}: {error}")
        return ""
    compared = [compare(section, row, stored, folder) for row in section.rows]
    body = render_section(section, stored, compared, how)
    print(f"## {section.title}\n\n{body}\n", flush=True)
    return body


def compare(section: Section, row: Row, stored: Stored, folder: Path) -> Compared:
    """All methods on one row."""
    releases: dict[str, Measurement | TcloseError] = {}
    for method in section.methods:
        say(f"{section.title}: k = {row.k}, t = {row.t:g}, {method}")
        releases[method] = make_release(stored, row.k, row.t, METHODS[method], folder)
    return Compared(row, stored.n_records, releases)


def warm_up(folder: Path) -> None:
    """Releases that are not counted: they compile the kernels, those that merge classes, too."""
    read = partial(generate_correlated, WARMING_ROWS, 2, 0.13, 1, n_confidential=2)
    small = replace(generated(2, 0.13, 2), read=read)
    stored = store(small, folder, "warming")
    for method in METHODS.values():
        make_release(stored, 2, 0.1, method, folder)


if __name__ == "__main__":
    main()
