"""Parts of cells next to dictionaries of pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.kernels.cell_parts import count_labels, split_cells


@given(st.lists(st.integers(-1, 4)))
def test_labels_are_counted(labels: list[int]) -> None:
    found = count_labels(np.array(labels, dtype=np.int32), 5)
    assert found.tolist() == [labels.count(label) for label in range(5)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3))))
def test_pairs_are_numbered_as_they_first_come(rows: list[tuple[int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[1])
    cells, classes = (np.array([row[i] for row in rows], dtype=np.int32) for i in (0, 1))
    parts, firsts = split_cells(cells, classes, 5)
    numbers: dict[tuple[int, int], int] = {}
    expected = [numbers.setdefault(row, len(numbers)) for row in rows]
    assert parts.tolist() == expected
    assert [rows[i] for i in firsts] == list(numbers)
    assert [expected.index(number) for number in numbers.values()] == firsts.tolist()
