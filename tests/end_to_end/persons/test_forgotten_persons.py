"""A person is forgotten in the registers of a series: what is left of her, and what holds then."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release, tree, write_parquet, write_policy
from support.cases.series_months import SeriesMonths, read_classes
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.cli.main import main
from tclose.errors import BusyError, InfeasibleError, OutputError, PolicyError
from tclose.passes.compare.keyed_hashes import derive_key
from tclose.passes.persons.named_key import PERSON_PURPOSE
from tclose.passes.publish import publish as publishing
from tclose.passes.series import forget_person as forgetting
from tclose.passes.series import link_persons
from tclose.passes.series.forget_person import ForgottenPerson, forget_person, hash_spellings
from tclose.policy.policy import parse_policy
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.series.register_file import ReleasedPersons, read_register
from tclose.releases.series.rewriting import LIST
from tclose.releases.stores.filesystem import FolderStore

pytestmark = pytest.mark.usefixtures("small_regions")


def say_nothing(_: str) -> None:
    pass


def forget(place: SeriesMonths, person: str, **over_time: Any) -> ForgottenPerson:
    return forget_person(parse_policy(place.policy(0, **over_time)), person, say_nothing)


def registers(place: SeriesMonths) -> list[ReleasedPersons]:
    """In the order of their releases' names."""
    paths = sorted((place.folder / "releases").glob("panel-*/*/internal/register.parquet"))
    return [read_register(path.read_bytes()) for path in paths]


def find_findings(place: SeriesMonths) -> list[str]:
    """Return the findings of audits of all releases."""
    folders = sorted((place.folder / "releases").glob("panel-*/[0-9a-f]*"))
    return [finding for one in folders for finding in add_series(audit_release(one)).findings]


def hashes_of(place: SeriesMonths, person: str) -> set[bytes]:
    key = (place.folder / "releases" / ".release-key").read_bytes()
    return {row.tobytes() for row in hash_spellings(person, derive_key(key, PERSON_PURPOSE))}


def test_forgotten_person_is_as_one_who_left(
    copied: SeriesMonths, made: list[Released], person: str, tmp_path: Path
) -> None:
    before = registers(copied)
    files = {name: of for name, of in tree(copied.folder).items() if "/internal/" not in name}
    found = forget(copied, person)
    assert [name.split("/")[0] for name in found.releases] == ["panel-0", "panel-1", "panel-2"]
    cells = [read_classes(one) for one in made]
    same = [p for p in cells[0] if all(p in c and c[p][0] == c[person][0] for c in cells)]
    assert (found.n_held, found.cell.n_others) == (3, len(same) - 1)
    own = hashes_of(copied, person)
    drawn = set()
    for was, now in zip(before, registers(copied), strict=True):
        assert not own & {row.tobytes() for row in now.hashes}
        [row] = np.flatnonzero((was.hashes != now.hashes).any(axis=1))
        drawn.add(now.hashes[row].tobytes())
        assert {row.tobytes() for row in now.forgotten} <= own
        assert (was.classes == now.classes).all()
    assert len(drawn) == 1
    words = {np.frombuffer(one, np.uint64)[0] for one in own}
    for path in (copied.folder / "releases").rglob("internal/manifest.json"):
        sketch = json.loads(path.read_text())["person_sketch"]["hashes"]
        assert not {f"{word:016x}" for word in words} & set(sketch)
    assert find_findings(copied) == []
    after = {name: of for name, of in tree(copied.folder).items() if "/internal/" not in name}
    assert {name for name in after if after[name] != files.get(name)} == {
        f"releases/panel-{month}/.journal.jsonl" for month in range(3)
    }
    check_next_release(copied, person, tmp_path)


def test_of_whom_a_sketch_is_made_leaves_none(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without hashes would be damaged."""
    words = {np.frombuffer(one, np.uint64)[0] for one in hashes_of(copied, person)}
    paths = list((copied.folder / "releases").rglob("internal/manifest.json"))
    for path in paths:
        document = json.loads(path.read_text())
        document["person_sketch"]["hashes"] = sorted(f"{word:016x}" for word in words)
        path.write_text(json.dumps(document))
    monkeypatch.setattr(forgetting, "verify_signatures", lambda *_: [])
    forget(copied, person)
    assert [json.loads(path.read_text())["person_sketch"] for path in paths] == [None] * 3


def check_next_release(copied: SeriesMonths, person: str, folder: Path) -> None:
    """It has the bytes of one whose input does not have her."""
    [last] = copied.publish(3)
    assert person not in read_classes(last)
    said = last.internal["over_time"]
    assert said["forgotten"] == 1 <= said["left_out"]
    assert "forgotten on request: 1" in (last.folder / "internal" / "report.html").read_text()
    assert find_findings(copied) == []
    table = pq.read_table(copied.files[3])
    without = table.filter(pc.not_equal(table["person_id"], person))
    path = write_parquet(folder / "without.parquet", without)
    other = SeriesMonths(folder / "other", (*copied.files[:3], path))
    other.publish(0, 1, 2)
    forget(other, person)
    [same] = other.publish(3)
    assert same.internal["over_time"]["forgotten"] == 0
    assert same.data == last.data


def test_nobody_of_that_value(copied: SeriesMonths) -> None:
    before = tree(copied.folder)
    with pytest.raises(PolicyError, match="no register has that person") as caught:
        forget(copied, "nobody-of-that-name")
    assert "nobody-of" not in str(caught.value)
    assert tree(copied.folder) == before
    alone = copied.policy(0)
    del alone["privacy"]["over_time"], alone["series"]
    with pytest.raises(PolicyError, match="the policy has none, so there is no register"):
        forget_person(parse_policy(alone), "x", say_nothing)
    with pytest.raises(PolicyError, match="there are no releases of it"):
        forget_person(parse_policy(copied.policy(0) | {"series": "other"}), "x", say_nothing)


def test_numbers_are_found_by_their_digits() -> None:
    key = bytes(32)
    assert len(hash_spellings("x", key)) == 1
    assert len(hash_spellings("12", key)) == 2  # the text, and a number of whatever width
    assert len(hash_spellings("-2", key)) == 5


def test_while_a_run_works(copied: SeriesMonths, person: str) -> None:
    before = tree(copied.folder)
    for name in ("panel", "panel-1"):
        repository = ReleaseRepository(copied.folder / "releases", name)
        with repository.acquire_lease(), pytest.raises(BusyError):
            forget(copied, person)
    after = {name: of for name, of in tree(copied.folder).items() if "journal" not in name}
    assert after.keys() - before.keys() <= {"releases/panel", "releases/panel/.lock"}
    assert {name: after[name] for name in before} == before


def test_damaged_release_is_not_sealed_anew(copied: SeriesMonths, person: str) -> None:
    [path] = (copied.folder / "releases" / "panel-1").glob("*/internal/plan.json")
    path.write_bytes(path.read_bytes() + b" ")
    before = tree(copied.folder)
    with pytest.raises(OutputError, match=r"plan.json: its content has changed; nothing was"):
        forget(copied, person)
    assert tree(copied.folder) == before


class Stopped(BaseException):
    """As a kill: nothing is cleaned up."""


@pytest.mark.parametrize("n_put", [0, 2, 5, 8])
def test_stopped_while_files_are_put(
    copied: SeriesMonths, person: str, n_put: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decided is decided: the next run, or the next one who forgets, does the rest."""
    stop_after(monkeypatch, "attach", n_put)
    with pytest.raises(Stopped):
        forget(copied, person)
    monkeypatch.undo()
    own = hashes_of(copied, person)
    [last] = copied.publish(3)
    assert last.internal["over_time"]["forgotten"] == 1
    assert find_findings(copied) == []
    assert not any(own & {row.tobytes() for row in one.hashes} for one in registers(copied))
    assert not list(copied.folder.rglob(".rewriting"))
    assert len(forget(copied, person).already) == 3  # the last one never had her


def test_stopped_before_it_is_decided(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(copied.folder)
    for n_written in (0, 4, 9):
        stop_after(monkeypatch, "write", n_written)
        with pytest.raises(Stopped):
            forget(copied, person)
        monkeypatch.undo()
        assert find_findings(copied) == []
    with pytest.raises(PolicyError):
        forget(copied, "nobody")
    after = {name: of for name, of in tree(copied.folder).items() if "journal" not in name}
    assert {name: after[name] for name in before} == before
    assert not list(copied.folder.rglob(".rewriting"))
    assert len(forget(copied, person).releases) == 3


def test_repeated_after_it_was_stopped(
    copied: SeriesMonths,
    person: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is finished, and says so; not that nothing was changed."""
    stop_after(monkeypatch, "attach", 2)
    with pytest.raises(Stopped):
        forget(copied, person)
    monkeypatch.undo()
    policy = str(write_policy(copied.folder / "panel.yaml", copied.policy(0)))
    (copied.folder / "whom.txt").write_text(person)
    arguments = ["forget", policy, "--from", str(copied.folder / "whom.txt"), "--quiet"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        "finished what an earlier forget had begun",
        "forgotten already in 3 registers of series 'panel'",
    ]
    assert find_findings(copied) == []
    files = tree(copied.folder / "releases")
    assert main(arguments) == 0
    assert capsys.readouterr().out == "forgotten already in 3 registers of series 'panel'\n"
    assert tree(copied.folder / "releases") == files
    (copied.folder / "whom.txt").write_text("nobody-of-that-name")
    assert main(arguments) == 2
    assert "nothing was changed" in capsys.readouterr().err


def test_stopped_in_its_last_clearing_up(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is in place and the list is gone: nothing has to be finished, and she is forgotten."""
    with monkeypatch.context() as patch:
        remove = FolderStore.remove

        def remove_list(store: FolderStore, name: str) -> None:
            remove(store, name)
            if name == LIST:
                raise Stopped

        patch.setattr(FolderStore, "remove", remove_list)
        with pytest.raises(Stopped):
            forget(copied, person)
    assert list(copied.folder.rglob(".rewriting"))
    again = forget(copied, person)
    assert (again.releases, again.finished) == ((), False)
    assert [name.split("/")[0] for name in again.already] == ["panel-0", "panel-1", "panel-2"]
    assert not list(copied.folder.rglob(".rewriting"))


def stop_after(monkeypatch: pytest.MonkeyPatch, step: str, n_times: int) -> None:
    """Stop a store's step when it was done so many times."""
    original = getattr(FolderStore, step)
    done: list[str] = []

    def counted(*arguments: Any) -> None:
        if len(done) == n_times:
            raise Stopped
        done.append(step)
        original(*arguments)

    monkeypatch.setattr(FolderStore, step, counted)


@pytest.mark.nightly
def test_stopped_run_is_not_gone_on_with(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its working files were made with the registers as they were, and have her hash."""
    elsewhere = {"engine": {"work_path": str(copied.folder / "elsewhere")}}
    alone = copied.policy(3) | {"name": "alone", "series": "alone"}
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_check_series", _stop)
        for document in (copied.policy(3), copied.policy(2) | elsewhere | {"name": "new"}, alone):
            with pytest.raises(Stopped):
                release(document)
    names = ["releases/panel-3", "elsewhere", "releases/alone"]
    assert all(has_hash(copied.folder / name, hashes_of(copied, person)) for name in names)
    forget(copied, person)
    found = [has_hash(copied.folder / name, hashes_of(copied, person)) for name in names]
    assert found == [False, False, True]
    assert not list((copied.folder / "releases" / "panel-3").glob(".work"))
    assert not list((copied.folder / "elsewhere").iterdir())
    [last] = copied.publish(3)
    assert last.internal["over_time"]["forgotten"] == 1
    assert find_findings(copied) == []


def test_run_stopped_before_its_last_step_is_finished(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its working files go, by which a next run would have known that it has to be."""
    document = copied.policy(3) | {"name": "panel-2"}
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseRepository, "set_current", _stop)
        with pytest.raises(Stopped):
            release(document)
    folder = copied.folder / "releases" / "panel-2"
    [made] = [path.parent.name for path in folder.glob(".work/*/values")]
    before = (folder / "CURRENT").read_text()
    assert len(forget(copied, person).releases) == 4
    assert (folder / "CURRENT").read_text().split()[0] == made != before.split()[0]
    assert not list(folder.glob(".work"))


def has_hash(folder: Path, hashes: set[bytes]) -> bool:
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return any(one[:8] in content for one in hashes for content in files)


def _stop(*_: Any) -> None:
    raise Stopped


class _Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def test_command_reads_whom_from_standard_input_or_a_file(
    copied: SeriesMonths,
    person: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = str(write_policy(copied.folder / "panel.yaml", copied.policy(0)))
    for content in (b"", b"\n", b"secret-1\nsecret-2\n", b"\xff", b"secret" * 20_000):
        monkeypatch.setattr("sys.stdin", _Stdin(content))
        assert main(["forget", policy, "--quiet"]) == 2
        said = capsys.readouterr()
        assert said.err.startswith("tclose: standard input: ")
        assert "secret" not in said.err + said.out
    assert main(["forget", policy, "--from", str(copied.folder / "none.txt")]) == 2
    assert "cannot be read (No such file" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", _Stdin(f"{person}\r\n".encode()))
    assert main(["forget", policy]) == 0
    said = capsys.readouterr()
    assert person not in said.out + said.err
    first, second = said.out.splitlines()
    assert first == "forgotten in 3 registers of series 'panel'"
    assert second.startswith("the next release is held to 3 of these: in it she has left her cell")
    assert "unless 3 leave it together, subtraction finds her" in second
    other = min(set(pq.read_table(copied.files[0])["person_id"].to_pylist()) - {person})
    (copied.folder / "whom.txt").write_text(other)
    arguments = ["forget", policy, "--from", str(copied.folder / "whom.txt"), "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["series"] == "panel"


def test_forgotten_in_releases_that_are_out_of_the_window(
    copied: SeriesMonths, made: list[Released]
) -> None:
    """Nothing changes for the next release."""
    copied.publish(3, window=2)
    gone = set(read_classes(made[0])) - set(pq.read_table(copied.files[3])["tag"].to_pylist())
    found = forget(copied, min(gone), window=2)
    assert (found.n_held, found.cell.n_others) == (0, 0)
    assert find_findings(copied) == []
    document = copied.policy(2, window=2) | {"name": "again"}
    assert release(document).internal["over_time"]["forgotten"] == 0


@pytest.mark.parametrize("again", [False, True])
def test_window_in_which_she_would_be_two_persons(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """Released again when a short window had left her, and perhaps forgotten again, it is no longer
    made longer: her cell would never be judged."""
    forget(copied, person, window=2)
    table = pq.read_table(copied.files[3])
    fewer = write_parquet(copied.folder / "fewer.parquet", table[60:])
    release(copied.policy(3, window=2) | {"input": {"path": str(fewer)}})
    back = copied.policy(3, window=2) | {"name": "panel-back"}
    assert person in read_classes(release(back))  # beside others who are new to this window
    if again:
        forget(copied, person, window=2)
    names = [back | {"name": f"panel-{n}", "seed": 2} for n in "xy"]
    over_time = back["privacy"]["over_time"]
    with pytest.raises(
        InfeasibleError, match=r"window: it has release panel-2/\w+, .* 1 person .* a window of 3 f"
    ):
        release(parted(names[0], over_time | {"window": 4}))
    release(parted(names[0], over_time | {"window": 3}))
    assert find_findings(copied) == []
    with pytest.raises(InfeasibleError, match="a window of 4 for"):
        release(parted(names[1], over_time | {"window": 12}))
    monkeypatch.setattr(link_persons, "check_forgotten", lambda *_: None)
    release(parted(names[1], over_time | {"window": 12}))
    [finding] = find_findings(copied)
    assert finding.startswith("series: release panel-2/")
    assert finding.endswith("1 person was forgotten who is in a later release again")


def parted(policy: dict[str, Any], over_time: dict[str, Any]) -> dict[str, Any]:
    return policy | {"privacy": policy["privacy"] | {"over_time": over_time}}


def test_a_policy_with_a_longer_window_holds_the_next_release_to_more(
    copied: SeriesMonths, made: list[Released]
) -> None:
    """Than the newest release was held to: where she was forgotten it can make a difference."""
    copied.publish(3, window=2)
    gone = set(read_classes(made[0])) - set(pq.read_table(copied.files[3])["tag"].to_pylist())
    found = forget(copied, min(gone), window=12)
    assert found.n_held == len(found.releases) > 0


def test_who_was_forgotten_before_may_be_among_the_others(
    copied: SeriesMonths, made: list[Released], person: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing tells whose her row is, so that as many as that may be gone."""
    cells = [read_classes(one) for one in made]
    here = pq.read_table(copied.files[2])["tag"].to_pylist()
    same = [p for p in cells[0] if all(p in c and c[p][0] == c[person][0] for c in cells)]
    others = [p for p in same if p != person and p in here]
    policy = str(write_policy(copied.folder / "panel.yaml", copied.policy(0)))
    (line := copied.folder / "whom.txt").write_text(person)
    assert main(["forget", policy, "--from", str(line)]) == 0
    assert f"of which {len(others)} others stay (over_time.k 3)" in capsys.readouterr().out
    line.write_text(others[0])
    assert main(["forget", policy, "--from", str(line)]) == 0
    told = f"of which {len(others) - 1} to {len(others)} others stay, as 1 person was forgotten"
    assert told in (said := capsys.readouterr().out)
    assert ("fewer than 3 stay" in said) == (len(others) - 1 < 3)
    line.write_text(others[1])
    assert main(["forget", policy, "--from", str(line), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_others"], found["n_forgotten"], found["has_left"]) == (len(others), 2, False)
