"""Releases in which k counts persons, checked by the numbers of their records."""

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release, write_csv, write_parquet
from support.cases.visits import (
    PATIENT,
    QUASI_NAMES,
    measure_visits,
    visit_policy,
    visits,
    write_visits,
)
from support.naive.naive_traces import Row, trace
from support.passes import UNTIL_VERDICT, run_passes
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.cli.main import main
from tclose.errors import VerificationError
from tclose.passes.microaggregate import region_clusters
from tclose.passes.microaggregate.repair.repair_region import Merger
from tclose.passes.persons import person_keys
from tclose.passes.release import open_release, run_release
from tclose.passes.verify import person_checks, person_traces
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

ROWS, PATIENTS = 750, 200


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_visits(tmp_path_factory.mktemp("visits"), ROWS, PATIENTS)


@pytest.fixture(scope="module")
def made(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Released:
    return release(visit_policy(source, tmp_path_factory.mktemp("releases")))


def test_k_and_t_hold_over_persons(made: Released, source: Path) -> None:
    found = measure_visits(made, pq.read_table(source))
    privacy = made.manifest["privacy"]
    said = privacy["persons"]
    assert privacy["counted"] == "persons"
    assert said["persons"] == found["persons"] == PATIENTS
    assert said["k"] == {"asked": 4, "achieved": found["sizes"][0]}
    assert found["sizes"][0] >= 4
    assert said["classes"]["smallest"] == found["sizes"][0]
    assert said["classes"]["largest"] == found["sizes"][-1]
    mean = sum(found["sizes"]) / len(found["sizes"])
    assert said["classes"]["mean"] == pytest.approx(mean)
    assert found["t"]["cost"] <= 0.25
    assert found["t"]["ward"] <= 0.35
    largest = made.internal["largest_emd_over_persons"]
    assert largest == pytest.approx({name: float(t) for name, t in found["t"].items()})
    assert {name: t["asked"] for name, t in said["t"].items()} == {"cost": 0.25, "ward": 0.35}


def test_rows_of_one_person_are_not_told_by_a_distance(made: Released) -> None:
    """A distance over persons depends on whose rows are whose, which no file that leaves says.

    Of 201 records of 200 persons the digits of one named, of the 25 pairs of rows that the two
    records of a person could be, the very pair.
    """
    public = ["manifest.json", *(document["path"] for document in made.manifest["documents"])]
    texts = {name: (made.folder / name).read_text() for name in public}
    for name, distance in made.internal["largest_emd_over_persons"].items():
        assert distance != pytest.approx(made.manifest["privacy"]["t"][name]["largest_emd"])
        assert [n for n, text in texts.items() if f"{distance:.6f}"[:-1] in text] == []


def test_records_would_not_do(source: Path, tmp_path: Path) -> None:
    """The same policy without the role leaves classes of fewer persons, and says what k counts."""
    document = visit_policy(source, tmp_path)
    document["attributes"]["patient"] = "identifier"
    plain = release(document)
    assert plain.manifest["privacy"]["counted"] == "records"
    assert "persons" not in plain.manifest["privacy"]
    assert measure_visits(plain, pq.read_table(source))["sizes"][0] < 4


def test_one_record_a_person_changes_no_byte(tmp_path: Path) -> None:
    source = write_visits(tmp_path, 800, 800)
    counted = release(visit_policy(source, tmp_path / "counted"))
    document = visit_policy(source, tmp_path / "plain")
    document["attributes"]["patient"] = "identifier"
    assert release(document).data == counted.data
    persons, privacy = counted.manifest["privacy"]["persons"], counted.manifest["privacy"]
    for name, t in privacy["t"].items():
        over_persons = counted.internal["largest_emd_over_persons"][name]
        assert over_persons == pytest.approx(t["largest_emd"])
    assert persons["k"] == privacy["k"]


@pytest.mark.usefixtures("small_regions")
class TestInvariance:
    @pytest.mark.nightly
    def test_pieces_formats_and_keys_change_no_byte(self, tmp_path: Path) -> None:
        """Person numbers follow a key that each folder of releases draws anew."""
        first = release(visit_policy(write_visits(tmp_path, 1_500, 400), tmp_path / "a"))
        (tmp_path / "cut").mkdir()
        cut = write_visits(tmp_path / "cut", 1_500, 400, row_group_size=333)
        text = write_csv(tmp_path / "visits.csv", visits(1_500, 400))
        for source, name in ((cut, "b"), (text, "c")):
            again = release(visit_policy(source, tmp_path / name))
            assert again.table.equals(first.table)
            assert again.manifest["privacy"] == first.manifest["privacy"]

    def test_workers_change_no_byte(self, tmp_path: Path) -> None:
        source = write_visits(tmp_path, 1_500, 400, row_group_size=500)
        one = release(visit_policy(source, tmp_path / "one"))
        two = release(visit_policy(source, tmp_path / "two", engine={"workers": 2}))
        assert two.data == one.data

    @pytest.mark.nightly
    def test_hashes_in_several_ranges(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tclose.passes.persons import person_numbers, person_values

        source = write_visits(tmp_path, 1_500, 400, row_group_size=500)
        one = release(visit_policy(source, tmp_path / "one"))
        monkeypatch.setattr(person_numbers, "MERGED_PERSONS", 90)
        monkeypatch.setattr(person_values, "MERGED_VALUES", 7)
        many = release(visit_policy(source, tmp_path / "many"))
        assert many.data == one.data
        assert many.manifest["privacy"] == one.manifest["privacy"]


class TestTraces:
    def test_are_those_of_the_definition(self, made: Released, source: Path) -> None:
        several, alone, _, cost = self.check(made, source)
        assert 0 < several < PATIENTS
        assert alone > 0
        assert cost > 0
        assert "person_traces" not in made.manifest

    def test_are_told_to_those_inside(
        self, made: Released, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """After a run, by show and in the internal report; in nothing that is handed out."""
        said = made.internal["person_traces"]
        keys = ("in_several_classes", "alone", "below_k")
        several, alone, below = (f"{said[key]:,}" for key in keys)
        assert main(["show", str(made.folder)]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        found = f"{several} persons are in several; {alone} persons alone, {below} among fewer"
        left = f"one cost left {said['one_value_left']['cost']:,} persons, if it lasts"
        assert f"by all classes of a person {found}" in shown
        assert left in shown
        report = (made.folder / "internal" / "report.html").read_text()
        assert f"{several} persons have records in several classes" in report
        assert f"Of {said['one_value_left']['cost']:,} persons one cost is left" in report
        for path in made.folder.glob("*.*"):
            assert "one cost" not in path.read_text()

    def test_of_persons_with_one_record_each(self, source: Path, tmp_path: Path) -> None:
        table = pq.read_table(source)
        numbers = [f"{PATIENT}{row}" for row in range(len(table))]
        alone = table.set_column(table.column_names.index("patient"), "patient", pa.array(numbers))
        path = write_parquet(tmp_path / "apart.parquet", alone)
        made = release(visit_policy(path, tmp_path))
        assert self.check(made, path)[:2] == (0, 0)

    def check(self, made: Released, source: Path) -> tuple[int, int, int, int]:
        """See that what is said of persons is what the released rows show; what that is."""
        table = pq.read_table(source)
        patients, rows = table["patient"].to_pylist(), made.table.to_pylist()
        classes: dict[Any, int] = {}
        values: dict[Any, int] = {}
        traced: dict[str, list[Row]] = {"cost": [], "ward": []}
        for row in rows:
            of_class = classes.setdefault(tuple(row[q] for q in QUASI_NAMES), len(classes))
            person = patients[row["number"]]
            for name, told in traced.items():
                value = values.setdefault((name, row[name]), len(values))
                told.append((int(person.removeprefix(PATIENT)), of_class, value))
        said = made.internal["person_traces"]
        several, alone, below, cost = trace(traced["cost"], 4)
        ward = trace(traced["ward"], 4)[3]
        assert said == {
            "in_several_classes": several,
            "alone": alone,
            "below_k": below,
            "one_value_left": {"cost": cost, "ward": ward},
        }
        return several, alone, below, cost

    def test_ranges_change_nothing(
        self, made: Released, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(person_traces, "TRACED_ROWS", 150)
        again = release(visit_policy(source, tmp_path))
        assert again.internal["person_traces"] == made.internal["person_traces"]

    def test_of_values_that_last(self, source: Path, tmp_path: Path) -> None:
        document = visit_policy(source, tmp_path)
        document["attributes"]["cost"] = {"role": "confidential", "persistent": False}
        assert set(release(document).internal["person_traces"]["one_value_left"]) == {"ward"}

    def test_are_told(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_release(parse_policy(visit_policy(source, tmp_path)), Progress("lines"))
        told = capsys.readouterr().err
        assert "persons in several classes: " in told
        assert "persons with one cost left, if it lasts: " in told


class TestVerification:
    def test_what_does_not_hold_is_refused(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without the uniting of classes."""
        monkeypatch.setattr(Merger, "_repair_persons", lambda _, *repaired: repaired[:3])
        with pytest.raises(VerificationError) as refused:
            release(visit_policy(source, tmp_path))
        for found in ("at least 4 persons", "t of cost over persons"):
            assert found in str(refused.value)

    def test_persons_that_are_mixed_up(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        check = person_checks.check_persons

        def mix_up(demand: Any, starts: Any, persons: Any, codes: Any) -> Any:
            return check(demand, starts, persons[::-1].copy(), codes)

        monkeypatch.setattr("tclose.passes.verify.key_range_task.check_persons", mix_up)
        with pytest.raises(VerificationError, match="persons: asked those of the input, found rec"):
            release(visit_policy(source, tmp_path))

    def test_persons_that_are_not_counted(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tclose.passes.verify.key_range_task.check_persons", lambda *_: None)
        with pytest.raises(VerificationError, match="k: asked at least 4 persons, found persons w"):
            release(visit_policy(source, tmp_path))


class TestSecrecy:
    def test_working_files_have_no_identifier(self, source: Path, tmp_path: Path) -> None:
        progress = Progress("none")
        with open_release(parse_policy(visit_policy(source, tmp_path)), progress) as run:
            run_passes(run, progress, *UNTIL_VERDICT)
            files = [path for path in run.workspace.root.rglob("*") if path.is_file()]
            assert len(files) > 20
            assert [path for path in files if PATIENT.encode() in path.read_bytes()] == []
            run_passes(run, progress, "publish")
        assert [path for path in tmp_path.rglob("*") if "person" in path.name] == []

    def test_release_has_neither_column_nor_name(self, made: Released) -> None:
        assert "patient" not in made.schema.names
        for path in made.folder.rglob("*"):
            if path.is_file():
                assert PATIENT.encode() not in path.read_bytes(), path
        assert "patient" not in {column["name"] for column in made.manifest["columns"]}

    def test_keys_are_of_the_release(self, source: Path, tmp_path: Path) -> None:
        """And the same for a run that goes on."""
        keys, silent = [], Progress("none")
        for name in ("a", "a", "b"):
            policy = parse_policy(visit_policy(source, tmp_path / name))
            with contextlib.suppress(VerificationError), open_release(policy, silent) as run:
                run_passes(run, silent, "summarise")
                keys.append(person_keys.load_person_key(run))
        assert keys[0] == keys[1] != keys[2]


class TestAudit:
    def test_files_cannot_say_it(self, made: Released) -> None:
        audit = audit_release(made.folder)
        assert audit.passed
        assert [note for note in audit.notes if "over persons are not checked" in note]

    def test_originals_can(self, made: Released, source: Path) -> None:
        policy = parse_policy(visit_policy(source, made.folder.parent.parent))
        audit = add_originals(audit_release(made.folder), policy, Progress("none"))
        assert audit.passed
        assert audit.originals is not None
        assert audit.originals.persons is not None
        found = audit.originals.persons.to_json()
        largest = {name: t.pop("largest_emd") for name, t in found["t"].items()}
        assert largest == made.internal["largest_emd_over_persons"]
        assert found == made.manifest["privacy"]["persons"]
        assert not [note for note in audit.notes if "not checked" in note]

    def test_originals_contradict(self, made: Released, source: Path) -> None:
        document = visit_policy(source, made.folder.parent.parent)
        document["attributes"]["patient"] = "identifier"
        audit = add_originals(audit_release(made.folder), parse_policy(document), Progress("none"))
        assert not audit.passed


def test_where_there_are_k_persons_all_are_in_each_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whom a class may have several records; by unions alone all records are one class."""
    source = write_visits(tmp_path, 200, 4)
    made = release(visit_policy(source, tmp_path / "releases"))
    assert made.manifest["privacy"]["persons"]["k"] == {"asked": 4, "achieved": 4}
    assert made.manifest["classes"]["n_classes"] > 1
    sizes = made.table.group_by(QUASI_NAMES).aggregate([("cost", "count")])["cost_count"]
    assert max(sizes.to_pylist()) > 4
    both = region_clusters._make_searches

    def unite(*region: Any) -> list[Any]:
        return [search for search in both(*region) if search.mender is None]

    monkeypatch.setattr(region_clusters, "_make_searches", unite)
    one = release(visit_policy(source, tmp_path / "one"))
    assert one.manifest["classes"]["n_classes"] == 1
