"""Records of persons who left, where months are backfilled, releases pruned, or rolled back."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release
from support.cases.series_months import K, SeriesMonths, T, read_registered
from support.naive.naive_holding import choose_held, find_cells, holds
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.assess.rollback import roll_back
from tclose.releases.catalog.prune import plan_pruning, prune
from tclose.releases.repository.repository import ReleaseRepository

pytestmark = pytest.mark.usefixtures("small_regions")
NAME = "panel"


def hold(place: SeriesMonths, *months: int, window: int = 12) -> list[Released]:
    """Publish months under one name, without the column that says whose a row is."""
    made = []
    for month in months:
        document = place.policy(month, departures="hold", window=window) | {"name": NAME}
        del document["series"], document["attributes"]["tag"]
        made.append(release(document))
    return made


@pytest.fixture(scope="module")
def begun(months: SeriesMonths, tmp_path_factory: pytest.TempPathFactory) -> SeriesMonths:
    """Two months."""
    place = SeriesMonths(tmp_path_factory.mktemp("held"), months.files)
    hold(place, 0, 1)
    return place


def copy(place: SeriesMonths, folder: Path) -> SeriesMonths:
    shutil.copytree(place.folder / "releases", folder / "releases")
    return SeriesMonths(folder, place.files)


def repository_of(place: SeriesMonths) -> ReleaseRepository:
    return ReleaseRepository(place.folder / "releases", NAME)


def read_stale(made: Released) -> tuple[Any, ...]:
    said = made.internal["over_time"]
    assert add_series(audit_release(made.folder)).findings == []
    return said["number"], said["stale"], said["stalest"], said["left_out"], said["releases"]


def test_what_is_held_is_not_rolled_back(begun: SeriesMonths, tmp_path: Path) -> None:
    """It is of the release that was published last, whatever CURRENT names."""
    [plain] = hold(copy(begun, tmp_path / "plain"), 2)
    rolled = copy(begun, tmp_path / "rolled")
    left = repository_of(rolled).current()
    assert roll_back(repository_of(rolled)).current != left
    [made] = hold(rolled, 2)
    assert made.data == plain.data
    assert read_stale(made) == read_stale(plain)
    assert read_stale(made)[1] > 0
    assert read_stale(made)[-1][-1] == f"{NAME}/{left}"


@pytest.mark.nightly
def test_releases_of_the_window_are_not_pruned(begun: SeriesMonths, tmp_path: Path) -> None:
    """Those before it are, and what is held afterwards is the same."""
    kept, pruned = (copy(begun, tmp_path / name) for name in ("kept", "pruned"))
    for place in (kept, pruned):
        hold(place, 2, window=2)
    assert plan_pruning(repository_of(begun), 1).removed == ()
    removed = plan_pruning(repository_of(pruned), 1).removed
    assert len(removed) == 1
    prune(repository_of(pruned), 1)
    assert not {*removed} & {*repository_of(pruned).store.ids()}
    made = [hold(place, 3, window=2)[0] for place in (kept, pruned)]
    assert made[0].data == made[1].data
    assert read_stale(made[0]) == read_stale(made[1])
    assert read_stale(made[1])[1] > 0


@pytest.mark.nightly
def test_month_that_is_backfilled(months: SeriesMonths, tmp_path: Path) -> None:
    """Whoever is in no older month, but in the younger one that was published, is held in it."""
    made = hold(SeriesMonths(tmp_path, months.files), 0, 2, 1)
    rows = [read_registered(one, months) for one in made]
    table = pq.read_table(months.files[1])
    now = dict(zip(table["tag"].to_pylist(), table["income"].to_pylist(), strict=True))
    assert all(holds(cell, rows, K, T) for cell in find_cells(rows).values())
    stale = rows[-1].keys() - now.keys()
    assert stale == choose_held(rows[:-1], now, K, T)
    joined = rows[1].keys() - now.keys() - rows[0].keys()
    assert stale & joined
    assert read_stale(made[2])[:2] == (3, len(stale))
