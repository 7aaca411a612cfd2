"""Records that lack a value: which members of a class its aggregate is of, and what is lost."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable, starts_of
from support.tables.value_encodings import NOMINAL, ORDINAL, encoding
from tclose.data.keys import Encoding, Keys
from tclose.model.column_terms import Kind
from tclose.passes.microaggregate.gaps import Gaps
from tclose.passes.microaggregate.losses import measure_aggregation
from tclose.passes.microaggregate.release_classes import aggregate_column

NUMBER = encoding(Kind.NUMERIC, pa.float64())
ENCODINGS: Sequence[Encoding] = (NUMBER, NOMINAL, ORDINAL)
CENTRES = (2.0, 1, 3)

# Of each class its records, each a value of each column or None.
tables = st.lists(
    st.lists(
        st.tuples(
            *(
                st.none() | st.integers(0, n).map(kind)
                for n, kind in ((64, float), (2, int), (4, int))
            )
        ),
        min_size=1,
        max_size=6,
    ),
    min_size=1,
    max_size=5,
)


def take_apart(table: list[list[tuple[Any, ...]]], seed: int) -> tuple[list[Keys], Gaps, Any]:
    """Keys with centres in place of gaps, the gaps, and the classes, their records shuffled."""
    rows = [row for members in table for row in members]
    place = np.random.default_rng(seed).permutation(len(rows))
    columns, lacking = [], []
    for j, centre in enumerate(CENTRES):
        values = np.array([centre if row[j] is None else row[j] for row in rows])
        column, lacks = np.empty_like(values), np.empty(len(rows), dtype=bool)
        column[place], lacks[place] = values, [row[j] is None for row in rows]
        columns.append(column)
        lacking.append(lacks if lacks.any() else None)
    starts = starts_of([len(members) for members in table])
    return columns, Gaps(tuple(lacking)), (place.astype(np.int64), starts)


@repeatable
@given(tables, st.integers(0, 99))
def test_aggregates_are_of_the_values_of_a_class(table: Any, seed: int) -> None:
    """Those of each class alone, without the records that lack one; else the centre."""
    columns, gaps, by_class = take_apart(table, seed)
    for j, one in enumerate(ENCODINGS):
        found = aggregate_column(one, columns[j], *gaps.keep_known(j, by_class)).tolist()
        for members, released in zip(table, found, strict=True):
            known = [row[j] for row in members if row[j] is not None]
            if not known:
                assert released == CENTRES[j]
                continue
            keys = np.array(known)
            assert aggregate_column(
                one, keys, np.arange(keys.size), starts_of([keys.size])
            ).tolist() == [released]


@repeatable
@given(tables, st.integers(0, 99))
def test_losses_are_those_of_the_values_that_there_are(table: Any, seed: int) -> None:
    """Record by record, and what is compared by the records that have all of them."""
    columns, gaps, by_class = take_apart(table, seed)
    released = [
        aggregate_column(one, columns[j], *gaps.keep_known(j, by_class))
        for j, one in enumerate(ENCODINGS)
    ]
    losses = measure_aggregation(ENCODINGS, columns, released, by_class, gaps=gaps)
    rows = [(row, c) for c, members in enumerate(table) for row in members]
    for j, spread in enumerate((64, None, 4)):
        pairs = [(row[j], released[j][c]) for row, c in rows if row[j] is not None]
        lost = [(a != b) if spread is None else ((a - b) / spread) ** 2 for a, b in pairs]
        assert losses.n_values[j] == len(pairs)
        np.testing.assert_allclose(losses.squares[j], sum(lost), atol=1e-12)
        np.testing.assert_allclose(losses.means[j], np.mean(lost) if lost else 0, atol=1e-12)
    assert losses.by_size[2].sum() == losses.n_values.sum()
    np.testing.assert_allclose(losses.by_size[1].sum(), losses.squares.sum(), atol=1e-12)
    assert losses.shares[0][0].sum() == losses.n_values[1]
    assert losses.parts[0][0].sum() == losses.n_values[0]
    complete = [(row, c) for row, c in rows if None not in row]
    assert losses.comparison.original.n_records == len(complete)
    if complete:
        np.testing.assert_allclose(
            losses.comparison.original.means, [np.mean([row[0] for row, _ in complete])]
        )
        np.testing.assert_allclose(
            losses.comparison.released.means, [np.mean([released[0][c] for _, c in complete])]
        )


@repeatable
@given(tables, st.integers(0, 99))
def test_some_records_have_the_same_gaps(table: Any, seed: int) -> None:
    columns, gaps, (order, _) = take_apart(table, seed)
    chosen = np.sort(order[: 1 + seed % order.size])
    some = gaps.select(chosen)
    every = np.arange(chosen.size)
    for j in range(len(columns)):
        mine, theirs = some.find_known(j, every), gaps.find_known(j, chosen)
        assert np.array_equal(every[mine], every[theirs])


def test_without_gaps_classes_are_as_they_are() -> None:
    by_class = np.array([1, 0]), np.array([0, 2])
    for gaps in (Gaps(), Gaps((None, None))):
        assert gaps.keep_known(1, by_class) is by_class
        assert gaps.find_known(0, by_class[0]) == slice(None)
        assert gaps.find_complete(by_class[0]) == slice(None)
