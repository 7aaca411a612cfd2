"""Releases of a series: what they hold together, what is refused, and that runs do not mix."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from support.cases.people import Released, release, write_parquet
from support.cases.series_months import K, SeriesMonths, T, read_classes, read_groups
from support.naive.naive_holding import distance
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
from tclose.passes.microaggregate import cluster_task
from tclose.passes.microaggregate.unions.cluster_series import SeriesUnits
from tclose.passes.persons import person_numbers
from tclose.passes.publish import publish as publishing
from tclose.passes.release import open_release, run_release
from tclose.passes.series import link_persons
from tclose.passes.series.headroom import share_of_classes_left
from tclose.passes.series.link_persons import SeriesLink
from tclose.passes.series.window import window_persons
from tclose.policy.policy import parse_policy
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.stores import lease
from tclose.releases.stores.filesystem import FolderStore
from tclose.releases.stores.store import Check, lost_lease
from tclose.runtime.artifacts.artifacts import Workspace
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")
QUIET = Progress("none")


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


def test_figures_are_shown_inside(
    made: list[Released], copied: SeriesMonths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a run, and by `show`, but not of a release whose internal part is elsewhere."""
    policy, said = copied.policy(1), made[1].internal["over_time"]
    (path := tmp_path / "policy.yaml").write_text(json.dumps(policy))
    place = copied.folder / "releases" / "panel-1" / made[1].folder.name
    assert main(["run", str(path), "--quiet"]) == 0
    assert main(["show", str(place)]) == 0
    told = capsys.readouterr().out
    left = f"{said['leavers']} persons of the release before, {said['leavers_exposed']} of them"
    for line in (
        f"{said['cells']}, the smallest of {said['smallest_cell']} persons (asked {K})",
        f"asked {float(T):g}, largest EMD of a cell {said['largest_emd']['income']:.6f}",
        f"{said['left_out']} records so that cells hold",
        f"{left} found by subtraction (report)",
    ):
        assert told.count(line) == 2, line
    shutil.rmtree(place / "internal")
    assert main(["show", str(place)]) == 0
    outside = capsys.readouterr().out
    assert "together with the series" not in outside
    assert "at most 1 % so that the series holds" in outside


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
    assert "left_out_over_time" not in made[0].manifest


def test_independent_releases_do_not_hold(months: SeriesMonths, tmp_path: Path) -> None:
    """Or the tests above prove nothing."""
    documents = [SeriesMonths(tmp_path, months.files).policy(month) for month in (0, 1)]
    for document in documents:
        del document["series"], document["privacy"]["over_time"]
    first, second = (read_classes(release(document)) for document in documents)
    both = Counter((first[p][0], second[p][0]) for p in first.keys() & second.keys())
    assert sum(n for n in both.values() if n < K) > len(first) / 4


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


@pytest.mark.parametrize(("of_ranks", "of_numbers"), [(300, 10_000), (10_000, 100), (500, 90)])
def test_ranges_of_hashes_change_nothing(
    made: list[Released],
    copied: SeriesMonths,
    monkeypatch: pytest.MonkeyPatch,
    of_ranks: int,
    of_numbers: int,
) -> None:
    """Persons are told apart in several ranges of hashes, and numbered in several others."""
    monkeypatch.setattr(window_persons, "RANKED_ROWS", of_ranks)
    monkeypatch.setattr(person_numbers, "MERGED_PERSONS", of_numbers)
    shutil.rmtree(copied.folder / "releases" / "panel-2")
    again = release(copied.policy(2))
    assert again.data == made[2].data
    assert again.internal["over_time"] == made[2].internal["over_time"]


def test_departures_that_are_refused(copied: SeriesMonths) -> None:
    with pytest.raises(InfeasibleError, match=r"departures: \d+ persons have left earlier class"):
        copied.publish(3, departures="refuse")


def test_reported_departures_are_found(made: list[Released]) -> None:
    """Or those of unions prove nothing."""
    said = made[1].internal["over_time"]
    assert min(read_groups(made[:2])) == said["smallest_leaver_group"] < K
    assert said["leaver_groups_below_k"] > 0


def test_cells_are_not_dropped_after_reports(copied: SeriesMonths) -> None:
    """Who was found in an earlier release of the window is found still, and will be."""
    with pytest.raises(InfeasibleError, match=r"departures: \d+ persons have left.*") as refused:
        copied.publish(3, departures="drop")
    assert "of them were gone from the release before already" in str(refused.value)
    assert "report until what they have left is out of the window" in str(refused.value)


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


@pytest.mark.parametrize(("one_in", "is_warned"), [(3, True), (40, False)])
def test_some_persons_who_are_spelled_otherwise(
    copied: SeriesMonths, tmp_path: Path, one_in: int, is_warned: bool
) -> None:
    """They leave and come at once, which so many hardly do."""
    table = pq.read_table(copied.files[3])
    named = table["person_id"].to_pylist()
    named[::one_in] = [f"{name} " for name in named[::one_in]]
    index = table.column_names.index("person_id")
    other = write_parquet(
        tmp_path / "other.parquet", table.set_column(index, "person_id", pa.array(named))
    )
    made = release(copied.policy(3) | {"input": {"path": str(other)}})
    told = [one["message"] for one in read_warnings(made) if one["code"] == "TC-W016"]
    assert len(told) == is_warned
    if told:
        assert re.match(
            r"3\d% of the persons of the release before are not here, and 3\d% of the records",
            told[0],
        )


def read_warnings(made: Released) -> list[dict[str, str]]:
    warnings: list[dict[str, str]] = made.internal.get("warnings", [])
    return warnings


def test_more_persons_over_time_than_there_are_are_refused_early(
    months: SeriesMonths, tmp_path: Path
) -> None:
    table = pq.read_table(months.files[0])[:90]
    place = SeriesMonths(tmp_path, (write_parquet(tmp_path / "few.parquet", table),))
    said = r"^privacy\.over_time\.k: 91 is more than the 90 persons .* to 90 at most"
    with pytest.raises(PolicyError, match=said):
        tclose.plan(None, place.policy(0, k=91))
    with pytest.raises(PolicyError, match=said):
        place.publish(0, k=91)
    [made] = place.publish(0, k=90)
    assert made.internal["over_time"]["smallest_cell"] == 90


def test_events_are_refused(copied: SeriesMonths, tmp_path: Path) -> None:
    table = pq.read_table(copied.files[0])
    twice = write_parquet(tmp_path / "events.parquet", table.take([*range(len(table)), 0]))
    document = copied.policy(0) | {"input": {"path": str(twice)}}
    with pytest.raises(PolicyError, match="1 of 701 records is of a person who has another one"):
        release(document)


def test_plan_of_the_next_month(
    copied: SeriesMonths,
    made: list[Released],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
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
    lost = f"{made[2].manifest['information_loss']['total']:.3g}"
    assert "total" not in planned["expected_loss"]
    assert f"release panel-2/{made[2].folder.name}, which lost {lost}, stay together" in shown


@pytest.mark.parametrize("departures", ["report", "hold"])
def test_plan_of_the_first_month_has_the_price_of_its_room(
    departures: str, months: SeriesMonths, made: list[Released], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Its classes are larger and closer than those of a release by itself, and lose more."""
    policy = months.policy(0, departures=departures)
    policy["output"] = {"path": str(tmp_path / "releases")}
    if departures == "hold":
        policy["attributes"] |= {"tag": "identifier"}
    (path := tmp_path / "first.yaml").write_text(json.dumps(policy))
    assert main(["plan", str(path), "--json", "--quiet"]) == 0
    planned = json.loads(capsys.readouterr().out)
    lost = made[0].manifest["information_loss"]["total"]
    assert planned["expected_loss"]["total"] == pytest.approx(lost, rel=0.1)
    alone = {key: value for key, value in policy["privacy"].items() if key != "over_time"}
    policy.pop("series")
    path.write_text(json.dumps(policy | {"privacy": alone}))
    assert main(["plan", str(path), "--json", "--quiet"]) == 0
    by_itself = json.loads(capsys.readouterr().out)["expected_loss"]["total"]
    assert by_itself < 0.9 * planned["expected_loss"]["total"]


def test_plan_of_the_first_month_says_what_dropping_comes_to(
    months: SeriesMonths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the classes of a trial, which are larger than they are asked to be."""
    place = SeriesMonths(tmp_path, months.files)
    policy = place.policy(0, departures="drop", churn=0.03)
    (path := tmp_path / "first.yaml").write_text(json.dumps(policy))
    assert main(["plan", str(path), "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)["over_time"]
    assert main(["plan", str(path), "--quiet"]) == 0
    share = f"{said['expected_records_left']:.0%} of the records"
    shown = capsys.readouterr().out
    assert f"of the classes, with {share}, are left by 1 to {K - 1} persons each time" in shown
    assert f"about {share} from one release to the next, which stay out for the window" in shown
    first, second = place.publish(0, 1, departures="drop", churn=0.03)
    sizes = np.array([*Counter(c for c, _ in read_classes(first).values()).values()])
    left = [share_of_classes_left(size, K, 0.03) for size in sizes.tolist()]
    assert said["expected_classes_left"] == pytest.approx(np.mean(left), abs=0.02)
    assert said["expected_records_left"] == pytest.approx(np.average(left, weights=sizes), abs=0.02)
    dropped = second.internal["over_time"]["left_out"]
    assert dropped / 700 == pytest.approx(said["expected_records_left"], abs=0.1)
    assert said["expected_classes_left"] > share_of_classes_left(said["made_k"], K, 0.03)
    elsewhere = ["--set", f"output.path={tmp_path / 'none'}", "--sample", "0"]  # without a trial
    assert main(["plan", str(path), "--quiet", *elsewhere]) == 0
    assert f"of classes of {said['made_k']}, and more of larger ones, are left by" in (
        capsys.readouterr().out
    )


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


def test_nothing_is_left_of_a_release_that_is_refused_in_the_end(
    copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is staged by then, with its register."""

    def refuse(*_: Any) -> None:
        assert list((copied.folder / "releases").rglob("panel-3/.work/**/register.parquet"))
        raise OutputError("an earlier release is not as it was published")

    monkeypatch.setattr(publishing, "_check_series", refuse)
    with pytest.raises(OutputError):
        copied.publish(3)
    assert not list((copied.folder / "releases").glob("panel-3/**/*.parquet"))


def test_nothing_is_published_that_does_not_hold(
    copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were units forgotten: the verdict is decided by what is released."""
    load_units = cluster_task._load_units

    def forget(workspace: Workspace, series: SeriesLink) -> SeriesUnits | None:
        units = load_units(workspace, series)
        return None if units is None else replace(units, units=np.full_like(units.units, -1))

    monkeypatch.setattr(cluster_task, "_load_units", forget)
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


def test_run_that_is_overtaken_at_its_last_step_publishes_nothing(
    copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a run of another name of the series, on a file system whose locks hold on one machine."""
    monkeypatch.setattr(FolderStore, "_lock", lambda *_: False)
    monkeypatch.setattr(lease._Holder, "_renew", lambda _: None)
    engine = {"engine": {"lease_seconds": 1}}
    others: list[Released] = []
    commit = FolderStore.commit

    def overtaken(
        store: FolderStore, staging: Path, release_id: str, token: str, check: Check
    ) -> None:
        def check_and_pause() -> None:
            check()
            others.append(release(copied.policy(0) | engine | {"name": "other"}))

        monkeypatch.setattr(FolderStore, "commit", commit)
        commit(store, staging, release_id, token, check_and_pause)

    monkeypatch.setattr(FolderStore, "commit", overtaken)
    with pytest.raises(LostLeaseError, match=r"'panel-3'.*nothing was published"):
        release(copied.policy(3) | engine)
    assert not list((copied.folder / "releases").glob("panel-3/[0-9a-f]*"))
    assert [one.internal["over_time"]["number"] for one in others] == [4]
    monkeypatch.undo()
    assert copied.publish(3)[0].internal["over_time"]["number"] == 5


def test_run_that_loses_its_lease_after_the_last_step_says_that_it_published(
    copied: SeriesMonths, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = FolderStore.point

    def lose(store: FolderStore, *arguments: Any) -> None:
        raise lost_lease(store.root.name)

    monkeypatch.setattr(FolderStore, "point", lose)
    with pytest.raises(LostLeaseError, match=r"'panel-3': was published, but .* CURRENT") as caught:
        copied.publish(3)
    assert "nothing was published" not in str(caught.value)
    monkeypatch.setattr(FolderStore, "point", point)
    [last] = copied.publish(3)
    assert (last.folder.parent / "CURRENT").read_text().strip() == last.folder.name


def test_release_whose_number_another_one_has_is_refused_when_it_is_run_again(
    copied: SeriesMonths,
) -> None:
    """Two runs published at once, as could be; the later one does not become current."""
    releases = copied.folder / "releases"
    [last] = copied.publish(3)
    (releases / "panel-3").rename(copied.folder / "aside")
    release(copied.policy(0) | {"name": "other"})
    (copied.folder / "aside").rename(releases / "panel-3")
    (releases / "panel-3" / "CURRENT").unlink()
    refused = r"same number 4 .* as (other|panel-3)/\w+; neither was made with regard to the other"
    for document in (copied.policy(3), copied.policy(1) | {"name": "next"}):
        with pytest.raises(OutputError, match=refused):
            release(document)
    assert not (releases / "panel-3" / "CURRENT").exists()
    shutil.rmtree(releases / "other")
    assert copied.publish(3)[0].folder == last.folder


def test_internal_report_tells_of_the_series(made: list[Released]) -> None:
    said = (made[2].folder / "internal" / "report.html").read_text()
    held = made[2].internal["over_time"]
    assert "Release 3 of series panel: 2 earlier ones are held together with it" in said
    assert f"{held['leavers_exposed']:,} of {held['leavers']:,} who left are found" in said
    assert (f"{held['left_out']:,} more (" in said) == (held["left_out"] > 0)
    assert "The earlier ones of series panel have other names: 2 are held together" in said
    assert "who may have several records each" not in said  # here each has one
    assert "probability that a record is taken for the right person" in said
