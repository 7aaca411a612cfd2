"""The bounds are below the loss of the best partition, and the second is the better one."""

import numpy as np
import pytest

from benchmarks.loss.loss_bound import bound_by_nearest, bound_by_pairs, measure_distances


def best_loss(distances: np.ndarray, k: int, left: tuple[int, ...]) -> float:
    """The least loss of all partitions into classes of k to 2k - 1 records, tried one by one."""
    if not left:
        return 0.0
    first, others = left[0], left[1:]
    best = np.inf
    for mask in range(2 ** len(others)):
        taken = [first, *(o for i, o in enumerate(others) if mask >> i & 1)]
        rest = tuple(o for i, o in enumerate(others) if not mask >> i & 1)
        if k <= len(taken) < 2 * k and (not rest or len(rest) >= k):
            loss = distances[np.ix_(taken, taken)].sum() / 2 / len(taken)
            if loss < best:
                best = min(best, loss + best_loss(distances, k, rest))
    return best


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_below_the_best(k: int, seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal((2, 9))
    distances = measure_distances(values)
    best = best_loss(distances, k, tuple(range(9)))
    nearest, pairs = bound_by_nearest(distances, k), bound_by_pairs(distances, k)
    assert nearest <= pairs <= best + 1e-9


def test_a_hub_is_not_everyones_partner() -> None:
    """Four records around one: by pairs it cannot be the nearest of all of them at k = 2."""
    values = np.array([[0, 1, -1, 0, 0, 0.0], [0, 0, 0, 1, -1, 5]])
    distances = measure_distances(values)
    assert bound_by_pairs(distances, 2) > 0
    assert bound_by_pairs(distances, 2) >= bound_by_nearest(distances, 2)


def test_equal_records_lose_nothing() -> None:
    assert bound_by_pairs(measure_distances(np.ones((2, 6))), 3) == 0.0
