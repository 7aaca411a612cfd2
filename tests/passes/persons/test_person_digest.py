"""The digest of whose values are whose: of any order, of any pieces, and of nothing less."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable, seeds
from tclose.passes.persons.person_digest import WORD, digest_persons, mix_words


@repeatable
@given(seeds, st.integers(0, 40), st.integers(0, 3))
def test_order_and_pieces_change_nothing(seed: int, n_records: int, n_attributes: int) -> None:
    rng = np.random.default_rng(seed)
    persons = rng.integers(0, 8, n_records)
    codes = rng.integers(0, 5, (n_attributes, n_records))
    whole = digest_persons(persons, codes)
    order = rng.permutation(n_records)
    assert digest_persons(persons[order], codes[:, order]) == whole
    cut = int(rng.integers(0, n_records + 1))
    first = digest_persons(persons[:cut], codes[:, :cut])
    second = digest_persons(persons[cut:], codes[:, cut:])
    assert (first + second) % WORD == whole


def test_two_persons_whose_values_are_exchanged_are_told() -> None:
    persons, codes = np.array([1, 2]), np.array([[3, 4], [5, 5]])
    exchanged = np.array([[4, 3], [5, 5]])
    assert digest_persons(persons, codes) != digest_persons(persons, exchanged)
    assert digest_persons(persons, codes) != digest_persons(persons, codes[::-1])
    assert digest_persons(persons, codes) != digest_persons(persons[:1], codes[:, :1])


def test_no_two_words_are_mixed_into_one() -> None:
    words = np.arange(100_000, dtype=np.uint64)
    assert np.unique(mix_words(words)).size == words.size
