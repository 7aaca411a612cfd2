"""The number of records left out: those far from their neighbour beside all that stay."""

import numpy as np
import pytest

from tclose.passes.suppress.isolation_task import IsolatedRecords
from tclose.passes.suppress.suppress_records import WORTH, count_worth


def make_records(squares: list[float]) -> IsolatedRecords:
    return IsolatedRecords(np.arange(len(squares)), np.array(squares))


@pytest.mark.parametrize(
    ("squares", "most", "n_worth"),
    [
        ([1.0] * 950 + [3.9] * 48 + [4.2] * 2, 50, 0),  # 4.2 is 3.69 times the others' mean
        ([1.0] * 950 + [3.9] * 48 + [5.0] * 2, 50, 2),
        ([1.0] * 9 + [4.0], 1, 0),  # more than four times it has to be
        ([1.0] * 9 + [4.1], 1, 1),
        ([1.0] * 8 + [8.0] * 2, 1, 1),  # one of two, who are alike: 8 is 4.5 times the mean
        ([1.0] * 8 + [9.0] * 2, 2, 2),
        ([0.0] * 9 + [1.0], 1, 1),
        ([1.0] * 10, 0, 0),
    ],
)
def test_each_is_farther_than_four_times_the_mean_of_those_that_stay(
    squares: list[float], most: int, n_worth: int
) -> None:
    sample = make_records(squares)
    assert count_worth(sample.take_farthest(most), sample) == n_worth


def test_it_is_the_most_of_whom_that_holds() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        sample = make_records((rng.pareto(1.0, 60) ** 2).tolist())
        found = sample.take_farthest(12)
        holding = [0]
        for n in range(1, 13):
            staying = np.delete(sample.squares, found.positions[:n])
            if found.squares[n - 1] > WORTH * staying.mean():
                holding.append(n)
        assert count_worth(found, sample) == max(holding)


def test_of_a_sample_those_that_stay_in_it_are_the_others() -> None:
    sample = IsolatedRecords(np.arange(0, 20, 2), np.array([1.0] * 9 + [50.0]))
    found = IsolatedRecords(np.array([3, 18, 5]), np.array([60.0, 50.0, 4.5]))
    assert count_worth(found, sample) == 3
    assert count_worth(found.take_farthest(1), sample) == 1  # a mean of 5.9
