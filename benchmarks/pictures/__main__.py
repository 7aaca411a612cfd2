"""Draws the pictures of the pages: ``python -m benchmarks.pictures --out docs/pictures``."""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.pictures.at_a_glance import draw_at_a_glance
from benchmarks.pictures.earth_movers import draw_earth_movers
from benchmarks.pictures.prices import draw_prices
from benchmarks.pictures.quick_start import make_quick_start
from benchmarks.pictures.tutorial_report import draw_report_figures, make_tutorial_report


def draw_pictures(folder: Path) -> Iterator[tuple[str, str]]:
    """Each picture's file name and its SVG text; releases are made below the folder."""
    made = make_quick_start(folder)
    yield "at-a-glance.svg", draw_at_a_glance(made, folder)
    yield "earth-movers.svg", draw_earth_movers(made)
    yield "prices.svg", draw_prices(made, folder)
    yield "tutorial-report.svg", draw_report_figures(make_tutorial_report(folder))


def main() -> None:
    """Write all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder")
    target = parser.parse_args().out
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, drawn in draw_pictures(Path(folder)):
            (target / name).write_text(drawn, encoding="utf-8")
            print(target / name)


if __name__ == "__main__":
    main()
