"""Releases in which all records of a person are in one class."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases.people import Released, release, write_parquet
from support.cases.visits import (
    QUASI_NAMES,
    measure_visits,
    visit_policy,
    visits,
    write_visits,
)
from support.length import count
from support.naive.naive_traces import trace
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.cli.main import main
from tclose.errors import PolicyError, VerificationError
from tclose.passes.microaggregate import cluster_task
from tclose.passes.microaggregate.region_clusters import cluster_region
from tclose.passes.microaggregate.unions.cluster_persons import cluster_persons
from tclose.passes.plan.notices import person_warnings
from tclose.passes.verify import verdict
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.internal_manifest import InternalManifest
from tclose.releases.manifest.public_manifest import Manifest
from tclose.runtime.monitoring.progress import Progress

ROWS, PATIENTS = 900, 300
ASKED = {"k": 4, "t": 0.25, "persons": "together"}


def kept_policy(source: Path | str, output: Path, **changes: Any) -> dict[str, Any]:
    """The policy of visits that keeps persons together."""
    return visit_policy(source, output, privacy=dict(ASKED), **changes)


def persons_of_classes(made: Released, table: pa.Table) -> dict[tuple[Any, ...], Counter[str]]:
    """Whose the records of each class are, by the numbers of the visits."""
    patients = table["patient"].to_pylist()
    whose = dict(zip(table["number"].to_pylist(), patients, strict=True))
    found: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in made.table.to_pylist():
        found[tuple(row[q] for q in QUASI_NAMES)][whose[row["number"]]] += 1
    return found


def check_together(made: Released, table: pa.Table, k: int) -> None:
    """No person is in two classes, each class has k, and nobody's record is missing."""
    classes = persons_of_classes(made, table)
    places = Counter(person for members in classes.values() for person in members)
    assert set(places.values()) == {1}
    assert min(map(len, classes.values())) >= k
    held = sum(classes.values(), Counter[str]())
    assert held == Counter(table["patient"].to_pylist())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_visits(tmp_path_factory.mktemp("visits"), ROWS, PATIENTS, row_group_size=300)


@pytest.fixture(scope="module")
def made(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Released:
    return release(kept_policy(source, tmp_path_factory.mktemp("releases")))


@pytest.fixture(scope="module")
def apart(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Released:
    return release(visit_policy(source, tmp_path_factory.mktemp("apart")))


def test_all_records_of_a_person_are_in_one_class(made: Released, source: Path) -> None:
    table = pq.read_table(source)
    check_together(made, table, 4)
    found = measure_visits(made, table)
    assert found["sizes"][0] >= 4
    assert found["t"]["cost"] <= 0.25
    assert found["t"]["ward"] <= 0.35
    assert {name: t["largest_emd"] for name, t in made.manifest["privacy"]["t"].items()}
    assert all(t["largest_emd"] <= t["asked"] for t in made.manifest["privacy"]["t"].values())


def test_apart_they_are_in_several(apart: Released, source: Path) -> None:
    """Or the test above proves nothing; and what was, is as it was."""
    classes = persons_of_classes(apart, pq.read_table(source))
    places = Counter(person for members in classes.values() for person in members)
    assert max(places.values()) > 1
    assert "in_several_classes" not in apart.manifest["privacy"]["persons"]
    assert "by_classes" not in apart.internal["person_traces"]
    assert "persons" not in apart.internal["policy"]["privacy"]


class TestFigures:
    def test_are_those_of_the_rows(self, made: Released, source: Path) -> None:
        """By classes nobody is left alone; by the number of records some are, and it is told."""
        classes = persons_of_classes(made, pq.read_table(source))
        assert made.manifest["privacy"]["persons"]["in_several_classes"] == 0
        said = made.internal["person_traces"]
        numbers = {person: n for members in classes.values() for person, n in members.items()}
        alike = [Counter(members.values()) for members in classes.values()]
        assert said["in_several_classes"] == 0
        assert said["alone"] == sum(n for one in alike for n in one.values() if n == 1)
        assert said["below_k"] == sum(n for one in alike for n in one.values() if n < 4) > 0
        assert said["by_classes"]["alone"] == said["by_classes"]["below_k"] == 0
        assert sum(numbers.values()) == ROWS

    def test_of_values_are_those_of_the_definition(self, made: Released, source: Path) -> None:
        patients = dict(enumerate(pq.read_table(source)["patient"].to_pylist()))
        people = {name: i for i, name in enumerate(sorted(set(patients.values())))}
        classes: dict[Any, int] = {}
        values: dict[Any, int] = {}
        rows = [
            (
                people[patients[row["number"]]],
                classes.setdefault(tuple(row[q] for q in QUASI_NAMES), len(classes)),
                values.setdefault(row["cost"], len(values)),
            )
            for row in made.table.to_pylist()
        ]
        said = made.internal["person_traces"]
        assert said["one_value_left"]["cost"] == trace(rows, 4)[3]
        of_classes = defaultdict(set)
        for _, of_class, value in rows:
            of_classes[of_class].add(value)
        alone = {c for c, there in of_classes.items() if len(there) == 1}
        told = len({person for person, of_class, _ in rows if of_class in alone})
        assert said["by_classes"]["one_value_left"]["cost"] == told

    def test_are_shown(self, made: Released, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", str(made.folder)]) == 0
        assert "persons in several classes" in capsys.readouterr().out
        report = (made.folder / "report.html").read_text(encoding="utf-8")
        assert "All records of a person are in one class" in report
        inside = (made.folder / "internal" / "report.html").read_text(encoding="utf-8")
        assert "All records of a person have to be in one class: 0 persons" in inside
        dictionary = (made.folder / "dictionary.md").read_text(encoding="utf-8")
        assert "records in several classes, over which a value could be intersected" in dictionary

    def test_earlier_manifests_are_read(self, made: Released) -> None:
        public, internal = json.loads(json.dumps(made.manifest)), dict(made.internal)
        del public["privacy"]["persons"]["in_several_classes"]
        traces = dict(internal["person_traces"])
        del traces["by_classes"]
        Manifest.model_validate(public)
        InternalManifest.model_validate(internal | {"person_traces": traces})

    def test_originals_confirm_it(self, made: Released, source: Path) -> None:
        policy = parse_policy(kept_policy(source, made.folder.parent.parent))
        audit = add_originals(audit_release(made.folder), policy, Progress("none"))
        assert audit.passed
        assert audit.originals is not None
        assert audit.originals.persons is not None
        assert audit.originals.persons.in_several_classes == 0


class TestVerification:
    def test_persons_in_several_classes_are_refused(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Classes of records, which hold k and t, do not do."""
        monkeypatch.setattr(cluster_task, "cluster_persons", cluster_region)
        with pytest.raises(VerificationError, match="persons: asked all records of a person in on"):
            release(kept_policy(source, tmp_path))
        assert not list(tmp_path.rglob("manifest.json"))

    def test_one_record_that_strayed_is_refused(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:

        def stray(records: Any, *rest: Any) -> Any:
            clusters = cluster_persons(records, *rest)
            several = np.flatnonzero(np.bincount(records.persons) > 1)[0]
            row = np.flatnonzero(records.persons == several)[0]
            clusters.labels[row] = (clusters.labels[row] + 1) % (clusters.labels.max() + 1)
            return clusters

        monkeypatch.setattr(cluster_task, "cluster_persons", stray)
        with pytest.raises(VerificationError, match=r"found 1 person in several classes"):
            release(kept_policy(source, tmp_path))

    def test_what_nobody_counted_is_refused(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(verdict, "trace_persons", lambda *_: None)
        with pytest.raises(VerificationError, match="the classes of persons were not counted"):
            release(kept_policy(source, tmp_path))


class TestInvariance:
    def test_workers_and_keys_change_no_byte(
        self, made: Released, source: Path, tmp_path: Path
    ) -> None:
        """Another folder has another key, by which persons are numbered."""
        two = release(kept_policy(source, tmp_path, engine={"workers": 2}))
        assert two.data == made.data
        assert two.manifest["privacy"] == made.manifest["privacy"]

    @pytest.mark.nightly
    def test_small_regions_change_no_byte(
        self, made: Released, source: Path, tmp_path: Path, small_regions: None
    ) -> None:
        """A person's records may be anywhere, so that the table is one region."""
        assert release(kept_policy(source, tmp_path)).data == made.data


class TestPlan:
    def test_says_the_price(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy = tmp_path / "policy.yaml"
        policy.write_text(json.dumps(kept_policy(source, tmp_path)), encoding="utf-8")
        assert main(["plan", str(policy), "--quiet"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert "all records of a person are in one class" in told
        assert "TC-W012" in told

    def test_few_records_each_are_no_warning(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rows = visits(400, 400)
        whose = pa.array([f"p{i // 2}" for i in range(400)])
        source = write_parquet(tmp_path / "even.parquet", rows.set_column(0, "patient", whose))
        policy = tmp_path / "policy.yaml"
        policy.write_text(json.dumps(kept_policy(source, tmp_path)), encoding="utf-8")
        assert main(["plan", str(policy), "--quiet"]) == 0
        assert "TC-W012" not in capsys.readouterr().out
        assert person_warnings.MANY > 2

    def test_fewer_persons_than_k_are_refused(self, tmp_path: Path) -> None:
        source = write_visits(tmp_path, 60, 3)
        with pytest.raises(PolicyError, match="k: 4 is more than the persons"):
            release(kept_policy(source, tmp_path))


def test_somebody_with_a_thousand_records(tmp_path: Path) -> None:
    """Her class is as large as she is, and others join it until she no longer decides it."""
    rows = visits(1_500, 250)
    whose = np.array(rows["patient"].to_pylist(), dtype=object)
    whose[:1_000] = "SECRET-PATIENT-0"
    table = rows.set_column(0, "patient", pa.array(whose.tolist()))
    source = write_parquet(tmp_path / "visits.parquet", table)
    made = release(kept_policy(source, tmp_path))
    check_together(made, table, 4)
    assert made.manifest["classes"]["largest"] > 1_000


def test_refine_off_and_taxonomies(tmp_path: Path) -> None:
    """Without exchanges whole persons are clustered, and united until all holds."""
    table = visits(300, 120)
    source = write_parquet(tmp_path / "visits.parquet", table)
    document = kept_policy(source, tmp_path, method={"refine": "off"})
    document["attributes"]["ward"] |= {"taxonomy": {"any": {"in": ["a", "b"], "out": ["c"]}}}
    made = release(document)
    check_together(made, table, 4)
    document["method"] = {"refine": "lean"}
    document["output"] = {"path": str(tmp_path / "lean")}
    searched = release(document)
    check_together(searched, table, 4)
    losses = [one.manifest["information_loss"]["total"] for one in (made, searched)]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("what", ["nothing confidential", "joint", "one block", "one column"])
def test_other_demands(what: str, tmp_path: Path) -> None:
    table = visits(300, 120)
    source = write_parquet(tmp_path / "visits.parquet", table)
    document = kept_policy(source, tmp_path)
    attributes = document["attributes"]
    if what == "nothing confidential":
        attributes |= {"cost": "non-confidential", "ward": "non-confidential"}
        del document["privacy"]["t"]
    elif what == "joint":
        document["privacy"]["joint"] = [{"t": 0.6}]
        attributes["cost"] = {"role": "confidential", "round": 40}
    elif what == "one block":
        document["method"] = {"scope": "table"}
    else:
        attributes |= {"age": "identifier", "zip": "identifier", "day": "identifier"}
        attributes["ward"] = "identifier"
    made = release(document)
    if what != "one column":
        check_together(made, table, 4)
    assert made.manifest["privacy"]["persons"]["in_several_classes"] == 0
    assert made.manifest["privacy"]["persons"]["k"]["achieved"] >= 4


@settings(max_examples=count(3, 40))
@given(st.integers(0, 1_000), st.integers(2, 6), st.sampled_from([0.1, 0.3, 0.6]))
def test_any_table_and_demand(
    tmp_path_factory: pytest.TempPathFactory, seed: int, k: int, t: float
) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    table = visits(150, 40, seed)
    source = write_parquet(folder / "visits.parquet", table)
    privacy = {"k": k, "t": t, "persons": "together"}
    made = release(visit_policy(source, folder, privacy=privacy))
    check_together(made, table, k)


@pytest.mark.every_case
class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"patient": "identifier"}, "needs a column of role person"),
            ({"partition_by": ["sex"]}, "does not go with output.partition_by"),
            ({"over_time": {"k": 4, "t": 0.3}}, "does not go with privacy.over_time"),
            ({"method": {"name": "mondrian"}}, "take method.name: t-closeness-first"),
            ({"persons": "beside"}, "persons"),
        ],
    )
    def test_name_the_remedy(self, changes: dict[str, Any], message: str, tmp_path: Path) -> None:
        document, changes = kept_policy("visits.parquet", tmp_path), dict(changes)
        if "patient" in changes:
            document["attributes"]["patient"] = changes.pop("patient")
        if "partition_by" in changes:
            document["output"]["partition_by"] = changes.pop("partition_by")
        for key in ("over_time", "persons"):  # of the section
            if key in changes:
                document["privacy"][key] = changes.pop(key)
        with pytest.raises(PolicyError, match=message):
            parse_policy(document | changes)
