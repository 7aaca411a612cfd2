"""The partition of Figure 2, the shares of Table 1, and the values of Proposition 1.

Domingo-Ferrer and Soria-Comas 2015.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from benchmarks.reproduction.printed import FIGURE_2, table_1_shares
from benchmarks.reproduction.records import distribute
from benchmarks.results import render_table
from tclose.methods.bucketization.bucketization import RatioDemand, fill_from_buckets
from tclose.model.array_types import Int64
from tclose.privacy.bucket_cuts import cut_buckets
from tclose.privacy.models.stochastic_closeness import stochastic_closeness

Shares = tuple[tuple[Fraction, ...], ...]
TABLE_1_TS = (2, 3)
# Proposition 1: a class of so many records of so many, and epsilon.
MASKED = ((100, 1_000, 0.0), (100, 1_000, 0.5), (5, 30_000, 1.0))


@dataclass(frozen=True, eq=False)
class BucketClasses:
    """Class and bucket of each record: int64 (n,) both."""

    labels: Int64
    buckets: Int64

    @property
    def distance(self) -> Fraction:
        """The largest ratio of a bucket's share in a class and in the table, either way."""
        n_records = self.buckets.size
        of_table = [Fraction(n, n_records) for n in np.bincount(self.buckets).tolist()]
        return max(
            max(share / whole, whole / share)
            for shares in shares_of(self)
            for share, whole in zip(shares, of_table, strict=True)
        )


def build(n_records: int, demand: RatioDemand) -> BucketClasses:
    """Classes of records with different confidential values; one quasi-identifier, the values."""
    values = np.arange(n_records)
    distribution = distribute(values, np.ones(n_records, dtype=np.int64))
    numeric = (values / n_records)[None, :]
    cut = cut_buckets(distribution, demand.wanted_buckets)
    buckets = cut.of_code[values]
    nominal = np.empty((0, n_records), dtype=np.int32)
    labels = fill_from_buckets(numeric, nominal, buckets, cut.sizes, demand)
    return BucketClasses(labels, buckets)


def shares_of(classes: BucketClasses) -> Shares:
    """Share of each bucket in each class, classes by the bucket that they emphasise."""
    n_classes = int(classes.labels.max()) + 1
    counts = np.zeros((n_classes, int(classes.buckets.max()) + 1), dtype=np.int64)
    np.add.at(counts, (classes.labels, classes.buckets), 1)
    rows = [tuple(Fraction(int(n), int(row.sum())) for n in row) for row in counts]
    return tuple(sorted(rows, key=lambda row: row.index(max(row))))


def build_figure_2() -> BucketClasses:
    """12 records, 3 buckets, 1.5-closeness, classes of 4."""
    return build(12, RatioDemand(4, FIGURE_2[0], 3))


def build_table_1(t: int) -> BucketClasses:
    """The fewest records for which the masses of Table 1 are whole numbers of records."""
    size = t * (t + 1)
    return build(size * (t + 1), RatioDemand(size, Fraction(t)))


def printed_t(size: int, n_records: int, epsilon: float) -> float:
    """Proposition 1 as it is printed, with N - |E| - 1."""
    return size / n_records * (1 + (n_records - size - 1) / size * exp(epsilon))


def derived_t(size: int, n_records: int, epsilon: float) -> float:
    """Proposition 1 as its proof has it, rounded up."""
    return float(stochastic_closeness(Fraction(epsilon), n_records, size).t)


def report_buckets() -> str:
    """Both constructions beside what is printed, and the misprint."""
    figure = build_figure_2()
    wanted = tuple(tuple(map(Fraction, line.split())) for line in FIGURE_2[1])
    parts = [
        f"Figure 2: printed {FIGURE_2[0]}-closeness, found {figure.distance}.",
        _render_shares(wanted, shares_of(figure)),
    ]
    for t in TABLE_1_TS:
        classes = build_table_1(t)
        described = (
            f"Table 1 with t = {t}: {classes.labels.size} records, the fewest for which its masses "
            f"are whole records; found distance {classes.distance}."
        )
        parts += [described, _render_shares(table_1_shares(t), shares_of(classes))]
    return "\n\n".join([*parts, _report_misprint()])


def _render_shares(printed: Shares, found: Shares) -> str:
    """A row for each class: its shares of the buckets."""
    columns = ("class: shares of the buckets", "paper", "here", "difference")
    rows = []
    for number, (wanted, shares) in enumerate(zip(printed, found, strict=True), start=1):
        lost = [b - a for a, b in zip(wanted, shares, strict=True)]
        difference = _spell(lost) if any(lost) else "none"
        rows.append([f"E{number}", _spell(wanted), _spell(shares), difference])
    return render_table(columns, rows)


def _spell(shares: Sequence[Fraction]) -> str:
    return ", ".join(map(str, shares))


def _report_misprint() -> str:
    columns = ("class", "table", "epsilon", "as printed, N - E - 1", "proof, N - E", "difference")
    rows = []
    for size, n_records, epsilon in MASKED:
        printed = printed_t(size, n_records, epsilon)
        ours = derived_t(size, n_records, epsilon)
        rows.append(
            [str(size), f"{n_records:,}", f"{epsilon:g}", f"{printed:.6f}", f"{ours:.6f}",
             f"{ours - printed:+.6f}"]
        )  # fmt: skip
    size, n_records, epsilon = MASKED[0]
    return (
        "Proposition 1 prints N - |E| - 1 records outside a class of |E|; the proof's inequalities "
        "(2) and (3) sum over N - |E|. As printed, t at epsilon = 0 is "
        f"{printed_t(size, n_records, epsilon):.3f} in the first line below, though no ratio "
        "distance is below 1 (Definition 4). We compute what the proof gives, rounded up:\n\n"
        + render_table(columns, rows)
    )
