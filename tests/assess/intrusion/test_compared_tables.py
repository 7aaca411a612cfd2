"""Tables as the library compares them: what becomes of each type, and what cannot be compared."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from tclose.assess.intrusion.compared_tables import ComparedTables, compare_tables
from tclose.assess.intrusion.planned_attacks import plan_attacks
from tclose.errors import DataError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role

N = 120


AGE = Column(Attribute("age", Role.QUASI_IDENTIFIER), Kind.NUMERIC, pa.int64())
PAY = Column(Attribute("pay", Role.CONFIDENTIAL), Kind.NUMERIC, pa.int64())


def compare(
    original: dict[str, Any], control: dict[str, Any], released: dict[str, Any]
) -> ComparedTables:
    """Compare tables of an age, and of one more column where there is one."""
    columns = [AGE, PAY][: len(original)]
    tables = {"original": original, "released": released, "control": control}
    return compare_tables(columns, {name: pa.table(table) for name, table in tables.items()})


def values_of(*columns: Any) -> list[list[Any]]:
    """The values of one column in the three tables, coded."""
    ages = [range(N), range(N, 2 * N), range(N)]
    tables = [
        {"age": list(age), "pay": pa.array(values)}
        for age, values in zip(ages, columns, strict=True)
    ]
    compared = compare(*tables)
    return [table["c1"].to_pylist() for table in compared.tables.values()]


def test_categories_are_numbered_over_all_tables() -> None:
    codes = values_of(["x", None, "y"] * 40, ["z"] * N, ["y", "x"] * 60)
    assert codes[0] == ["v0", "v1", "v2"] * 40
    assert codes[1] == ["v2", "v0"] * 60
    assert codes[2] == ["v3"] * N


def test_booleans_and_dictionaries_are_categories() -> None:
    assert values_of([True, False] * 60, [True] * N, [False] * N)[1] == ["v1"] * N
    texts = pa.array(["x", "y"] * 60).dictionary_encode()
    assert values_of(texts, ["y"] * N, texts)[2] == ["v1"] * N


def test_dates_and_times_are_numbers() -> None:
    days = [date(1970, 1, 3)] * N
    assert values_of(days, days, days)[0] == [2.0] * N
    times = [datetime(1970, 1, 1, 0, 1, tzinfo=UTC)] * N
    assert values_of(times, times, times)[0] == [60.0] * N


def test_distances_are_relative_of_numbers_without_a_sign() -> None:
    for least, is_number in ((0, True), (-1, False)):
        tables = [{"age": list(range(N)), "pay": list(range(least, least + N))}] * 3
        tables[1] = tables[1] | {"age": list(range(N, 2 * N))}
        _, pay = compare(*tables).columns
        assert (pay.code, pay.is_number) == ("c1", is_number)


def test_records_like_an_original_are_counted() -> None:
    original = {"age": list(range(N)), "pay": [1] * N}
    control = {"age": list(range(N - 10, 2 * N - 10)), "pay": [1, 2] * 60}
    assert compare(original, control, original).n_alike == 5


def test_a_hold_out_with_many_of_the_originals_is_refused() -> None:
    original = {"age": list(range(N)), "pay": [1] * N}
    control = {"age": list(range(N // 2, N // 2 + N)), "pay": [1] * N}
    with pytest.raises(DataError, match="60 of its 120 records are among the originals"):
        compare(original, control, original)


def test_groups_of_categories_are_refused_and_left_out() -> None:
    towns = {"age": ["Bonn", "Mainz"] * 60, "pay": ["low", "high"] * 60}
    with pytest.raises(DataError, match="column 'age': the release has ranges or groups"):
        compare(towns, towns, towns | {"age": ["Bonn", "Rhine"] * 60})
    compared = compare(towns, towns, towns | {"pay": ["{high, low}", "low"] * 60})
    assert compared.left_out == ("pay",)


def test_records_that_all_share_few_values_may_all_be_alike() -> None:
    few = {"age": [1, 2] * 60, "pay": [1] * N}
    assert compare(few, few, few).n_alike == N
    many = {"age": list(range(N)), "pay": [1] * N}
    with pytest.raises(DataError, match=r"of its .* records are among the originals"):
        compare(many, many, many)


def test_ranges_are_refused_and_other_columns_of_another_form_left_out() -> None:
    original = {"age": list(range(N)), "pay": [1] * N}
    control = {"age": list(range(N, 2 * N)), "pay": [1] * N}
    with pytest.raises(DataError, match="column 'age': the release has ranges"):
        compare(original, control, original | {"age": ["[0-9]"] * N})
    for released in (original | {"pay": ["[0-9]"] * N}, {"age": original["age"]}):
        compared = compare(original, control, released)
        assert (compared.left_out, len(compared.columns)) == (("pay",), 1)
        kinds = [attack.kind for attack in plan_attacks(compared.columns)]
        assert kinds == ["singling-out-univariate"]
    with pytest.raises(DataError, match="column 'pay' is text, and a number in the originals"):
        compare(original, control | {"pay": ["1"] * N}, original)


def test_all_other_columns_are_known_where_there_are_more() -> None:
    bonus = Column(Attribute("bonus", Role.CONFIDENTIAL), Kind.NUMERIC, pa.int64())
    table = {name: [1, 2] * 60 for name in ("age", "pay", "bonus")}
    tables = {name: pa.table(table) for name in ("original", "released", "control")}
    planned = plan_attacks(compare_tables([AGE, PAY, bonus], tables).columns)
    found = [
        ([column.name for column in attack.known], [column.name for column in attack.secret])
        for attack in planned
        if attack.kind == "inference"
    ]
    assert found == [
        (["age"], ["pay"]), (["age", "bonus"], ["pay"]),
        (["age"], ["bonus"]), (["age", "pay"], ["bonus"]),
    ]  # fmt: skip
