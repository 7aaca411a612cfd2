"""Releases beside their originals: linkage, loss and changes, of every kind of release."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from support.cases.method_cases import BY_MAP, BY_WIDTH, LOOSE
from support.cases.patients import (
    QUASI,
    STAGES,
    patient_document,
    patients,
    write_patients,
)
from support.cases.people import folder_of, publish, write_policy
from support.cases.published import hand_out
from support.checks.released import read_rows
from support.checks.utility_checks import naive_covering, naive_utility
from tclose.assess import originals, values_alone
from tclose.cli.main import main
from tclose.data.formats.parquet_format import Parquet
from tclose.methods.bucketization.bucketization_method import Bucketization
from tclose.methods.method import Method
from tclose.methods.microaggregation.t_closeness_first import TClosenessFirst
from tclose.passes.release import RELEASE
from tclose.runtime.run import INSPECTION

pytestmark = pytest.mark.usefixtures("small_regions")

RaiseVersion = Callable[[type[Method]], None]

N_RECORDS = 1_000
STAGE = {"role": QUASI, "type": "ordinal", "order": STAGES}
PAY = {"role": "confidential", "noise": {"epsilon": 2, "low": 200, "high": 1_500, "step": 25}}
SITE = {"role": "confidential", "noise": {"epsilon": 1, "values": ["a", "b c"]}}
HARD = {"site": "non-confidential"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "blocks": ({"name": "t-closeness-first"}, {"attributes": {"day": QUASI, "stage": STAGE}}),
    "unrounded": (
        {"name": "mdav"},
        {"attributes": {"age": {"role": QUASI, "round": False}}, "privacy": LOOSE},
    ),
    "buckets": ({"name": "bucketization", "ratio": 2}, {"privacy": {"k": 5}}),
    "mondrian": ({"name": "mondrian"}, {"attributes": BY_MAP | {"day": QUASI, "stage": STAGE}}),
    "mondrian by site": (
        {"name": "mondrian"},
        {"attributes": HARD, "output": {"partition_by": ["site"]}},
    ),
    "incognito": ({"name": "incognito"}, {"attributes": BY_MAP | BY_WIDTH | {"stage": STAGE}}),
    "loose incognito": (
        {"name": "incognito"},
        {"attributes": BY_WIDTH | {"town": "identifier"}, "privacy": LOOSE},
    ),
    "incognito by site": (
        {"name": "incognito"},
        {"attributes": BY_WIDTH | HARD, "output": {"partition_by": ["site"]}},
    ),
    "sabre": ({"name": "sabre"}, {"attributes": BY_MAP}),
}
AGGREGATES = ("blocks", "unrounded", "buckets")


@pytest.fixture
def raise_version(monkeypatch: pytest.MonkeyPatch) -> RaiseVersion:
    """Have a method be of the next version."""
    return lambda method: monkeypatch.setattr(method, "version", method.version + 1)


def audit(release: Path, policy: Path, capsys: Any, *more: str, status: int = 0) -> Any:
    given = ["audit", str(release), "--originals", str(policy), "--quiet", "--json", *more]
    assert main(given) == status
    return json.loads(capsys.readouterr().out)


def inside(release: Path) -> Any:
    return json.loads((release / "internal" / "manifest.json").read_text())


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return patients(N_RECORDS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "input", N_RECORDS)


def check_utility(
    said: dict[str, Any], rows: pd.DataFrame, table: pa.Table, names: list[str]
) -> None:
    quasi = sum(name in ("age", "height", "day") for name in names)
    expected = naive_utility(rows, table, names, quasi)
    assert list(said["changes_of_means"]) == names
    assert said["il1s"] == pytest.approx(expected.pop("il1s"), rel=0.006)
    for what, figures in expected.items():
        assert said[what].keys() == figures.keys()
        for name, figure in figures.items():
            found = said[what][name]
            assert found is figure or found == pytest.approx(figure, rel=0.006, abs=1e-9), name


@pytest.mark.parametrize("case", CASES)
def test_figures(case: str, source: Path, table: pa.Table, tmp_path: Path, capsys: Any) -> None:
    method, keys = CASES[case]
    document = patient_document(source, tmp_path / "out", method, **keys)
    made = publish(document)
    rows = read_rows(folder_of(made))
    names = [n for n in ("age", "height", "day", "pay") if n in document["attributes"]]
    if case == "buckets":  # pay is released as them
        names.remove("pay")
    utility = inside(folder_of(made))["utility"]
    check_utility(utility, rows, table, names)
    assert "utility" not in made.manifest.to_json()
    found = audit(folder_of(made), write_policy(tmp_path / "policy.yaml", document), capsys)
    beside = found["originals"]
    assert {what: beside[what] for what in utility} == utility
    assert beside["sse"] == made.manifest.information_loss.total
    assert beside["sse_of"] == made.manifest.information_loss.per_attribute
    assert beside["attackers"] == N_RECORDS
    assert 0 < beside["linkage"] <= 1 / 5
    if case not in AGGREGATES:
        linkage = naive_covering(rows, table, document)
        assert beside["linkage"] == float(f"{linkage:.3g}")


class TestNoise:
    """Of a column with noise only the run itself can tell: the noise is not drawn a second time."""

    def test_figures(self, source: Path, table: pa.Table, tmp_path: Path, capsys: Any) -> None:
        pytest.importorskip("opendp")
        document = patient_document(
            source, tmp_path / "out", {"name": "dp-confidential"}, privacy={"k": 5},
            attributes={"pay": PAY, "site": SITE},
        )  # fmt: skip
        made = publish(document)
        rows = read_rows(folder_of(made))
        utility = inside(folder_of(made))["utility"]
        check_utility(utility, rows, table, ["age", "height", "pay"])
        assert utility["changes_of_variances"]["pay"] != 0
        found = audit(folder_of(made), write_policy(tmp_path / "policy.yaml", document), capsys)
        beside = found["originals"]
        assert list(beside["changes_of_means"]) == ["age", "height"]
        assert beside["changes_of_means"].items() <= utility["changes_of_means"].items()
        assert beside["il1s"] == utility["il1s"]
        assert 0 < beside["linkage"] <= 1 / 5

    def test_of_days(self, source: Path, table: pa.Table, tmp_path: Path) -> None:
        """Days are compared as numbers are, though their noise is drawn from a list."""
        pytest.importorskip("opendp")
        days = sorted({str(day) for day in table["day"].to_pylist()})
        noised = {"role": "confidential", "noise": {"epsilon": 3, "values": days}}
        document = patient_document(
            source, tmp_path / "out", {"name": "dp-confidential"}, privacy={"k": 5},
            attributes={"pay": "identifier", "day": noised},
        )  # fmt: skip
        made = publish(document)
        utility = inside(folder_of(made))["utility"]
        assert list(utility["changes_of_means"]) == ["age", "height", "day"]
        expected = naive_utility(read_rows(folder_of(made)), table, ["age", "height", "day"], 2)
        for what in ("changes_of_means", "changes_of_variances"):
            assert utility[what] == pytest.approx(expected[what], rel=0.006, abs=1e-9)

    def test_nothing_numeric(self, source: Path, tmp_path: Path, capsys: Any) -> None:
        attributes = dict.fromkeys(("age", "height", "pay"), "identifier")
        attributes["ill"] = "confidential"
        document = patient_document(
            source, tmp_path / "out", {"name": "mondrian"}, attributes=attributes
        )
        made = publish(document)
        found = audit(folder_of(made), write_policy(tmp_path / "policy.yaml", document), capsys)
        assert found["originals"]["il1s"] is None
        assert found["originals"]["changes_of_means"] == {}


class TestOtherVersions:
    """A release that another version of the method made: its rows cannot be made again."""

    OTHER_ROWS = ("--set", "method.refine=off")  # stands for another version's search

    @pytest.fixture
    def asked(self, source: Path, tmp_path: Path) -> dict[str, Any]:
        method = {"name": "t-closeness-first", "refine": 2}
        return patient_document(source, tmp_path / "out", method)

    @pytest.fixture
    def policy(self, asked: dict[str, Any], tmp_path: Path) -> Path:
        return write_policy(tmp_path / "policy.yaml", asked)

    @pytest.fixture
    def earlier(self, asked: dict[str, Any], raise_version: RaiseVersion) -> Path:
        made = folder_of(publish(asked))
        raise_version(TClosenessFirst)
        return made

    def test_the_internal_manifest_has_the_versions(self, asked: dict[str, Any]) -> None:
        made = publish(asked)
        versions = inside(folder_of(made))["code"]["versions"]
        assert versions["method"] == {"t-closeness-first": TClosenessFirst.version}
        assert versions["passes"] == RELEASE.after(INSPECTION).versions
        assert versions["format"] == {"parquet": Parquet.version}
        assert list(made.manifest.to_json()["code"]) == ["tclose"]

    def test_other_classes_are_no_finding(self, earlier: Path, policy: Path, capsys: Any) -> None:
        found = audit(earlier, policy, capsys, *self.OTHER_ROWS)
        assert "originals" not in found
        assert found["findings"] == []
        (note,) = found["notes"]
        then, now = TClosenessFirst.version - 1, TClosenessFirst.version
        assert f"of the code: method t-closeness-first {then} (now {now}); these" in note

    def test_of_the_same_version_they_are(
        self, asked: dict[str, Any], policy: Path, capsys: Any
    ) -> None:
        made = folder_of(publish(asked))
        found = audit(made, policy, capsys, *self.OTHER_ROWS, status=3)
        assert "do not give these rows" in found["findings"][0]

    def test_the_same_rows_are_measured(self, earlier: Path, policy: Path, capsys: Any) -> None:
        found = audit(earlier, policy, capsys)
        assert found["originals"]["attackers"] == N_RECORDS

    def test_other_libraries_are_other_versions(
        self, asked: dict[str, Any], policy: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = folder_of(publish(asked))
        monkeypatch.setattr(values_alone, "library_versions", lambda: {"numpy": "77"})
        (note,) = audit(made, policy, capsys, *self.OTHER_ROWS)["notes"]
        assert "of the code: numpy" in note

    def test_a_release_that_does_not_tell(self, earlier: Path, policy: Path, capsys: Any) -> None:
        copy = hand_out(earlier, policy.parent / "handed")
        found = audit(copy, policy, capsys, *self.OTHER_ROWS)
        assert "which ones the release does not tell" in found["notes"][0]

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ("privacy.k=6", "k"),
            ("privacy.t=0.25", "t of pay"),
            ("privacy.models=[{name: distinct-l-diversity, l: 2}]", "distinct-l-diversity of pay"),
            ("method={name: microaggregate-and-merge}", "method"),
        ],
    )
    def test_other_claims_are_found(
        self, change: str, named: str, earlier: Path, policy: Path, capsys: Any
    ) -> None:
        found = audit(earlier, policy, capsys, *self.OTHER_ROWS, "--set", change, status=3)
        assert found["findings"][0].endswith(f"these differ: {named}")
        assert found["notes"] == []

    @pytest.mark.parametrize(
        ("column", "order", "named"),
        [
            ("pay", "one more", "pay"),  # a confidential value
            ("id", "one more", "id"),  # a carried one
            ("id", "reversed", "records"),  # all values, with other ones
        ],
    )
    def test_other_values_are_found(
        self,
        column: str,
        order: str,
        named: str,
        earlier: Path,
        policy: Path,
        table: pa.Table,
        tmp_path: Path,
        capsys: Any,
    ) -> None:
        values = table[column].to_pylist()
        values = values[::-1] if order == "reversed" else [values[0] + 50, *values[1:]]
        place = table.column_names.index(column)
        (tmp_path / "other").mkdir()
        pq.write_table(
            table.set_column(place, column, pa.array(values)), tmp_path / "other" / "0.parquet"
        )
        other = (*self.OTHER_ROWS, "--set", f"input.path={tmp_path / 'other'}")
        found = audit(earlier, policy, capsys, *other, status=3)
        assert found["findings"][0].endswith(f"these differ: {named}")

    def test_values_in_folders_and_missing_ones(
        self, asked: dict[str, Any], tmp_path: Path, capsys: Any, raise_version: RaiseVersion
    ) -> None:
        table = patients(N_RECORDS)
        gaps = pa.array([None if i % 9 == 0 else i for i in range(N_RECORDS)])
        pq.write_table(table.set_column(0, "id", gaps), tmp_path / "gaps.parquet")
        asked["input"] = {"path": str(tmp_path / "gaps.parquet")}
        asked["attributes"]["site"] = "non-confidential"
        asked["output"]["partition_by"] = ["site"]
        made = folder_of(publish(asked))
        raise_version(TClosenessFirst)
        policy = write_policy(tmp_path / "policy.yaml", asked)
        assert len(audit(made, policy, capsys, *self.OTHER_ROWS)["notes"]) == 1

    def test_buckets_are_left_out(
        self,
        source: Path,
        tmp_path: Path,
        capsys: Any,
        raise_version: RaiseVersion,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        method = {"name": "bucketization", "ratio": 2}
        asked = patient_document(source, tmp_path / "out", method, privacy={"k": 5})
        made = folder_of(publish(asked))
        raise_version(Bucketization)
        policy = write_policy(tmp_path / "policy.yaml", asked)
        monkeypatch.setattr(originals, "are_equal", lambda *_: False)
        (note,) = audit(made, policy, capsys)["notes"]
        assert "of the code: method bucketization" in note


class TestPaths:
    @pytest.fixture
    def asked(self, source: Path, tmp_path: Path) -> dict[str, Any]:
        return patient_document(source, tmp_path / "out", {"name": "mdav"}, privacy=LOOSE)

    def test_other_originals_are_found(self, asked: dict[str, Any], tmp_path: Path, capsys: Any):
        made = publish(asked)
        policy = write_policy(tmp_path / "policy.yaml", asked)
        found = audit(folder_of(made), policy, capsys, "--set", "privacy.k=9", status=3)
        assert "originals" not in found
        (finding,) = found["findings"]
        assert finding.startswith("originals: the policy and its input do not give these rows")

    def test_other_carried_values_are_found(
        self, asked: dict[str, Any], table: pa.Table, tmp_path: Path, capsys: Any
    ) -> None:
        """Classes do not depend on them, so the deciding columns are the same."""
        asked["attributes"]["id"] = "non-confidential"
        made = publish(asked)
        changed = table.set_column(
            table.column_names.index("id"), "id", table["id"].take([0] * 1_000)
        )
        pq.write_table(changed, tmp_path / "changed.parquet")
        policy = write_policy(tmp_path / "policy.yaml", asked)
        other = f"input.path={tmp_path / 'changed.parquet'}"
        found = audit(folder_of(made), policy, capsys, "--set", other, status=3)
        (finding,) = found["findings"]
        assert finding.endswith("; these differ: id")

    @pytest.mark.every_case
    @pytest.mark.parametrize("method", ["mdav", "mondrian"])
    def test_columns_that_the_policy_releases_otherwise_are_found(
        self, method: str, asked: dict[str, Any], tmp_path: Path, capsys: Any
    ) -> None:
        """Whether the rows can be made again or another method is asked for."""
        asked["attributes"]["id"] = "identifier"
        made = publish(asked)
        policy = write_policy(tmp_path / "policy.yaml", asked)
        others = ["--set", "attributes.id=non-confidential", "--set", f"method.name={method}"]
        found = audit(folder_of(made), policy, capsys, *others, status=3)
        (finding,) = found["findings"]
        assert finding.endswith("id")

    def test_texts_of_a_frame_are_those_of_a_file(
        self, asked: dict[str, Any], table: pa.Table, tmp_path: Path
    ) -> None:
        """Pandas has them as large strings."""
        made = publish(asked)
        frame = table.to_pandas()
        frame["town"] = frame["town"].astype(pd.ArrowDtype(pa.large_string()))
        given = {key: value for key, value in asked.items() if key != "input"}
        assert tclose.audit(str(made.release), data=frame, policy=given).findings == ()

    def test_nothing_stays_behind(
        self, asked: dict[str, Any], tmp_path: Path, capsys: Any, scratch: Path
    ) -> None:
        made = publish(asked)
        before = sorted(folder_of(made).rglob("*"))
        audit(folder_of(made), write_policy(tmp_path / "policy.yaml", asked), capsys)
        assert sorted(folder_of(made).rglob("*")) == before
        assert list(scratch.iterdir()) == []

    def test_overrides_without_originals_are_refused(
        self, asked: dict[str, Any], capsys: Any
    ) -> None:
        made = publish(asked)
        assert main(["audit", str(made.release), "--set", "privacy.k=9"]) == 2
        assert "--out go with --originals POLICY" in capsys.readouterr().err
