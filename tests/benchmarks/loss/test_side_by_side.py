"""Methods side by side: what one class would lose, the table of many columns, the rows."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.loss.side_by_side.__main__ import COLUMNS, describe_outcomes
from benchmarks.loss.side_by_side.compared_releases import Outcome, measure_one_class
from benchmarks.loss.side_by_side.families import FAMILIES, family
from benchmarks.loss.side_by_side.tables import (
    CATEGORIES,
    discharges,
    enlarge,
    generate_mixed,
    many_columns,
)
from benchmarks.microdata.sources import Source
from tclose.errors import InfeasibleError

FAST = Outcome(0.2, 0.1, 0.3, 20, 0.09, 3.0, 2.0, 0.5, 0.07, 0.01)


def test_one_class_loses_spread_and_all_but_the_commonest() -> None:
    table = pa.table({"a": [0.0, 0.0, 2.0, 2.0], "b": ["x", "x", "x", "y"], "c": [1, 1, 1, 1]})
    source = Source("", lambda: table, ("a", "b", "c"), (), ("b",))
    assert measure_one_class(table, source) == {"a": 0.25, "b": 0.25, "c": 0.0}


def test_dates_are_numbers() -> None:
    source = discharges(50, 1)
    lost = measure_one_class(source.read(), source)
    assert set(lost) == set(source.quasi_identifiers)
    assert 0 < lost["admission_date"] < 0.25


def test_every_third_of_many_columns_is_nominal() -> None:
    source = many_columns(3_000, 5, 1)
    table = source.read()
    assert source.nominal == ("q2", "q5")
    kinds = [pa.types.is_string(table[name].type) for name in source.quasi_identifiers]
    assert kinds == [False, True, False, False, True]
    assert table.equals(generate_mixed(3_000, 5, 1))
    counts = np.unique(table["q2"].to_numpy(zero_copy_only=False), return_counts=True)[1]
    assert counts.size == CATEGORIES
    assert counts[0] == pytest.approx(1_000, abs=2)


def test_an_enlarged_table_mixes_records_of_one_confidential_value() -> None:
    small = pa.table({"a": [1, 2, 3, 4], "b": ["u", "v", "w", "x"], "c": [7, 7, 9, 9]})
    source = Source("", lambda: small, ("a", "b"), ("c",), ("b",))
    large = enlarge(source, 2_000, 1).read()
    assert large.equals(enlarge(source, 2_000, 1).read())
    assert not large.equals(enlarge(source, 2_000, 2).read())
    rows = Counter(tuple(row.values()) for row in large.to_pylist())
    of_one = [(a, b, 7) for a in (1, 2) for b in "uv"] + [(a, b, 9) for a in (3, 4) for b in "wx"]
    assert set(rows) == set(of_one)
    mixed = sum(
        rows[row] for row in of_one if row[:2] not in {(1, "u"), (2, "v"), (3, "w"), (4, "x")}
    )
    assert 200 < mixed < 500  # half of those of which one value, and not the other, is drawn anew


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_those_of_their_seed(name: str) -> None:
    source = family(name, 500, 1)
    table = source.read()
    assert table.column_names == source.columns
    assert table.equals(family(name, 500, 1).read())
    assert not table.equals(family(name, 500, 2).read())


def test_families_have_what_they_are_named_after() -> None:
    table = family("natural classes", 9_000, 1).read()
    combinations = Counter(zip(table["age"].to_pylist(), table["ward"].to_pylist(), strict=True))
    assert sum(n for n in combinations.values() if n < 20) <= 100
    wealth = np.sort(family("heavy tails", 9_000, 1).read()["wealth"].to_numpy())
    assert wealth[-90:].sum() > 0.2 * wealth.sum()
    trades = Counter(family("rare categories", 9_000, 1).read()["trade"].to_pylist())
    assert 0 < min(trades.values()) < 50 < max(trades.values())
    answers = family("ties", 9_000, 1).read()["answer1"]
    assert len(answers.unique()) == 5
    dependence = family("dependence", 9_000, 1).read()
    age, cost = (dependence[name].to_numpy() for name in ("age", "cost"))
    assert np.corrcoef(age, np.log(cost))[0, 1] > 0.6


def test_rows_are_beside_the_default() -> None:
    refused = InfeasibleError("no classes | of these")
    rows = describe_outcomes(
        {"fast": FAST, "off": Outcome(0.5, 0.2, 0.6, 30, 0.1, 1, 0.5, 0, 0.1, 0.2)}
    )
    assert [row[:5] for row in rows] == [
        ["fast", "0.200000", "1.000", "10.00%", "30.00%"],
        ["off", "0.500000", "2.500", "20.00%", "60.00%"],
    ]
    rows = describe_outcomes({"fast": refused, "off": FAST})
    assert rows[0][:2] == ["fast", "none: no classes / of these"]
    assert rows[1][2] == "-"
    assert {len(row) for row in rows} == {len(COLUMNS) - 3}
