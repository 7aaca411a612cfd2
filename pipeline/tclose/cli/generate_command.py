"""The command ``tclose generate``: its options, and what is seen while it writes."""

import argparse
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from tclose.cli.options import add_quiet
from tclose.runtime.progress import Progress

_SECONDS_BETWEEN_LINES = 2.0
_RECORDS_PER_STEP = 1_000  # of the bar


def add_generate_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("--rows", type=int, required=True, help="number of records")
    add("--seed", type=int, default=1, help="same seed, same records (default 1)")
    add("--out", type=Path, required=True,
        help="a .parquet or .csv file, or a folder of Parquet files")  # fmt: skip
    add_quiet(command)


def generate(arguments: argparse.Namespace, progress: Progress) -> str:
    """Write the records that were asked for; returns what to say of them."""
    from tclose.data.synthetic import write_microdata

    with contextlib.ExitStack() as shown:
        if progress.style == "bar":
            follow = _move_bar(progress, arguments.rows, shown)
        else:
            follow = _report_now_and_then(progress, arguments.rows)
        paths = write_microdata(arguments.out, arguments.rows, arguments.seed, progress=follow)
    return f"{arguments.rows:,} records in {len(paths)} files: {arguments.out}"


def _move_bar(
    progress: Progress, n_rows: int, shown: contextlib.ExitStack
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


def _report_now_and_then(progress: Progress, n_rows: int) -> Callable[[int], None]:
    """A function of the records written so far."""
    last_report = time.monotonic()

    def report(n_written: int) -> None:
        nonlocal last_report
        if time.monotonic() - last_report >= _SECONDS_BETWEEN_LINES:
            last_report = time.monotonic()
            progress.info(f"{n_written:,} of {n_rows:,} records written")

    return report
