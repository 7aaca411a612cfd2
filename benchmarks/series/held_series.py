"""What it costs to hold the releases of a series together: loss, records left out, by month.

``python -m benchmarks.series.held_series [--persons N] [--months N] [--k N] [--t T] [--churn C]
[--departures HOW] [--out RESULTS.md]``

A generated panel (2 % leave and 2 % join a month) with one confidential value that lasts, the
income. Each month is released twice: held together with the months before, and by itself. The
releases are held to k 5 and t 0.1; cells to ``--k`` and ``--t``. A second table says whose the loss
is (`benchmarks.series.held_parts`).
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.results import describe_call, say, show_section
from benchmarks.series.held_parts import (
    PERSON,
    Followed,
    Shares,
    add_earlier,
    read_rows,
    render_parts,
    share_parts,
)
from tclose.data.synthetic.panel_files import write_panel
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.internal_manifest import InternalManifest
from tclose.releases.repository.repository import read_internal
from tclose.runtime.monitoring.progress import Progress

K, T = 5, 0.1  # of releases by themselves
RELATIVE, ABSOLUTE = "relative", "absolute"  # losses in shares of one class, or by eq. (5)
# Modes, which releases that are held over time have, also of the releases beside them.
MODE = {"role": "quasi-identifier", "aggregate": "mode"}
QUASI: dict[str, Any] = {
    "age": "quasi-identifier",
    "sex": MODE,
    "zip": {"role": "quasi-identifier", "aggregate": "median"},
    "insurer": MODE,
    "tariff": MODE,
    "member_since": {"role": "quasi-identifier", "aggregate": "median"},
}
HEAD = (
    "| month | loss | in times an independent release's | the same of the sums of shares | "
    "smallest cell | largest cell distance | left out | held | left | "
    "of these found by subtraction | seconds | independent: seconds |"
)


@dataclass(frozen=True)
class HeldMonth:
    """A month's release beside an independent one of the same records.

    ``in_shares``: what is lost of all quasi-identifiers, in times the independent release's, each
    in shares of what one class loses.
    """

    loss: float
    independent: float
    in_shares: float
    smallest: int
    largest: float
    n_records: int
    left_out: int
    stale: int
    leavers: int
    exposed: int
    seconds: tuple[float, float]
    release: Path

    @property
    def ratio(self) -> float:
        """Loss in times the independent release's."""
        return self.loss / self.independent


def treat_departures(how: str) -> dict[str, Any]:
    """The keys of a way to treat departures; of records that are held as many as may be at all."""
    return {"departures": how} | ({"hold": {"at_most": "50%"}} if how == "hold" else {})


def describe_policy(
    file: Path,
    output: Path,
    over_time: dict[str, Any] | None,
    attributes: dict[str, Any] | None = None,
    losses: str = RELATIVE,
) -> dict[str, Any]:
    """A policy for a month, held together with others or by itself; of a panel by default."""
    privacy: dict[str, Any] = {"k": K, "t": T}
    name = "alone" if over_time is None else "held"
    if over_time is not None:
        privacy["over_time"] = over_time
    return {
        "name": name,
        "input": {"path": str(file)},
        "unlisted": "drop",
        "attributes": attributes or {PERSON: "person", **QUASI, "income": "confidential"},
        "privacy": privacy,
        "method": {"losses": losses},
        "output": {"path": str(output)},
    }


def release_month(
    file: Path,
    output: Path,
    over_time: dict[str, Any] | None,
    attributes: dict[str, Any] | None = None,
    losses: str = RELATIVE,
) -> tuple[Path, InternalManifest]:
    """Release a month in this process; where it is, and its internal manifest."""
    policy = parse_policy(describe_policy(file, output, over_time, attributes, losses))
    place = run_release(policy, Progress("none")).release
    inside = read_internal(place)
    assert inside is not None
    return Path(str(place)), inside


def measure_month(
    file: Path, output: Path, over_time: dict[str, Any], attributes: dict[str, Any] | None = None
) -> HeldMonth:
    """Release a month both ways."""
    manifests, seconds, places = [], [], []
    for asked in (over_time, None):
        start = time.perf_counter()
        place, inside = release_month(file, output / str(asked is None), asked, attributes)
        seconds.append(time.perf_counter() - start)
        manifests.append(inside)
        places.append(place)
    held, alone = manifests
    series = held.over_time
    assert series is not None
    return HeldMonth(
        loss=held.information_loss.total,
        independent=alone.information_loss.total,
        in_shares=lose_in_shares(held) / lose_in_shares(alone),
        smallest=series.smallest_cell,
        largest=max(series.largest_emd.values()),
        n_records=held.records,
        left_out=series.left_out,
        stale=series.stale,
        leavers=series.leavers,
        exposed=series.leavers_exposed,
        seconds=(seconds[0], seconds[1]),
        release=places[0],
    )


def lose_in_shares(inside: InternalManifest) -> float:
    """Return the mean loss of the quasi-identifiers, each in shares of what one class loses."""
    exact = inside.exact_information_loss
    assert exact is not None
    return sum(exact.of_one_class.values()) / len(exact.per_attribute)


def measure_each_alone(files: Sequence[Path], output: Path, losses: str = RELATIVE) -> list[float]:
    """The losses of months that are released by themselves: in shares, or by eq. (5)."""
    found = []
    for file in files:
        say(f"measuring: {file.stem} by itself")
        inside = release_month(file, output / file.stem, None, losses=losses)[1]
        is_relative = losses == RELATIVE
        found.append(lose_in_shares(inside) if is_relative else inside.information_loss.total)
    return found


def render_months(months: list[HeldMonth]) -> str:
    """The months as a table, and their means."""
    rows = [
        f"| {number} | {m.loss:.4f} | {m.ratio:.2f} | {m.in_shares:.2f} | "
        f"{m.smallest} | {m.largest:.4f} | "
        f"{m.left_out:,} ({m.left_out / (m.n_records + m.left_out):.2%}) | "
        f"{m.stale:,} ({m.stale / m.n_records:.2%}) | {m.leavers:,} | "
        f"{m.exposed:,} | {m.seconds[0]:.1f} | {m.seconds[1]:.1f} |"
        for number, m in enumerate(months, 1)
    ]
    mean = sum(m.ratio for m in months) / len(months)
    left_out = sum(m.left_out for m in months)
    share = left_out / sum(m.n_records + m.left_out for m in months)
    in_shares = sum(m.in_shares for m in months) / len(months)
    last = (
        f"Mean: {mean:.2f} times the loss, {in_shares:.2f} times the sum of shares; "
        f"{left_out:,} records ({share:.2%}) left out."
    )
    return "\n".join([HEAD, "|---|" + "---:|" * 11, *rows, "", last])


def measure_series(arguments: argparse.Namespace, folder: Path) -> str:
    """Release all months, and say what they lost, left out, and why."""
    over_time = {
        "k": arguments.k,
        "t": arguments.t,
        "window": arguments.months,
        **treat_departures(arguments.departures),
    }
    files = write_panel(
        folder / "panel", arguments.persons, 1, range(arguments.months), churn=arguments.churn
    )
    followed, measured, shares, known = Followed(), [], [], None
    for month, file in enumerate(files):
        table = pq.read_table(file)
        known = add_earlier(table, known)
        measured.append(measure_month(file, folder, over_time))
        rows = read_rows(measured[-1].release, known)
        part, back = followed.follow(month, rows, table)
        shares.append(Shares(*share_parts(rows, part, measured[-1].independent), back))
        print(render_months(measured).splitlines()[-3], flush=True)
        print(render_parts(shares).splitlines()[-1], flush=True)
    return f"{render_months(measured)}\n\n{render_parts(shares)}"


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=50_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--t", type=float, default=0.1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--churn", type=float, default=0.02)
    parser.add_argument("--departures", default="report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = measure_series(arguments, Path(folder))
    title = (
        f"Series: {arguments.persons:,} persons, {arguments.months} months, cells of "
        f"{arguments.k} persons within {arguments.t:g}, departures: {arguments.departures}"
    )
    call = describe_call("benchmarks.series.held_series")
    show_section(title, f"{call}.\n\n{tables}", arguments.out)


if __name__ == "__main__":
    main()
