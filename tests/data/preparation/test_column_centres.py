"""Centres of columns: the same, however the column is cut, as of the whole of it sorted."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tclose.data.columns import resolve_column
from tclose.data.preparation.column_centres import (
    LEAST_KEYS,
    MEDIAN,
    MOST_KEYS,
    KeyRange,
    count_gaps,
    find_category,
    find_percentile,
    rank_keys,
)
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role

INTEGERS = st.lists(
    st.lists(st.integers(-30, 30) | st.integers(-(10**6), 10**6), max_size=60), min_size=1
)


def search(
    pieces: list[np.ndarray], most: int = MOST_KEYS, share: Fraction = MEDIAN
) -> tuple[object, int]:
    """A percentile of the pieces' keys, and the rounds that it took."""
    within, n_rounds = KeyRange(), 0
    while True:
        n_rounds += 1
        ranked = [rank_keys(piece, within, most) for piece in pieces]
        found = find_percentile(ranked, within, share)
        if not isinstance(found, KeyRange):
            return found, n_rounds
        assert found != within
        within = found


def naive_median(pieces: list[np.ndarray]) -> object:
    keys = sorted(np.concatenate(pieces).tolist())
    return keys[(len(keys) - 1) // 2] if keys else None


@given(INTEGERS, st.integers(LEAST_KEYS, 12))
def test_the_median_is_that_of_all_keys_sorted(lists: list[list[int]], most: int) -> None:
    pieces = [np.array(keys, dtype=np.int64) for keys in lists]
    assert search(pieces, most)[0] == naive_median(pieces)


@given(INTEGERS, st.integers(LEAST_KEYS, 12), st.fractions(0, 1, max_denominator=400))
def test_so_are_other_percentiles(lists: list[list[int]], most: int, share: Fraction) -> None:
    """The least of the keys that a share of them do not exceed."""
    pieces = [np.array(keys, dtype=np.int64) for keys in lists]
    keys, share = sorted(np.concatenate(pieces).tolist()), max(share, Fraction(1, 400))
    least = next((key for key in keys if sum(k <= key for k in keys) >= share * len(keys)), None)
    assert search(pieces, most, share)[0] == least


def test_two_rounds_find_the_median_of_many_distinct_floats() -> None:
    rng = np.random.default_rng(2)
    pieces = [rng.lognormal(mean, 2, 30_000) for mean in (0, 3, 9)]
    pieces.append(np.full(20_000, 5.5))
    assert search(pieces) == (naive_median(pieces), 2)


def column(values: pa.Array, kind: Kind | None = None, order: tuple[str, ...] = ()) -> Column:
    attribute = Attribute("x", Role.QUASI_IDENTIFIER, kind, order)
    return resolve_column(attribute, values.type)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", None])), min_size=1))
def test_categories(lists: list[list[str | None]]) -> None:
    nominal = column(pa.array([], pa.string()))
    ordinal = column(pa.array([], pa.string()), Kind.ORDINAL, ("c", "a", "b"))
    pieces = [count_gaps(pa.array(one, pa.string()), nominal, KeyRange()) for one in lists]
    texts = [text for one in lists for text in one if text is not None]
    assert sum(piece.n_missing for piece in pieces) == sum(map(len, lists)) - len(texts)
    counted = Counter(texts)
    assert find_category(pieces, nominal) == (
        min(texts, key=lambda text: (-counted[text], text)) if texts else None
    )
    by_rank = sorted(texts, key="cab".index)
    assert find_category(pieces, ordinal) == (by_rank[(len(texts) - 1) // 2] if texts else None)


def test_what_no_release_can_have_is_passed_over() -> None:
    floats = pa.array([float("nan"), float("inf"), 2.0, None])
    counted = count_gaps(floats, column(floats), KeyRange())
    assert counted.n_missing == 1
    assert counted.ranks is not None
    assert find_percentile([counted.ranks], KeyRange()) == 2.0
    ordinal = column(pa.array(["a"]), Kind.ORDINAL, ("a", "b"))
    assert (
        find_category([count_gaps(pa.array(["z", "z", "b"]), ordinal, KeyRange())], ordinal) == "b"
    )
