"""Tasks that are cut by values: the cuts change nothing, and what has changed is found."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from support.cases.discharge_policies import discharge_policy, write_discharges
from support.passes import BEFORE_VERIFY, run_passes
from tclose.data.value_counts import ValueCounts, count_values
from tclose.errors import TaskError, VerificationError
from tclose.passes import release
from tclose.passes.release import open_release
from tclose.passes.verify import key_range_task, verdict
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Run

pytestmark = pytest.mark.usefixtures("small_regions")

ROWS = 15_000
OFF = {"refine": "off"}
Tamper = Callable[[ValueCounts], ValueCounts]


@pytest.fixture(scope="module")
def discharges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough of them for several regions."""
    return write_discharges(tmp_path_factory.mktemp("input") / "discharges.parquet", ROWS)


@pytest.fixture
def classes(discharges: Path, tmp_path: Path) -> Iterator[Run]:
    """A run up to its verification."""
    policy = discharge_policy(discharges, tmp_path / "out", method=OFF)
    progress = Progress("none")
    with open_release(policy, progress) as run:
        run_passes(run, progress, *BEFORE_VERIFY)
        yield run
        if not run.is_published:
            run_passes(run, progress, "publish")


@pytest.mark.parametrize("n_values", [1_000, 7_777, 10**6])
def test_values_are_compared_wherever_they_are_cut(n_values, classes, sizes):
    sizes.ranges(values=n_values)
    run_passes(classes, Progress("none"), "verify")
    assert classes.workspace.load(verdict.VERDICT).passed


def one_more(place: int) -> Tamper:
    """Another count of the value there."""

    def tamper(counted: ValueCounts) -> ValueCounts:
        counts = counted.counts.copy()
        counts[place] += 1
        return ValueCounts(counted.values, counts)

    return tamper


def left_out(place: int) -> Tamper:
    """The value there is not counted at all."""
    return lambda counted: ValueCounts(
        np.delete(counted.values, place),  # type: ignore[arg-type]
        np.delete(counted.counts, place),
    )


def unknown(counted: ValueCounts) -> ValueCounts:
    """A value that the table does not have."""
    more = np.append(counted.values, np.int64(10**7)), np.append(counted.counts, np.int64(1))
    return ValueCounts(*more)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_values", [1_000, 10**6])
@pytest.mark.parametrize("tamper", [one_more(0), one_more(-1), left_out(0), left_out(-1), unknown])
def test_values_that_changed_are_found(tamper, n_values, discharges, tmp_path, sizes, monkeypatch):
    sizes.ranges(values=n_values)
    changed: list[bool] = []

    def count_wrongly(codes):
        counted = count_values(codes)
        if changed:
            return counted
        changed.append(True)
        return tamper(counted)

    monkeypatch.setattr(key_range_task, "count_values", count_wrongly)
    policy = discharge_policy(discharges, tmp_path / "out", method=OFF)
    message = "1 value with another count" if tamper is not unknown else "stopped by IndexError"
    with pytest.raises((VerificationError, TaskError), match=message):
        release.run_release(policy, Progress("none"))
    assert changed
    assert not list((tmp_path / "out").rglob("*.parquet"))
