"""Sets of persons that nobody tells apart, by their signatures."""

from collections import Counter

import numpy as np
import pytest

from tclose.passes.verify.person_traces import _count_equal


@pytest.mark.parametrize("n_first", [1, 2, 5, 2**40])
@pytest.mark.parametrize("n_persons", [0, 1, 2, 60])
def test_equal_signatures_are_counted(n_first: int, n_persons: int) -> None:
    """Also where different ones share their first word, and others come between equal ones."""
    rng = np.random.default_rng(n_first)
    words = [rng.integers(0, n, n_persons) for n in (n_first, 4)]
    signatures = np.array(words, dtype=np.uint64)
    expected = Counter(map(tuple, signatures.T.tolist())).values()
    assert sorted(_count_equal(signatures).tolist()) == sorted(expected)
