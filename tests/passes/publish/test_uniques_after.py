"""The search for special uniques in released rows: whole classes; what is alone is refused."""

import numpy as np
import pyarrow as pa
import pytest

from tclose.errors import VerificationError
from tclose.passes.publish import uniques_before_after
from tclose.passes.publish.uniques_before_after import look_again


def batches(ages: list[int | None], sexes: list[str], size: int) -> list[pa.RecordBatch]:
    """Rows of a release, some at a time."""
    rows = pa.table({"sex": sexes, "pay": np.arange(len(ages)), "age": pa.array(ages, pa.int64())})
    return rows.to_batches(max_chunksize=size)


AGES, SEXES = [30, 30, 30, 40, 40, None, None], ["m", "m", "m", "f", "f", "f", "f"]


def test_rows_of_whole_classes_are_looked_at(monkeypatch):
    for most, n_rows in ((7, 7), (6, 5), (5, 3), (4, 3), (3, 0), (100, 7)):
        monkeypatch.setattr(uniques_before_after, "MOST_ROWS", most)
        for size in (1, 2, 7):
            found = look_again(iter(batches(AGES, SEXES, size)), ["age", "sex"], 2)
            assert (found.rows, found.sets, found.smallest_class) == (n_rows, 0, 2)


@pytest.mark.parametrize("names", [["age"], ["age", "sex"]])
def test_a_row_that_is_alone_is_refused_without_its_values(names):
    rows = batches([*AGES, 31_337], [*SEXES, "f"], 3)
    with pytest.raises(VerificationError, match=r"^release: 1 of its rows is alone") as refused:
        look_again(iter(rows), names, 2)
    assert "31" not in str(refused.value)
    assert look_again(iter(rows), ["sex"], 2).rows == 8
