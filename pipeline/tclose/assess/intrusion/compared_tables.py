"""Originals, release and hold-out as three tables of the same columns, which a library compares.

Columns and categories have numbers for names: what is handed to another program has no texts of the
records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.errors import DataError
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Role

LEAST = 100  # of fewer records kept out the library's intervals say nothing
MORE_ALIKE = 0.05  # a share of the hold-out that may be like originals beyond what chance explains

ORIGINAL, RELEASED, CONTROL = "original", "released", "control"


@dataclass(frozen=True)
class ComparedColumn:
    """A column; ``code``: its name in the tables; ``is_number``: numbers, none of them negative."""

    name: str
    code: str
    role: Role
    is_number: bool


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """The tables by their names; ``n_alike``: hold-out records like an original in all columns."""

    columns: tuple[ComparedColumn, ...]
    tables: Mapping[str, pa.Table]
    n_alike: int
    left_out: tuple[str, ...]


def compare_tables(columns: Sequence[Column], tables: Mapping[str, pa.Table]) -> ComparedTables:
    """Number the columns and categories of the tables.

    Parameters
    ----------
    columns : those of the originals that a release can have
    tables : `ORIGINAL`, `RELEASED` and `CONTROL`

    Raises
    ------
    DataError
        The hold-out is too small, is of the originals, or lacks columns; or quasi-identifiers are
        released in a form that is not that of the originals.
    """
    control = tables[CONTROL]
    if len(control) < LEAST:
        raise DataError(
            f"--holdout: has {len(control):,} complete records; keep {LEAST:,} at least out of the "
            "release, and 500 to 1,000 for narrow intervals"
        )
    coded: dict[ComparedColumn, pa.Array] = {}
    left_out = []
    for column in columns:
        pieces = _find_pieces(column, tables)
        if not pieces:
            left_out.append(column.name)
            continue
        values, is_number = _code_values(pieces)
        coded[ComparedColumn(column.name, f"c{len(coded)}", column.role, is_number)] = values
    joined = pa.table(list(coded.values()), [column.code for column in coded])
    stops = np.cumsum([len(table) for table in tables.values()]).tolist()
    cut = {
        name: joined.slice(stop - len(tables[name]), len(tables[name]))
        for name, stop in zip(tables, stops, strict=True)
    }
    return ComparedTables(tuple(coded), cut, _count_alike(joined, cut), tuple(left_out))


def _find_pieces(column: Column, tables: Mapping[str, pa.Table]) -> list[pa.ChunkedArray]:
    """The column of each table; empty where the release has it in another form or not at all.

    Raises
    ------
    DataError
    """
    if column.name not in tables[CONTROL].column_names:
        raise DataError(f"--holdout: has no column {column.name!r}, which the originals have")
    if column.name in tables[RELEASED].column_names:
        pieces = {name: _decode(table[column.name]) for name, table in tables.items()}
        kinds = {_kind_of(piece.type) for piece in pieces.values()}
        if len(kinds) == 1 and not (kinds == {"text"} and _has_groups(pieces)):
            return list(pieces.values())
    _check_left_out(column, tables)
    return []


def _has_groups(pieces: Mapping[str, pa.ChunkedArray]) -> bool:
    """Return whether the release has texts that no original has: sets, or nodes of a taxonomy."""
    own, released = (
        pc.unique(pc.cast(pieces[name].drop_null(), pa.large_string()))
        for name in (ORIGINAL, RELEASED)
    )
    return not bool(pc.all(pc.is_in(released, value_set=own), min_count=0).as_py())


def _check_left_out(column: Column, tables: Mapping[str, pa.Table]) -> None:
    """Refuse where a column cannot be left out, or has other values in the hold-out.

    Raises
    ------
    DataError
    """
    pair = [_decode(tables[name][column.name]) for name in (ORIGINAL, CONTROL)]
    kinds = [_kind_of(values.type) for values in pair]
    if kinds[0] != kinds[1]:
        raise DataError(
            f"--holdout: column {column.name!r} is {kinds[1]}, and {kinds[0]} in the originals; "
            "give it the form of the policy's input"
        )
    if column.role is Role.QUASI_IDENTIFIER:
        raise DataError(
            f"column {column.name!r}: the release has ranges or groups in place of its values, "
            "with which Anonymeter cannot compare; it attacks releases of values alone"
        )


def _decode(values: pa.ChunkedArray) -> pa.ChunkedArray:
    dtype = values.type
    return pc.cast(values, dtype.value_type) if pa.types.is_dictionary(dtype) else values


def _kind_of(dtype: pa.DataType) -> str:
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return "a number"
    return "a date" if pa.types.is_date(dtype) or pa.types.is_timestamp(dtype) else "text"


def _code_values(pieces: Sequence[pa.ChunkedArray]) -> tuple[pa.Array, bool]:
    """The values of all tables, of one kind, as numbers, or as categories that have numbers.

    Returns
    -------
    The values, and whether their distances are relative: numbers, none of them negative.
    """
    kind = _kind_of(pieces[0].type)
    if kind == "text":
        texts = [pc.cast(piece, pa.large_string()) for piece in pieces]
        joined = pa.concat_arrays([text.combine_chunks() for text in texts])
        encoded = joined.dictionary_encode(null_encoding="encode")
        names = pa.array([f"v{number}" for number in range(len(encoded.dictionary))], pa.string())
        return names.take(encoded.indices), False
    numbers = pa.concat_arrays([_as_numbers(piece).combine_chunks() for piece in pieces])
    least = pc.min(numbers).as_py()
    return numbers, kind == "a number" and least is not None and least >= 0


def _as_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers; of dates days, of times seconds."""
    if pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.timestamp("s", values.type.tz), safe=False)
        values = pc.cast(values, pa.int64())
    elif pa.types.is_date(values.type):
        values = pc.cast(pc.cast(values, pa.date32()), pa.int32())
    return pc.cast(values, pa.float64(), safe=False)


def _count_alike(joined: pa.Table, tables: Mapping[str, pa.Table]) -> int:
    """Count hold-out records that are like an original in all columns.

    Records that were kept out are like an original about as often as originals are like another.

    Parameters
    ----------
    joined : all tables, one after the other

    Raises
    ------
    DataError
        Many more are.
    """
    stops = np.cumsum([len(table) for table in tables.values()])
    numbers = dict(zip(tables, np.split(_number_records(joined), stops[:-1]), strict=True))
    original, control = numbers[ORIGINAL], numbers[CONTROL]
    n_alike = int(np.isin(control, original).sum())
    by_chance = float((np.bincount(original)[original] > 1).mean())
    deviation = sqrt(by_chance * (1 - by_chance) / control.size)
    if n_alike > (by_chance + MORE_ALIKE + 3 * deviation) * control.size:
        raise DataError(
            f"--holdout: {n_alike:,} of its {control.size:,} records are among the originals, of "
            f"which {by_chance:.0%} are like another one; name records that were kept out of the "
            "release"
        )
    return n_alike


def _number_records(table: pa.Table) -> Int64:
    """A number for each record, the same for those that are alike in all columns."""
    numbers = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy().astype(np.int64)
        pairs = numbers * (len(encoded.dictionary) + 1) + codes
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers
