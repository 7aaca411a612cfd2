"""Among how many rows of a generalised release a known person could be."""

import pyarrow as pa
import pytest

from support.tables.value_encodings import encodings_of
from tclose.assess.covering import measure_covering
from tclose.errors import DataError
from tclose.model.column_terms import Kind

MARKS = ("low (bad)", "middle", "*")


def test_every_row_that_fits_hides_a_person() -> None:
    known = pa.table({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]})
    released = pa.table(
        {"age": ["[20, 40]", "[30, 50)", "[20, 40]", "50"], "sex": ["*", "m", "*", "{f, m}"]}
    )
    # 20 f: both of [20, 40]; 30 m: these and [30, 50); 40 f: both of [20, 40]; 50 m: its own
    found = measure_covering(known, released, encodings_of(known))
    assert found == pytest.approx((1 / 2 + 1 / 3 + 1 / 2 + 1) / 4)


@pytest.mark.parametrize("kind", [Kind.NOMINAL, Kind.ORDINAL])
def test_a_value_may_look_like_notation(kind: Kind) -> None:
    """A star that is a value is quoted, and no interval is only half written."""
    given = {"order": MARKS} if kind is Kind.ORDINAL else {}
    known = pa.table({"mark": list(MARKS)})
    encodings = encodings_of(known, mark={"kind": kind, **given})
    released = pa.table({"mark": ["low (bad)", "*", '"*"']})
    found = measure_covering(known, released, encodings)
    assert found == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)


def test_values_of_another_table_are_refused() -> None:
    known = pa.table({"sex": ["f", "m"]})
    with pytest.raises(DataError, match="none of the attribute's") as raised:
        measure_covering(known, pa.table({"sex": ["other", "m"]}), encodings_of(known))
    assert "other" not in str(raised.value)
