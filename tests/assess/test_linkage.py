"""Record-linkage risk from tables: columns of every kind, as they are and as they are released."""

import datetime
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from support.tables.value_encodings import encodings_of
from tclose.assess.linkage import measure_linkage
from tclose.model.column_terms import Kind

ORDER = ("low", "middle", "high")


def naive_risk(records: Sequence[tuple], released: Sequence[tuple], spans: Sequence[Any]) -> float:
    """Every record against every released row; row i is record i's own. A span of None: 0 or 1."""

    def square(a: tuple, b: tuple) -> Fraction:
        total = Fraction(0)
        for x, y, span in zip(a, b, spans, strict=True):
            total += (x != y) if span is None else Fraction(x - y) ** 2 / Fraction(span) ** 2
        return total

    risk = Fraction(0)
    for i, record in enumerate(records):
        squares = [square(record, row) for row in released]
        if squares[i] == min(squares):
            risk += Fraction(1, squares.count(squares[i]))
    return float(risk / len(records))


@repeatable
@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc")), min_size=2, max_size=30))
def test_equals_the_twin(records: list[tuple[int, str]]) -> None:
    """Classes of neighbours in the order given, released as a middle number and a first letter."""
    cuts = [records[i : i + 3] for i in range(0, len(records), 3)]
    released = [(sorted(a for a, _ in cut)[len(cut) // 2], cut[0][1]) for cut in cuts for _ in cut]
    table = pa.table({"a": [a for a, _ in records], "b": [b for _, b in records]})
    rows = pa.table({"a": [a for a, _ in released], "b": [b for _, b in released]})
    numbers = [a for a, _ in records]
    span = max(numbers) - min(numbers) or 1
    found = measure_linkage(table, np.arange(len(records)), rows, encodings_of(table))
    assert found == pytest.approx(naive_risk(records, released, (span, None)), abs=1e-12)


def test_every_record_as_it_is_gives_itself_away() -> None:
    table = pa.table({"a": [5, 1, 9, 7]})
    shuffled = table.take(pa.array([2, 0, 3, 1]))
    own = np.array([1, 3, 0, 2])
    assert measure_linkage(table, own, shuffled, encodings_of(table)) == 1.0


def test_one_class_hides_everyone_among_all() -> None:
    table = pa.table({"a": list(range(8)), "b": list("aabbccdd")})
    rows = pa.table({"a": [4] * 8, "b": ["a"] * 8})
    assert measure_linkage(table, np.arange(8), rows, encodings_of(table)) == 1 / 8


def test_who_attacks_may_be_fewer_than_the_released() -> None:
    table = pa.table({"a": [0, 1, 10, 11]})
    rows = pa.table({"a": [0, 0, 11, 11]})
    some = table.take(pa.array([3]))
    assert measure_linkage(some, np.array([3]), rows, encodings_of(table)) == 0.5


def test_columns_of_every_kind() -> None:
    """Each alone: two classes of two, one at either end; the third record is nearer to the other.

    So of four records three are found, each among two.
    """
    day = datetime.date(2020, 1, 1)
    columns = {
        "whole": (pa.array([0, 1, 4, 10]), pa.array([0.5, 0.5, 9.0, 9.0])),
        "float": (pa.array([0.0, 0.1, 0.4, 1.0]), pa.array([0.05, 0.05, 0.9, 0.9])),
        "money": (
            pa.array([Decimal("0.00"), Decimal("0.10"), Decimal("0.40"), Decimal("1.00")]),
            pa.array([0.05, 0.05, 0.9, 0.9]),
        ),
        "date": (
            pa.array([day + datetime.timedelta(d) for d in (0, 1, 4, 10)]),
            pa.array([day + datetime.timedelta(d) for d in (1, 1, 10, 10)]),
        ),
        "grade": (
            pa.array(["low", "low", "low", "high"]),
            pa.array(["low", "low", "high", "high"]),
        ),
        "town": (pa.array(["x", "x", "x", "y"]), pa.array(["x", "x", "y", "y"])),
    }
    given: dict[str, Any] = {
        "whole": {"rounded": False},
        "money": {"rounded": False},
        "grade": {"kind": Kind.ORDINAL, "order": ORDER},
    }
    for name, (original, released) in columns.items():
        table, rows = pa.table({name: original}), pa.table({name: released})
        encodings = encodings_of(table, **given)
        assert measure_linkage(table, np.arange(4), rows, encodings) == 3 / 8, name


@pytest.mark.parametrize(
    ("released", "risk"),
    [
        # A third for Switzerland, of two records, is nearer to both than Rome, at two thirds.
        (["Switzerland", "Switzerland", "Rome", "Lima"], (1 / 2 + 1 / 2 + 1 + 1) / 4),
        # Bern's own record is as far as can be, Switzerland is a third away; Lima is far from all.
        (["World", "Switzerland", "Rome", "World"], (0 + 1 + 1 + 1 / 4) / 4),
    ],
)
def test_released_nodes_are_at_their_height(released: list[str], risk: float) -> None:
    places = ["Bern", "Basel", "Rome", "Lima"]
    taxonomy = (
        ("Bern", "Switzerland", "Europe", "World"),
        ("Basel", "Switzerland", "Europe", "World"),
        ("Rome", "Italy", "Europe", "World"),
        ("Lima", "World"),
    )
    table = pa.table({"place": places})
    given = {"kind": Kind.NOMINAL, "taxonomy": taxonomy, "aggregate": "ancestor"}
    encodings = encodings_of(table, place=given)
    rows = pa.table({"place": released})
    assert measure_linkage(table, np.arange(4), rows, encodings) == pytest.approx(risk)
