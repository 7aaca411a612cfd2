"""The earth mover's distance of two classes: one as the table is, one that t keeps out."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.pictures.quick_start import (
    QuickStart,
    cumulate,
    find_typical_class,
    measure_emd,
)
from benchmarks.pictures.shapes import (
    BLUE,
    ORANGE,
    RULE,
    area,
    curve,
    heading,
    note,
    picture,
    rule,
    words,
)

TITLE = "The earth mover\u2019s distance between a class and the table"
WIDTH, HEIGHT = 860, 420
_SIDE, _PLOT, _TOP = 340, 220, 100


def draw_earth_movers(made: QuickStart) -> str:
    """Both classes as SVG text: shares of records up to each charge, and the area between."""
    charges = made.released["charge"]
    t = made.manifest["privacy"]["t"]["charge"]["asked"]
    released = find_typical_class(made).after["charge"]
    near = find_nearest_charges(made.originals, len(released))
    parts = [
        *_draw_panel(40, "A class of the release", released, charges),
        *_draw_panel(480, "The five youngest patients as a class", near, charges),
        words(40, 400, f"Within t = {t:g}: released.", f'fill="{BLUE}" font-weight="600"'),
        words(
            480, 400, f"Above t = {t:g}: not released.", f'fill="{ORANGE}" font-weight="600"'
        ),
    ]  # fmt: skip
    described = (
        f"Shares of records up to each charge. Between a released class and the table lies "
        f"{measure_emd(released, charges):.3f} of the square, between the class of the youngest "
        f"patients and the table {measure_emd(near, charges):.3f}; t is {t:g}."
    )
    return picture(WIDTH, HEIGHT, TITLE, described, parts)


def find_nearest_charges(originals: pd.DataFrame, n_records: int) -> pd.Series:
    """Charges of the n youngest patients, as classes by age alone would have them."""
    return originals.sort_values(["age", "charge"])["charge"].head(n_records)


def _draw_panel(left: int, title: str, values: pd.Series, of: pd.Series) -> Iterator[str]:
    yield heading(left, 36, title)
    yield note(
        left, 60, f"earth mover\u2019s distance {measure_emd(values, of):.3f}: what is shaded"
    )
    table, ours = _trace(left, cumulate(of, of)), _trace(left, cumulate(values, of))
    yield rule((left, _TOP), (left, _TOP + _PLOT), RULE)
    yield rule((left, _TOP + _PLOT), (left + _SIDE, _TOP + _PLOT), RULE)
    yield area([*table, *reversed(ours)], ORANGE, 0.25)
    yield curve(table, BLUE)
    yield curve(ours, ORANGE)
    yield note(left, _TOP - 10, "share of records")
    yield note(left, _TOP + _PLOT + 22, "lowest charge")
    yield note(left + _SIDE, _TOP + _PLOT + 22, "highest, by rank", end="end")
    yield words(left, _TOP + _PLOT + 48, "all records", f'fill="{BLUE}"')
    yield words(left + 110, _TOP + _PLOT + 48, "this class", f'fill="{ORANGE}"')


def _trace(left: int, shares: np.ndarray) -> list[tuple[float, float]]:
    """Points of a line that rises where the share does; of many equal ones the ends."""
    shares = np.concatenate([[0.0], shares])
    x = left + _SIDE * np.linspace(0, 1, len(shares))
    y = _TOP + _PLOT * (1 - shares)
    step = max(len(shares) // 60, 1)
    turns = np.flatnonzero(np.abs(np.diff(shares)) > 0.1)
    kept = np.unique(np.concatenate([np.arange(0, len(x), step), turns, turns + 1, [len(x) - 1]]))
    return [(float(x[i]), float(y[i])) for i in kept]
