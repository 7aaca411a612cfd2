"""The kernels' own sort gives what numpy's stable one gives."""

import numpy as np
import pytest

from tclose.kernels.clustering.algorithm3 import compact_codes
from tclose.kernels.stable_order import stable_order


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 31, 33, 64, 100, 257, 1000])
@pytest.mark.parametrize("n_values", [1, 3, 10_000])
def test_order_is_that_of_a_stable_sort(n, n_values):
    whole = np.random.default_rng(n).integers(-n_values, n_values, n)
    for values in (whole, whole / 7, np.sort(whole), np.sort(whole)[::-1].copy()):
        assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_infinite_values_are_last():
    values = np.array([np.inf, 1.0, np.inf, -np.inf, 0.0, -0.0])
    assert stable_order(values).tolist() == [3, 4, 5, 1, 0, 2]


@pytest.mark.parametrize("largest", [5, 100_000])
def test_codes_are_renumbered_ascending(largest):
    codes = np.random.default_rng(3).integers(0, largest, (2, 300)).astype(np.int32)
    local, n_local = compact_codes(codes)
    for j in range(2):
        present, expected = np.unique(codes[j], return_inverse=True)
        assert n_local[j] == present.size
        assert local[j].tolist() == expected.tolist()
