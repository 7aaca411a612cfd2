"""The command ``tclose generate``: its options, and what is seen while it writes."""

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.cli.command_parser import add_quiet
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.runtime.monitoring.progress import Progress

_SECONDS_BETWEEN_LINES = 2.0
_RECORDS_PER_STEP = 1_000  # of the bar
_MONTHS = 12

# The options of each table alone; the first has to be given.
_TABLES = {"discharges": ("rows", "returning"), "panel": ("persons", "months", "month", "churn")}


def add_generate_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("--table", choices=tuple(_TABLES), default="discharges",
        help="discharges: hospital discharges (default); panel: insured persons over months, "
        "a file for each month")  # fmt: skip
    add("--rows", type=int, help="of discharges: number of records")
    add("--returning", type=float, metavar="SHARE",
        help="of discharges: about this share is of patients who were there before, after chronic "
        "illness mostly (default 0.35)")  # fmt: skip
    add("--persons", type=int, help="of a panel: number of persons in each month")
    add("--months", type=int, metavar="N", help="of a panel: its first N months (default 12)")
    add("--month", metavar="YYYY-MM", help="of a panel: this month alone")
    add("--churn", type=float, metavar="SHARE",
        help="of a panel: share of the persons that leaves each month, as many join or come back "
        "(default 0.02)")  # fmt: skip
    add("--seed", type=int, default=1, help="same seed, same records (default 1)")
    add("--out", type=Path, required=True,
        help="a .parquet or .csv file, or a folder of Parquet files")  # fmt: skip
    add_quiet(command)


def generate(arguments: argparse.Namespace, progress: "Progress") -> str:
    """Write the records that were asked for; returns what to say of them."""
    table = arguments.table
    for other, options in _TABLES.items():
        for option in options:
            if other != table and getattr(arguments, option) is not None:
                raise UsageError(f"--{option} goes with --table {other}, not with {table}")
    needed = _TABLES[table][0]
    if getattr(arguments, needed) is None:
        raise UsageError(f"--{needed} is missing, the number of records of {table}")
    return _generate_rows(arguments, progress) if table == "discharges" else (
        _generate_months(arguments, progress)
    )  # fmt: skip


def _generate_rows(arguments: argparse.Namespace, progress: "Progress") -> str:
    from tclose.data.synthetic import write_microdata
    from tclose.data.synthetic.patients import DEFAULT_RETURNING

    returning = DEFAULT_RETURNING if arguments.returning is None else arguments.returning
    n_rows, seed = arguments.rows, arguments.seed
    with _following(progress, n_rows) as follow:
        paths = write_microdata(arguments.out, n_rows, seed, returning=returning, progress=follow)
    files = f"{len(paths):,} file{'s' if len(paths) != 1 else ''}"
    return f"{arguments.rows:,} records in {files}: {arguments.out}"


def _generate_months(arguments: argparse.Namespace, progress: "Progress") -> str:
    from tclose.data.synthetic.panel_files import DEFAULT_CHURN, read_month, write_panel

    if arguments.month is not None:
        if arguments.months is not None:
            raise UsageError("--month and --months exclude each other; give one of them")
        first = read_month(arguments.month)
        months = range(first, first + 1)
    else:
        months = range(_MONTHS if arguments.months is None else arguments.months)
    churn = DEFAULT_CHURN if arguments.churn is None else arguments.churn
    persons, seed = arguments.persons, arguments.seed
    with _following(progress, persons * len(months)) as follow:
        write_panel(arguments.out, persons, seed, months, churn=churn, progress=follow)
    n_months = f"{len(months)} month{'s' if len(months) > 1 else ''}"
    return f"{persons:,} persons in each of {n_months}: {arguments.out}"


@contextlib.contextmanager
def _following(progress: "Progress", n_records: int) -> Iterator[Callable[[int], None]]:
    """A function of the records written so far, which shows them."""
    with contextlib.ExitStack() as shown:
        if progress.style == "bar":
            yield _move_bar(progress, n_records, shown)
        else:
            yield _report_now_and_then(progress, n_records)


def _move_bar(
    progress: "Progress", n_rows: int, shown: contextlib.ExitStack
) -> Callable[[int], None]:
    """A function of the records written so far. The bar is there once some are."""
    n_steps = max(n_rows // _RECORDS_PER_STEP, 1)
    n_done = 0
    step: Callable[[], None] | None = None

    def move(n_written: int) -> None:
        nonlocal n_done, step
        if step is None:
            step = shown.enter_context(progress.following("writing thousands of records", n_steps))
        n_reached = n_written * n_steps // n_rows
        for _ in range(n_done, n_reached):
            step()
        n_done = n_reached

    return move


def _report_now_and_then(progress: "Progress", n_rows: int) -> Callable[[int], None]:
    """A function of the records written so far."""
    last_report = time.monotonic()

    def report(n_written: int) -> None:
        nonlocal last_report
        if time.monotonic() - last_report >= _SECONDS_BETWEEN_LINES:
            last_report = time.monotonic()
            progress.info(f"{n_written:,} of {n_rows:,} records written")

    return report
