"""Names of columns: in messages one is quoted where the policy lists it, else its position is.

A name that the policy does not list comes from the data. Of a CSV file without a header it is a
record's value.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from tclose.errors import DataError

_MOST_POSITIONS = 5
NO_HEADER = "if it has no line of column names, put one above its records"


def free_name(name: str, taken: Collection[str]) -> str:
    """The name of a column that is put beside others; underscores are added while one has it."""
    while name in taken:
        name += "_"
    return name


def name_positions(indices: Sequence[int], n_columns: int) -> str:
    """Columns by their positions, counted from 1: ``columns 2 and 5 of 9``."""
    shown = [f"{index + 1:,}" for index in indices[:_MOST_POSITIONS]]
    n_more = len(indices) - len(shown)
    last = f"{n_more:,} more" if n_more else shown.pop()
    listed = f"{', '.join(shown)} and {last}" if shown else last
    return f"column{'s' if len(indices) > 1 else ''} {listed} of {n_columns:,}"


def check_distinct_names(names: Sequence[str], file: str, *, is_csv: bool = True) -> None:
    """Refuse columns of one name, whose roles a policy could not tell apart.

    ``is_csv``: the first line has the names, or is a record's where somebody left them out.

    Raises
    ------
    DataError
    """
    repeated = {name for name, n_times in Counter(names).items() if n_times > 1}
    if not repeated:
        return
    first = next(name for name in names if name in repeated)
    alike = [index for index, name in enumerate(names) if name == first]
    where = f"file {file}: {name_positions(alike, len(names))}"
    if not is_csv:
        raise DataError(f"{where} have the same name; rename them")
    raise DataError(f"{where} have the same name; rename them, or {NO_HEADER}")


def compare_names(
    names: Sequence[str],
    others: Sequence[str],
    files: tuple[str, str],
    listed: Collection[str],
    *,
    is_csv: bool = True,
) -> None:
    """Refuse two files whose columns differ.

    Parameters
    ----------
    names, others : columns of the first and of the second file
    listed : names that the policy lists; none where there is no policy yet

    Raises
    ------
    DataError
    """
    firsts, seconds = set(names), set(others)
    if firsts == seconds:
        return
    pair = f"files {files[0]} and {files[1]}"
    for file, other, has, lacks in (
        (files[0], files[1], firsts, seconds),
        (files[1], files[0], seconds, firsts),
    ):
        lost = [name for name in listed if name in has and name not in lacks]
        if lost:
            what = _name_lost(lost, file)
            has_header = not is_csv or lacks.intersection(listed)
            remedy = "" if has_header else f"; look at {other}: {NO_HEADER}"
            raise DataError(f"{pair}: {what}; make them alike{remedy}")
    both = firsts & seconds
    own, file = (others, files[1]) if seconds - firsts else (names, files[0])
    extra = [index for index, name in enumerate(own) if name not in both]
    which = ", which the policy does not list," if listed else ""
    remedy = f"; look at both: {NO_HEADER}" if is_csv and not both else ""
    raise DataError(
        f"{pair}: {name_positions(extra, len(own))} in {file}{which} "
        f"{'are' if extra[1:] else 'is'} not in the other; make them alike{remedy}"
    )


def _name_lost(lost: Sequence[str], file: str) -> str:
    """Say which of the policy's columns only one of two files has."""
    if len(lost) == 1:
        return f"column {lost[0]!r} is in {file} only"
    return f"column {lost[0]!r} and {len(lost) - 1:,} more that the policy lists are in {file} only"
