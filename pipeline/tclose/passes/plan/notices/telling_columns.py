"""A warning where a few quasi-identifiers together tell a confidential value nearly always.

It is found on a sample of the records. Groups of a few records say nothing, so values that nearly
all differ, of numbers for instance, are neither told nor tell anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tclose.model.array_types import Int64
from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.plan.plan import Plan
from tclose.policy import warning_kinds
from tclose.releases.manifest.plan_document import PlanWarning

LEAST_RECORDS = 100  # of the sample, of which anything is said
LEAST_GROUP = 5  # records that share the values of the telling columns
LEAST_COVERED = 0.5  # of the records are in such groups
TOLD = 0.95  # of these have the commonest value of their group
MOST_COMMON = 0.75  # of all records have one value, which anybody would guess
MOST_COLUMNS = 12  # that are tried, those of the fewest values
MOST_TOGETHER = 3


@dataclass(frozen=True)
class Telling:
    """Columns that tell another; ``share``: of the records in large groups for which they do."""

    columns: tuple[str, ...]
    share: float


def warn_of_telling_columns(plan: Plan, sampled: Mapping[str, Int64]) -> tuple[PlanWarning, ...]:
    """Find confidential attributes that a few quasi-identifiers tell.

    Parameters
    ----------
    sampled : numbers of the values of some records by column, equal where values are: int64 (n,)
    """
    known = [e.column.name for e in plan.encodings if e.column.name in sampled]
    secret = [e.column.name for e in plan.confidential if e.column.name in sampled]
    telling_by_name = find_telling({n: sampled[n] for n in known}, {n: sampled[n] for n in secret})
    return tuple(_describe(name, telling) for name, telling in telling_by_name.items())


def find_telling(known: Mapping[str, Int64], secret: Mapping[str, Int64]) -> dict[str, Telling]:
    """The fewest columns that tell each secret one, of sets as small the one that tells most."""
    numbered = {name: _number(values) for name, values in known.items()}
    tried = sorted(numbered, key=lambda name: int(numbered[name].max(initial=0)))[:MOST_COLUMNS]
    left = {name: _number(values) for name, values in secret.items()}
    left = {name: values for name, values in left.items() if _is_open(values)}
    telling_by_name: dict[str, Telling] = {}
    for size in range(1, MOST_TOGETHER + 1):
        best: dict[str, Telling] = {}
        for columns, groups in _combine(numbered, tried, size if left else 0):
            for name, values in left.items():
                share = _share_told(groups, values)
                if share >= max(TOLD, best[name].share if name in best else 0):
                    best[name] = Telling(columns, share)
        telling_by_name |= best
        left = {name: values for name, values in left.items() if name not in best}
    return telling_by_name


def _is_open(values: Int64) -> bool:
    """Return whether there are enough records, and not most of them have one value."""
    n_records = values.size
    return n_records >= LEAST_RECORDS and np.bincount(values).max() <= MOST_COMMON * n_records


def _combine(
    numbered: Mapping[str, Int64], tried: Sequence[str], size: int
) -> Iterator[tuple[tuple[str, ...], Int64]]:
    """Sets of columns with large groups of records, and the group of each record, -1 of small."""
    for columns in combinations(tried, size) if size else ():
        groups = numbered[columns[0]]
        for name in columns[1:]:
            other = numbered[name]
            groups = _number(groups * (int(other.max()) + 1) + other)
        large = np.bincount(groups) >= LEAST_GROUP
        covered = large[groups]
        if covered.mean() >= LEAST_COVERED:
            yield columns, np.where(covered, groups, -1)


def _share_told(groups: Int64, values: Int64) -> float:
    """The share of records in groups that have the commonest value of theirs."""
    there = groups >= 0
    width = int(values.max()) + 1
    pairs, counts = np.unique(groups[there] * width + values[there], return_counts=True)
    most = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs // width, counts)
    return float(most.sum() / there.sum())


def _number(values: Int64) -> Int64:
    """Values as numbers from 0 on: int64 (n,)."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _describe(name: str, telling: Telling) -> PlanWarning:
    *others, last = [repr(column) for column in telling.columns]
    named = f"{', '.join(others)} and {last} together tell" if others else f"{last} tells"
    return make_warning(
        warning_kinds.TOLD_BY_OTHERS,
        f"column {name!r}: {named} its value for {telling.share:.0%} of the records that share "
        f"theirs with {LEAST_GROUP - 1} others or more: who knows the one knows the other, and "
        "within a small t classes have to be so wide that little is left of it",
        [name, *telling.columns],
    )
