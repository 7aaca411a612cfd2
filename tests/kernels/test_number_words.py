"""Numbers of words next to a dictionary's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.passes.series.series_cells import number_hashes

WORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12)


@given(st.lists(WORDS, max_size=4), st.sampled_from([1, 2**62]))
def test_words_are_numbered_as_they_first_come(
    pieces: list[list[tuple[int, int]]], by: int
) -> None:
    """Also where many of them have the same place, or the table has to grow."""
    numbers: dict[tuple[int, int], int] = {}
    expected = [[numbers.setdefault(word, len(numbers)) for word in piece] for piece in pieces]
    arrays = [np.array(piece, dtype=np.uint64).reshape(-1, 2) * np.uint64(by) for piece in pieces]
    n_words, found = number_hashes(arrays)
    assert n_words == len(numbers)
    assert [one.tolist() for one in found] == expected
