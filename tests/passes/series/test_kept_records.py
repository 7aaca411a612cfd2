"""Values of some records, numbered among all of a column, are as of these records alone."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.passes.series.kept_records import NumberedValues

TEXTS, NUMBERS, FLOATS = ["lamp", "ash", "", "ünï"], [7, -3, 2**40, 0], [0.5, -0.0, 0.0, 1e300]


@pytest.mark.parametrize(
    ("kind", "values"),
    [(Kind.NOMINAL, TEXTS), (Kind.NUMERIC, NUMBERS), (Kind.NUMERIC, FLOATS)],
    ids=["texts", "numbers", "floats"],
)
@given(drawn=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12))
def test_of_some_records(kind: Kind, values: list[object], drawn: list[tuple[int, bool]]) -> None:
    chosen = np.array([is_chosen for _, is_chosen in drawn])
    if not chosen.any():
        chosen[0] = True
    whole = pa.array([values[place] for place, _ in drawn])
    column = Column(Attribute("one", Role.CONFIDENTIAL), kind, whole.type)
    some = [value for value, there in zip(whole.to_pylist(), chosen, strict=True) if there]
    kinds = sorted(set(some))  # -0.0 and 0.0 are one
    table, positions = NumberedValues.of(whole, column).tabulate(chosen, column)
    assert positions.tolist() == [kinds.index(value) for value in some]
    assert table.cumulative.tolist() == [sum(v <= kind for v in some) for kind in kinds]
    alone, _ = NumberedValues.of(pa.array(some), column).tabulate(np.ones(len(some), bool), column)
    assert (table.metric is None) == (alone.metric is None) == (kind is not Kind.NOMINAL)
    if table.metric is not None and alone.metric is not None:
        assert table.metric.paths.tolist() == alone.metric.paths.tolist()
        assert table.metric.numerators.tolist() == alone.metric.numerators.tolist()
        assert table.metric.below.tolist() == alone.metric.below.tolist()
