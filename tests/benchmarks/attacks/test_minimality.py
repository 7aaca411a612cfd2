"""The attack that knows the algorithm: where it must succeed, and where nothing can be gained."""

from collections.abc import Hashable, Sequence

import numpy as np
import pytest

from benchmarks.attacks.minimality import (
    LEAST_KEPT,
    Inference,
    Release,
    SearchBudget,
    count_arrangements,
    infer,
    list_arrangements,
    ordered_distances,
)

ILL, WELL = 1, 0
ALL = SearchBudget(10_000, 0, 0)


def merge_if_needed(parts: Sequence[np.ndarray], most: float) -> Release:
    """A minimal algorithm: parts by quasi-identifiers, all merged if in one too many are ill."""

    def release(values: np.ndarray) -> Hashable:
        shares = [np.mean(values[part] == ILL) for part in parts]
        groups = [np.concatenate(parts)] if max(shares) > most else parts
        return tuple((g.tolist(), sorted(values[g].tolist())) for g in map(np.sort, groups))

    return release


def believe(
    release: Release,
    values: Sequence[int] | np.ndarray,
    groups: Sequence[np.ndarray],
    effort: SearchBudget = ALL,
) -> Inference:
    return infer(release, np.array(values), groups, effort, np.random.default_rng(1))


class TestSuccess:
    """As in Wong et al., section 1: parts of two and five, in each at most half may be ill."""

    PARTS = (np.arange(2), np.arange(2, 7))

    def test_a_merge_that_was_needed_gives_the_ill_away(self) -> None:
        """One ill of two, or two of five, would have been allowed: both are in the part of two."""
        values = [ILL, ILL, WELL, WELL, WELL, WELL, WELL]
        found = believe(merge_if_needed(self.PARTS, 0.5), values, [np.arange(7)])
        assert found.is_exact
        assert found.n_tried == 21
        assert found.n_kept == 1
        assert found.before[:, ILL] == pytest.approx(2 / 7)
        assert found.after[:, ILL].tolist() == [1, 1, 0, 0, 0, 0, 0]

    def test_a_merge_with_three_ill_leaves_some_doubt(self) -> None:
        """Both of two and one of five (5 ways), or none and three of five (10 ways)."""
        values = [ILL, ILL, ILL, WELL, WELL, WELL, WELL]
        found = believe(merge_if_needed(self.PARTS, 0.5), values, [np.arange(7)])
        assert found.n_kept == 15
        assert found.after[:, ILL] == pytest.approx([5 / 15] * 2 + [7 / 15] * 5)

    def test_of_a_split_that_was_allowed(self) -> None:
        """Nothing was merged: whatever is arranged inside a part, the release is the same."""
        values = [ILL, WELL, ILL, WELL, WELL, WELL, WELL]
        found = believe(merge_if_needed(self.PARTS, 0.5), values, self.PARTS)
        assert found.acceptance == 1
        assert np.array_equal(found.after, found.before)


class TestNothingToGain:
    def test_classes_by_quasi_identifiers_alone(self) -> None:
        parts = (np.arange(3), np.arange(3, 7))

        def release(values: np.ndarray) -> Hashable:
            return tuple(tuple(sorted(values[part].tolist())) for part in parts)

        found = believe(release, [0, 1, 2, 0, 0, 1, 3], parts)
        assert found.acceptance == 1
        assert found.n_tried == 6 * 12
        assert found.after == pytest.approx(found.before)

    def test_too_few_kept_are_no_answer(self) -> None:
        """An algorithm that publishes who has what: of arrangements drawn, none gives the same."""
        values = np.arange(12)
        found = believe(
            lambda given: tuple(given.tolist()), values, [values], effort=SearchBudget(50, 50, 50)
        )
        assert not found.is_resolved
        assert np.array_equal(found.after, found.before)


class TestSampling:
    def test_agrees_with_trying_all(self) -> None:
        """Eleven records, the first may not be ill: 330 arrangements, 210 kept."""
        values = np.array([WELL] * 7 + [ILL] * 4)
        release = lambda given: given[0] == WELL  # noqa: E731
        exact = believe(release, values, [np.arange(11)], effort=SearchBudget(330, 0, 0))
        drawn = believe(release, values, [np.arange(11)], effort=SearchBudget(329, 1000, 1000))
        assert exact.is_exact
        assert not drawn.is_exact
        assert (exact.n_tried, exact.n_kept) == (330, 210)
        assert drawn.is_resolved
        assert exact.after[:, ILL] == pytest.approx([0] + [0.4] * 10)
        assert drawn.n_tried == 1000
        assert drawn.after[0, ILL] == 0
        assert drawn.after[1:, ILL] == pytest.approx(4 / 11)  # 0.4 is within chance of that

    def test_goes_on_while_enough_is_in_sight(self) -> None:
        """One of twelve is kept: 30 of some 360, and not of 50."""
        values = np.arange(12)
        found = believe(lambda given: given[0] == 0, values, [values], SearchBudget(0, 50, 1000))
        assert found.n_kept == LEAST_KEPT
        assert 150 < found.n_tried < 1000
        never = believe(tuple, values, [values], SearchBudget(0, 50, 1000))
        assert never.n_tried == 50
        few = believe(lambda given: given[0] == 0, values, [values], SearchBudget(0, 50, 60))
        assert few.n_tried == 50
        assert not few.is_resolved

    def test_chance_is_no_gain(self) -> None:
        """Half of the arrangements are thrown away, by a rule that no record's value is in."""
        values = np.arange(12)

        def parity(given: np.ndarray) -> int:
            return sum(int(a > b) for i, b in enumerate(given) for a in given[:i]) % 2

        found = believe(parity, values, [values], effort=SearchBudget(0, 400, 400))
        assert 0.4 < found.acceptance < 0.6
        assert np.array_equal(found.after, found.before)

    def test_large_gains_are_found(self) -> None:
        """The first of twelve has the least of the first three values."""
        values = np.arange(12)
        found = believe(
            lambda given: given[0] == given[:3].min(), values, [values], SearchBudget(0, 2000, 2000)
        )
        assert found.after[0, 0] == pytest.approx(3 / 12, abs=0.06)
        assert found.after[0, 11] == 0


class TestArrangements:
    @pytest.mark.parametrize("values", [[], [1], [1, 1], [2, 1, 2, 1], [3, 1, 2], [0, 0, 0, 1, 2]])
    def test_each_once(self, values: list[int]) -> None:
        found = list(list_arrangements(values))
        assert len(set(found)) == len(found) == count_arrangements(np.array(values, dtype=int))
        assert all(sorted(one) == sorted(values) for one in found)


def test_distances_are_those_of_t_closeness() -> None:
    """Li et al., section 5.2: all mass on one end, and on the middle, of nine even values."""
    counts = np.ones(9, dtype=np.int64)
    ends, middle = np.eye(9)[0], np.eye(9)[4]
    first_three = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0]) / 3
    found = ordered_distances(np.array([ends, middle, first_three]), counts)
    assert found == pytest.approx([0.5, 20 / 72, 0.375])
    assert ordered_distances(np.ones((2, 1)), np.array([4])).tolist() == [0, 0]
