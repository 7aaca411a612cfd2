"""The room that classes have for persons who leave, next to all ways in which these can leave."""

from fractions import Fraction
from itertools import product

import pytest

from tclose.passes.series.headroom import (
    MOST_OF_CELLS,
    choose_size,
    share_left_out,
    share_of_classes_left,
)


@pytest.mark.parametrize(("size", "k", "churn", "n_later"), [(4, 2, "1/4", 2), (5, 3, "1/50", 3)])
def test_shares_are_those_of_all_outcomes(size: int, k: int, churn: str, n_later: int) -> None:
    """Every person of a cell leaves or stays; records of cells of 1 to k - 1 are left out."""
    leaves = Fraction(churn)
    read = left_out = Fraction(0)
    for release in range(n_later + 1):
        stays = (1 - leaves) ** release
        for persons in product((0, 1), repeat=size):
            chance = Fraction(1)
            for is_there in persons:
                chance *= stays if is_there else 1 - stays
            read += chance * sum(persons)
            left_out += chance * sum(persons) * (sum(persons) < k)
    found = share_left_out(size, k, float(leaves), n_later)
    assert found == pytest.approx(float(left_out / read))
    some = sum(
        (leaves ** sum(gone) * (1 - leaves) ** (size - sum(gone)))
        for gone in product((0, 1), repeat=size)
        if 0 < sum(gone) < k
    )
    assert share_of_classes_left(size, k, float(leaves)) == pytest.approx(float(some))


def test_size_is_the_smallest_with_room() -> None:
    sizes = [choose_size(5, churn, 11) for churn in (0.0, 0.02, 0.05, 0.5)]
    assert sizes == [10, 10, 15, 100]
    assert share_left_out(15, 5, 0.05, 11) <= MOST_OF_CELLS < share_left_out(14, 5, 0.05, 11)


@pytest.mark.nightly
def test_large_groups_and_long_windows_have_a_size() -> None:
    """Binomial coefficients of such groups are beyond any floating-point number."""
    assert 1_000 <= choose_size(500, 0.02, 11) <= 10_000
    assert choose_size(1_000, 0.2, 999) == 20_000
    assert 0.0 < share_left_out(1_500, 300, 0.1, 11) < 1.0
