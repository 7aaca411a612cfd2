"""Records as the kernels take them, and what a partition of them is."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.microdata.sources import SEED, Source
from benchmarks.reproduction.printed import Sizes
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.ordered import class_emds, exceeds
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution

# What a numeric quasi-identifier is divided by.
SCALES: dict[str, Callable[[Float64], float]] = {
    "range": lambda column: float(np.ptp(column)) or 1.0,
    "standard deviation": lambda column: float(column.std()) or 1.0,
    "nothing": lambda _: 1.0,
}


@dataclass(frozen=True, eq=False)
class Records:
    """Quasi-identifiers and one confidential attribute.

    ``numeric`` float64 (d, n) as distances are measured in, ``spans`` float64 (d,) its ranges;
    ``nominal`` int32 (q, n); ``codes`` int64 (n,): positions in ``distribution``.
    """

    numeric: Float64
    spans: Float64
    nominal: NDArray[np.int32]
    codes: Int64
    distribution: Distribution

    @property
    def n_records(self) -> int:
        """The number of records."""
        return self.codes.size

    def targets(self, t: str) -> tuple[Any, ...]:
        """The one attribute and its limit, as `merge_farthest` and `k_anonymity_first` take it."""
        held = self.distribution
        return self.codes[None, :], (held.cumulative,), (held.prefix,), np.array([float(t)])

    def head(self, n_records: int) -> "Records":
        """The first records."""
        codes = self.codes[:n_records]
        values = self.distribution.values[codes]
        distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
        return Records(
            np.ascontiguousarray(self.numeric[:, :n_records]),
            self.spans,
            np.ascontiguousarray(self.nominal[:, :n_records]),
            codes.astype(np.int64),
            distribute(distinct, counts),
        )

    def with_confidential(self) -> "Records":
        """The same with the confidential attribute as one more quasi-identifier."""
        values = self.distribution.values[self.codes].astype(np.float64)
        numeric = np.vstack([self.numeric, values / np.ptp(values)])
        spans = np.append(self.spans, 1.0)
        return Records(numeric, spans, self.nominal, self.codes, self.distribution)


@dataclass(frozen=True)
class Partition:
    """Clusters: how many, their sizes, the loss, and those above t.

    Soria-Comas et al. 2015, eq. 5.
    """

    n_clusters: int
    smallest: int
    n_records: int
    loss: float
    n_violating: int

    @property
    def mean(self) -> float:
        """Records of a cluster, on average."""
        return self.n_records / self.n_clusters

    @property
    def sizes(self) -> Sizes:
        """As the paper prints them: the mean rounded, halves up."""
        return Sizes(self.smallest, int(self.mean + 0.5))


def load_records(
    source: Source, scale: str = "range", *, by_rank: bool = False, n_sample: int | None = None
) -> Records:
    """The records of a source.

    Parameters
    ----------
    scale : of `SCALES`
    by_rank : equal confidential values count as different ones, in the order of the file, as the
        ranks of Soria-Comas et al. 2015 do
    n_sample : so many records, drawn from a fixed seed
    """
    table = source.read().select(source.columns)
    if n_sample is not None and n_sample < table.num_rows:
        rows = np.random.default_rng(SEED).choice(table.num_rows, n_sample, replace=False)
        table = table.take(pa.array(np.sort(rows)))
    columns = [table[name].to_numpy().astype(np.float64) for name in source.numeric]
    numeric = np.array([column / SCALES[scale](column) for column in columns])
    spans = np.array([np.ptp(row) for row in numeric])
    nominal = np.array([_number(table[name]) for name in source.nominal], dtype=np.int32)
    values = table[source.confidential[0]].to_numpy()
    if by_rank:
        values = np.argsort(np.argsort(values, kind="stable"))
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return Records(
        numeric,
        spans,
        nominal.reshape(len(source.nominal), table.num_rows),
        codes.astype(np.int64),
        distribute(distinct, counts),
    )


def _number(column: pa.ChunkedArray) -> Int64:
    """Codes of a nominal column."""
    _, codes = np.unique(np.array(column.to_pylist(), dtype=str), return_inverse=True)
    return codes.astype(np.int64)


def distribute(values: NDArray[Any], counts: Int64) -> Distribution:
    """The distribution of distinct values, ascending, with these counts."""
    cumulative = np.cumsum(counts, dtype=np.int64)
    return Distribution(values, cumulative, np.concatenate([[0], np.cumsum(cumulative)]))


def multiple_correlation(records: Records) -> float:
    """Of the confidential values with the numeric quasi-identifiers."""
    values = records.distribution.values[records.codes].astype(np.float64)
    with_constant = np.vstack([np.ones(records.n_records), records.numeric]).T
    fitted = with_constant @ np.linalg.lstsq(with_constant, values)[0]
    return float(np.corrcoef(fitted, values)[0, 1])


def examine(records: Records, labels: Int64, t: str) -> Partition:
    """Describe a partition by the cluster of each record: int64 (n,), from 0 without gaps."""
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    sizes = np.diff(starts)
    members, held = records.codes[order], records.distribution
    emds = class_emds(members, starts, held.cumulative, held.prefix)
    above = exceeds(emds, Fraction(t), members, starts, held.cumulative)
    loss = measure_loss(records, labels, sizes)
    return Partition(sizes.size, int(sizes.min()), records.n_records, loss, above.size)


def measure_loss(records: Records, labels: Int64, sizes: Int64) -> float:
    """Each numeric difference divided by the range; a nominal one is 0 or 1.

    Soria-Comas et al. 2015, eq. (5).
    """
    lost = 0.0
    for row, span in zip(records.numeric, records.spans, strict=True):
        means = np.bincount(labels, weights=row) / sizes
        lost += float(np.sum(((row - means[labels]) / (span or 1.0)) ** 2))
    for codes in records.nominal:
        n_levels = int(codes.max()) + 1
        counts = np.bincount(labels * n_levels + codes, minlength=sizes.size * n_levels)
        lost += records.n_records - int(counts.reshape(-1, n_levels).max(axis=1).sum())
    return lost / records.n_records / (len(records.numeric) + len(records.nominal))
