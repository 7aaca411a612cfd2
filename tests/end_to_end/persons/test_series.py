"""Releases of a series: held together, decided again from the files; registers fail closed."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release, write_parquet
from support.cases.series_months import K, SeriesMonths, T, read_classes, read_groups, write_months
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.assess.over_time.attack import attack_releases
from tclose.assess.over_time.series_audit import add_series
from tclose.cli.main import main
from tclose.errors import (
    BusyError,
    ConflictError,
    InfeasibleError,
    LostLeaseError,
    OutputError,
    PolicyError,
    VerificationError,
)
from tclose.passes.publish import publish as publishing
from tclose.passes.release import open_release, run_release
from tclose.passes.series import link_persons
from tclose.policy.policy import parse_policy
from tclose.releases.prune import plan_pruning
from tclose.releases.repository import ReleaseRepository
from tclose.releases.series.register_file import read_register, write_register
from tclose.releases.series.series_history import find_held
from tclose.runtime.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")
QUIET = Progress("none")


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> SeriesMonths:
    return write_months(tmp_path_factory.mktemp("months"), 4)


@pytest.fixture(scope="module")
def made(months: SeriesMonths) -> list[Released]:
    """The first three months."""
    return months.publish(0, 1, 2)


@pytest.fixture
def copied(months: SeriesMonths, made: list[Released], tmp_path: Path) -> SeriesMonths:
    """The same in a folder of its own."""
    shutil.copytree(months.folder / "releases", tmp_path / "releases")
    return SeriesMonths(tmp_path, months.files)


def distance(values: list[Any], table: list[Any]) -> Fraction:
    """The ordered earth mover's distance, by its definition."""
    kinds, counts = sorted(set(table)), Counter(values)
    of_table = Counter(table)
    work, carried = Fraction(0), Fraction(0)
    for kind in kinds[:-1]:
        carried += Fraction(counts[kind], len(values)) - Fraction(of_table[kind], len(table))
        work += abs(carried)
    return work / max(1, len(kinds) - 1)


def test_releases_hold_together(made: list[Released]) -> None:
    """By the released files alone, whose rows say whose they are."""
    for n in range(1, len(made) + 1):
        releases = [read_classes(one) for one in made[:n]]
        cells: dict[Any, list[str]] = {}
        for person in releases[-1]:
            cells.setdefault(tuple(r[person][0] if person in r else None for r in releases),
                             []).append(person)  # fmt: skip
        assert min(map(len, cells.values())) >= K
        largest = Fraction(0)
        for index, one in enumerate(releases):
            table = [value for _, value in one.values()]
            for signature, cell in cells.items():
                if signature[index] is not None:
                    largest = max(largest, distance([one[p][1] for p in cell], table))
        assert largest <= T
        said = made[n - 1].internal["over_time"]
        assert said["number"] == n
        assert said["cells"] == len(cells)
        assert said["smallest_cell"] == min(map(len, cells.values()))
        assert said["largest_emd"]["income"] == pytest.approx(float(largest))


def test_figures_of_persons_who_move(made: list[Released], months: SeriesMonths) -> None:
    first, second = (read_classes(one) for one in made[:2])
    said = made[1].internal["over_time"]
    assert said["leavers"] == len(first.keys() - second.keys()) > 0
    assert said["newcomers"] == len(second.keys() - first.keys()) > 0
    n_read = pq.read_metadata(months.files[1]).num_rows
    assert said["left_out"] == n_read - len(second)
    assert said["left_out"] < n_read / 20
    assert said["leavers_exposed"] <= said["leavers"]
    assert made[1].internal["records_dropped"] == 0
    assert said["releases"] == [f"panel-0/{made[0].folder.name}"]
    assert "over_time" not in made[1].manifest


def test_independent_releases_do_not_hold(months: SeriesMonths, tmp_path: Path) -> None:
    """Or the tests above prove nothing."""
    documents = [SeriesMonths(tmp_path, months.files).policy(month) for month in (0, 1)]
    for document in documents:
        del document["series"], document["privacy"]["over_time"]
    first, second = (read_classes(release(document)) for document in documents)
    both = Counter((first[p][0], second[p][0]) for p in first.keys() & second.keys())
    assert sum(n for n in both.values() if n < K) > len(first) / 4


def test_audit_finds_nothing_and_register_is_private(made: list[Released]) -> None:
    for one in made:
        assert audit_release(one.folder).findings == []
        register = one.folder / "internal" / "register.parquet"
        assert register.stat().st_mode & 0o777 == 0o600
        assert register.parent.stat().st_mode & 0o777 == 0o700
        content = pq.read_table(register)
        assert content.num_rows == one.manifest["records"]
        assert not set(map(str, content.to_pydict().values())) & set(read_classes(one))
        public = "".join(p.read_text("latin-1") for p in one.folder.glob("*.*"))
        assert "register" not in public


def test_again_is_found_published(made: list[Released], months: SeriesMonths) -> None:
    outcome = run_release(parse_policy(months.policy(1)), QUIET)
    assert outcome.already_published
    assert outcome.release == made[1].folder


def test_same_bytes_in_other_regions_and_workers(
    made: list[Released], copied: SeriesMonths
) -> None:
    shutil.rmtree(copied.folder / "releases" / "panel-2")
    document = copied.policy(2) | {"engine": {"scheduler": "local", "workers": 2}}
    assert release(document).data == made[2].data


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "register.parquet is missing or cannot be read; put it back"),
        (lambda path: path.write_bytes(b"x"), "register.parquet is not as it was published"),
    ],
)
def test_register_that_is_not_at_hand(
    copied: SeriesMonths, made: list[Released], damage: Any, message: str
) -> None:
    folder = copied.folder / "releases" / "panel-1" / made[1].folder.name
    damage(folder / "internal" / "register.parquet")
    with pytest.raises(OutputError, match=message):
        copied.publish(3)
    assert not list((copied.folder / "releases").glob("panel-3/[0-9a-f]*"))


def test_release_that_was_removed(copied: SeriesMonths, made: list[Released]) -> None:
    shutil.rmtree(copied.folder / "releases" / "panel-1")
    with pytest.raises(OutputError, match=r"release number 2 is not .*over_time.window: 2$"):
        copied.publish(3)
    [last] = copied.publish(3, window=2)
    assert last.internal["over_time"]["releases"] == [f"panel-2/{made[2].folder.name}"]


def test_damaged_internal_manifest(copied: SeriesMonths, made: list[Released]) -> None:
    inside = copied.folder / "releases" / "panel-1" / made[1].folder.name / "internal"
    (inside / "manifest.json").write_text("{}")
    with pytest.raises(OutputError, match="cannot be told whether it is of series 'panel'"):
        copied.publish(3)


def test_damaged_release_is_not_replaced(copied: SeriesMonths, made: list[Released]) -> None:
    folder = copied.folder / "releases" / "panel-1" / made[1].folder.name
    (folder / made[1].paths[0]).write_bytes(b"x")
    with pytest.raises(OutputError, match="was published in series 'panel' and is damaged"):
        copied.publish(1)


def test_prune_keeps_the_window(copied: SeriesMonths) -> None:
    documents = [copied.policy(month) | {"name": "panel"} for month in (0, 1)]
    for document in documents:
        del document["series"]
    names = [release(document).folder.name for document in documents]
    repository = ReleaseRepository(copied.folder / "releases", "panel")
    assert plan_pruning(repository, 1).removed == ()
    assert find_held(repository) == dict.fromkeys(names, "panel")


def test_departures_that_are_refused(copied: SeriesMonths) -> None:
    with pytest.raises(InfeasibleError, match=r"departures: \d+ persons have left earlier class"):
        copied.publish(3, departures="refuse")


def test_reported_departures_are_found(made: list[Released]) -> None:
    """Or those of unions prove nothing."""
    said = made[1].internal["over_time"]
    assert min(read_groups(made[:2])) == said["smallest_leaver_group"] < K
    assert said["leaver_groups_below_k"] > 0


def test_cells_are_not_dropped_after_reports(copied: SeriesMonths) -> None:
    """Who was found in an earlier release of the window is found still."""
    with pytest.raises(InfeasibleError, match=r"departures: \d+ persons have left earlier class"):
        copied.publish(3, departures="drop")


def test_too_few_stay(copied: SeriesMonths) -> None:
    with pytest.raises(InfeasibleError, match=r"of 700 records would have to be left out.*\n?"):
        copied.publish(3, k=40)


def test_persons_who_are_spelled_otherwise(copied: SeriesMonths, tmp_path: Path) -> None:
    """They would be taken for others, and nothing would be held of them."""
    table = pq.read_table(copied.files[3])
    named = [f"x{name}" for name in table["person_id"].to_pylist()]
    index = table.column_names.index("person_id")
    other = write_parquet(
        tmp_path / "other.parquet", table.set_column(index, "person_id", pa.array(named))
    )
    with pytest.raises(InfeasibleError, match="0% of the persons of the release before are here"):
        release(copied.policy(3) | {"input": {"path": str(other)}})


def test_events_are_refused(copied: SeriesMonths, tmp_path: Path) -> None:
    table = pq.read_table(copied.files[0])
    twice = write_parquet(tmp_path / "events.parquet", table.take([*range(len(table)), 0]))
    document = copied.policy(0) | {"input": {"path": str(twice)}}
    with pytest.raises(PolicyError, match="1 of 701 records are of persons who have another one"):
        release(document)


def test_plan_of_the_next_month(
    copied: SeriesMonths, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It says what room classes have, and warns of no release that this one is held with."""
    path = tmp_path / "next.yaml"
    path.write_text(json.dumps(copied.policy(3)))
    assert main(["plan", str(path), "--json", "--quiet"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert [one for one in planned["warnings"] if one["code"] == "TC-W008"] == []
    said = planned["over_time"]
    assert main(["plan", str(path), "--quiet"]) == 0
    shown = capsys.readouterr().out
    [last] = copied.publish(3)
    held = last.internal["over_time"]
    assert (said["number"], said["earlier"]) == (4, 3)
    assert {key: said[key] for key in ("made_k", "churn", "left_out", "leavers")} == {
        key: held[key] for key in ("made_k", "churn", "left_out", "leavers")
    }
    assert 0 < said["classes_left"] <= said["leavers"]
    assert 0 < said["expected_left_out"] <= 0.001
    assert f"new classes of {said['made_k']} persons within 0.21 for income, if " in shown
    assert f"{said['leavers']:,} persons of the release before are not in this one" in shown


def test_one_run_at_a_time(copied: SeriesMonths) -> None:
    """Of a series, whatever the names of its releases are."""
    with (
        pytest.raises(BusyError),
        open_release(parse_policy(copied.policy(3)), QUIET),
        open_release(parse_policy(copied.policy(0) | {"name": "other"}), QUIET),
    ):
        pass


def test_release_published_meanwhile(copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a run whose lease was taken over: what was verified is not what would be there."""
    gone = copied.folder / "releases" / "panel-2"

    def changed(run: Any) -> Any:
        gone.rename(copied.folder / "gone")
        return link_persons.look_up_window(run)

    monkeypatch.setattr(publishing, "look_up_window", changed)
    with pytest.raises(ConflictError, match="another release of series 'panel' was published"):
        copied.publish(3)
    assert not list((copied.folder / "releases").glob("panel-3/[0-9a-f]*"))


def test_nothing_is_published_that_does_not_hold(
    copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were units forgotten: the verdict is decided by what is released."""
    from tclose.passes.microaggregate import series_classes

    cluster = series_classes.cluster_series
    monkeypatch.setattr(
        "tclose.passes.microaggregate.region_task.cluster_series",
        lambda records, plan, tables, demand, made_k, _: cluster(
            records, plan, tables, demand, made_k, None
        ),
    )
    with pytest.raises(VerificationError, match=r"k over time: asked at least 3 persons, found"):
        copied.publish(3)
    assert not list((copied.folder / "releases").glob("panel-3/[0-9a-f]*"))


def test_other_window_is_not_gone_on_with(
    copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Working files of a run that was stopped, made before another month was published."""
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_check_series", _stop)
        with pytest.raises(KeyboardInterrupt):
            copied.publish(3)
    release(copied.policy(0) | {"name": "other"})
    [last] = copied.publish(3)
    assert last.internal["over_time"]["number"] == 5


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt


def test_originals_are_not_made_again(made: list[Released], months: SeriesMonths) -> None:
    result = add_originals(audit_release(made[1].folder), parse_policy(months.policy(1)), QUIET)
    assert result.findings == []
    assert "depend on those before it" in result.notes[-1]


def test_register_has_a_version(made: list[Released], monkeypatch: pytest.MonkeyPatch) -> None:
    from tclose.releases.series import register_file

    content = (made[0].folder / "internal" / "register.parquet").read_bytes()
    persons = register_file.read_register(content)
    assert register_file.write_register(persons) == content
    monkeypatch.setattr(register_file, "VERSION", 2)
    with pytest.raises(ValueError, match="is of version 1"):
        register_file.read_register(content)
    with pytest.raises((ValueError, OSError)):
        register_file.read_register(b"nothing")


def test_audit_of_the_series(made: list[Released]) -> None:
    for number, one in enumerate(made, 1):
        result = add_series(audit_release(one.folder))
        assert result.findings == []
        [note] = [note for note in result.notes if note.startswith("series: ")]
        said = one.internal["over_time"]
        assert note.startswith(f"series: {number} release")
        assert f"{said['cells']} cells, the smallest of {said['smallest_cell']} persons" in note


def test_audit_sees_a_register_of_other_rows(copied: SeriesMonths, made: list[Released]) -> None:
    """Were it written anew with its digest, as by a fault."""
    folder = copied.folder / "releases" / "panel-1" / made[1].folder.name
    path = folder / "internal" / "register.parquet"
    persons = read_register(path.read_bytes())
    swapped = persons.classes.copy()
    swapped[[0, -1]] = swapped[[-1, 0]]
    path.write_bytes(write_register(replace(persons, classes=swapped)))
    last = copied.folder / "releases" / "panel-2" / made[2].folder.name
    [found] = add_series(audit_release(last)).findings
    assert "register.parquet is not as it was published" in found
    document = json.loads((folder / "internal" / "manifest.json").read_text())
    document["over_time"]["register_sha256"] = sha256(path.read_bytes()).hexdigest()
    (folder / "internal" / "manifest.json").write_text(json.dumps(document))
    [found] = add_series(audit_release(last)).findings
    assert found.endswith("its register is not of its rows: classes")


def test_audit_of_other_releases(
    copied: SeriesMonths, made: list[Released], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.rmtree(copied.folder / "releases" / "panel-1")
    last = copied.folder / "releases" / "panel-2" / made[2].folder.name
    assert main(["audit", str(last), "--series", "--quiet"]) == 3
    assert "series: release number 2 is not in the output folder" in capsys.readouterr().out
    document = SeriesMonths(tmp_path, copied.files).policy(0)
    del document["series"], document["privacy"]["over_time"]
    alone = release(document)
    assert add_series(audit_release(alone.folder)).findings == [
        "series: the release is of none: its policy has no over_time"
    ]
    handed_out = shutil.copytree(last, tmp_path / "out", ignore=shutil.ignore_patterns("internal"))
    assert add_series(audit_release(handed_out)).findings == [
        "series: internal/manifest.json is not at hand, or damaged"
    ]


def test_attack_finds_nobody_who_stayed(made: list[Released], months: SeriesMonths) -> None:
    """An intruder who knows all classes; the classes are those of the registers."""
    policies = [parse_policy(months.policy(month)) for month in (0, 1, 2)]
    places = [one.folder for one in made]
    result = attack_releases(places, policies, None, ["income"], QUIET)
    assert result.notes == ()
    assert result.classes_known is not None
    stayed = result.classes_known.stayed
    assert stayed.persons > 500
    assert (stayed.alone, stayed.below_k) == (0, 0)
    assert result.classes_known.below_k_in_one == (0, 0, 0)
    assert result.classes_known.changed.below_k > 0  # leavers, who are reported


def test_attack_without_registers(copied: SeriesMonths, made: list[Released]) -> None:
    for path in (copied.folder / "releases").rglob("register.parquet"):
        path.unlink()
    policies = [parse_policy(copied.policy(month)) for month in (0, 1)]
    places = [
        copied.folder / "releases" / one.folder.parent.name / one.folder.name for one in made[:2]
    ]
    result = attack_releases(places, policies, None, ["income"], QUIET)
    assert result.classes_known is None
    assert len(result.notes) == 2


def test_newest_release_without_its_internal_part(
    copied: SeriesMonths, made: list[Released]
) -> None:
    """Nothing else tells that it is of the series, and that the next one is held to it."""
    folder = copied.folder / "releases" / "panel-2" / made[2].folder.name
    (folder / "internal" / "manifest.json").unlink()
    with pytest.raises(OutputError, match="is missing or cannot be read, so it cannot be told"):
        copied.publish(3)


def test_register_that_is_missing_is_found(copied: SeriesMonths, made: list[Released]) -> None:
    folder = copied.folder / "releases" / "panel-1" / made[1].folder.name
    register = folder / "internal" / "register.parquet"
    register.write_bytes(register.read_bytes()[:-1])
    assert any("register.parquet: its content" in f for f in audit_release(folder).findings)
    register.unlink()
    assert any("register.parquet: is missing" in f for f in audit_release(folder).findings)
    with pytest.raises(OutputError, match="was published in series 'panel' and is damaged"):
        copied.publish(1)


def test_lost_claim_of_the_series_publishes_nothing(
    copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the run still has the lease of its name."""
    check = publishing._check_series

    def lose(run: Any, series: Any) -> None:
        check(run, series)
        monkeypatch.setattr(type(run.repository.beside), "check_lease", _lost)

    monkeypatch.setattr(publishing, "_check_series", lose)
    with pytest.raises(LostLeaseError):
        copied.publish(3)
    assert not list((copied.folder / "releases").glob("panel-3/[0-9a-f]*"))


def _lost(repository: ReleaseRepository) -> None:
    if repository.beside is None:  # the series's
        raise LostLeaseError("the lease of the series was taken over")
    repository.beside.check_lease()


def test_internal_report_tells_of_the_series(made: list[Released]) -> None:
    said = (made[2].folder / "internal" / "report.html").read_text()
    held = made[2].internal["over_time"]
    assert "Release 3 of series panel: 2 earlier ones are held together with it" in said
    assert f"{held['leavers_exposed']:,} of {held['leavers']:,} who left are found" in said
    assert (f"{held['left_out']:,} more (" in said) == (held["left_out"] > 0)
    assert "k counts persons, who may have several records each" in said
