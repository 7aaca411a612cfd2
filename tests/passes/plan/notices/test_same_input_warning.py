"""Several releases of the same input in one folder: a warning, which says what to do."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.cases.people import people, policy_for, write_policy
from tclose.cli.main import main
from tclose.passes.plan.notices.same_input_warning import find_others
from tclose.passes.publish import release_record
from tclose.runtime import open_run

pytestmark = pytest.mark.usefixtures("small_regions")

WARNING = "of the same input"
N_RECORDS = 120


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pays = [10 * (i % 7) for i in range(N_RECORDS)]  # ties, which the seed deals out
    pq.write_table(people(N_RECORDS, pay=pays), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


class Runs:
    """Runs of one policy, changed each time; what each printed, and what it published."""

    def __init__(self, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.source, self.capsys = source, capsys
        self.policy = source.parent / "policy.yaml"

    def run(self, *sets: str, command: str = "run", **changes: Any) -> tuple[str, str]:
        # A short search ends at the same classes with any seed.
        searched: dict[str, Any] = {"method": {}}
        write_policy(self.policy, policy_for(self.source, **(searched | changes)))
        options = [f"--set={key}" for key in sets]
        options += ["--sample=0"] if command == "plan" else []
        assert main([command, str(self.policy), "--quiet", *options]) == 0
        printed = self.capsys.readouterr()
        return printed.out, printed.err

    def current(self, name: str = "people") -> Path:
        folder = self.source.parent / "releases" / name
        return folder / (folder / "CURRENT").read_text().strip()

    def beside(self, name: str = "people") -> list[dict[str, Any]]:
        manifest = json.loads((self.current(name) / "internal/manifest.json").read_text())
        found: list[dict[str, Any]] = manifest.get("same_input", [])
        return found


@pytest.fixture
def runs(source: Path, capsys: pytest.CaptureFixture[str]) -> Runs:
    return Runs(source, capsys)


def test_first_release_is_alone(runs: Runs) -> None:
    assert WARNING not in "".join(runs.run(command="plan"))
    assert WARNING not in "".join(runs.run())
    assert runs.beside() == []
    assert WARNING not in "".join(runs.run())  # published already
    assert WARNING not in "".join(runs.run(command="plan"))


@pytest.mark.parametrize(
    ("change", "section"),
    [
        ("seed=2", "seed"),
        ("privacy.k=5", "privacy"),
        ("privacy.t=0.4", "privacy"),
        ("method.name=mondrian", "method"),
        ("attributes.age.aggregate=median", "attributes"),
        ("output.partition_by=[sex]", "output"),
        ("name=others", None),
    ],
)
def test_another_release_of_the_same_input(change: str, section: str | None, runs: Runs) -> None:
    runs.run()
    first = f"people/{runs.current().name}"
    more = () if section else ("seed=9",)
    name = "people" if section else "others"
    section = section or "seed"
    planned, _ = runs.run(change, *more, command="plan")
    out, told = runs.run(change, *more)
    for text in (planned, told):
        assert text.count("1 release of the same input is in the output folder already") == 1
        assert f"already: {first} (other {section}); anyone with two can tell records apart" in text
        assert "remove the others: tclose rollback makes the one that stays current" in text
        assert "warning TC-W014" in text
    assert f"also released as {first}" in out
    assert runs.beside(name) == [{"release": first, "differs": [section]}]
    public = (runs.current(name) / "manifest.json").read_text()
    assert first not in public


@pytest.mark.parametrize(
    "change", ["name=others", "output.rows_per_file=7", "engine.lease_seconds=99"]
)
def test_the_same_classes_are_no_other(change: str, runs: Runs) -> None:
    """The same data under another name tells nobody more."""
    runs.run()
    out, told = runs.run(change)
    assert "warning" not in told
    assert "also released" not in out


@pytest.mark.parametrize(
    "change",
    [
        "about.title=People",
        "unlisted=drop",
        "attributes.pay={role: confidential, label: Pay, unit: euros, description: of a year}",
    ],
)
def test_other_words_are_no_other(change: str, runs: Runs) -> None:
    """A strict run, which looks at policies alone, goes on."""
    runs.run()
    assert WARNING not in "".join(runs.run(change, command="plan"))
    runs.run(change, "engine.strict=true")
    assert runs.beside() == []


def test_another_version_of_tclose(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same policy: only the bytes tell that the classes are others."""
    runs.run()
    first = f"people/{runs.current().name}"
    monkeypatch.setattr(release_record, "find_others", partial(pretend_other_rows, find_others))
    monkeypatch.setattr(open_run, "library_versions", lambda: {"numpy": "another"})
    out, told = runs.run()
    assert f"already: {first} (other version of tclose); anyone" in told
    assert f"also released as {first}" in out


def pretend_other_rows(find: Any, of_run: Any, data: frozenset[str]) -> Any:
    return find(of_run, frozenset(digest[::-1] for digest in data))


def test_seeds_that_give_the_same_rows(runs: Runs) -> None:
    """Mondrian draws nothing."""
    mondrian = {"name": "mondrian"}
    runs.run(method=mondrian)
    out, told = runs.run("seed=2", method=mondrian)
    assert runs.beside() == []
    assert "warning" not in told
    assert "also released" not in out


def test_a_folder_that_grew(runs: Runs, tmp_path: Path) -> None:
    """Its policy is the same, and so is the version: the files say what is other."""
    folder = tmp_path / "grows"
    folder.mkdir()
    shutil.copy(runs.source, folder / "first.parquet")
    there = f"input.path={folder}"
    runs.run(there)
    first = f"people/{runs.current().name}"
    shutil.copy(runs.source, folder / "second.parquet")  # the same records again
    for command in ("plan", "run"):
        told = "".join(runs.run(there, command=command))
        assert f"already: {first} (only some files are the same); anyone" in told
    strict = ["run", str(runs.policy), "--quiet", "--strict", "--set", there, "--set=seed=2"]
    assert main(strict) == 3
    assert f"{first} (other seed; only some files are the same)" in runs.capsys.readouterr().err


def test_values_that_are_read_otherwise(runs: Runs, tmp_path: Path) -> None:
    rows = [f"{20 + i % 40};{'fm'[i % 2]};{i % 7},5" for i in range(N_RECORDS)]
    (tmp_path / "people.csv").write_text("\n".join(["age;sex;pay", *rows]))
    sets = [f"input.path={tmp_path}/people.csv", "input.delimiter=;", "attributes.pay.t=0.9"]
    runs.run(*sets, "attributes.pay.type=nominal")
    first = f"people/{runs.current().name}"
    told, _ = runs.run(*sets, 'input.decimal=","', command="plan")
    assert f"already: {first} (other attributes, input); anyone" in told


def test_removed_ones_and_other_inputs_are_not_told(runs: Runs, tmp_path: Path) -> None:
    runs.run()
    old = runs.current()
    pq.write_table(people(50), tmp_path / "fewer.parquet")
    _, told = runs.run(f"input.path={tmp_path}/fewer.parquet", "name=fewer")
    assert WARNING not in told
    shutil.rmtree(old)
    _, told = runs.run("seed=3")
    assert WARNING not in told


def test_strict_runs_refuse_it_before_classes_are_made(runs: Runs) -> None:
    runs.run()
    first = runs.current()
    write_policy(runs.policy, policy_for(runs.source, privacy={"k": 4, "t": 0.3}))
    for command in ("plan", "run"):
        assert main([command, str(runs.policy), "--quiet", "--strict"]) == 3
        told = runs.capsys.readouterr().err
        assert "TC-W014: 1 release of the same input is in the output folder" in told
        assert "microaggregate" not in told
    assert [one.name for one in first.parent.iterdir() if len(one.name) == 20] == [first.name]
    runs.run("engine.strict=true", "engine.accepted_warnings=[TC-W014]", privacy={"k": 4, "t": 0.3})
    inside = json.loads((runs.current() / "internal/manifest.json").read_text())
    assert [warning["code"] for warning in inside["warnings"]] == ["TC-W014"]


@pytest.mark.nightly
def test_many_are_counted(runs: Runs) -> None:
    for seed in range(1, 6):
        _, told = runs.run(f"seed={seed}")
    assert "warning TC-W014: 4 releases of the same input are in the output folder" in told
    assert told.count("(other seed)") == 3
    assert " and 1 more; anyone" in told


@pytest.mark.parametrize("content", ["", "[]", "{", '{"inputs": 5}', '{"inputs": [5], "files": 1}'])
def test_manifests_that_are_damaged(content: str, runs: Runs) -> None:
    runs.run()
    (runs.current() / "internal/manifest.json").write_text(content)
    _, told = runs.run("seed=2")
    assert "1 release in the output folder" in told
    assert runs.beside() == []


def edit_internal(release: Path, **keys: Any) -> None:
    path = release / "internal" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def test_a_wrong_key_of_its_manifest_hides_no_release(runs: Runs) -> None:
    runs.run()
    edit_internal(runs.current(), seconds={"plan": None}, records="many")
    first = f"people/{runs.current().name}"
    _, told = runs.run("seed=2")
    assert f"already: {first} (other seed)" in told
    assert "cannot be told" not in told


@pytest.mark.parametrize("keys", [{"inputs": None}, {"inputs": [{}]}, {"noise": {"pay": {}}}])
def test_manifest_that_does_not_tell_is_warned_of(keys: dict[str, Any], runs: Runs) -> None:
    runs.run()
    edit_internal(runs.current(), **keys)
    first = f"people/{runs.current().name}"
    for command in ("plan", "run"):
        _, told = runs.run("seed=2", command=command)
        assert told.count(f"({first}) cannot be told from others of the same input") == 1


@pytest.mark.parametrize("keys", [{"noise": {}}, {"inputs": []}])
def test_changed_manifest_is_warned_of_and_counted(keys: dict[str, Any], runs: Runs) -> None:
    runs.run()
    edit_internal(runs.current(), **keys)
    first = f"people/{runs.current().name}"
    for command in ("plan", "run"):
        shown, told = runs.run("seed=2", command=command)
        assert told.count(f"({first}) says of its input and noise is not what was published") == 1
        assert (f"already: {first} (other seed)" in shown + told) is ("noise" in keys)


def test_unchanged_manifest_is_not_warned_of(runs: Runs) -> None:
    runs.run()
    _, told = runs.run("seed=2")
    assert "not what was published" not in told


def test_plan_names_the_release_that_a_run_would_find(runs: Runs) -> None:
    assert "published already" not in runs.run(command="plan")[0]
    runs.run()
    shown, _ = runs.run(command="plan")
    assert f"published already  people/{runs.current().name}, of this input, policy" in shown
    assert "published already" not in runs.run("seed=2", command="plan")[0]
    (runs.current() / "manifest.json").write_text("")  # a run would make it anew
    assert "published already" not in runs.run(command="plan")[0]
