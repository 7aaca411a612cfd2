"""What k and t cost, and what they give: information loss and links, measured on a grid."""

from collections.abc import Iterator
from pathlib import Path

import tclose
from benchmarks.pictures.quick_start import QuickStart, load
from benchmarks.pictures.shapes import (
    BLUE,
    GREEN,
    ORANGE,
    RULE,
    curve,
    dot,
    heading,
    note,
    picture,
    rule,
    words,
)

TITLE = "What t and k cost, and what they give"
WIDTH, HEIGHT = 860, 400
KS, TS = (5, 10, 25), (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
_COLOURS = dict(zip(KS, (BLUE, ORANGE, GREEN), strict=True))
_SIDE, _PLOT, _TOP = 330, 220, 90


def draw_prices(made: QuickStart, folder: Path) -> str:
    """Two panels over t, a line for each k, as SVG text."""
    grid = tclose.frontier(None, load(made.policy, folder), k=KS, t=TS).to_pandas()
    by_k = {k: grid[grid["k"] == k].sort_values("t") for k in KS}
    loss = {k: rows["information_loss"].tolist() for k, rows in by_k.items()}
    links = {k: rows["record_linkage_risk"].tolist() for k, rows in by_k.items()}
    parts = [
        *_draw_panel(70, "Information loss", loss, 0.005, ("{:.3g}", 1)),
        *_draw_panel(510, "Records that are linked", links, 0.04, ("{:.0f} %", 100)),
        *_draw_legend(),
    ]
    described = (
        f"With k = 5 and t from {TS[0]:g} to {TS[-1]:g} the loss falls from {loss[5][0]:.3g} to "
        f"{loss[5][-1]:.2g}, and the records that an intruder links rise from "
        f"{100 * links[5][0]:.2g} % to {100 * links[5][-1]:.2g} %."
    )
    return picture(WIDTH, HEIGHT, TITLE, described, parts)


def _draw_panel(
    left: int, title: str, lines: dict[int, list[float]], step: float, form: tuple[str, int]
) -> Iterator[str]:
    yield heading(left - 40, 36, title)
    most = step * (int(max(max(line) for line in lines.values()) / step) + 1)
    bottom = _TOP + _PLOT
    for i in range(round(most / step) + 1):
        y = bottom - _PLOT * i * step / most
        yield rule((left, y), (left + _SIDE, y), RULE)
        yield note(left - 8, y + 5, form[0].format(i * step * form[1]), end="end")
    for t in (0.1, 0.2, 0.3, 0.4):
        yield note(left + _SIDE * t / TS[-1], bottom + 22, f"{t:g}", end="middle")
    yield note(left, bottom + 22, "t", end="middle")
    for k, line in lines.items():
        placed = [
            (left + _SIDE * t / TS[-1], bottom - _PLOT * value / most)
            for t, value in zip(TS, line, strict=True)
        ]
        yield curve(placed, _COLOURS[k], 2.5)
        yield from (dot(x, y, 4, _COLOURS[k]) for x, y in placed)


def _draw_legend() -> Iterator[str]:
    for i, k in enumerate(KS):
        yield dot(36 + 100 * i, 371, 6, _COLOURS[k])
        yield words(50 + 100 * i, 376, f"k = {k}")
    yield note(350, 376, "2,000 records of the quick start; of severity t is 0.2 throughout")
