"""Groups of an attribute's values: buckets that a policy asks for, and groups of similar values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.data.arrow_errors import refusing_arrow
from tclose.data.keys import to_keys
from tclose.data.listed_values import read_listed
from tclose.data.taxonomy import taxonomy_of
from tclose.errors import PolicyError
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.counted_words import count_words
from tclose.model.distribution import Distribution
from tclose.privacy.bucket_cuts import cut_buckets
from tclose.privacy.class_counts import group_table

# Groups of similar values of an attribute that has an order but no taxonomy.
N_SIMILAR = 10


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of an attribute's values, as runs of neighbouring codes.

    ``starts`` int64 (r,): the code at which each run begins, the first 0. ``groups`` int64 (r,):
    the group of each run. ``label``: how a report calls the groups.
    """

    starts: Int64
    groups: Int64
    label: str

    def of_values(self, n_values: int) -> Int64:
        """The group of each value: int64 (n_values,)."""
        return np.repeat(self.groups, np.diff(self.starts, append=n_values))

    def of_codes(self, codes: Int64) -> Int64:
        """The groups of some values: int64 (n,), as ``codes`` are."""
        return self.groups[np.searchsorted(self.starts, codes, side="right") - 1]

    def of_table(self, distribution: Distribution) -> Int64:
        """Records of each group in the table: int64 (groups,)."""
        last = np.append(self.starts[1:], distribution.cumulative.size) - 1
        return group_table(np.diff(distribution.cumulative[last], prepend=0), self.groups)


def _from_values(groups: Int64, label: str) -> Grouping:
    """The grouping with these groups of values, int64 (m,)."""
    changed = np.diff(groups, prepend=-1) != 0
    starts = np.flatnonzero(changed)
    return Grouping(starts, groups[starts], label)


def cut_value_ranges(n_groups: int, distribution: Distribution, where: str = "groups") -> Grouping:
    """Ranges of neighbouring values with about the same number of records each.

    Equal values stay together. Each range takes its share of the records that are left, but
    leaves a value for every range after it, so that none is empty.

    Raises
    ------
    PolicyError
        The values have no order, or there are fewer than ranges; ``where`` names the key.
    """
    n_values, n_records = distribution.values.size, distribution.n_records
    if distribution.metric is not None:
        raise PolicyError(f"{where}: its values have no order; name the groups, as in [[a, b], c]")
    if n_values < n_groups:
        raise PolicyError(f"{where}: {n_groups} buckets of {n_values} values; ask for fewer")
    starts = [0]
    for n_left in range(n_groups, 1, -1):
        taken = int(distribution.cumulative[starts[-1] - 1]) if starts[-1] else 0
        share = taken + -(-(n_records - taken) // n_left)
        stop = int(np.searchsorted(distribution.cumulative, share, side="left")) + 1
        starts.append(min(stop, n_values - n_left + 1))
    return Grouping(
        np.array(starts, dtype=np.int64), np.arange(n_groups), f"{n_groups} stretches of the table"
    )


def cut_at_ranks(n_groups: int, distribution: Distribution, where: str) -> Grouping:
    """Buckets as bucketization cuts them: see `tclose.privacy.bucket_cuts`; fewer where cuts meet.

    Values have an order, whatever the distance that they are held to.

    Raises
    ------
    PolicyError
        There is one value only.
    """
    if np.count_nonzero(distribution.counts) < 2:
        raise PolicyError(f"{where}: its values have no ranks to be cut at; name the groups")
    of_values = cut_buckets(distribution, n_groups).of_code
    return _from_values(of_values, f"{int(of_values.max()) + 1} buckets of the table")


def find_groups(
    names: Sequence[Sequence[str]],
    column: Column,
    distribution: Distribution,
    texts: Sequence[str],
    where: str,
) -> Grouping:
    """Groups whose values are named; a value that does not occur may be.

    Raises
    ------
    PolicyError
        A value of the data is in none, or the data has values of one group only; says how many,
        never which.
    """
    groups = np.full(distribution.values.size, -1, dtype=np.int64)
    for group, of_group in enumerate(names):
        codes = _find_codes(of_group, column, distribution, texts, where)
        groups[codes[codes >= 0]] = group
    n_absent = int(np.count_nonzero(groups < 0))
    if n_absent:
        absent = count_words(n_absent, "of its values is", "of its values are")
        raise PolicyError(f"{where}: {absent} in no bucket; name them all")
    present, groups = np.unique(groups, return_inverse=True)
    if present.size < 2:
        raise PolicyError(f"{where}: all its values are in one bucket; name others")
    return _from_values(groups.astype(np.int64), f"{len(names)} groups of values")


def _find_codes(
    names: Sequence[str],
    column: Column,
    distribution: Distribution,
    texts: Sequence[str],
    where: str,
) -> Int64:
    """Codes of values that are given as texts: int64, -1 where the table has no such value."""
    if column.kind is Kind.NOMINAL:
        place = {text: code for code, text in enumerate(texts)}
        return np.array([place.get(name, -1) for name in names], dtype=np.int64)
    refusal = PolicyError(f"{where}: a bucket names what is no value of type {column.type}")
    with refusing_arrow(refusal, ValueError):
        keys = _read_keys(names, column)
    codes = np.searchsorted(distribution.values, keys)
    known = np.minimum(codes, distribution.values.size - 1)
    return np.where(distribution.values[known] == keys, known, -1).astype(np.int64)


def _read_keys(names: Sequence[str], column: Column) -> np.ndarray:
    if column.kind is Kind.ORDINAL:
        order = column.attribute.order
        return np.array([order.index(name) for name in names], dtype=np.int64)
    if column.kind is Kind.BOOLEAN:
        return np.array([("false", "true").index(name.lower()) for name in names], dtype=np.int64)
    return to_keys(read_listed(names, column.type), column.name)


def similar_values(column: Column, distribution: Distribution, texts: Sequence[str]) -> Grouping:
    """Groups of similar values, for what an observer learns who need not know which of them it is.

    The lowest level of the attribute's taxonomy above its values, where that parts them; ranges
    of about a tenth of the table where values have an order; else each value for itself.
    """
    n_values = distribution.values.size
    alone = Grouping(np.arange(n_values), np.arange(n_values), "single values")
    if column.attribute.taxonomy:
        taxonomy = taxonomy_of(column.attribute.taxonomy)
        if taxonomy.height < 2:
            return alone
        nodes = taxonomy.levels[1][taxonomy.encode(list(texts), column.name)]
        groups = np.unique(nodes, return_inverse=True)[1].astype(np.int64)
        return _from_values(groups, "level 1 of its taxonomy")
    if distribution.metric is None and n_values > N_SIMILAR:
        return cut_value_ranges(N_SIMILAR, distribution)
    return alone
