"""Which confidential values last, and their codes over releases."""

import numpy as np
import pyarrow as pa
import pytest

from tclose.assess.over_time.lasting_values import (
    choose_persistent,
    code_lasting,
    common_attributes,
    measure_persistence,
)
from tclose.errors import UsageError

RECORDS = [
    pa.table({"pay": [10, 20, 30, 40], "illness": ["a", "b", None, "b"], "cost": [1.0, 2, 3, 4]}),
    pa.table({"pay": [40, 20, 50], "illness": ["b", "b", "c"], "cost": [9.0, 8.0, 7.0]}),
]
PERSONS = [np.array([0, 1, 2, 3]), np.array([3, 1, 4])]


def test_share_of_those_in_two_releases_in_a_row() -> None:
    shares = measure_persistence(["pay", "illness", "cost"], RECORDS, PERSONS)
    assert shares == {"pay": 1.0, "illness": 1.0, "cost": 0.0}
    assert measure_persistence(["pay"], RECORDS, [PERSONS[0], np.array([7, 8, 9])]) == {"pay": 0.0}
    half = [RECORDS[0], RECORDS[1].set_column(0, "pay", pa.array([40, 21, 50]))]
    assert measure_persistence(["pay"], half, PERSONS) == {"pay": 0.5}


def test_attributes_of_all_releases_with_their_own_values() -> None:
    published = [RECORDS[0], RECORDS[1].drop_columns(["cost"])]
    assert common_attributes(published, RECORDS) == ["pay", "illness"]
    buckets = RECORDS[0].set_column(0, "pay", pa.array(["low"] * 4))
    assert common_attributes([buckets, RECORDS[1]], RECORDS) == ["illness", "cost"]


def test_texts_are_the_same_however_they_are_stored() -> None:
    """Large strings, as pandas writes them, were taken for other values than those of CSV."""
    large = RECORDS[0].set_column(1, "illness", RECORDS[0]["illness"].cast(pa.large_string()))
    names = common_attributes([large, RECORDS[1]], RECORDS)
    assert names == ["pay", "illness", "cost"]
    values = code_lasting(["illness"], [large, RECORDS[1]], RECORDS)
    assert values.rows[0].tolist() == values.records[0].tolist()


def test_those_that_last_or_were_asked_for() -> None:
    shares = {"pay": 1.0, "illness": 0.96, "cost": 0.4}
    assert choose_persistent(shares, None) == ("pay", "illness")
    assert choose_persistent(shares, ["cost"]) == ("cost",)
    assert choose_persistent(shares, []) == ()
    with pytest.raises(UsageError, match=r"--persistent ilness: .* did you mean illness\?"):
        choose_persistent(shares, ["ilness"])


def test_same_code_for_the_same_combination_and_no_other() -> None:
    released = [table.take([1, 0, *range(2, len(table))]) for table in RECORDS]
    values = code_lasting(("pay", "illness"), released, RECORDS)
    pairs = [
        (code, (row["pay"], row["illness"]))
        for codes, table in zip((*values.rows, *values.records), (*released, *RECORDS), strict=True)
        for code, row in zip(codes.tolist(), table.to_pylist(), strict=True)
    ]
    assert len(set(pairs)) == len({code for code, _ in pairs}) == len({v for _, v in pairs}) == 5
    assert values.n_values == 5
    by_illness = {values.attributes["illness"][code] for code, (_, ill) in pairs if ill == "b"}
    assert len(by_illness) == 1
    assert code_lasting((), released, RECORDS).n_values == 1
