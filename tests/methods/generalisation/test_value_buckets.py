"""A confidential attribute as its buckets: names that are true, and can be read again."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.tables.value_encodings import encode
from tclose.errors import InfeasibleError
from tclose.methods.generalisation.notation import parse_interval, parse_set
from tclose.methods.generalisation.value_buckets import Bucketing, bucketize
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.distribution import Distribution, make_distribution


def buckets_of(values: list[Any], n_buckets: int, **given: Any) -> tuple[Bucketing, Distribution]:
    encoding, _ = encode(pa.array(values), Role.CONFIDENTIAL, "pay", **given)
    keys = encoding.encode(pa.array(values))
    distinct, counts = np.unique(keys, return_counts=True)
    table = make_distribution(distinct, counts)
    return bucketize(encoding, table, n_buckets or 3, Fraction(2)), table


def names(bucketing: Bucketing) -> list[str]:
    return bucketing.released.texts


def test_numbers_are_intervals_without_the_ends_of_the_table() -> None:
    made, _ = buckets_of([5, 1, 0, 5, 9, 7], 3)
    assert names(made) == ["[.., 1]", "[5, 5]", "[7, ..]"]
    assert made.of_code.tolist() == [0, 0, 1, 2, 2]
    assert made.sizes.tolist() == [2, 2, 2]
    assert made.ratio == 2
    assert [parse_interval(name) for name in names(made)] == [("..", "1"), ("5", "5"), ("7", "..")]


def test_ranks_are_intervals_in_their_order() -> None:
    order = ("none", "some, few", "many", "all")
    values = ["all", "none", "none", "some, few", "many", "all"]
    made, _ = buckets_of(values, 3, kind=Kind.ORDINAL, order=order)
    assert names(made) == ["[.., none]", '["some, few", many]', "[all, ..]"]
    assert parse_interval(names(made)[1]) == ("some, few", "many")


def test_value_that_looks_like_an_open_end_is_quoted() -> None:
    made, _ = buckets_of(["a", "..", "..", "z"], 3, kind=Kind.ORDINAL, order=("a", "..", "z"))
    assert names(made) == ["[.., a]", '["..", ".."]', "[z, ..]"]


def test_texts_are_sets_and_one_alone_is_itself() -> None:
    made, _ = buckets_of(["a, b"] * 4 + ["c", "c", "d", "e"], 2, kind=Kind.NOMINAL)
    assert names(made) == ['"a, b"', "{c, d, e}"]  # commonest first
    assert [parse_set(name) for name in names(made)] == [("a, b",), ("c", "d", "e")]


def test_truth_is_two_buckets() -> None:
    made, _ = buckets_of([True, False, False], 5)
    assert names(made) == ["[.., false]", "[true, ..]"]


@pytest.mark.parametrize("n_buckets", [2, 3, 7, 30])
def test_released_as_an_ordered_attribute(n_buckets: int) -> None:
    """Whatever it was: buckets have an order, so the ordered distance says something of them."""
    values = [i * i % 17 for i in range(40)]
    made, table = buckets_of(values, n_buckets)
    released = made.released
    assert released.column.kind is Kind.ORDINAL
    assert released.column.distance is Distance.ORDERED
    assert released.column.attribute.order == tuple(names(made))
    assert released.release_type == pa.string()
    assert len(set(names(made))) == len(names(made)) == made.sizes.size <= n_buckets
    assert made.sizes.sum() == len(values)
    codes = np.arange(made.sizes.size)
    assert released.decode(codes).to_pylist() == names(made)
    assert np.bincount(made.of_code, weights=table.counts).tolist() == made.sizes.tolist()


def test_nominal_attribute_loses_its_distance() -> None:
    ways = (("a", "x"), ("b", "x"), ("c", "x"))
    made, _ = buckets_of(["a", "b", "c", "c"], 2, kind=Kind.NOMINAL, taxonomy=ways)
    assert made.source.column.distance is Distance.HIERARCHICAL
    assert made.released.column.distance is Distance.ORDERED
    assert made.released.column.attribute.taxonomy == ()


def test_a_single_value_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="single value"):
        buckets_of([5, 5, 5], 2)
