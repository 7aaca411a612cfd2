"""What a month of a held series takes beside a release of the same month by itself.

``python -m benchmarks.series.series_scale [--persons N] [--months N] [--added SHARE] [--refine HOW]
[--workers N] [--alone MONTHS] [--folder DATA] [--out RESULTS.md]``

Seconds and memory of ``tclose run``, start-up included, and the bytes of the register. The months
are those of a generated panel, or with ``--added 0.01`` a table that so many rows are added to each
month, and nothing else. A compiled kernel is compiled before anything is measured.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.performance.measure import Measured, measure
from benchmarks.performance.run import working_folder
from benchmarks.results import (
    Target,
    describe_call,
    render_table,
    render_targets,
    say,
    show_section,
)
from benchmarks.series.held_series import describe_policy
from tclose.data.synthetic.panel_files import write_panel
from tclose.releases.repository.contents import read_internal
from tclose.releases.signatures.seals import REGISTER_FILE

OVER_TIME = {"k": 5, "t": 0.1, "window": 12, "departures": "report"}
COLUMNS = (
    *("month", "records", "left out", "united", "seconds", "independent", "times", "MB, largest"),
    *("independent", "times", "MB, all", "independent", "register: MB"),
)
MOST_TIMES, MOST_SHARE = 1.3, 0.25
WARMING_PERSONS = 2_000


def write_months(folder: Path, persons: int, months: int, added: float | None) -> list[Path]:
    """Write the months of a panel, or of a table that rows are added to."""
    if added is None:
        return write_panel(folder / "panel", persons, 1, range(months))
    sizes = [round(persons * (1 + added) ** month) for month in range(months)]
    [whole] = write_panel(folder / "panel", sizes[-1], 1, range(1))
    table = pq.read_table(whole)
    files = [folder / f"added-{month:02}.parquet" for month in range(months)]
    for file, size in zip(files, sizes, strict=True):
        pq.write_table(table.slice(0, size), file)
    return files


def run_month(
    file: Path, output: Path, given: argparse.Namespace, over_time: dict[str, Any] | None
) -> tuple[Measured, Path]:
    """Release a month by the command; what it took, and where the release is."""
    document = describe_policy(file, output, over_time)
    document["method"] = {"refine": given.refine}
    document["engine"] = {"workers": given.workers}
    policy = output.with_suffix(".yaml")
    policy.write_text(json.dumps(document), encoding="utf-8")
    took = measure([sys.executable, "-m", "tclose", "run", str(policy), "--quiet"])
    place = output / document["name"]
    return took, place / (place / "CURRENT").read_text().strip()


def measure_months(
    files: list[Path], folder: Path, given: argparse.Namespace
) -> Iterator[tuple[list[str], list[float], float]]:
    """The row of each month, its times an independent run's, and the seconds of the held one."""
    for number, file in enumerate(files, 1):
        say(f"measuring: month {number}")
        held, place = run_month(file, folder / "held", given, OVER_TIME)
        alone = None
        if number <= given.alone:
            alone, _ = run_month(file, folder / f"alone-{number}", given, None)
        inside = read_internal(place)
        assert inside is not None
        assert inside.over_time is not None
        times = [] if alone is None else [
            held.seconds / alone.seconds, held.largest_megabytes / alone.largest_megabytes
        ]  # fmt: skip
        said = [f"{one:.2f}" for one in times] or ["-", "-"]
        beside = (
            ["-"] * 3
            if alone is None
            else [
                f"{alone.seconds:.1f}", f"{alone.largest_megabytes:.0f}", f"{alone.megabytes:.0f}"
            ]
        )  # fmt: skip
        register = (place / "internal" / REGISTER_FILE).stat().st_size
        row = [
            *(str(number), f"{inside.records:,}", f"{inside.over_time.left_out:,}"),
            f"{inside.over_time.cells - inside.classes.n_classes:,}",
            *(f"{held.seconds:.1f}", beside[0], said[0]),
            *(f"{held.largest_megabytes:.0f}", beside[1], said[1]),
            *(f"{held.megabytes:.0f}", beside[2], f"{register / 1e6:.1f}"),
        ]
        say("| " + " | ".join(row) + " |")
        yield row, times, held.seconds


def parse() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--added", type=float, help="rows are only added, this share each month")
    parser.add_argument("--refine", default="fast")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--alone", type=int, help="months that are released by themselves as well")
    parser.add_argument("--folder", type=Path, help="keep the data here")
    parser.add_argument("--out", type=Path, help="write the table into this page, too")
    given = parser.parse_args()
    given.alone = given.months if given.alone is None else given.alone
    return given


def main() -> None:
    """Measure, and print the table or write it to a page."""
    given = parse()
    with working_folder(given.folder) as folder:
        warming = folder / "warming"
        warming.mkdir(parents=True)
        for number, file in enumerate(write_months(warming, WARMING_PERSONS, 2, None)):
            run_month(file, warming / "held", given, OVER_TIME)
            run_month(file, warming / f"alone-{number}", given, None)
        files = write_months(folder, given.persons, given.months, given.added)
        rows, times, seconds = zip(*measure_months(files, folder, given), strict=True)
    targets = []
    measured = [one for one in times[1:] if one]
    for index, what in enumerate(("seconds", "memory of the largest process")):
        found = max((one[index] for one in measured), default=None)
        asked = f"a later month's {what}, in times an independent release's"
        targets.append(Target(asked, MOST_TIMES, found))
    if given.added is not None and len(seconds) > 1:
        what = "seconds of a month of added rows, as a share of the first month's"
        targets.append(Target(what, MOST_SHARE, max(seconds[1:]) / seconds[0]))
    kind = "a panel" if given.added is None else f"a table with {given.added:.0%} added rows"
    title = f"Series at scale: {given.persons:,} persons, {kind}, refine: {given.refine}"
    call = describe_call("benchmarks.series.series_scale")
    how = f"{call}."
    body = "\n\n".join([how, render_table(COLUMNS, rows), render_targets(targets)])
    show_section(title, body, given.out)


if __name__ == "__main__":
    main()
