"""Cells of two releases of a series: what is held, and who of those who left is found."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tclose.assess.over_time.attack_result import LeftPersons, RefinementCheck
from tclose.assess.over_time.cells import Membership, place_persons
from tclose.assess.over_time.refinement_check import check_refinement
from tclose.assess.over_time.series_promise import SeriesPromise
from tclose.model.attributes import Attribute
from tclose.model.column_terms import Role

pytestmark = pytest.mark.every_case  # each takes milliseconds

N_PERSONS, N_STAYING = 9, 6
LIMITS = Fraction(1, 2), Fraction(1, 5)


def membership(n: int) -> Membership:
    """The first n persons, in one class."""
    return place_persons(N_PERSONS, np.arange(n), np.arange(n + 1), np.zeros(n, dtype=np.int64))


def check(k: int, departures: str) -> RefinementCheck:
    """Of nine persons three leave, and every cell has each value as often as the table."""
    sizes = (N_PERSONS, N_STAYING)
    rows = [(pa.table({"pay": np.arange(n) % 3}), np.arange(n)) for n in sizes]
    attributes = [[Attribute("pay", Role.CONFIDENTIAL, max_emd=limit)] for limit in LIMITS]
    limits = tuple({"pay": limit} for limit in LIMITS)
    promise = SeriesPromise("panel", 1, k, limits, departures)
    return check_refinement(list(map(membership, sizes)), rows, attributes, k, None, promise)


@pytest.mark.parametrize(("k", "is_found"), [(3, False), (4, True), (6, True)])
def test_who_left_is_found_among_fewer_than_k(k: int, is_found: bool) -> None:
    checked = check(k, "report")
    assert (checked.cells, checked.smallest, checked.below_k) == (1, N_STAYING, 0)
    assert checked.left == LeftPersons(
        persons=3, cells=1, failing_cells=int(is_found), found=3 * is_found
    )


@pytest.mark.parametrize(("k", "below_k"), [(3, 0), (4, 1), (7, 2)])
def test_cells_of_those_who_left_are_held_where_that_is_promised(k: int, below_k: int) -> None:
    checked = check(k, "refuse")
    assert (checked.cells, checked.smallest, checked.below_k) == (2, 3, below_k)
    assert checked.left is None


def test_the_smallest_t_of_an_attribute_is_told() -> None:
    [distance] = check(3, "report").distances
    assert (distance.t, distance.largest_emd, distance.cells_above) == (0.2, 0.0, 0)
