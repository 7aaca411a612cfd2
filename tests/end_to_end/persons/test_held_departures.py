"""Records of persons who left are held until enough of their cell have left, or it is dropped."""

import hashlib
import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, publish, release, write_parquet, write_policy
from support.cases.series_months import K, SeriesMonths, T, read_registered
from support.faults.started_modules import start
from support.naive.naive_holding import choose_held, find_cells, holds
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.assess.over_time import series_audit
from tclose.assess.over_time.series_audit import add_series
from tclose.cli.main import main
from tclose.data.places.bucket_paths import BucketPath
from tclose.errors import InfeasibleError, OutputError, PolicyError, TaskError
from tclose.passes.series import chosen_records, register_release, series_units
from tclose.passes.series.forget_person import forget_person
from tclose.passes.series.held import handed_out, held_records
from tclose.policy.policy import parse_policy
from tclose.releases.series.register_file import read_register
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


def read_input(file: Path) -> dict[str, int]:
    table = pq.read_table(file)
    return dict(zip(table["tag"].to_pylist(), table["income"].to_pylist(), strict=True))


def policy_of(place: SeriesMonths, month: int, **over_time: Any) -> dict[str, Any]:
    """A policy without the column that says in the release whose a row is."""
    document = place.policy(month, **{"departures": "hold"} | over_time)
    del document["attributes"]["tag"]
    return document


def hold(place: SeriesMonths, *months: int, **over_time: Any) -> list[Released]:
    return [release(policy_of(place, month, **over_time)) for month in months]


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
    """By the released files and whose their rows are: cells hold, nobody is held without need."""
    all_rows = [read_registered(one, months) for one in held]
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
    assert stale
    assert said["stalest"] == 2


def test_workers_alone_look_at_all_persons(
    held: list[Released], place: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command's own process, which holds little, would stop."""
    for module in (chosen_records, series_units, register_release):
        monkeypatch.delattr(module, "PlacedWindow")
    with pytest.raises(TaskError, match="stopped by NameError"):
        hold(place, 2)
    document = policy_of(place, 2) | {"engine": {"workers": 1}}
    assert release(document).data == held[2].data


def test_originals_lack_those_who_are_held_and_no_others(
    held: list[Released], months: SeriesMonths, tmp_path: Path
) -> None:
    place = SeriesMonths(held[0].folder.parents[2], months.files)
    policy = parse_policy(policy_of(place, 2))
    audit = audit_release(held[2].folder)
    result = add_originals(audit, policy, Progress("none"))
    assert result.findings == []
    n_held = held[2].internal["over_time"]["stale"]
    assert result.notes[-1].endswith(f"was, but for {n_held:,} that are held of persons who left")
    table = pq.read_table(months.files[2])
    one = pa.array([value + (row == 0) for row, value in enumerate(table["income"].to_pylist())])
    other = table.set_column(table.column_names.index("income"), "income", one)
    file = write_parquet(tmp_path / "other.parquet", other)
    policy = parse_policy(policy_of(place, 2) | {"input": {"path": str(file)}})
    [finding] = add_originals(audit, policy, Progress("none")).findings
    assert finding.startswith(f"originals: {n_held + 1:,} of the ")
    assert f"; {n_held:,} are held of persons who left; name the policy" in finding


def test_files_do_not_tell_which_rows_are_held(held: list[Released]) -> None:
    """A class has its rows in the order of their values, and no other column tells them apart."""
    table = held[2].table
    assert table.column_names == ["age", "zip", "insurer", "income"]
    rows = [(tuple(row.values())[:-1], row["income"]) for row in table.to_pylist()]
    of_class: dict[tuple[Any, ...], list[int]] = {}
    for key, income in rows:
        of_class.setdefault(key, []).append(income)
    assert rows == [(key, income) for key, all_of in of_class.items() for income in sorted(all_of)]


def test_held_rows_are_told(held: list[Released], tmp_path: Path) -> None:
    """How many are, to recipients in whole percent, and inside exactly."""
    folder = tmp_path / "releases"
    shutil.copytree(held[0].folder.parents[1], folder)
    made = folder / "panel-2" / held[2].folder.name
    said = held[2].internal["over_time"]
    plan = json.loads((made / "internal" / "plan.json").read_text())["over_time"]
    assert (plan["stale"], plan["stalest"]) == (said["stale"], said["stalest"])
    assert plan["most_stale"] == said["most_held"] == 0.1
    assert plan["expected_stale"] == pytest.approx(0.22 / 1.22)
    report = (made / "internal" / "report.html").read_text()
    assert f"held with their last values: {said['stale']}" in report
    percent = -(-100 * said["stale"] // held[2].manifest["records"])
    assert held[2].manifest["held"] == {"percent": percent}
    assert held[2].manifest["values"]["result"] == "identical or held"
    dictionary = (made / "dictionary.md").read_text()
    assert f"At most {percent} % of the records are of persons who had left" in dictionary
    assert "those of the input, those held with the release before, in income" in dictionary
    assert f"At most {percent} % of the records" in (made / "report.html").read_text()
    assert held[0].manifest["held"] == {"percent": 0}
    assert held[0].manifest["values"]["result"] == "identical"
    path = made / "internal" / "manifest.json"
    for name, other in {"stale": 1, "stalest": 1, "most_held": -0.099}.items():
        altered = json.loads(path.read_text())
        altered["over_time"][name] += other
        path.write_text(json.dumps(altered))
    findings = add_series(audit_release(made)).findings
    named = [f.split()[-1] for f in findings if "the manifest says other" in f]
    assert named == ["stale", "stalest"]
    assert any("records held: asked 0.10% of the records" in finding for finding in findings)


def test_other_values_of_a_held_cell_are_a_finding(
    held: list[Released], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of releases with held rows alone: what counts as other is tried where files are compared."""
    monkeypatch.setattr(series_audit, "_have_moved", lambda *_: True)
    audited = [add_series(audit_release(one.folder)).findings for one in held]
    for one, findings in zip(held, audited, strict=True):
        found = [f for f in findings if "are not those of the release before" in f]
        assert bool(found) == (one.internal["over_time"]["stale"] > 0)
    assert any(audited)


def test_plan_tells_the_price(
    place: SeriesMonths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(tmp_path / "policy.yaml", policy_of(place, 2))
    assert main(["plan", str(policy), "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "records of others who left, with their last values, for up to 2 releases" in told
    assert "10.0% of the records may be, and by the window's end about 18% are expected" in told


def test_more_than_may_be_held(place: SeriesMonths) -> None:
    found = (
        r"hold: [0-9]+ of [0-9]+ records would be of persons who left, more than hold.at_most of"
    )
    with pytest.raises(InfeasibleError, match=found):
        hold(place, 2, hold={"at_most": "2%"})


def test_same_bytes_with_more_workers(held: list[Released], place: SeriesMonths) -> None:
    document = policy_of(place, 2) | {"engine": {"scheduler": "local", "workers": 2}}
    assert release(document).data == held[2].data


def test_cell_is_dropped_where_a_value_moved(
    held: list[Released], place: SeriesMonths, tmp_path: Path
) -> None:
    """What the others still have would be what fewer than k persons have."""
    last = read_registered(held[1], place)
    now = read_input(place.files[2])
    cells = find_cells([read_registered(one, place) for one in held[:2]]).values()
    stale = read_registered(held[2], place).keys() - now.keys()
    cell = min((cell for cell in cells if cell & stale and cell & now.keys()), key=min)
    mover = min(cell & now.keys())
    table = pq.read_table(place.files[2])
    income = pc.if_else(
        pc.equal(table["tag"], mover), pa.scalar(last[mover][1] + 1), table["income"]
    )
    index = table.column_names.index("income")
    moved = write_parquet(tmp_path / "moved.parquet", table.set_column(index, "income", income))
    [made] = hold(SeriesMonths(tmp_path, (*place.files[:2], moved)), 2)
    gone = read_registered(held[2], place).keys() - read_registered(made, place).keys()
    assert gone == cell
    assert made.internal["over_time"]["left_out"] == len(cell & now.keys())
    assert made.internal["over_time"]["leavers_exposed"] == 0
    assert add_series(audit_release(made.folder)).findings == []


def test_nobody_is_held_from_other_files(held: list[Released], place: SeriesMonths) -> None:
    """What is handed out again is what was handed out."""
    [file] = (place.folder / "releases" / "panel-1" / held[1].folder.name / "data").iterdir()
    table = pq.read_table(file)
    pq.write_table(table.slice(1), file)
    with pytest.raises(OutputError, match=r"panel-1/.*: is not as it was published \(data/"):
        hold(place, 2)


def edit(path: Path, change: Callable[[Any], None]) -> None:
    """Change a document of a release as whoever can write there would."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_nobody_is_held_from_an_edited_release(held: list[Released], place: SeriesMonths) -> None:
    """Its values were changed, and what both manifests say of its files."""
    folder = place.folder / "releases" / "panel-1" / held[1].folder.name
    [file] = (folder / "data").iterdir()
    table = pq.read_table(file)
    income = pa.array([*table["income"].to_pylist()[1:], 1], table["income"].type)
    pq.write_table(table.set_column(table.column_names.index("income"), "income", income), file)
    content = file.read_bytes()
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    for path in (folder / "manifest.json", folder / "internal" / "manifest.json"):
        edit(path, lambda document: document["files"][0].update(entry))
    with pytest.raises(
        OutputError, match=r"panel-1/.*: is not as it was published \(manifest.json"
    ):
        hold(place, 2)


def test_nobody_is_held_beside_an_edited_register(
    held: list[Released], place: SeriesMonths
) -> None:
    """Neither that of the release before, nor that of an earlier one."""
    for name, one in zip(("panel-0", "panel-1"), held, strict=False):
        inside = place.folder / "releases" / name / one.folder.name / "internal"
        register = inside / "register.parquet"
        kept = {path: path.read_bytes() for path in (register, inside / "manifest.json")}
        table = pq.read_table(register)
        rows = pa.array([1, 0, *range(2, len(table))])
        pq.write_table(table.take(rows).replace_schema_metadata(table.schema.metadata), register)
        digest = hashlib.sha256(register.read_bytes()).hexdigest()
        edit(inside / "manifest.json", lambda d: d["over_time"].update(register_sha256=digest))  # noqa: B023
        with pytest.raises(OutputError, match=f"{name}/.* published \\(internal/manifest.json"):
            hold(place, 2)
        for path, content in kept.items():
            path.write_bytes(content)


def test_nobody_is_held_without_the_key_of_the_seals(
    place: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handed_out, "find_key", lambda _: None)
    with pytest.raises(OutputError, match="there is no release key, which its seal takes"):
        hold(place, 2)


def test_register_of_other_rows(place: SeriesMonths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are compared with those that it tells apart."""

    class Other(handed_out.ToldApart):
        def add(self, values: Any) -> None:
            super().add(values.take(pa.array([1, 0, *range(2, len(values))])))

    monkeypatch.setattr(held_records, "ToldApart", Other)
    with pytest.raises(OutputError, match="its register is not of its rows"):
        hold(place, 2)


def test_release_before_is_read_in_pieces(
    held: list[Released], place: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some rows are in memory at a time, and some are in a partition."""
    sizes = []
    cast = handed_out.HandedOut._cast

    def measured(one: Any, piece: pa.Table) -> pa.Table:
        sizes.append(len(piece))
        return cast(one, piece)

    monkeypatch.setattr(handed_out, "PIECE_ROWS", 90)
    monkeypatch.setattr(held_records, "HELD_ROWS", 4)
    monkeypatch.setattr(handed_out.HandedOut, "_cast", measured)
    [made] = hold(place, 2)
    assert made.data == held[2].data
    assert max(sizes) <= 90
    assert sum(sizes) == 2 * held[1].manifest["records"]


def test_values_that_stand_for_a_missing_one(
    months: SeriesMonths, held: list[Released], tmp_path: Path
) -> None:
    """What stands in the place of a held row's person is none of them."""
    place = SeriesMonths(tmp_path, months.files)
    for month in (0, 1):
        document = policy_of(place, month)
        document["input"]["missing_values"] = ["0"]
        made = release(document)
    assert made.data == held[1].data
    document = policy_of(place, 2)
    document["input"]["missing_values"] = ["0", "1"]
    with pytest.raises(
        PolicyError, match=r"input \(missing_values, or .* is not what the policy of"
    ):
        release(document)


def test_columns_are_read_by_the_same_rules(place: SeriesMonths) -> None:
    """A value that was cut off is that of nobody who is there, so it is not handed out again."""
    before = policy_of(place, 2, departures="drop")
    before["attributes"]["income"] = {"role": "confidential", "top": 1_000_000}
    release(before)
    after = policy_of(place, 3)
    after["attributes"]["income"] = {"role": "confidential", "t": 0.4, "label": "income"}
    with pytest.raises(PolicyError, match=r"attributes.income: is not what the policy of release"):
        release(after)


def test_columns_of_the_series_stay(place: SeriesMonths) -> None:
    document = policy_of(place, 2)
    document["attributes"]["sex"] = "quasi-identifier"
    with pytest.raises(PolicyError, match=r"hold: release panel-1/.* has no column 'sex'"):
        release(document)


def test_nobody_is_held_over_a_forgotten_person(
    held: list[Released],
    place: SeriesMonths,
    months: SeriesMonths,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Her row cannot be told from those of others who left, and is not handed out again.

    What that leaves out is said when she is forgotten.
    """
    last = read_registered(held[1], place)
    stale = last.keys() - read_input(months.files[1]).keys()
    person = min(stale)
    cells = find_cells([read_registered(held[0], place), last]).values()
    n_beside = sum(len(cell & last.keys()) for cell in cells if cell & stale)
    (policy := place.folder / "policy.yaml").write_text(json.dumps(policy_of(place, 1)))
    (line := place.folder / "person.txt").write_text(person)
    assert main(["forget", str(policy), "--from", str(line)]) == 0
    beside = f"; {n_beside:,} of the {len(last):,} records of the newest one are in cells with held"
    said = capsys.readouterr().out
    assert beside in said
    assert "in it she has left her cell, as in the newest one; nobody is held" in said
    [made] = hold(place, 2)
    figures, rows = made.internal["over_time"], read_registered(made, place)
    assert person not in rows
    assert figures["stale"] == 0
    assert figures["left_out"] > 0.7 * (n_beside - len(stale))  # but for cells that k have left
    assert rows.keys() <= read_input(months.files[2]).keys()
    assert figures["leavers_exposed"] == 0
    assert add_series(audit_release(made.folder)).findings == []


def test_who_is_held_does_not_stay(
    held: list[Released], place: SeriesMonths, months: SeriesMonths
) -> None:
    last = read_registered(held[1], place)
    stale = last.keys() - read_input(months.files[1]).keys()
    cells = find_cells([read_registered(held[0], place), last]).values()
    cell = next(cell for cell in cells if cell & stale and cell - stale)
    found = forget_person(parse_policy(policy_of(place, 1)), min(cell - stale), lambda _: None)
    assert found.cell.n_others == len(cell - stale) - 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    "point", ["during:link", "before:encode", "before:verify", "before:commit", "after:commit"]
)
def test_killed_while_rows_are_held(held: list[Released], place: SeriesMonths, point: str) -> None:
    """Run again it goes on to the same bytes, and the same register."""
    policy = write_policy(place.folder / "policy.yaml", policy_of(place, 2))
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
    assert [read_registered(one, months) for one in made] == [
        read_registered(one, months) for one in held
    ]


@pytest.mark.nightly
def test_rows_are_held_in_a_bucket(
    held: list[Released], months: SeriesMonths, bucket: BucketPath, tmp_path: Path
) -> None:
    for month in range(3):
        document = policy_of(SeriesMonths(tmp_path, months.files), month)
        document["output"]["path"] = str(bucket)
        outcome = publish(document)
    files = {one["path"]: one["sha256"] for one in outcome.manifest.to_json()["files"]}
    assert files == {one["path"]: one["sha256"] for one in held[2].manifest["files"]}
