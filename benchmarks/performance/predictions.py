"""What `tclose plan` says that a release takes, beside what it took.

``python -m benchmarks.performance.predictions [--folder DATA] [--only TABLE ...] [--out PAGE]``

Each table is planned, with the trial that `plan` makes by default, and released by `tclose run` in
a process of its own. Seconds of passes, and the memory of workers, are those of the run's profile.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.performance.measure import measure
from benchmarks.performance.predicted_tables import FURTHER, TARGETS, Target
from benchmarks.performance.run import working_folder
from benchmarks.results import describe_call, render_table, say, show_section
from tclose.api.warm_up import warm_up
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.passes.plan.notices.costs.calibration import FILE, kernel_folder
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.plan_document import CostEstimate
from tclose.runtime.monitoring.progress import Progress

TITLE = "Predictions: what plan says that a release takes"
NEAR = 0.25
SHORT_SECONDS = 0.3  # passes below, predicted and measured, are shown and not judged
WATCH_SECONDS = 0.05
BLOCK = 512  # bytes that the system counts files' room by
WHOLE = ("seconds", "disk MB", "MB per worker")
COLUMNS = ("table", "records", "asked", *(f"{what}: predicted / measured" for what in WHOLE))
PASSES = ("summarise", "plan", "encode", "microaggregate", "verify", "publish")


@dataclass(frozen=True)
class Figure:
    """A figure that was predicted, and what it came to."""

    predicted: float
    measured: float

    @property
    def is_near(self) -> bool:
        """True if the prediction is within a quarter of what was measured."""
        return abs(self.predicted - self.measured) <= NEAR * self.measured

    @property
    def is_short(self) -> bool:
        """True for seconds that nobody waits for."""
        return max(self.predicted, self.measured) < SHORT_SECONDS

    def cell(self, digits: int, *, may_be_short: bool = False) -> str:
        """Both figures; what is farther apart than a quarter is in bold."""
        text = f"{self.predicted:,.{digits}f} / {self.measured:,.{digits}f}"
        return text if self.is_near or (may_be_short and self.is_short) else f"**{text}**"


@dataclass(frozen=True)
class Prediction:
    """The figures of a table: of the whole run, by `WHOLE`; of each pass's seconds."""

    target: Target
    n_records: int
    whole: tuple[Figure, ...]
    passes: dict[str, Figure]

    @property
    def cells(self) -> list[str]:
        """A row of `COLUMNS`."""
        whole = [f.cell(d) for f, d in zip(self.whole, (1, 0, 0), strict=True)]
        return [self.target.name, f"{self.n_records:,}", self.target.asked, *whole]

    @property
    def pass_cells(self) -> list[str]:
        """A row of the passes."""
        of_passes = (self.passes[name].cell(2, may_be_short=True) for name in PASSES)
        return [self.target.name, *of_passes]


def main() -> None:
    """Plan and release every table, and print what was predicted."""
    given = _parse()
    asked = [t for t in (*TARGETS, *FURTHER) if t.name in given.only] if given.only else TARGETS
    with working_folder(given.folder) as folder:
        _forget_calibration()
        warm_up(Progress("none"))  # so that nothing is compiled, and the machine is calibrated
        predictions = list(_predict_all(asked, folder, given.repeats))
    body = render(predictions, describe_call("benchmarks.performance.predictions"))
    show_section(TITLE, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare what plans say with what runs take.")
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    parser.add_argument("--only", nargs="+", default=[], help="names of tables")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each; medians are given")
    parser.add_argument("--out", type=Path, help="write the tables into this page, too")
    return parser.parse_args()


def _forget_calibration() -> None:
    """Have the machine calibrated as it is now."""
    folder = kernel_folder()
    if folder is not None:
        (folder / FILE).unlink(missing_ok=True)


def _predict_all(asked: Sequence[Target], folder: Path, repeats: int) -> Iterator[Prediction]:
    for target in asked:
        try:
            path = target.write(folder)
        except FileNotFoundError as error:
            say(f"left out: {target.name}: {error}")
            continue
        say(f"measuring: {target.name}")
        yield predict(target, path, folder, repeats)


def predict(target: Target, path: Path, folder: Path, repeats: int = 1) -> Prediction:
    """Plan a table's release, and make it."""
    document = target.policy(path, folder / "predicted-releases")
    planned, estimate, _ = plan_ahead(parse_policy(document), Progress("none"))
    runs = [_release(document, folder) for _ in range(repeats)]
    taken = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return compare(target, planned.records, estimate, taken)


def compare(
    target: Target, n_records: int, estimate: CostEstimate, taken: dict[str, float]
) -> Prediction:
    """Pair what was predicted with what was taken."""
    predicted = (estimate.seconds, estimate.disk_megabytes or 0.0, estimate.megabytes)
    pairs = zip(predicted, (taken[what] for what in WHOLE), strict=True)
    steps = {step.name: step.seconds for step in estimate.steps}
    passes = {name: Figure(steps[name], taken[name]) for name in PASSES}
    return Prediction(target, n_records, tuple(Figure(*pair) for pair in pairs), passes)


def _release(document: dict[str, Any], folder: Path) -> dict[str, float]:
    """Make a release by the command; returns seconds of all and of passes, and megabytes."""
    place, profile, policy = (folder / name for name in ("predicted-releases", "profile", "p.yaml"))
    shutil.rmtree(place, ignore_errors=True)
    policy.write_text(yaml.safe_dump(document), encoding="utf-8")
    command = [sys.executable, "-m", "tclose", "run", str(policy), "--quiet", "--profile"]
    with DiskWatcher(place) as disk:
        measured = measure([*command, str(profile)])
    shutil.rmtree(place, ignore_errors=True)
    found = json.loads((profile / "profile.json").read_text())
    seconds = {one["pass"]: one["seconds"] for one in found["passes"]}
    held = max(found["peak_bytes"].values()) / 1e6
    whole = dict(zip(WHOLE, (measured.seconds, disk.megabytes, held), strict=True))
    return whole | {name: seconds[name] for name in PASSES}


class DiskWatcher:
    """Watches the most bytes that files of a folder, working files among them, take on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.megabytes, self._ended = folder, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "DiskWatcher":
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look a last time."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        is_last = False
        while True:
            self.megabytes = max(self.megabytes, size_on_disk(self.folder) / 1e6)
            if is_last:
                return
            is_last = self._ended.wait(WATCH_SECONDS)


def size_on_disk(folder: Path) -> int:
    """Bytes of blocks that the files of a folder take."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # it went meanwhile
                total += Path(parent, name).lstat().st_blocks * BLOCK
    return total


def render(predictions: Sequence[Prediction], how: str) -> str:
    """The section of the page: what it is, both tables, and how many figures are near."""
    note = (
        f"{how}. Predicted by `tclose plan` / measured; farther apart than "
        f"{NEAR:.0%} in bold. Seconds are wall time, of `tclose run --profile` as a process; "
        "disk is what working files and the release take where they are most; memory is the most "
        "that a worker's process ever held (`VmHWM`). Kernels are compiled, and the machine is "
        f"calibrated. Passes below {SHORT_SECONDS:g} s are not judged."
    )
    judged = count_near(predictions)
    counts = [[what, f"{near} of {n}"] for what, (near, n) in judged.items()]
    return "\n\n".join(
        (
            note,
            render_table(COLUMNS, [one.cells for one in predictions]),
            "Seconds of each pass: predicted / measured.",
            render_table(("table", *PASSES), [one.pass_cells for one in predictions]),
            render_table(("figure", f"within {NEAR:.0%}"), counts),
        )
    )


def count_near(predictions: Sequence[Prediction]) -> dict[str, tuple[int, int]]:
    """How many of the figures of each kind are near, and of how many."""
    figures = {what: [one.whole[i] for one in predictions] for i, what in enumerate(WHOLE)}
    passes = [f for one in predictions for f in one.passes.values() if not f.is_short]
    figures["seconds of a pass"] = passes
    return {what: (sum(f.is_near for f in of), len(of)) for what, of in figures.items()}


if __name__ == "__main__":
    main()
