"""Encoded records: no wider than the table's values, and never a value that does not fit."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from support.tables.small_plans import make_plan, make_release_partition
from support.tables.value_encodings import NOMINAL, ORDINAL, encoding
from tclose.data.keys import Keys
from tclose.errors import DataError
from tclose.model.column_terms import Kind
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import POSITION, pack_records, record_type, unpack_keys

KEYS = st.integers(-(2**63), 2**63 - 1)


def plan_of(low: int, high: int) -> Plan:
    integers = replace(encoding(Kind.NUMERIC, pa.int64()), low=low, high=high)
    encodings = integers, encoding(Kind.NUMERIC, pa.float64()), NOMINAL, ORDINAL
    return replace(make_plan(make_release_partition(300, 3)), encodings=encodings)


def columns_of(keys: list[int]) -> dict[str, Keys]:
    floats = np.linspace(0, 1, len(keys))
    few = np.arange(len(keys)) % 3
    keyed: list[Keys] = [np.array(keys, dtype=np.int64), floats, few, few]
    return {POSITION: np.arange(len(keys)), **{f"q{j}": one for j, one in enumerate(keyed)}}


@repeatable
@given(st.lists(KEYS, min_size=1, max_size=5))
def test_all_values_between_the_ends_come_back(keys: list[int]) -> None:
    plan, columns = plan_of(min(keys), max(keys)), columns_of(keys)
    packed = pack_records(plan, columns)
    assert packed[POSITION].tolist() == columns[POSITION].tolist()
    for j, read in enumerate(unpack_keys(packed, plan)):
        assert read.dtype == columns[f"q{j}"].dtype
        assert read.tolist() == columns[f"q{j}"].tolist()


@pytest.mark.parametrize(
    ("low", "high", "n_bits"),
    [(0, 127, 8), (0, 128, 16), (-128, 0, 8), (-129, 0, 16), (5, 2**15, 32), (-1, 2**31, 64)],
)
def test_a_column_is_as_narrow_as_its_ends(low: int, high: int, n_bits: int) -> None:
    assert record_type(plan_of(low, high))["q0"].itemsize * 8 == n_bits


@pytest.mark.parametrize("key", [128, -129, 2**40])
def test_what_does_not_fit_is_refused(key: int) -> None:
    with pytest.raises(DataError, match="changed while it was read"):
        pack_records(plan_of(0, 100), columns_of([1, key]))
