"""Classes of several regions that are released alike: how they are told."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.passes.microaggregate.unions.alike_classes import _group_alike, hash_keys


def test_equal_keys_have_the_same_hash_and_others_another() -> None:
    floats = np.array([0.0, -0.0, 1.5, 1.5, -1.5])
    codes = np.array([1, 1, 2, 3, 2])
    hashes = hash_keys([floats, codes]).tolist()
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


def test_hashes_of_near_numbers_are_all_different() -> None:
    first, second = (axis.ravel() for axis in np.meshgrid(np.arange(-200, 200), np.arange(500)))
    assert np.unique(hash_keys([first, second])).size == first.size


@repeatable
@given(st.lists(st.integers(0, 6), min_size=1, max_size=20))
def test_groups_have_all_that_are_alike(values: list[int]) -> None:
    of_value = defaultdict(list)
    for position, value in enumerate(values):
        of_value[value].append(position)
    wanted = [group for _, group in sorted(of_value.items()) if len(group) > 1]
    classes, groups = _group_alike(np.array(values))
    found = [classes[groups == g].tolist() for g in np.unique(groups)]
    assert found == wanted
    assert classes.tolist() == [position for group in wanted for position in group]
