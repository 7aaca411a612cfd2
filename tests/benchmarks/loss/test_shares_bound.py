"""The bound on what shares cost is below the best of all choices, and above nothing at all."""

from itertools import product

import numpy as np
import pytest

from benchmarks.loss import shares_bound
from tclose.kernels.apportion import Apportionment
from tclose.passes.microaggregate.shares.representatives import Representatives

N_CLASSES, N_VALUES = 7, 3


def make_column(seed: int) -> Representatives:
    """Classes of records of a few values; each loses those that have another than it releases."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(6, [0.6, 0.3, 0.1], N_CLASSES).astype(np.int64)
    class_of, values = np.nonzero(counts)
    starts = np.searchsorted(class_of, np.arange(N_CLASSES + 1))
    sizes = counts.sum(axis=1)
    costs = sizes[class_of] - counts[class_of, values]
    none = np.zeros(0, dtype=np.int64)
    classes = Apportionment(starts, class_of, values, costs, sizes, none, none, none)
    return Representatives(None, classes, counts.sum(axis=0), 1)  # type: ignore[arg-type]


def find_least(column: Representatives, apart: float) -> float:
    """The least loss of all choices whose shares are near enough."""
    classes, losses = column.classes, []
    entries = [range(a, b) for a, b in zip(classes.starts[:-1], classes.starts[1:], strict=True)]
    for choice in map(list, product(*entries)):
        released = np.bincount(classes.values[choice], classes.sizes, N_VALUES)
        if np.abs(released - column.wanted).sum() <= 2 * apart * column.wanted.sum():
            losses.append(int(classes.costs[choice].sum()))
    return min(losses, default=np.inf)


@pytest.mark.parametrize("apart", [0.06, 0.15, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_choice_loses_less(seed: int, apart: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares_bound, "APART", apart)
    column = make_column(seed)
    modes = np.minimum.reduceat(column.classes.costs, column.classes.starts[:-1]).sum()
    bound, least = shares_bound.bound_loss(column), find_least(column, apart)
    assert 0.98 * modes <= bound <= least + 1e-9
    if apart == 1.0:
        assert bound == pytest.approx(modes) == least
