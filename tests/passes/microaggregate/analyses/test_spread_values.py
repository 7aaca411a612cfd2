"""Records of generalised classes are spread evenly over what their class may be."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.tables.value_encodings import encode
from tclose.data.category_trees import tree_of
from tclose.data.keys import Encoding
from tclose.methods.generalisation.generalise import (
    Generalised,
    ancestors_of,
    generalise_column,
)
from tclose.model.attributes import ANCESTOR
from tclose.passes.microaggregate.analyses.spread_values import spread_groups, spread_values

TAXONOMY = (("a", "vowel", "any"), ("e", "vowel", "any"), ("b", "other", "any"))


def generalise(encoding: Encoding, keys: np.ndarray, sizes: list[int]) -> Generalised:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return generalise_column(encoding, keys, np.arange(keys.size), starts, ancestors_of(encoding))


def test_numbers_are_spread_over_the_interval() -> None:
    encoding, keys = encode(pa.array([*np.repeat([0, 9], 500), 7, 7]))
    sizes = [1_000, 2]
    values, alone = spread_values(encoding, generalise(encoding, keys, sizes), np.array(sizes), 0)
    assert np.bincount(values[:1_000]) == pytest.approx([100] * 10, abs=2)
    assert values[1_000:].tolist() == [7, 7]
    assert alone.tolist() == [False] * 1_000 + [True] * 2


def test_floats_are_spread_between_the_ends() -> None:
    encoding, keys = encode(pa.array([0.0, 0.5, 1.0, 2.5]))
    values, alone = spread_values(encoding, generalise(encoding, keys, [3, 1]), np.array([3, 1]), 1)
    assert ((values[:3] >= 0) & (values[:3] < 1)).all()
    assert np.unique(values[:3]).size == 3
    assert (values[3], alone.tolist()) == (2.5, [False, False, False, True])


def test_columns_of_a_class_do_not_move_together() -> None:
    encoding, keys = encode(pa.array(np.arange(1_000)))
    found = generalise(encoding, keys, [1_000])
    columns = [spread_values(encoding, found, np.array([1_000]), j)[0] for j in range(6)]
    correlations = np.corrcoef(columns) - np.eye(6)
    assert np.abs(correlations).max() < 0.1


def test_categories_are_those_of_the_set_or_below_the_node() -> None:
    texts = pa.array(["a", "b", "a", "e", "e", "e", "b", "b", "e"])
    sizes = np.array([2, 4, 3])
    encoding, keys = encode(texts)
    found = generalise(encoding, keys, sizes.tolist())
    assert found.texts.tolist() == ["{a, b}", "{a, e}", "{b, e}"]
    values, alone = spread_values(encoding, found, sizes, 0)
    assert not alone.any()
    named = encoding.decode_values(values).to_pylist()
    assert [sorted(set(named[a:b])) for a, b in ((0, 2), (2, 6), (6, 9))] == [
        ["a", "b"],
        ["a", "e"],
        ["b", "e"],
    ]
    encoding, keys = encode(texts, taxonomy=TAXONOMY)
    found = generalise(encoding, keys, sizes.tolist())
    assert found.texts.tolist() == ["any", "vowel", "any"]
    named = encoding.decode_values(spread_values(encoding, found, sizes, 0)[0]).to_pylist()
    assert set(named[2:6]) == {"a", "e"}
    assert set(named[6:]) <= {"a", "b", "e"}


def test_a_category_alone_stays() -> None:
    encoding, keys = encode(pa.array(["a, b", "a, b", "{", "*"]))
    sizes = np.array([2, 1, 1])
    values, alone = spread_values(encoding, generalise(encoding, keys, sizes.tolist()), sizes, 0)
    assert alone.all()
    assert values.tolist() == keys.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_whole_numbers_at_the_end_of_their_range_stay_in_it(kind: type) -> None:
    """Ends of intervals can be floats, the nearest of which is no integer."""
    most = 2**63 - 1
    encoding, keys = encode(pa.array([most - 20, most - 10, most]))
    found = generalise(encoding, keys, [1, 1, 1])
    ends: Any = np.array([[most - 20, 7, most], [most, 7, most]]).astype(kind)
    found = replace(found, low=ends[0], high=ends[1])
    values, _ = spread_values(encoding, found, np.array([3, 2, 2]), 0)
    assert (values[:3] >= most - 1024).all()
    assert values[3:5].tolist() == [7, 7]
    assert (values[5:] >= most - 1024).all()
    if kind is np.int64:
        assert np.sort(most - values[:3]).tolist() == [3, 10, 17]
        assert values[5:].tolist() == [most, most]


def test_groups_are_spread_over_what_they_cover_and_values_stay() -> None:
    encoding, _ = encode(pa.array(["a", "b", "e"]), taxonomy=TAXONOMY, aggregate=ANCESTOR)
    tree = tree_of(encoding)
    assert tree is not None
    released = encoding.encode(pa.array(["any", "vowel", "b"]))
    named = encoding.decode(spread_groups(tree, released, np.array([6, 4, 3]), 0)).to_pylist()
    assert [sorted(named[a:b]) for a, b in ((0, 6), (6, 10), (10, 13))] == [
        ["a", "a", "b", "b", "e", "e"],
        ["a", "a", "e", "e"],
        ["b", "b", "b"],
    ]
