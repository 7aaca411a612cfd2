"""Figures of the public report that the tutorial ends with, side by side."""

import contextlib
import re
from pathlib import Path

from benchmarks.pictures.quick_start import ROOT
from benchmarks.pictures.shapes import picture, words
from tclose.cli.main import main
from tclose.releases.report.svg_charts import WIDTH as FIGURE_WIDTH

TITLE = "From the report of the tutorial\u2019s release"
_PLACES = ((0, "pairs"), (1, "distances-0"), (1, "distances-1"))  # columns of the picture
_MARGIN, _CAPTION = 36, 52
_FIGURE = re.compile(
    r"<figcaption>(?P<caption>[^<]*)</figcaption>"
    r'<svg viewBox="0 0 \d+ (?P<height>\d+)"[^>]*aria-labelledby="(?P<name>[\w-]+)-name"[^>]*>'
    r"<title[^>]*>[^<]*</title><desc[^>]*>(?P<said>[^<]*)</desc>(?P<parts>.*?)</svg>",
    re.DOTALL,
)


def make_tutorial_report(folder: Path) -> str:
    """Do what the tutorial does, and return the public report's page."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    with contextlib.chdir(folder):
        exec(compile(blocks[0], "tutorial.md", "exec"), {})
        main(["init", "payroll.csv"])
        exec(compile(blocks[1], "tutorial.md", "exec"), {})
        main(["run", "payroll.yaml", "--quiet"])
        [report] = Path("releases").glob("payroll/*/report.html")
        return report.read_text(encoding="utf-8")


def draw_report_figures(report: str) -> str:
    """Three figures of a report's page on one card, as SVG text."""
    figures = {found["name"]: found for found in _FIGURE.finditer(report)}
    parts, said, bottoms = [], [], [0, 0]
    for column, name in _PLACES:
        found, left = figures[name], _MARGIN + column * (FIGURE_WIDTH + 2 * _MARGIN)
        top, height = bottoms[column], int(found["height"])
        caption = found["caption"].split(", largest")[0]
        parts.append(words(left, top + 36, caption, 'font-weight="600"'))
        place = f'x="{left}" y="{top + _CAPTION}" width="{FIGURE_WIDTH}" height="{height}"'
        parts.append(f"<svg {place}>{found['parts']}</svg>")
        bottoms[column] += _CAPTION + height
        said.append(f"{found['caption']}: {found['said']}")
    size = (2 * (FIGURE_WIDTH + 2 * _MARGIN), max(bottoms) + _MARGIN)
    return picture(*size, TITLE, ". ".join(said), parts)
