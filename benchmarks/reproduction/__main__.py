"""The report: runs all parts and writes the page, figures beside it."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.reproduction.adult import report_quality, report_similarity
from benchmarks.reproduction.buckets import report_buckets
from benchmarks.reproduction.census import report_census
from benchmarks.reproduction.closeness import report_values
from benchmarks.reproduction.curves import KS, TS, report_census_loss, report_large
from benchmarks.results import describe_call, say

PREAMBLE = (
    "# The papers' numbers beside ours\n\n"
    "Written by `make reproduce`; every figure of ours comes from the run named here, the papers' "
    "are transcribed in `reproduction/printed.py`. Papers: Soria-Comas et al. 2015, *t-Closeness "
    "through Microaggregation*; Li et al. 2007, *t-Closeness: Privacy Beyond k-Anonymity and "
    "l-Diversity*; Domingo-Ferrer and Soria-Comas 2015, *From t-closeness to differential privacy "
    "and vice versa*. The algorithms are run as they are printed: without blocks, refinement or "
    "repair, which are the pipeline's own."
)
REDUCED_KS, REDUCED_TS = (2, 10, 30), ("0.05", "0.13", "0.25")

Part = tuple[str, Callable[[], str]]


def list_parts(folder: Path | None, *, reduced: bool) -> list[Part]:
    """Headings and what computes them; ``folder``: where pictures go, None for none."""
    if reduced:
        return [
            (
                "Soria-Comas et al. 2015, Tables 1 to 3",
                lambda: report_census(REDUCED_KS, REDUCED_TS, vary=False),
            ),
            ("Li et al. 2007, worked values", report_values),
            (
                "Domingo-Ferrer and Soria-Comas 2015, bucketization and Proposition 1",
                report_buckets,
            ),
        ]
    return [
        ("Soria-Comas et al. 2015, Tables 1 to 3", report_census),
        (
            "Soria-Comas et al. 2015, Figures 6 and 7: Census",
            lambda: report_census_loss(TS, KS, folder),
        ),
        ("Soria-Comas et al. 2015, Figures 5 and 6: large data", lambda: report_large(folder, say)),
        ("Li et al. 2007, worked values", report_values),
        ("Li et al. 2007, section 6: similarity attack on Adult", lambda: report_similarity(say)),
        ("Li et al. 2007, Figures 3 and 4: Adult", lambda: report_quality(folder, say)),
        ("Domingo-Ferrer and Soria-Comas 2015, bucketization and Proposition 1", report_buckets),
    ]


def write_report(parts: list[Part], how: str) -> str:
    """The page; a part whose data are not at hand says so."""
    start = time.perf_counter()
    sections = []
    for title, report in parts:
        say(title)
        try:
            body = report()
        except FileNotFoundError as error:
            body = f"Not computed: {error}."
        sections.append(f"## {title}\n\n{body}")
    took = f"{how}, {time.perf_counter() - start:.0f} seconds in all."
    return "\n\n".join([PREAMBLE, took, *sections]) + "\n"


def main() -> None:
    """Compute the report and print or write it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduction", description="Compare with the papers' numbers."
    )
    parser.add_argument("--reduced", action="store_true", help="a few cells, no curves: seconds")
    parser.add_argument("--out", type=Path, help="write the page here, pictures beside it")
    given = parser.parse_args()
    folder = given.out.parent / "figures" if given.out else None
    call = describe_call("benchmarks.reproduction")
    page = write_report(list_parts(folder, reduced=given.reduced), f"{call}")
    if given.out:
        given.out.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
