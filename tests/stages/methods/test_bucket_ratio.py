"""The ratio distance: Definition 4 over all sets is Proposition 2 over values, exactly."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import DataError, PolicyError
from pipeline.stages.methods.bucket_ratio import check_ratio
from support import naive_ratio
from support.tables import repeatable

two_columns = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30)


def arrays(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    labels, codes = np.array(rows, dtype=np.int64).T
    codes = np.unique(codes, return_inverse=True)[1]
    return labels, codes, np.bincount(codes)


@repeatable
@given(two_columns, st.fractions(1, 4, max_denominator=6))
def test_is_definition_4_over_every_set_of_values(rows: list, t: Fraction) -> None:
    labels, codes, totals = arrays(rows)
    check = check_ratio(labels, codes, totals, t)
    classes = [codes[labels == label].tolist() for label in np.unique(labels)]
    distances = [naive_ratio.ratio_distance(members, codes.tolist()) for members in classes]
    assert check.n_classes == len(classes)
    assert check.n_above == sum(distance > t for distance in distances)
    assert check.n_lacking == sum(distance == np.inf for distance in distances)
    if check.n_lacking:
        assert check.largest is None
    else:
        assert check.largest == max(distances)
        assert check.largest_present == check.largest


def test_figure_2_is_within_one_and_a_half_and_no_less() -> None:
    """Papers/001, Figure 2: four records in each bucket, classes of 2 + 1 + 1."""
    labels = np.repeat([0, 1, 2], 4)
    codes = np.array([0, 0, 1, 2, 0, 1, 1, 2, 0, 1, 2, 2])
    totals = np.array([4, 4, 4])
    check = check_ratio(labels, codes, totals, Fraction(3, 2))
    assert (check.largest, check.n_above) == (Fraction(3, 2), 0)
    just_below = Fraction(3, 2) - Fraction(1, 10**30)
    assert check_ratio(labels, codes, totals, just_below).n_above == 3


def test_a_class_that_lacks_a_value_is_infinitely_far() -> None:
    labels, codes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0])
    check = check_ratio(labels, codes, np.array([3, 1]), Fraction(10**9))
    assert (check.largest, check.n_above, check.n_lacking) == (None, 1, 1)
    assert check.largest_present == 2


def test_counts_near_the_top_of_64_bits_stay_exact() -> None:
    """Shares of a table of 4e18 records: products go beyond 64 bits."""
    totals = np.array([2 * 10**18 + 1, 2 * 10**18 - 1])
    labels, codes = np.zeros(2, np.int64), np.array([0, 1])
    check = check_ratio(labels, codes, totals, Fraction(1))
    assert check.largest == Fraction(2 * 10**18, 2 * 10**18 - 1)
    assert check.n_above == 1


def test_a_t_below_1_is_refused() -> None:
    with pytest.raises(PolicyError, match="never below 1"):
        check_ratio(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1), Fraction(9, 10))


@pytest.mark.parametrize(
    ("codes", "totals", "what"),
    [
        ([], [1], "without a value"),
        ([-1], [1], "without a value"),
        ([1], [1], "without a value"),
        ([1], [1, 0], "lack a value"),
    ],
)
def test_codes_that_are_not_the_tables_are_refused(codes: list, totals: list, what: str) -> None:
    codes = np.array(codes, dtype=np.int64)
    with pytest.raises(DataError, match=what):
        check_ratio(np.zeros(codes.size, np.int64), codes, np.array(totals), Fraction(2))
