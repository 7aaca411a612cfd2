"""k and t of any table, whoever made it: classes of rows that are alike, decided exactly.

A missing quasi-identifier is a value of its own: rows are never left out.
"""

from collections import Counter
from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.assess.auditing.class_checker import ClassChecker
from tclose.assess.auditing.released_rows import Rows
from tclose.data.arrow_errors import refusing_arrow
from tclose.data.columns import resolve_column
from tclose.data.keys import name_type, one_zero, plain_type, to_values, widen_decimals
from tclose.data.unusable_values import find_problems as find_value_problems
from tclose.data.value_counts import confidential_keys, count_values, own_values, summarise_table
from tclose.errors import DataError
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Distance, Kind
from tclose.model.counted_words import count_words
from tclose.model.distribution import Distribution, make_distribution
from tclose.model.verification import Verdict
from tclose.passes.verify.class_checks import ClassChecks, decide
from tclose.privacy.bound_models import NO_MODELS
from tclose.privacy.t_closeness import with_metric


def check_rows(
    table: pa.Table, quasi: Sequence[str], confidential: Sequence[Attribute], k: int
) -> tuple[Verdict, ClassChecks]:
    """Check the classes that quasi-identifiers make of the rows.

    Parameters
    ----------
    confidential : with the t of each, ``max_emd``

    Raises
    ------
    DataError
        A column is missing, or of no use; confidential values without a place in their order.
    """
    _check_columns(table, [*quasi, *(attribute.name for attribute in confidential)])
    keys = [code_values_apart(table[name], name) for name in quasi]
    columns = [resolve_column(a, plain_type(table.schema.field(a.name).type)) for a in confidential]
    measured = [measure_column(table.select([column.name]), column) for column in columns]
    distributions = tuple(distribution for distribution, _ in measured)
    codes = np.array([value_codes for _, value_codes in measured], dtype=np.int64)
    limits = tuple(column.limit for column in columns)
    checker = ClassChecker(distributions, limits, NO_MODELS, [])
    checks = checker.check_at_once([Rows([*keys], codes.reshape(len(columns), len(table)))])
    verdict = decide(
        checks,
        k=k,
        names=tuple(column.name for column in columns),
        max_emds=limits,
        n_expected=len(table),
        n_changed={},
        privacy_models=NO_MODELS,
    )
    return verdict, checks


def _check_columns(table: pa.Table, names: Sequence[str]) -> None:
    absent = [name for name in names if table.column_names.count(name) != 1]
    if absent:
        raise DataError(f"data: has no column {absent[0]!r}, or several; correct the name")
    if not len(table):
        raise DataError("data: has no records")


def code_values_apart(values: pa.ChunkedArray, name: str) -> Int64:
    """A code for each different value, a missing one among them: int64 (n,)."""
    dense = values.cast(plain_type(values.type)).combine_chunks()
    refusal = DataError(
        f"column {name!r}: type {name_type(values.type)} cannot tell classes; convert it to text "
        "or numbers"
    )
    with refusing_arrow(refusal):
        if pa.types.is_floating(dense.type):
            dense = one_zero(dense)
        listed = widen_decimals(dense).dictionary_encode(null_encoding="encode")
    return cast(Int64, listed.indices.to_numpy(zero_copy_only=False).astype(np.int64))


def measure_column(table: pa.Table, column: Column) -> tuple[Distribution, Int64]:
    """The distribution of a confidential attribute, and each row's place in it: int64 (n,)."""
    table = table.cast(pa.schema([(column.name, plain_type(column.type))])).combine_chunks()
    if column.distance is Distance.EQUAL:
        codes = code_values_apart(table[column.name], column.name)
        distribution = make_distribution(np.arange(codes.max() + 1), np.bincount(codes))
        return with_metric(distribution, column, ()), codes
    _refuse_unplaced(table, column)
    keys = confidential_keys(table, column)
    counted = count_values(keys)
    distribution = make_distribution(counted.values, counted.counts)
    codes = np.searchsorted(counted.values, keys).astype(np.int64)
    return with_metric(distribution, column, _texts(table, column)), codes


def _texts(table: pa.Table, column: Column) -> list[str]:
    """Values of a nominal attribute in the order of their codes."""
    if column.kind is not Kind.NOMINAL:
        return []
    present = to_values(pc.unique(one_zero(widen_decimals(table[column.name].combine_chunks()))))
    return [str(value) for value in own_values(Counter(present))]


def _refuse_unplaced(table: pa.Table, column: Column) -> None:
    """Refuse values without a distance to the others; says how many.

    Raises
    ------
    DataError
    """
    n_missing = table[column.name].null_count
    if n_missing:
        raise DataError(
            f"column {column.name!r}: {count_words(n_missing, 'missing value')}, which "
            f"{'has' if n_missing == 1 else 'have'} no distance to the "
            "others; take distance: equal, by which missing is a value of its own, or leave these "
            "rows out"
        )
    summary, _ = summarise_table(table, (column,), ())
    problems = find_value_problems(summary, (column,), "error")
    if problems:
        raise DataError(f"{problems[0]}; correct them, or take distance: equal")
