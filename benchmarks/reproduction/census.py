"""The sizes of the clusters on the Census data, Tables 1 to 3.

Soria-Comas et al. 2015, section 8.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

from benchmarks.microdata.sources import census
from benchmarks.reproduction.algorithms import ALGORITHMS, Algorithm
from benchmarks.reproduction.printed import CENSUS, KS, SIZES, TS, Sizes
from benchmarks.reproduction.records import Partition, Records, examine, load_records
from benchmarks.reproduction.records import multiple_correlation as correlate
from benchmarks.reproduction.variants import AS_PRINTED, VARIANTS, Variant
from benchmarks.results import render_table

TITLES = {
    1: "Table 1: Algorithm 1, microaggregation and merging",
    2: "Table 2: Algorithm 2, k-anonymity first",
    3: "Table 3: Algorithm 3, t-closeness first",
}
# Cells that are not ruled by what no merging or exchange reaches: k and t of these or more.
LARGE_K, LARGE_T = 10, 0.05
VARIANT_COLUMNS = (
    "variant",
    "cells as printed",
    "smallest as printed",
    "mean as printed",
    "mean size, in times of the paper's",
    "apart from the paper by a factor of",
    f"the same, k of {LARGE_K} and t of {LARGE_T} or more",
)


@dataclass(frozen=True)
class Cell:
    """One cell of a table as it is printed, and the partition that was found."""

    confidential: str
    k: int
    t: str
    printed: Sizes
    partition: Partition

    @property
    def found(self) -> Sizes:
        """The sizes that were found."""
        return self.partition.sizes

    @property
    def is_same(self) -> bool:
        """True if both sizes agree to the digit."""
        return self.found == self.printed

    @property
    def is_large(self) -> bool:
        """True if k and t are large."""
        return self.k >= LARGE_K and float(self.t) >= LARGE_T

    @property
    def ratio(self) -> float:
        """Mean size in times of the printed one; 1 where they round alike."""
        same = self.found.mean == self.printed.mean
        return 1.0 if same else self.partition.mean / self.printed.mean


@dataclass(frozen=True)
class Summary:
    """The agreement of a table's cells: how many agree; geometric means of the ratios.

    ``ratio``: of the mean sizes to the printed ones; ``factor``: of these or their inverse,
    whichever is above 1; ``factor_large``: the same for k of `LARGE_K`
    and t of `LARGE_T` or more.
    """

    n_cells: int
    n_same: int
    n_same_smallest: int
    n_same_mean: int
    ratio: float
    factor: float
    factor_large: float


def reproduce_table(
    number: int, make: Algorithm, records: dict[str, Records], ks: Sequence[int], ts: Sequence[str]
) -> list[Cell]:
    """All cells of a table for some k and t; ``records``: by confidential attribute."""
    return [
        Cell(name, k, t, SIZES[number, name, k, t], examine(held, make(held, k, t), t))
        for name, held in records.items()
        for k in ks
        for t in ts
    ]


def load_census(scale: str = "range", *, by_rank: bool = False) -> dict[str, Records]:
    """The Census records by confidential attribute."""
    return {name: load_records(census(name), scale, by_rank=by_rank) for _, name, _ in CENSUS}


def summarise(cells: Sequence[Cell]) -> Summary:
    """Measure the agreement of these cells with the paper's."""
    logs = [log(cell.ratio) for cell in cells]
    return Summary(
        len(cells),
        sum(cell.is_same for cell in cells),
        sum(cell.found.smallest == cell.printed.smallest for cell in cells),
        sum(cell.found.mean == cell.printed.mean for cell in cells),
        exp(fmean(logs)),
        exp(fmean(map(abs, logs))),
        exp(fmean(abs(log(cell.ratio)) for cell in cells if cell.is_large)),
    )


def report_census(ks: Sequence[int] = KS, ts: Sequence[str] = TS, *, vary: bool = True) -> str:
    """The three tables, and for the first two what other readings make of them."""
    records = load_census()
    parts = [_describe_data(records)]
    for number, make in ALGORITHMS.items():
        cells = reproduce_table(number, make, records, ks, ts)
        parts += [f"### {TITLES[number]}", _say_agreement(cells)]
        parts += [_render_cells(cells, label, name) for label, name, _ in CENSUS]
        if vary and number in VARIANTS:
            parts.append(_report_variants(number, ks, ts))
    return "\n\n".join(parts)


def _describe_data(records: dict[str, Records]) -> str:
    rows = [
        [label, name, f"{printed:g}", f"{correlate(records[name]):.2f}"]
        for label, name, printed in CENSUS
    ]
    columns = ("data set", "confidential", "correlation in the paper", "multiple correlation here")
    return (
        "Data: casc_census.csv, 1,080 records, quasi-identifiers TAXINC and POTHVAL divided by "
        "their ranges. Cells hold the smallest and the mean size of the clusters: the paper's, "
        "ours, the difference. The correlations of the file are not those that the paper prints, "
        "so its two data sets may have been other columns, or other values, than these:\n\n"
        + render_table(columns, rows)
    )


def _say_agreement(cells: Sequence[Cell]) -> str:
    found = summarise(cells)
    n_violating = sum(cell.partition.n_violating for cell in cells)
    n_clusters = sum(cell.partition.n_clusters for cell in cells)
    text = (
        f"**{found.n_same} of {found.n_cells} cells agree to the digit**; the smallest size in "
        f"{found.n_same_smallest}, the mean in {found.n_same_mean}."
    )
    if found.n_same < found.n_cells:
        text += (
            f" Mean sizes are {found.ratio:.2f} times the paper's, and apart from them by a factor "
            f"of {found.factor:.2f} (geometric means)."
        )
    if n_violating:
        text += (
            f" {n_violating:,} of the {n_clusters:,} clusters of all cells are above t by the "
            "distance "
            "over distinct values: the algorithm as printed counts equal values as different ones. "
            "The pipeline repairs those before it publishes."
        )
    return text


def _render_cells(cells: Sequence[Cell], label: str, name: str) -> str:
    held = [cell for cell in cells if cell.confidential == name]
    ts = list(dict.fromkeys(cell.t for cell in held))
    rows = []
    for k in dict.fromkeys(cell.k for cell in held):
        of_k = [cell for cell in held if cell.k == k]
        rows.append([f"k = {k}", *map(_render_cell, of_k)])
    return f"{label} ({name}):\n\n" + render_table(("", *(f"t = {t}" for t in ts)), rows)


def _render_cell(cell: Cell) -> str:
    difference = "none" if cell.is_same else cell.found - cell.printed
    return f"{cell.printed}, {cell.found}, {difference}"


def _report_variants(number: int, ks: Sequence[int], ts: Sequence[str]) -> str:
    """Tabulate the table that each reading of an algorithm gives."""
    found = {
        variant.name: summarise(_run_variant(number, variant, ks, ts))
        for variant in VARIANTS[number]
    }
    rows = [
        [
            name,
            f"{one.n_same} of {one.n_cells}",
            str(one.n_same_smallest),
            str(one.n_same_mean),
            f"{one.ratio:.2f}",
            f"{one.factor:.2f}",
            f"{one.factor_large:.2f}",
        ]
        for name, one in found.items()
    ]
    said = f"{_say_nearest(found)} {READINGS[number]}"
    return "\n\n".join([OPEN_CHOICES[number], render_table(VARIANT_COLUMNS, rows), said])


def _say_nearest(found: dict[str, Summary]) -> str:
    """Find the variants nearest to the paper's mean sizes."""
    nearest = min(found, key=lambda name: found[name].factor)
    of_large = min(found, key=lambda name: found[name].factor_large)
    return (
        f"Nearest to the paper's mean sizes over all cells: *{nearest}*, apart by a factor of "
        f"{found[nearest].factor:.2f} (as printed {found[AS_PRINTED].factor:.2f}); for k of "
        f"{LARGE_K} and t of {LARGE_T} or more: *{of_large}*, {found[of_large].factor_large:.2f} "
        f"(as printed {found[AS_PRINTED].factor_large:.2f})."
    )


def _run_variant(number: int, variant: Variant, ks: Sequence[int], ts: Sequence[str]) -> list[Cell]:
    records = load_census(variant.scale, by_rank=variant.by_rank)
    return reproduce_table(number, variant.run, records, ks, ts)


OPEN_CHOICES = {
    1: (
        "What the paper leaves open: which microaggregation (MDAV or V-MDAV are named), what "
        "quasi-identifiers are divided by, whether equal confidential values are one value or one "
        "rank each, and who wins ties (here the first in the file). With each of these choices, "
        "and, to see what the printed sizes look like, with some that are not the paper's:"
    ),
    2: (
        "What the paper leaves open, beside the scale, the ranks and the ties: whether records "
        "that were tried in vain are tried again (here not, for the same cluster), whether the "
        "last k to 2k - 1 records are refined (here not), and how the remaining clusters above t "
        "are merged (here as in Algorithm 1). With other choices, and with some that are not the "
        "paper's:"
    ),
}
READINGS = {
    1: (
        "TAXINC nearly tells FEDTAX in this file, so the clusters nearest to one have values like "
        "its own, and merging with them brings it hardly closer to the table. No reading of the "
        "text changes that; a partner that has nothing to do with the confidential attribute does. "
        "The printed sizes thus cannot come from neighbours as alike as these are."
    ),
    2: (
        "For k of 10 or more most clusters stay as the exchanges leave them, and sizes are near "
        "the paper's; for small k and t the mergers of Algorithm 1 decide, and differ as there."
    ),
}
