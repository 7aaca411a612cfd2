"""The README's picture: a class before and after, its confidential values, and what is lost."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

import tclose
from benchmarks.pictures.quick_start import (
    QUASI,
    QuickStart,
    ReleasedClass,
    find_typical_class,
    load,
    measure_emd,
)
from benchmarks.pictures.shapes import (
    BLUE,
    GREEN,
    ORANGE,
    PALE,
    RULE,
    SOFT,
    arrow,
    bar,
    box,
    dot,
    heading,
    note,
    picture,
    rule,
    words,
)

TITLE = "What tclose does to a table"
WIDTH, HEIGHT = 860, 470
_ROW = 25
# Columns of both tables: what they show, their right or left edge, and how text is placed there.
_BEFORE = (("patient_id", 28, "start"), ("age", 182, "end"), ("sex", 202, "start"),
           ("zip", 318, "end"), ("charge", 400, "end"))  # fmt: skip
_AFTER = (("age", 522, "end"), ("sex", 542, "start"), ("zip", 658, "end"), ("charge", 752, "end"))
_PEERS = (
    (
        "the published algorithm",
        ("method.scope=table", "method.refine=off", "method.losses=absolute"),
    ),
    ("tclose", ()),
)


def draw_at_a_glance(made: QuickStart, folder: Path) -> str:
    """The picture as SVG text; ``folder``: where more releases may be made."""
    shown = find_typical_class(made)
    k = made.manifest["privacy"]["k"]["asked"]
    parts = [*_draw_tables(shown, k), *_draw_charges(made, shown), *_draw_losses(made, folder)]
    parts.append(_draw_verdict(made))
    described = (
        f"{k} records with different ages and postcodes become a class of {k} that share one age, "
        "sex and postcode; their charges stay as they are, and are spread as those of all records."
    )
    return picture(WIDTH, HEIGHT, TITLE, described, parts)


def _draw_tables(shown: ReleasedClass, k: int) -> Iterator[str]:
    yield heading(28, 36, "Collected: who is who")
    yield heading(480, 36, f"Released in classes of k = {k} or more")
    bottom = 68 + _ROW * k
    yield box(480, 67, 190, bottom - 67, "#dfe9f5", radius=5)
    yield from _draw_rows(shown.before, _BEFORE)
    yield from _draw_rows(shown.after, _AFTER)
    yield arrow((418, 66 + _ROW * k / 2), (462, 66 + _ROW * k / 2))
    yield note(28, bottom + 22, "The identifier is never read.")
    yield note(480, bottom + 22, "Age, sex and zip lead to all of them, not to one.")


def _draw_rows(rows: pd.DataFrame, columns: Sequence[tuple[str, int, str]]) -> Iterator[str]:
    colours = {"patient_id": SOFT, "charge": ORANGE} | dict.fromkeys(QUASI, BLUE)
    for name, x, end in columns:
        yield words(x, 60, name, f'font-size="14" fill="{SOFT}"', end=end)
        style = f'fill="{colours[name]}"'
        if name == "patient_id":
            style += ' text-decoration="line-through" font-size="14"'
        for i, value in enumerate(rows[name]):
            said = f"{value:,.0f}" if name == "charge" else str(value)
            yield words(x, 84 + _ROW * i, said, style, end=end)
    left, right = columns[0][1], columns[-1][1]
    yield rule((left, 66), (right, 66))


def _draw_charges(made: QuickStart, shown: ReleasedClass) -> Iterator[str]:
    """The charges of all records as a line of equal parts, those of the class on it."""
    t = made.manifest["privacy"]["t"]["charge"]["asked"]
    charges = made.released["charge"]
    emd = measure_emd(shown.after["charge"], charges)
    left, width, y, k = 28, 372, 302, len(shown.after)
    yield heading(left, 258, f"t = {t:g}: charges of the class, among all")
    for i in range(k):
        yield box(left + i * width / k + 1, y - 14, width / k - 2, 28, PALE, stroke=RULE)
    for charge in shown.after["charge"]:
        rank = ((charges < charge).mean() + (charges <= charge).mean()) / 2
        yield dot(left + width * rank, y, 6.5, ORANGE)
    yield note(left, y + 34, "lowest fifth of all charges")
    yield note(left + width, y + 34, "highest", end="end")
    yield words(left, y + 62, "Finding the class does not tell a charge: its charges")
    yield words(left, y + 83, "are spread as those of all records are.")
    yield words(left, y + 104, f"Earth mover\u2019s distance {emd:.3f}, in no class above {t:g}.")


def _draw_losses(made: QuickStart, folder: Path) -> Iterator[str]:
    """What is lost at the same k and t, by the algorithm as it was published and by default."""
    losses = []
    for name, overrides in _PEERS:
        policy = load(made.policy, folder, f"name={name.split()[-1]}", *overrides)
        losses.append(tclose.release(None, policy).manifest.information_loss.total)
    yield heading(480, 258, "Information lost at this k and t")
    most = max(losses)
    for i, ((name, _), loss) in enumerate(zip(_PEERS, losses, strict=True)):
        colour = BLUE if name == "tclose" else "#8a94a1"
        length = 250 * loss / most
        yield bar((480, 292 + 44 * i), length, colour, (name, f"{loss:.3g}"))
    yield words(480, 385, "Mean squared change of age, sex and zip,")
    yield words(480, 406, "in shares of their ranges: 0 is none.")


def _draw_verdict(made: QuickStart) -> str:
    classes = made.manifest["classes"]
    said = (
        f"{made.manifest['records']:,} records in {classes['n_classes']:,} classes, each verified "
        "by exact counts before anything is published"
    )
    badge = box(28, 429, 58, 26, GREEN, radius=5)
    return badge + words(57, 447, "PASS", 'fill="#ffffff" font-weight="600"', end="middle") + words(
        98, 447, said
    )  # fmt: skip
