"""The files of the generated panel: one for each month; written completely or not at all."""

from collections.abc import Callable
from pathlib import Path

from tclose.data.synthetic.panel import (
    FIRST_MONTH,
    N_MONTHS,
    PANEL_SCHEMA,
    SEATS_AT_ONCE,
    generate_panel,
    refuse_panel,
)
from tclose.data.synthetic.writing import FILE_SUFFIXES, open_writer, writing_whole
from tclose.errors import UsageError

DEFAULT_CHURN = 0.02

_REPETITIVE = [name for name in PANEL_SCHEMA.names if name not in ("person_id", "cost")]


def write_panel(
    path: Path,
    n_persons: int,
    seed: int,
    months: range,
    *,
    churn: float = DEFAULT_CHURN,
    progress: Callable[[int], None] | None = None,
) -> list[Path]:
    """Write the months of a panel and return the files written, in their order.

    A ``path`` ending in ``.parquet`` or ``.csv`` becomes the file of one month; any other becomes a
    folder of ``2024-01.parquet``, ... Nothing bears the name ``path`` until all is written.
    ``progress`` gets the number of records written so far. Leaves nothing behind where it fails.

    Raises
    ------
    UsageError
        A number is out of range, or several months are to be one file.
    OutputError
        ``path`` holds something already, or cannot be written.
    """
    suffix = path.suffix.lower()
    if not months:
        raise UsageError("the number of months is 0; it must be at least 1")
    for month in (months[0], months[-1]):
        refuse_panel(month, 0, n_persons, seed, churn)
    if suffix in FILE_SUFFIXES and len(months) > 1:
        raise UsageError(f"{path} is one file, and {len(months)} months are asked; name a folder")
    names = [""] if suffix in FILE_SUFFIXES else [f"{name_month(m)}.parquet" for m in months]
    with writing_whole(path) as working:
        if suffix not in FILE_SUFFIXES:
            working.mkdir()
        for index, (month, name) in enumerate(zip(months, names, strict=True)):
            with open_writer(working / name, suffix, PANEL_SCHEMA, _REPETITIVE) as writer:
                for first in range(0, n_persons, SEATS_AT_ONCE):
                    n_now = min(SEATS_AT_ONCE, n_persons - first)
                    writer.write_table(generate_panel(month, first, n_now, seed, churn))
                    if progress is not None:
                        progress(index * n_persons + first + n_now)
    return [path / name for name in names]


def name_month(month: int) -> str:
    """A month as in 2024-01."""
    return str(FIRST_MONTH + month)


def read_month(text: str) -> int:
    """Return the number of a month as in 2024-01, from 0.

    Raises
    ------
    UsageError
        It is none, or none of the panel's.
    """
    by_name = {name_month(month): month for month in range(N_MONTHS)}
    if text not in by_name:
        raise UsageError(
            f"--month {text}: has to be a month as in {name_month(0)}, "
            f"{name_month(N_MONTHS - 1)} at most"
        )
    return by_name[text]
