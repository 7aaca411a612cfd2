"""The comparison of a release's confidential values with the table's, by their counts."""

from dataclasses import dataclass

import numpy as np

from tclose.model.array_types import Int64
from tclose.passes.plan.plan import PLAN
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.verify.key_range_task import RELEASED_COUNTS
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace
from tclose.runtime.tasks import Task


@dataclass(frozen=True)
class CompareInput:
    """A range of an attribute's values, by their positions among the table's; and of key ranges.

    The last range has no end: there must be no value in the release that it does not have.
    """

    attribute: int
    first: int
    last: int | None
    n_ranges: int


def compare_task(workspace: Workspace, item: CompareInput, _: PendingFiles) -> int:
    """Values of the range that more or fewer rows of the release have than of the table.

    Raises
    ------
    IndexError
        There are values that the table does not have.
    """
    distribution = load_distributions(workspace, workspace.load_shared(PLAN))[item.attribute]
    before = distribution.cumulative[item.first - 1] if item.first else 0
    table = np.diff(distribution.cumulative[item.first : item.last], prepend=before)
    released = np.zeros(table.size, dtype=np.int64)
    for index in range(item.n_ranges):
        counts = workspace.file(RELEASED_COUNTS, index, item.attribute)
        if counts.exists:
            _add_counts(released, counts.read(), item)
    return int(np.count_nonzero(released != table))


def _add_counts(released: Int64, rows: np.ndarray, item: CompareInput) -> None:
    """Add a key range's ``rows``, ascending by value, that lie in the range."""
    start = np.searchsorted(rows["value"], item.first) if item.first else 0
    stop = rows.size if item.last is None else np.searchsorted(rows["value"], item.last)
    released[rows["value"][start:stop] - item.first] += rows["count"][start:stop]


COMPARE_TASK = Task("compare", "comparing values", compare_task)
