"""Registers of a series, and what reads them: the next release, audits, the attack, prune."""

import json
import re
import shutil
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release
from support.cases.series_months import SeriesMonths, read_classes
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.assess.over_time.attack import attack_releases
from tclose.assess.over_time.series_audit import add_series
from tclose.cli.main import main
from tclose.errors import (
    OutputError,
)
from tclose.policy.policy import parse_policy
from tclose.releases.catalog.prune import plan_pruning, prune
from tclose.releases.repository.operations_log import FILE, write_line
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.series.register_file import read_register, write_register
from tclose.releases.series.series_history import find_held
from tclose.releases.signatures.seals import SEAL_FILE
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")
QUIET = Progress("none")


def test_audit_finds_nothing_and_register_is_private(made: list[Released]) -> None:
    for one in made:
        audit = audit_release(one.folder)
        assert audit.findings == []
        assert "tclose audit --series checks them, as registers do" in audit.notes[0]
        register = one.folder / "internal" / "register.parquet"
        assert register.stat().st_mode & 0o777 == 0o600
        assert register.parent.stat().st_mode & 0o777 == 0o700
        content = pq.read_table(register)
        assert content.num_rows == one.manifest["records"]
        assert not set(map(str, content.to_pydict().values())) & set(read_classes(one))
        public = "".join(p.read_text("latin-1") for p in one.folder.glob("*.*"))
        assert "register" not in public


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
    message = rf"release number 2 is not .*\(panel-1/{made[1].folder.name}\).*over_time.window: 2$"
    with pytest.raises(OutputError, match=message):
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


def small_month(folder: Path, name: str, ids: pa.Array, departures: str) -> dict[str, Any]:
    """A policy for a month of few persons, whose ids are numbers."""
    rng = np.random.default_rng(5)
    n = len(ids)
    table = {"id": ids, "age": rng.integers(20, 70, n), "pay": rng.integers(0, 12, n)}
    pq.write_table(pa.table(table), folder / f"{name}.parquet")
    return {
        "name": name,
        "series": "small",
        "input": {"path": str(folder / f"{name}.parquet")},
        "attributes": {"id": "person", "age": "quasi-identifier", "pay": "confidential"},
        "privacy": {"k": 5, "t": 0.5, "over_time": {"k": 5, "t": 0.5, "departures": departures}},
        "output": {"path": str(folder / "releases")},
    }


def test_persons_are_the_same_in_another_width(tmp_path: Path) -> None:
    """Numbers below zero have other bits in narrow columns."""
    ids = pa.array(range(-120, 180), pa.int64())
    release(small_month(tmp_path, "first", ids, "report"))
    made = release(small_month(tmp_path, "second", ids.cast(pa.int16()), "report"))
    said = made.internal["over_time"]
    assert (said["newcomers"], said["leavers"]) == (0, 0)


def test_newcomers_alone_are_released(tmp_path: Path) -> None:
    """Of ten persons one left, so the other nine are left out, as departures are dropped."""
    release(small_month(tmp_path, "first", pa.array(range(10)), "drop"))
    made = release(small_month(tmp_path, "second", pa.array(range(1, 40)), "drop"))
    assert made.manifest["records"] == 30
    assert audit_release(made.folder).passed


def test_originals_are_not_made_again(made: list[Released], months: SeriesMonths) -> None:
    result = add_originals(audit_release(made[1].folder), parse_policy(months.policy(1)), QUIET)
    assert result.findings == []
    assert "depend on those before it" in result.notes[-1]
    assert "over persons are not checked" in result.notes[0]
    assert "tclose audit --series checks them" in result.notes[0]


def test_originals_of_another_month_are_found(made: list[Released], months: SeriesMonths) -> None:
    """All persons of the first month that are in the second have other incomes or none."""
    result = add_originals(audit_release(made[1].folder), parse_policy(months.policy(0)), QUIET)
    [finding] = result.findings
    assert re.match(r"originals: [\d,]+ of the [\d,]+ released rows are of no record that", finding)
    assert finding.endswith("name the policy and the input that the release was made with")


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
        [note] = result.notes  # and none that k over persons was not checked
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


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("asked", "limit", "found"),
    [
        ({"k": 1_000}, None, "series: k over time: asked at least 1000 persons"),
        ({"departures": "refuse"}, None, "series: departures: asked none who can be found"),
        ({"cells": 1}, None, "series: the manifest says other cells"),
        ({}, Fraction(1, 10**6), "series: t over time: asked every cell within it"),
    ],
)
def test_audit_decides_the_series_again(
    copied: SeriesMonths,
    made: list[Released],
    asked: dict[str, Any],
    limit: Fraction | None,
    found: str,
) -> None:
    """What the release says is asked may be more than was held, as by a fault."""
    last = copied.folder / "releases" / "panel-2" / made[2].folder.name / "internal"
    document = json.loads((last / "manifest.json").read_text())
    path = last / "register.parquet"
    if limit is not None:
        persons = read_register(path.read_bytes())
        limits = (limit,) * len(persons.limits)
        path.write_bytes(write_register(replace(persons, limits=limits)))
        asked = asked | {"register_sha256": sha256(path.read_bytes()).hexdigest()}
    document["over_time"] |= asked
    (last / "manifest.json").write_text(json.dumps(document))
    findings = add_series(audit_release(last.parent)).findings
    assert [one for one in findings if one.startswith(found)], findings


def test_audit_and_the_next_release_see_that_an_earlier_one_was_changed(
    copied: SeriesMonths, made: list[Released]
) -> None:
    path = copied.folder / "releases" / "panel-1" / made[1].folder.name / "internal/manifest.json"
    document = json.loads(path.read_text())
    document["over_time"]["churn"] += 0.01
    path.write_text(json.dumps(document))
    last = copied.folder / "releases" / "panel-2" / made[2].folder.name
    [found] = add_series(audit_release(last)).findings
    assert found.startswith(f"series: release panel-1/{made[1].folder.name}: internal/manifest")
    with pytest.raises(OutputError, match=r"panel-1/.*: is not as it was published"):
        copied.publish(3)


@pytest.mark.parametrize("section", [None, "other"])
def test_release_that_was_written_out_of_its_series(
    copied: SeriesMonths, made: list[Released], section: str | None
) -> None:
    """The next one would be held to the others alone."""
    last = copied.folder / "releases" / "panel-2" / made[2].folder.name
    path = last / "internal" / "manifest.json"
    document = json.loads(path.read_text())
    if section is None:
        del document["over_time"]
    else:
        document["over_time"]["series"] = section
    path.write_text(json.dumps(document))
    message = r"panel-2/.*: is not as it was published .*whether it is of series 'panel'"
    with pytest.raises(OutputError, match=message):
        copied.publish(3)
    earlier = copied.folder / "releases" / "panel-1" / made[1].folder.name
    [found] = add_series(audit_release(earlier)).findings
    assert "whether it is of series 'panel'" in found


@pytest.mark.every_case
@pytest.mark.parametrize("month", [0, 1, 2])
def test_audit_misses_every_release_of_the_window(copied: SeriesMonths, month: int) -> None:
    """Of three, so that the first month is in it no more."""
    [last] = copied.publish(3, window=3)
    shutil.rmtree(copied.folder / "releases" / f"panel-{month}")
    findings = add_series(audit_release(last.folder)).findings
    named = f"series: release number {month + 1} is not in the output folder"
    assert [one.startswith(named) for one in findings] == ([True] if month else [])


@pytest.fixture
def pruned(copied: SeriesMonths) -> tuple[ReleaseRepository, list[Released]]:
    """Months of one name, held together by twos; the first two were removed as the rules allow."""
    shutil.rmtree(copied.folder / "releases")
    documents = [copied.policy(month, window=2) | {"name": "panel"} for month in range(4)]
    published = [release(document) for document in documents]
    repository = ReleaseRepository(copied.folder / "releases", "panel")
    removed = prune(repository, 1).removed
    assert removed == tuple(one.folder.name for one in published[:2])
    return repository, published


def test_audit_of_a_window_that_was_pruned(
    pruned: tuple[ReleaseRepository, list[Released]], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not decided, and what is wrong with the others is found all the same."""
    _, (_, second, third, last) = pruned
    assert main(["audit", str(last.folder), "--series", "--quiet"]) == 0
    assert main(["audit", str(third.folder), "--quiet"]) == 0
    assert main(["audit", str(third.folder), "--series"]) == 2
    said = capsys.readouterr().err
    name = f"panel/{second.folder.name}"
    assert f"series: it cannot be decided again: release number 2 ({name}) was removed by" in said
    seals = third.folder / "internal" / SEAL_FILE
    sealed = seals.read_bytes()
    seals.write_bytes(b"{}")
    assert main(["audit", str(third.folder), "--series"]) == 3
    printed = capsys.readouterr().out
    assert "FAIL" in printed
    assert "series: it cannot be decided again" in printed
    seals.write_bytes(sealed)
    (third.folder / "internal" / "register.parquet").unlink()
    assert main(["audit", str(third.folder), "--series"]) == 3


@pytest.mark.parametrize("is_told", [False, True])
def test_audit_of_a_window_that_was_not_pruned_by_the_rules(
    pruned: tuple[ReleaseRepository, list[Released]], is_told: bool
) -> None:
    """Without a line of the journal, or with one that tells of what `prune` does not remove."""
    repository, (_, _, third, last) = pruned
    if is_told:
        shutil.rmtree(third.folder)
        write_line(repository, "prune", {"removed": [third.folder.name]})
        audited, number = last, 3
    else:
        repository.store.remove(FILE)
        audited, number = third, 2
    [finding] = add_series(audit_release(audited.folder)).findings
    assert finding.startswith(f"series: release number {number} is not in the output folder")


def test_audit_of_other_releases(
    copied: SeriesMonths, made: list[Released], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.rmtree(copied.folder / "releases" / "panel-1")
    last = copied.folder / "releases" / "panel-2" / made[2].folder.name
    assert main(["audit", str(last), "--series", "--quiet"]) == 3
    printed = capsys.readouterr().out
    assert "series: release number 2 is not in the output folder" in printed
    assert "over persons are not checked" in printed
    assert "tclose audit --series checks" not in printed  # which this one is
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
