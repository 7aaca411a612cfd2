"""Generalised values: how they are spelled, that they can be read again, what they lose."""

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import class_sizes, repeatable, starts_of
from support.tables.value_encodings import encode
from tclose.errors import DataError
from tclose.methods.generalisation.generalise import (
    Ancestors,
    Generalised,
    ancestors_of,
    generalise_column,
    measure_generalisation,
)
from tclose.methods.generalisation.notation import parse_interval, parse_set, read_ends
from tclose.model.column_terms import Kind

ORDER = ("none", "some, few", "many", "all")


def generalise(
    values: pa.Array, sizes: list[int], ancestors: Ancestors | None = None, **given: Any
) -> Generalised:
    """Classes of neighbours in the order given."""
    encoding, keys = encode(values, **given)
    order = np.arange(len(values))
    return generalise_column(encoding, keys, order, starts_of(sizes), ancestors)


def loss_of(
    values: pa.Array, sizes: list[int], ancestors: Ancestors | None = None, **given: Any
) -> float:
    encoding, keys = encode(values, **given)
    order, starts = np.arange(len(values)), starts_of(sizes)
    generalised = generalise_column(encoding, keys, order, starts, ancestors)
    return float(measure_generalisation(encoding, keys[order], starts, generalised).sum())


DAY = datetime.date(2020, 2, 28)
NOON = datetime.datetime(2020, 2, 28, 12, 0, 0, 250_000, tzinfo=datetime.UTC)
STEP = datetime.timedelta(days=1)
KINDS = {
    "integer": (pa.array([9, -7, 5, 5]), ["[-7, 9]", "5"]),
    "small integer": (pa.array([9, 0, 255, 255], pa.uint8()), ["[0, 9]", "255"]),
    "far integer": (pa.array([2**61, -(2**61) + 1, 0, 0]), [f"[{1 - 2**61}, {2**61}]", "0"]),
    "float": (pa.array([0.1, 1e-300, 0.1 + 0.2, 2.0]), ["[1e-300, 0.1]", f"[{0.1 + 0.2!r}, 2.0]"]),
    "zero": (pa.array([-0.0, 0.0, 1.5, -1.5]), ["0.0", "[-1.5, 1.5]"]),
    "single": (
        pa.array([0.1, 16_777_216.0, 0.3, 0.3], pa.float32()),
        ["[0.1, 1.6777216e+07]", "0.3"],
    ),
    "decimal": (
        pa.array([Decimal("1.10"), Decimal("-20.00"), Decimal("0.00"), Decimal("0.00")]),
        ["[-20.00, 1.10]", "0.00"],
    ),
    "fine decimal": (
        pa.array([Decimal("0.000000001"), Decimal("0.000000010")] * 2),
        ["[0.000000001, 0.000000010]"] * 2,
    ),
    "date": (pa.array([DAY + STEP, DAY, DAY, DAY]), ["[2020-02-28, 2020-02-29]", "2020-02-28"]),
    "moment": (
        pa.array([NOON, NOON + STEP, NOON, NOON], pa.timestamp("ms", "UTC")),
        ["[2020-02-28 12:00:00.250Z, 2020-02-29 12:00:00.250Z]", "2020-02-28 12:00:00.250Z"],
    ),
    "local moment": (
        pa.array([NOON.replace(tzinfo=None)] * 4, pa.timestamp("us")),
        ["2020-02-28 12:00:00.250000"] * 2,
    ),
    "time": (
        pa.array([datetime.time(1, 2, 3), datetime.time(4, 5)] * 2, pa.time32("s")),
        ["[01:02:03, 04:05:00]"] * 2,
    ),
    "duration": (
        pa.array([STEP, 2 * STEP, STEP, STEP], pa.duration("s")),
        ["[86400, 172800]", "86400"],
    ),
    "ordinal": (
        pa.array(["all", "many", "some, few", "none"]),
        ["[many, all]", '[none, "some, few"]'],
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_intervals_of_every_type(name: str) -> None:
    values, expected = KINDS[name]
    given: dict[str, Any] = {"kind": Kind.ORDINAL, "order": ORDER} if name == "ordinal" else {}
    generalised = generalise(values, [2, 2], **given)
    assert generalised.texts.tolist() == expected
    encoding, keys = encode(values, **given)
    lows, highs = read_ends(encoding, generalised.texts)
    assert lows.tolist() == generalised.low.tolist() == [min(keys[:2]), min(keys[2:])]
    assert highs.tolist() == generalised.high.tolist() == [max(keys[:2]), max(keys[2:])]


SETS = {
    "text": (["b", "a", "c", "c"], ["{a, b}", "c"], [("a", "b"), ("c",)]),
    "notation": (
        ["a, b", "{c}", "[1, 2]", "[1, 2]"],
        ['{"a, b", "{c}"}', '"[1, 2]"'],
        [("a, b", "{c}"), ("[1, 2]",)],
    ),
    "blanks": (["", " x", "y z", "y z"], ['{"", " x"}', "y z"], [("", " x"), ("y z",)]),
    "quotes": (
        ['"', 'say "a", "b"', "back\\slash", "\n\x00"],
        ['{"\\"", "say \\"a\\", \\"b\\""}', '{"\\n\\u0000", back\\slash}'],
        [('"', 'say "a", "b"'), ("\n\x00", "back\\slash")],
    ),
    "unseen": (  # numpy cuts off NULs at the end of a text
        ["a", "a\x00", "a\x00", "a\x00"],
        ['{a, "a\\u0000"}', '"a\\u0000"'],
        [("a", "a\x00"), ("a\x00",)],
    ),
    "truth": ([True, False, True, True], ["{false, true}", "true"], [("false", "true"), ("true",)]),
    "accents": (["É", "ß", "日", "日"], ["{É, ß}", "日"], [("É", "ß"), ("日",)]),
}


@pytest.mark.parametrize("name", SETS)
def test_sets(name: str) -> None:
    values, texts, parsed = SETS[name]
    generalised = generalise(pa.array(values), [2, 2])
    assert generalised.texts.tolist() == texts
    assert [parse_set(text) for text in texts] == parsed


def test_nominal_numbers_are_sets_in_their_own_order() -> None:
    assert generalise(pa.array([10, 9, 10]), [3], kind=Kind.NOMINAL).texts.tolist() == ["{9, 10}"]


@repeatable
@given(st.lists(st.text(max_size=5), min_size=1, max_size=12), st.data())
def test_any_texts_can_be_read_again(texts: list[str], data: st.DataObject) -> None:
    sizes = data.draw(class_sizes(len(texts)))
    classes = np.split(np.array(texts, dtype=object), np.cumsum(sizes)[:-1])
    made = generalise(pa.array(texts), sizes, kind=Kind.NOMINAL).texts.tolist()
    assert [parse_set(text) for text in made] == [tuple(sorted(set(part))) for part in classes]
    ranks = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    ordinal = generalise(pa.array(texts), sizes, kind=Kind.ORDINAL, order=tuple(ranks))
    for text, part in zip(ordinal.texts.tolist(), classes, strict=True):
        ends = min(part, key=ranks.__getitem__), max(part, key=ranks.__getitem__)
        assert parse_interval(text) == ends


TOWNS = ["Bonn", "Köln", "Lyon", "Nice", "Oslo"]
MAP = Ancestors(
    np.array([[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 0, 0, 1]]),
    (
        np.array(TOWNS),
        np.array(["Germany", "France", "Norway"]),
        np.array(["EU, west", "north"]),
    ),
)


@pytest.mark.parametrize(
    ("towns", "text", "span"),
    [
        (["Lyon", "Lyon"], "Lyon", 0),
        (["Köln", "Bonn"], "Germany", 1 / 4),
        (["Nice", "Bonn", "Nice"], '"EU, west"', 3 / 4),
        (["Nice", "Oslo"], "{Nice, Oslo}", 1 / 4),
    ],
)
def test_lowest_node_that_covers_all(towns: list[str], text: str, span: float) -> None:
    made = generalise(pa.array(TOWNS + towns), [1] * 5 + [len(towns)], MAP)
    assert made.texts.tolist() == [*TOWNS, text]
    assert made.spans.tolist() == [0] * 5 + [span]
    loss = loss_of(pa.array(TOWNS + towns), [1] * 5 + [len(towns)], MAP)
    assert loss == pytest.approx(len(towns) * span**2, abs=1e-15)


class TestTaxonomyOfAnEncoding:
    """A policy's taxonomy over the values that occur, Nice not among them."""

    ROWS = (
        ("Nice", "France", "EU, west", "all"),
        ("Köln", "Germany", "EU, west", "all"),
        ("Bonn", "Germany", "EU, west", "all"),
        ("Oslo", "all"),
    )

    def test_nodes_of_each_level(self) -> None:
        encoding, _ = encode(pa.array(["Oslo", "Köln", "Bonn"]), taxonomy=self.ROWS)
        found = ancestors_of(encoding)
        assert found is not None
        levels = [
            names[nodes].tolist() for nodes, names in zip(found.nodes, found.names, strict=True)
        ]
        # In a branch with fewer levels a value stands for itself until its parent's.
        assert levels == [
            ["Germany", "Germany", "Oslo"],
            ["EU, west", "EU, west", "Oslo"],
            ["all", "all", "all"],
        ]
        made = generalise_column(encoding, np.array([0, 1, 0, 2]), np.arange(4), starts_of([2, 2]),
                                 found)  # fmt: skip
        assert made.texts.tolist() == ["Germany", "all"]

    def test_there_is_none(self) -> None:
        assert ancestors_of(encode(pa.array(["a"]))[0]) is None
        assert ancestors_of(encode(pa.array([1, 2]))[0]) is None


@repeatable
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.data())
def test_loss_of_intervals_is_by_the_definition(values: list[int], data: st.DataObject) -> None:
    sizes = data.draw(class_sizes(len(values)))
    span = max(values) - min(values)
    classes = [part.tolist() for part in np.split(np.array(values), np.cumsum(sizes)[:-1])]
    expected, spans = Fraction(0), []
    for part in classes:
        middle = Fraction(min(part) + max(part), 2)
        expected += sum((value - middle) ** 2 for value in part)
        spans.append(Fraction(max(part) - min(part), span or 1))
    loss = float(expected / (span or 1) ** 2)
    for array in (pa.array(values), pa.array([value / 4 for value in values])):
        assert loss_of(array, sizes) == pytest.approx(loss, rel=1e-12, abs=1e-15)
        assert generalise(array, sizes).spans == pytest.approx([float(s) for s in spans])


def test_loss_of_ordinal_values_is_by_rank() -> None:
    values = pa.array(["none", "all", "many", "many"])
    made = generalise(values, [2, 2], kind=Kind.ORDINAL, order=ORDER)
    assert made.spans.tolist() == [1, 0]
    assert loss_of(values, [2, 2], kind=Kind.ORDINAL, order=ORDER) == pytest.approx(1 / 2)


def test_loss_of_sets() -> None:
    """Three of four values: (3 - 1) / (4 - 1) squared for each of three records."""
    values = pa.array(["a", "b", "c", "d"])
    assert generalise(values, [3, 1]).spans.tolist() == [2 / 3, 0]
    assert loss_of(values, [3, 1]) == pytest.approx(3 * 4 / 9)
    assert loss_of(pa.array(["a", "a"]), [2]) == 0


def test_records_of_a_class_need_not_be_adjacent() -> None:
    encoding, keys = encode(pa.array([1, 10, 2, 20]))
    order, starts = np.array([3, 1, 0, 2]), np.array([0, 2, 4])
    made = generalise_column(encoding, keys, order, starts)
    assert made.texts.tolist() == ["[10, 20]", "[1, 2]"]
    loss = measure_generalisation(encoding, keys[order], starts, made).sum()
    assert loss == pytest.approx((2 * 25 + 2 * 0.25) / 19**2)


@pytest.mark.parametrize(
    "text", ["", "[1, 2", "[1,2]", "[1]", "{1, 2}", "[1, 2, 3]", '"a', '"a" b']
)
def test_what_is_no_interval_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(DataError, match="not an interval") as raised:
        parse_interval(text)
    assert not text or text not in str(raised.value)


@pytest.mark.parametrize("text", ["", "{a}", "{a,b}", "[1, 2]", '{"a, b}', "{a, b", "{}"])
def test_what_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="not a set"):
        parse_set(text)


def test_ends_of_another_type_are_refused() -> None:
    encoding, _ = encode(pa.array([1, 2]))
    with pytest.raises(DataError, match=r"'x'.*not of type int64") as raised:
        read_ends(encoding, np.array(["[1, 7.5]"]))
    assert "7.5" not in str(raised.value)


class TestEndsOfFullDomains:
    """Texts as Incognito writes them: the upper end is outside, "*" is every value."""

    @pytest.mark.parametrize(
        ("values", "text", "ends"),
        [
            (pa.array([1, 9]), "[2.5, 5)", (3, 4)),
            (pa.array([-8, 9]), "[-8, -3.5)", (-8, -4)),
            (pa.array([1.0, 9]), "[2.5, 5)", (2.5, np.nextafter(5, -np.inf))),
            (pa.array([Decimal("0.10"), Decimal("9.00")]), "[0.25, 0.5)", (25, 49)),
            (pa.array([1, 9]), "*", (1, 9)),
            (pa.array([1, 9]), "[2, 5]", (2, 5)),
            (pa.array([3, 9]), "3", (3, 3)),
        ],
    )
    def test_are_read(self, values: pa.Array, text: str, ends: tuple[float, float]) -> None:
        encoding, _ = encode(values)
        lows, highs = read_ends(encoding, np.array([text, "*", text]))
        assert (lows[0], highs[0]) == (lows[2], highs[2]) == ends
        assert (lows[1], highs[1]) == (encoding.low, encoding.high)

    @pytest.mark.parametrize("text", ["[a, b)", "[1, 2, 3)", "[2)", "[1, 1/0)", "[1, 1e999999999)"])
    def test_others_are_refused(self, text: str) -> None:
        encoding, _ = encode(pa.array([1, 2]))
        with pytest.raises(DataError, match="not an interval") as raised:
            read_ends(encoding, np.array([text]))
        assert text not in str(raised.value)
