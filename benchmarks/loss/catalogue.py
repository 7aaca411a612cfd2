"""The tables on which losses are compared, and the targets of full refinement on each."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.loss.releases import FAST, FULL, METHODS
from benchmarks.microdata.sources import Source, adult, census, fars, generated

RATIO = "SSE, in times of the reference's"
MEAN_RATIO = "SSE, in times of the reference's, mean over t"
NUMERIC_LOSS = "share lost of the numeric sum of squares"
CLUSTER_SIZE = "records of a cluster, on average"
EXCESS = "largest distance, less t"
SUPPRESSED = "records left out"


@dataclass(frozen=True)
class Row:
    """k, t, and the most that each figure may be."""

    k: int
    t: float
    wanted: Mapping[str, float]


@dataclass(frozen=True)
class Section:
    """Releases of one table; ``reduced``: measured by the short benchmark, too."""

    title: str
    source: Source
    rows: tuple[Row, ...]
    methods: tuple[str, ...] = tuple(METHODS)
    mean_ratio: float | None = None
    reduced: bool = False


def _census(confidential: str, mean_ratio: float) -> Section:
    rows = tuple(Row(2, t, {}) for t in (0.05, 0.09, 0.13, 0.21))
    title = f"Loss: Census, {confidential}"
    return Section(title, census(confidential), rows, mean_ratio=mean_ratio, reduced=True)


def _adult_hours(t: float, ratio: float, numeric_loss: float) -> Row:
    wanted = {RATIO: ratio, NUMERIC_LOSS: numeric_loss, CLUSTER_SIZE: 5.5, SUPPRESSED: 0, EXCESS: 0}
    return Row(5, t, wanted)


def _several(number: str, n_confidential: int, sizes: Mapping[float, float]) -> Section:
    """Without a reference: merging whole classes takes long there."""
    return Section(
        f"Class sizes: generated, {number} confidential attributes",
        generated(7, 0.5, n_confidential),
        tuple(Row(2, t, {CLUSTER_SIZE: size, EXCESS: 0}) for t, size in sizes.items()),
        methods=(FAST, FULL),
    )


SECTIONS = (
    Section(
        "Loss: generated, 2 quasi-identifiers, weak correlation",
        generated(2, 0.13),
        (Row(2, 0.05, {RATIO: 0.42}),),
        reduced=True,
    ),
    Section(
        "Loss: generated, 7 quasi-identifiers, weak correlation",
        generated(7, 0.13),
        (Row(2, 0.05, {RATIO: 0.74}), Row(2, 0.1, {RATIO: 0.70})),
        reduced=True,
    ),
    Section(
        "Loss: generated, 7 quasi-identifiers, strong correlation",
        generated(7, 0.92),
        (Row(2, 0.05, {RATIO: 0.77}), Row(2, 0.1, {RATIO: 0.75})),
    ),
    _census("FEDTAX", 0.88),
    _census("FICA", 0.62),
    Section(
        "Loss: Adult, hours-per-week",
        adult("hours-per-week"),
        (
            _adult_hours(0.2, 0.05, 0.028),
            _adult_hours(0.15, 0.06, 0.032),
            _adult_hours(0.1, 0.12, 0.04),
        ),
        reduced=True,
    ),
    Section(
        "Loss: Adult, capital-gain",
        adult("capital-gain"),
        (Row(5, 0.1, {RATIO: 0.3, EXCESS: 0}), Row(5, 0.05, {RATIO: 0.5, EXCESS: 0})),
    ),
    Section(
        "Loss: FARS, injury",
        fars(),
        (Row(5, 0.1, {RATIO: 0.55, EXCESS: 0}), Row(5, 0.05, {RATIO: 0.65, EXCESS: 0})),
    ),
    _several("two", 2, {0.1: 6.5, 0.05: 14}),
    _several("three", 3, {0.1: 11, 0.05: 25}),
)
