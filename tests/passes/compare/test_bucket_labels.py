"""Values told their buckets by the labels, beside the codes that buckets were made by."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from support.tables.arrow_types import DECIMALS, FLOATS, INTEGERS, TIMES, numbers_of
from tclose.data.keys import Encoding
from tclose.data.value_counts import confidential_keys, count_values
from tclose.errors import VerificationError
from tclose.methods.generalisation.value_buckets import bucketize
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.model.distribution import make_distribution
from tclose.passes.compare.bucket_labels import label_values

GRADES = ("low", "..", "mid, or so", "high\0", "high")


def bucket_up(values: pa.Array, kind: Kind, order: tuple[str, ...] = ()):
    """The labels of a column's buckets, and the label of each value by its code."""
    attribute = Attribute("x", Role.CONFIDENTIAL, kind, order=order)
    column = Column(attribute, kind, values.type)
    encoding = Encoding(column)
    if kind is not Kind.NUMERIC and kind is not Kind.DATE:
        listed = sorted(set(values.to_pylist()), key=order.index if order else None)
        ranks = np.array([order.index(v) for v in listed], np.int64) if order else None
        encoding = Encoding(column, categories=pa.array(listed, values.type), ranks=ranks)
    keys = confidential_keys(pa.table({"x": values}), column)
    counted = count_values(keys)
    table = make_distribution(counted.values, counted.counts)
    bucketing = bucketize(encoding, table, 4, Fraction(3))
    labels = bucketing.released.categories.to_pylist()
    codes = bucketing.of_code[np.searchsorted(table.values, keys)]
    return labels, [labels[code] for code in codes]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *DECIMALS, *TIMES], ids=str)
def test_numbers_and_times(dtype):
    values = numbers_of(dtype, np.random.default_rng(3).integers(0, 40, 200))
    kind = Kind.DATE if dtype in TIMES else Kind.NUMERIC
    labels, expected = bucket_up(values, kind)
    assert len(labels) == 4
    assert label_values(values, labels, kind).to_pylist() == expected


def test_ordinal_values_spelled_like_notation():
    values = pa.array(np.random.default_rng(3).choice(GRADES, 200).tolist())
    values = pa.array([GRADES[i % 5] for i in range(200)])
    labels, expected = bucket_up(values, Kind.ORDINAL, GRADES)
    assert len(labels) > 2
    assert label_values(values, labels, Kind.ORDINAL, GRADES).to_pylist() == expected


@pytest.mark.parametrize("dtype", [pa.string(), pa.large_string(), pa.int32()], ids=str)
def test_nominal_values(dtype):
    names = ["a", "a\0", "b, c", "{d}", "*", " e"] if dtype != pa.int32() else list(range(6))
    values = pa.array([names[i % 6] for i in range(200)], dtype)
    labels, expected = bucket_up(values, Kind.NOMINAL)
    assert len(labels) > 2
    assert label_values(values, labels, Kind.NOMINAL).to_pylist() == expected


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (["[.., 3]", "[5, 6]", "[7, ..]"], "a value has no bucket"),
        (["[.., 5]", "[5, 6]", "[7, ..]"], "a value has two buckets"),
    ],
)
def test_labels_that_do_not_part_the_values(labels, problem):
    with pytest.raises(VerificationError, match=problem):
        label_values(pa.array(range(10)), labels, Kind.NUMERIC)
