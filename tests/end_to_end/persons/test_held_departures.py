"""Records of persons who left are held until enough of their cell have left, or it is dropped."""

import json
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release, write_parquet, write_policy
from support.cases.series_months import K, SeriesMonths, T, read_classes
from support.faults.started_modules import start
from support.naive.naive_holding import choose_held, find_cells, holds
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.errors import OutputError, PolicyError
from tclose.passes.series.forget_person import forget_person
from tclose.policy.policy import parse_policy
from tclose.releases.series.register_file import read_register

pytestmark = pytest.mark.usefixtures("small_regions")


def read_input(file: Path) -> dict[str, int]:
    table = pq.read_table(file)
    return dict(zip(table["tag"].to_pylist(), table["income"].to_pylist(), strict=True))


def hold(place: SeriesMonths, *months: int) -> list[Released]:
    return place.publish(*months, departures="hold")


@pytest.fixture(scope="module")
def held(months: SeriesMonths, tmp_path_factory: pytest.TempPathFactory) -> list[Released]:
    """Three months whose leavers are held."""
    return hold(SeriesMonths(tmp_path_factory.mktemp("held"), months.files), 0, 1, 2)


@pytest.fixture
def place(held: list[Released], months: SeriesMonths, tmp_path: Path) -> SeriesMonths:
    """The first two of them in a folder of its own."""
    releases = held[0].folder.parents[1]
    for name in (".release-key", "panel-0", "panel-1"):
        copy = shutil.copy if name == ".release-key" else shutil.copytree
        (tmp_path / "releases").mkdir(exist_ok=True)
        copy(releases / name, tmp_path / "releases" / name)
    return SeriesMonths(tmp_path, months.files)


def test_departures_that_are_held(held: list[Released], months: SeriesMonths) -> None:
    """By the released files alone: every cell holds, and nobody is held without need."""
    all_rows = [read_classes(one) for one in held]
    since: dict[str, int] = {}
    for n in range(1, 4):
        rows, now = all_rows[:n], read_input(months.files[n - 1])
        cells = find_cells(rows)
        assert all(holds(cell, rows, K, T) for cell in cells.values())
        stale = rows[-1].keys() - now.keys()
        since = {person: since.get(person, 0) + 1 for person in stale}
        said = held[n - 1].internal["over_time"]
        assert (said["stale"], said["leavers_exposed"]) == (len(stale), 0)
        assert said["stalest"] == max(since.values(), default=0)
        assert held[n - 1].internal["records_read"] == len(now)
        assert add_series(audit_release(held[n - 1].folder)).findings == []
        if n == 1:
            continue
        assert stale == choose_held(rows[:-1], now, K, T)
        assert said["left_out"] == len(now) - len(rows[-1]) + len(stale) == 0
        of_stale = [cell for cell in cells.values() if cell & stale]
        assert {p: rows[-1][p][1] for cell in of_stale for p in cell} == {
            p: rows[-2][p][1] for cell in of_stale for p in cell
        }
        assert all(rows[-1][p][1] == now[p] for p in now)
    assert held[1].internal["over_time"]["leavers"] >= K
    assert said["stalest"] == 2


def test_held_rows_are_in_plan_report_and_audit(held: list[Released], tmp_path: Path) -> None:
    folder = tmp_path / "releases"
    shutil.copytree(held[0].folder.parents[1], folder)
    made = folder / "panel-2" / held[2].folder.name
    n_stale = held[2].internal["over_time"]["stale"]
    assert (
        json.loads((made / "internal" / "plan.json").read_text())["over_time"]["stale"] == n_stale
    )
    assert (
        f"held with their last values: {n_stale}" in (made / "internal" / "report.html").read_text()
    )
    path = made / "internal" / "manifest.json"
    for name in ("stale", "stalest"):
        altered = json.loads(path.read_text())
        altered["over_time"][name] += 1
        path.write_text(json.dumps(altered))
    findings = add_series(audit_release(made)).findings
    named = [f.split()[-1] for f in findings if "the manifest says other" in f]
    assert named == ["stale", "stalest"]


def test_same_bytes_with_more_workers(held: list[Released], place: SeriesMonths) -> None:
    document = place.policy(2, departures="hold") | {"engine": {"scheduler": "local", "workers": 2}}
    assert release(document).data == held[2].data


def test_cell_is_dropped_where_a_value_moved(
    held: list[Released], place: SeriesMonths, tmp_path: Path
) -> None:
    """What the others still have would be what fewer than k persons have."""
    last = read_classes(held[1])
    now = read_input(place.files[2])
    cell = next(
        cell
        for cell in find_cells([read_classes(one) for one in held[:2]]).values()
        if cell & last.keys() - now.keys() and cell & read_classes(held[2]).keys() - now.keys()
    )
    mover = min(cell & now.keys())
    table = pq.read_table(place.files[2])
    income = pc.if_else(
        pc.equal(table["tag"], mover), pa.scalar(last[mover][1] + 1), table["income"]
    )
    index = table.column_names.index("income")
    moved = write_parquet(tmp_path / "moved.parquet", table.set_column(index, "income", income))
    [made] = hold(SeriesMonths(tmp_path, (*place.files[:2], moved)), 2)
    gone = read_classes(held[2]).keys() - read_classes(made).keys()
    assert gone == cell
    assert made.internal["over_time"]["left_out"] == len(cell & now.keys())
    assert made.internal["over_time"]["leavers_exposed"] == 0
    assert add_series(audit_release(made.folder)).findings == []


def test_nobody_is_held_from_other_files(held: list[Released], place: SeriesMonths) -> None:
    """What is handed out again is what was handed out."""
    [file] = (place.folder / "releases" / "panel-1" / held[1].folder.name / "data").iterdir()
    table = pq.read_table(file)
    pq.write_table(table.slice(1), file)
    with pytest.raises(OutputError, match=r"release panel-1/.*files are missing or not as they"):
        hold(place, 2)


def test_columns_of_the_series_stay(place: SeriesMonths) -> None:
    document = place.policy(2, departures="hold")
    document["attributes"]["sex"] = "quasi-identifier"
    with pytest.raises(PolicyError, match=r"hold: release panel-1/.* has no column 'sex'"):
        release(document)


@pytest.mark.nightly
def test_nobody_is_held_over_a_forgotten_person(
    held: list[Released], place: SeriesMonths, months: SeriesMonths
) -> None:
    """Her row cannot be told from those of others who left, and is not handed out again."""
    last = read_classes(held[1])
    stale = last.keys() - read_input(months.files[1]).keys()
    person = min(stale)
    forget_person(parse_policy(place.policy(0)), person, lambda _: None)
    [made] = hold(place, 2)
    said, rows = made.internal["over_time"], read_classes(made)
    assert person not in rows
    assert said["stale"] == 0
    assert rows.keys() <= read_input(months.files[2]).keys()
    assert said["leavers_exposed"] == 0
    assert add_series(audit_release(made.folder)).findings == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    "point", ["during:link", "before:encode", "before:verify", "before:commit", "after:commit"]
)
def test_killed_while_rows_are_held(held: list[Released], place: SeriesMonths, point: str) -> None:
    """Run again it goes on to the same bytes, and the same register."""
    policy = write_policy(place.folder / "policy.yaml", place.policy(2, departures="hold"))
    ended = start("support.faults.killed_run", policy, point)
    ended.communicate(timeout=300)
    assert ended.returncode == -signal.SIGKILL
    [made] = hold(place, 2)
    assert made.data == held[2].data
    registers = [
        read_register((one.folder / "internal" / "register.parquet").read_bytes())
        for one in (made, held[2])
    ]
    assert registers[0].stale.tolist() == registers[1].stale.tolist()
    assert registers[0].classes.tolist() == registers[1].classes.tolist()


@pytest.mark.nightly
def test_rows_are_held_beside_csv(
    held: list[Released], months: SeriesMonths, tmp_path: Path
) -> None:
    """Whatever form the input has, held rows are in a file of their own."""
    files = [tmp_path / f"{file.stem}.csv" for file in months.files[:3]]
    for file, source in zip(files, months.files, strict=False):
        pv.write_csv(pq.read_table(source), file)
    made = hold(SeriesMonths(tmp_path, tuple(files)), 0, 1, 2)
    assert [read_classes(one) for one in made] == [read_classes(one) for one in held]
