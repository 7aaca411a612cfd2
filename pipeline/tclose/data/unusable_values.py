"""Values that prevent a release, found in a table's summary: how many, of which columns."""

from tclose.data.keys import to_values
from tclose.data.listed_values import read_listed
from tclose.data.value_counts import ColumnSummary, TableSummary
from tclose.errors import DataError
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.counted_words import count_words


def check_summary(summary: TableSummary, columns: tuple[Column, ...], missing: str) -> None:
    """Refuse data that cannot be released.

    Raises
    ------
    DataError
        Missing values under ``missing: error``; NaN or infinities; values outside an order; no
        record left. Names the columns and how many, never a value.
    """
    problems = find_problems(summary, columns, missing)
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        remedies = [remedy for sign, remedy in _REMEDIES.items() if sign in lines]
        raise DataError("\n".join([f"the data cannot be used{lines}", *remedies]))
    if summary.n_read == 0:
        raise DataError("the input has no records")
    if summary.n_complete == 0:
        raise DataError(
            f"all {summary.n_read:,} records have a missing value; none is left to be released"
        )


_REMEDIES = {
    " missing": "drop the records with missing values by missing: drop, or correct them",
    " NaN": "NaN and infinities are values, not missing ones: correct them, store nulls instead, "
    "or name their texts in input.missing_values (CSV)",
    " outside": "name every value of an ordinal column in its order, as the data spell it",
    " noise.values": "name every value that can occur in noise.values",
}


def find_problems(summary: TableSummary, columns: tuple[Column, ...], missing: str) -> list[str]:
    """List the problems that prevent a release, one for each column and kind of value."""
    problems = []
    for column in columns:
        counted = summary.columns.get(column.name, ColumnSummary())
        where = f"column {column.name!r}:"
        if _is_empty(counted, column, summary.n_read, missing):
            problems.append(f"{where} {_describe_empty(column)}")
        elif missing == "error" and counted.n_missing:
            problems.append(f"{where} {count_words(counted.n_missing, 'missing value')}")
        if counted.n_nan or counted.n_infinite:
            problems.append(
                f"{where} {counted.n_nan:,} NaN and {counted.n_infinite:,} infinite values"
            )
        n_outside = _count_outside(counted, column)
        if n_outside:
            problems.append(f"{where} {count_words(n_outside, 'value')} outside its order")
        n_unlisted = _count_unlisted(counted, column)
        if n_unlisted:
            unlisted = count_words(n_unlisted, "value")
            problems.append(f"{where} {unlisted} that its noise.values do not list")
    return problems


def _is_empty(counted: ColumnSummary, column: Column, n_read: int, missing: str) -> bool:
    """Return whether no record has a value where each needs one, or one that is made of others."""
    prepared = column.attribute.preparation
    needed = missing == "error" or (prepared is not None and prepared.imputes is not None)
    return needed and 0 < counted.n_missing == n_read


def _describe_empty(column: Column) -> str:
    prepared = column.attribute.preparation
    reason = ""
    if prepared is not None and prepared.imputes is not None:
        what = "value that a class could take" if prepared.by_class else prepared.imputes
        reason = f", so there is no {what}"
    return f"no record has a value{reason}; leave the column out, as by role identifier"


def _count_outside(counted: ColumnSummary, column: Column) -> int:
    if column.kind is not Kind.ORDINAL:
        return 0
    order = set(column.attribute.order)
    return sum(count for value, count in counted.categories.items() if str(value) not in order)


def _count_unlisted(counted: ColumnSummary, column: Column) -> int:
    """Records whose value the policy does not list, where noise is drawn among listed ones."""
    noise = column.attribute.noise
    if noise is None or not noise.values:
        return 0
    listed = set(to_values(read_listed(noise.values, column.type)))
    return sum(n for value, n in counted.categories.items() if value not in listed)
