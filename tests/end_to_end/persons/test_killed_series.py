"""Series whose runs are killed, come in any order, are rolled back or pruned."""

import random
import shutil
import signal
import time
from itertools import permutations
from pathlib import Path

import pytest

from support.cases.people import Released, release, tree, write_policy
from support.cases.series_months import SeriesMonths
from support.faults.started_modules import start
from support.length import count, every
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.assess.rollback import roll_back
from tclose.releases.catalog.catalog import list_releases
from tclose.releases.catalog.prune import prune
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.series.series_history import list_series

pytestmark = pytest.mark.usefixtures("small_regions")

POINTS = [
    "after:commit",
    "before:commit",
    "after:set_current",
    "during:link",
    "before:publish",
    "before:microaggregate",
    "before:verify",
]
N_KILLS = 25


def find_findings(place: SeriesMonths) -> list[str]:
    """Return the findings of audits of all releases, alone and together."""
    releases = list_series(place.folder / "releases", "panel")
    return [f for one in releases for f in add_series(audit_release(one.place)).findings]


def run_to_end(policy: Path) -> None:
    """Run a policy as a command; it publishes, or finds its release published."""
    process = start("tclose", "run", policy, "--quiet")
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()


def assert_same(place: SeriesMonths, made: Released) -> None:
    """The release, and its register, are those of an undisturbed run; nothing else is left."""
    [last] = place.publish(2)
    assert last.folder.name == made.folder.name
    assert last.data == made.data
    register = Path("internal") / "register.parquet"
    assert (last.folder / register).read_bytes() == (made.folder / register).read_bytes()
    assert last.internal["over_time"] == made.internal["over_time"]
    assert find_findings(place) == []
    left = {path.name for path in last.folder.parent.iterdir()}
    assert left == {"CURRENT", ".lock", last.folder.name}


@pytest.fixture
def unfinished(copied: SeriesMonths) -> SeriesMonths:
    """The series without its third release."""
    shutil.rmtree(copied.folder / "releases" / "panel-2")
    return copied


@pytest.mark.parametrize("point", every(4, POINTS))
def test_killed_run_of_a_series(unfinished: SeriesMonths, made: list[Released], point: str) -> None:
    """Killed before, between and after its last steps, it counts as published or not at all."""
    policy = write_policy(unfinished.folder / "policy.yaml", unfinished.policy(2))
    ended = start("support.faults.killed_run", policy, point)
    _, errors = ended.communicate(timeout=300)
    assert ended.returncode == -signal.SIGKILL, errors.decode()
    numbers = [one.entry.number for one in list_series(unfinished.folder / "releases", "panel")]
    is_there = point in ("after:commit", "after:set_current")
    assert numbers == [1, 2, 3][: 2 + is_there]
    assert find_findings(unfinished) == []
    assert_same(unfinished, made[2])


def test_next_month_after_a_kill_between_the_last_steps(
    copied: SeriesMonths, made: list[Released], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that CURRENT does not name yet was handed out all the same."""
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseRepository, "set_current", _stop)
        with pytest.raises(KeyboardInterrupt):
            copied.publish(3)
    assert not (copied.folder / "releases" / "panel-3" / "CURRENT").exists()
    later = release(copied.policy(0) | {"name": "later"})
    assert later.internal["over_time"]["number"] == 5
    assert later.internal["over_time"]["releases"][-1].startswith("panel-3/")
    [again] = copied.publish(3)
    assert again.internal["over_time"]["number"] == 4
    assert (again.folder.parent / "CURRENT").read_text().strip() == again.folder.name
    assert find_findings(copied) == []


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_killed_at_drawn_moments(unfinished: SeriesMonths, made: list[Released]) -> None:
    policy = write_policy(unfinished.folder / "policy.yaml", unfinished.policy(2))
    root, rng = unfinished.folder / "releases", random.Random(20_261_123)
    begun = time.monotonic()
    run_to_end(policy)
    seconds = time.monotonic() - begun
    for _ in range(N_KILLS):
        shutil.rmtree(root / "panel-2")
        for _ in range(rng.choice([1, 1, 2])):
            process = start("tclose", "run", policy, "--quiet")
            time.sleep(rng.uniform(0, seconds))
            process.kill()
            process.communicate(timeout=300)
            assert find_findings(unfinished) == []
        run_to_end(policy)
        numbers = [one.entry.number for one in list_series(root, "panel")]
        assert numbers == [1, 2, 3]
        assert_same(unfinished, made[2])


@pytest.mark.parametrize(
    "order", [(1, 0, 2), *(pytest.param(o, marks=pytest.mark.nightly) for o in
                          list(permutations(range(4)))[: count(0, 24)])]
)  # fmt: skip
def test_backfill_in_any_order(
    months: SeriesMonths, tmp_path: Path, order: tuple[int, ...]
) -> None:
    """Releases count in the order of their publication, whichever months they are of."""
    place = SeriesMonths(tmp_path, months.files)
    made = place.publish(*order)
    for number, one in enumerate(made, 1):
        said = one.internal["over_time"]
        assert (said["number"], len(said["releases"])) == (number, number - 1)
        assert said["smallest_cell"] >= 3
    assert find_findings(place) == []


@pytest.mark.nightly
def test_rollback_un_publishes_nothing(months: SeriesMonths, tmp_path: Path) -> None:
    place = SeriesMonths(tmp_path, months.files)
    documents = [place.policy(month, window=2) | {"name": "panel"} for month in range(4)]
    first = release(documents[0])
    time.sleep(1)  # releases are dated by the second
    second = release(documents[1])
    repository = ReleaseRepository(tmp_path / "releases", "panel")
    before = tree(tmp_path)
    assert roll_back(repository).current == first.folder.name
    after = tree(tmp_path)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"releases/panel/CURRENT", "releases/panel/.journal.jsonl"}
    time.sleep(1)
    third = release(documents[2])
    said = third.internal["over_time"]
    assert (said["number"], said["releases"]) == (3, [f"panel/{second.folder.name}"])
    assert find_findings(place) == []
    pruned = prune(repository, 1)
    assert pruned.removed == (first.folder.name,)
    listed = [entry.release_id for entry in list_releases(repository)]
    assert listed == [second.folder.name, third.folder.name]
    assert add_series(audit_release(third.folder)).findings == []
    fourth = release(documents[3])
    assert fourth.internal["over_time"]["releases"] == [f"panel/{third.folder.name}"]
    assert add_series(audit_release(fourth.folder)).findings == []
