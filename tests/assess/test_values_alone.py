"""Rows that have no record of their own, beside a count of each."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.assess.values_alone import count_surplus
from tclose.passes.compare.record_digests import Compared

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), max_size=30)
COMPARED = Compared(columns=("pay", "note"), needed=("pay",))


def tables_of(pairs: Sequence[tuple[int, str | None]], cut: int) -> list[pa.Table]:
    return [
        pa.table(
            {
                "note": pa.array([note for _, note in part], pa.string()),
                "pay": pa.array([pay for pay, _ in part], pa.int64()),
            }
        )
        for part in (pairs[:cut], pairs[cut:])
    ]


@repeatable
@given(PAIRS, PAIRS, st.integers(0, 30))
def test_surplus_is_what_a_multiset_lacks(records, rows, cut) -> None:
    expected = (Counter(rows) - Counter(records)).total()
    assert count_surplus(tables_of(records, cut), tables_of(rows, cut), COMPARED) == expected


def test_values_of_different_rows_are_not_put_together() -> None:
    records, rows = [(1, "a"), (2, "b")], [(1, "b"), (2, "a")]
    assert count_surplus(tables_of(records, 2), tables_of(rows, 1), COMPARED) == 2
    assert count_surplus([], tables_of(rows, 1), COMPARED) == 2
    assert count_surplus(tables_of(records, 2), [], COMPARED) == 0
