"""The digest of whose values are whose: a sum over records, which every change of one changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.passes.persons.person_digest import WORD, digest_persons, mix_words

pytestmark = pytest.mark.every_case  # each takes milliseconds

Rows = list[tuple[int, int, int]]
ROWS = st.lists(st.tuples(*[st.integers(0, 5)] * 3), max_size=12)


def digest(rows: Rows) -> int:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return digest_persons(table[:, 0], table[:, 1:].T)


@pytest.mark.parametrize(
    ("state", "word"),
    # the first two numbers of splitmix64 whose seed is 0: its state grows by the same each time
    [(0, 0xE220A8397B1DCDAF), (0x9E3779B97F4A7C15, 0x6E789E6AA1B965F4)],
)
def test_a_step_is_that_of_splitmix64(state: int, word: int) -> None:
    assert mix_words(np.array([state], dtype=np.uint64)).tolist() == [word]


def test_no_records_have_the_digest_zero() -> None:
    assert digest([]) == 0


@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_records_changes_nothing(rows: Rows, random) -> None:
    assert digest(random.sample(rows, len(rows))) == digest(rows)


@given(ROWS, st.integers(0, 12))
def test_pieces_add_up(rows: Rows, cut: int) -> None:
    assert (digest(rows[:cut]) + digest(rows[cut:])) % WORD == digest(rows)


@pytest.mark.parametrize(
    "other",
    [
        [(1, 0, 2), (2, 3, 5)],  # a value
        [(2, 0, 1), (1, 3, 5)],  # whose values
        [(1, 1, 0), (2, 3, 5)],  # the attributes of values
        [(1, 3, 1), (2, 0, 5)],  # values of two persons
        [(1, 0, 1), (2, 3, 5), (2, 3, 5)],  # how often
        [(1, 0, 1)],
    ],
)
def test_other_records_have_another(other: Rows) -> None:
    assert digest(other) != digest([(1, 0, 1), (2, 3, 5)])
