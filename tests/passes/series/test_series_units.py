"""Regions of the persons who stay together, and of newcomers."""

import numpy as np
import pytest

from tclose.passes.plan import coarse_tree
from tclose.passes.series.series_units import cut_units


@pytest.fixture(autouse=True)
def small_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse_tree, "MIN_REGION_RECORDS", 10)
    monkeypatch.setattr(coarse_tree, "MAX_REGION_RECORDS", 20)


def test_units_are_whole_and_regions_about_even() -> None:
    sizes = np.random.default_rng(1).integers(1, 5, 40)
    units = np.random.default_rng(2).permutation(np.repeat(np.arange(40), sizes))
    first = cut_units(units, 10).first_units
    assert first[0] == 0
    assert len(first) == 8
    records = np.add.reduceat(sizes, first)
    assert records.sum() == units.size
    assert np.ptp(records) <= 2 * sizes.max()


def test_regions_are_as_many_as_of_the_release_by_itself_where_most_are_known() -> None:
    for n_known, n_regions in ((39, 4), (20, 4), (19, 1)):
        units = np.append(np.arange(n_known), np.full(40 - n_known, -1))
        assert len(cut_units(units, 100).first_units) == n_regions


def test_large_unit_is_in_one_region() -> None:
    units = np.repeat(np.arange(3), [2, 90, 3])
    assert cut_units(units, 10).first_units == (0, 1)


@pytest.mark.parametrize(("n_new", "n_regions"), [(0, 0), (9, 0), (10, 1), (40, 4)])
def test_newcomers_are_regions_of_their_own_where_they_are_many(n_new: int, n_regions: int) -> None:
    units = np.append(np.zeros(30, np.int64), np.full(n_new, -1))
    assert cut_units(units, 10).n_new == n_regions


def test_of_newcomers_alone() -> None:
    assert cut_units(np.full(5, -1), 10).n_new == 1
