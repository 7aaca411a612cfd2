"""dp-confidential from a policy: noise on the grid of the policy, and each value drawn once."""

import json
import re
import shutil
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pipeline.cli import main
from pipeline.execution import release
from pipeline.execution.audit import audit_release
from pipeline.execution.progress import Progress
from pipeline.execution.release import run_release
from pipeline.execution.run import Outcome
from pipeline.execution.units import encoding
from pipeline.settings import parse_policy
from support.cases import write_policy
from support.patients import STAGES, patient_document, patients, write_patients
from support.policies import data_digests, shared_file
from support.released import check_release, read_rows

pytest.importorskip("opendp")

N_RECORDS = 1_000
CONFIDENTIAL = "confidential"
# Bounds narrower than the data, which go from 50 to 1,850.
PAY = {"role": CONFIDENTIAL, "noise": {"epsilon": 2, "low": 200, "high": 1_500, "step": 25}}
STAGE = {"role": CONFIDENTIAL, "type": "ordinal", "order": STAGES, "noise": {"epsilon": 1.5}}
ILLS = ["asthma", "cold", "flu", "gout", "hernia", "ulcer"]
ILL = {"role": CONFIDENTIAL, "noise": {"epsilon": 0.5, "values": ILLS}}
HEIGHT = {"role": CONFIDENTIAL, "noise": {"epsilon": 3, "low": 150.1, "high": 190, "step": 0.1}}


def document_of(source: Path, place: Path, **keys: Any) -> dict[str, Any]:
    attributes = {"pay": PAY} | keys.pop("attributes", {})
    method = {"name": "dp-confidential"} | keys.pop("method", {})
    return patient_document(source, place, method, privacy={"k": 5}, attributes=attributes, **keys)


def publish(document: dict[str, Any]) -> Outcome:
    return run_release(parse_policy(document), Progress("none"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "input", N_RECORDS)


@pytest.fixture(scope="module")
def published(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    attributes = {"stage": STAGE, "ill": ILL, "height": HEIGHT}
    document = document_of(source, tmp_path_factory.mktemp("noise"), attributes=attributes)
    return publish(document).release


def test_every_kind_on_its_grid(source: Path, tmp_path: Path) -> None:
    attributes = {"stage": STAGE, "ill": ILL, "height": HEIGHT}
    document = document_of(source, tmp_path, attributes=attributes)
    made = publish(document)
    assert audit_release(made.release)["findings"] == []
    rows = check_release(made.release, patients(N_RECORDS), document)
    assert set(rows["pay"]) <= set(range(200, 1_501, 25))
    assert {200, 1_500} <= set(rows["pay"])  # clamped
    assert set(rows["stage"]) <= set(STAGES)
    assert set(rows["ill"]) == set(ILLS)  # gout, which nobody has, is as likely as any other
    assert set(rows["height"]) <= {i / 10 for i in range(1_501, 1_901)}
    own = patients(N_RECORDS).to_pandas().set_index("id").loc[rows["id"].tolist()]
    for name in ("pay", "stage", "ill", "height"):
        assert 0 < (rows[name].to_numpy() != own[name].to_numpy()).mean() < 1
    types = {c["name"]: (c["type"], c.get("noised")) for c in made.manifest["columns"]}
    assert types["pay"] == ("int64", True)
    assert types["height"] == ("double", True)
    assert types["age"] == ("int64", None)


def test_manifest_tells_what_was_drawn(source: Path, tmp_path: Path) -> None:
    made = publish(document_of(source, tmp_path, attributes={"stage": STAGE, "ill": ILL}))
    noise = made.manifest["noise"]
    pay = {"epsilon": 2, "low": 200, "high": 1_500, "step": 25, "mechanism": "discrete Laplace"}
    assert noise["pay"].items() >= pay.items()
    assert noise["stage"]["mechanism"] == "discrete Laplace"
    assert noise["stage"]["values"] == STAGES
    assert noise["ill"]["mechanism"] == "randomised response"
    assert all(noise[name]["stochastic_t"] > 1 for name in noise)
    assert made.manifest["privacy"]["t"] == {}


def test_classes_know_nothing_of_the_confidential_values(source: Path, tmp_path: Path) -> None:
    """They are those that mdav makes of the quasi-identifiers alone."""
    with_noise = read_rows(publish(document_of(source, tmp_path / "noise")).release)
    document = patient_document(source, tmp_path / "plain", {"name": "mdav"}, privacy={"k": 5})
    document["attributes"]["pay"] = "identifier"
    plain = read_rows(publish(document).release)
    columns = ["id", "age", "height", "town"]
    pd.testing.assert_frame_equal(
        with_noise[columns].sort_values("id", ignore_index=True),
        plain[columns].sort_values("id", ignore_index=True),
    )


def test_adult(tmp_path: Path) -> None:
    """Weekly hours with noise, held to a stochastic t."""
    hours = {"role": CONFIDENTIAL, "noise": {"epsilon": 0.69, "low": 1, "high": 99}}
    document = {
        "name": "adult",
        "input": {"path": str(shared_file("adult.csv")), "missing_values": ["?"]},
        "unlisted": "drop",
        "attributes": {
            "age": "quasi-identifier",
            "sex": "quasi-identifier",
            "hours-per-week": hours,
        },
        "privacy": {"k": 5, "models": [{"name": "stochastic-t-closeness", "t": 2}]},
        "method": {"name": "dp-confidential"},
        "output": {"path": str(tmp_path)},
    }
    made = publish(document)
    audit = audit_release(made.release)
    assert audit["findings"] == []
    rows = read_rows(made.release)
    share = rows.groupby(["age", "sex"]).size().min() / len(rows)
    assert share * len(rows) >= 5
    found = audit["noise"]["hours-per-week"]["stochastic_t"]
    assert found == pytest.approx(share + (1 - share) * exp(0.69), rel=1e-12)
    assert set(rows["hours-per-week"]) <= set(range(1, 100))


def test_start_and_partitions(source: Path, tmp_path: Path) -> None:
    document = document_of(
        source,
        tmp_path,
        method={"start": "v-mdav", "gamma": 0.4},
        attributes={"site": "non-confidential"},
        output={"partition_by": ["site"]},
    )
    made = publish(document)
    assert audit_release(made.release)["findings"] == []
    check_release(made.release, patients(N_RECORDS), document)


class TestAudit:
    """Stochastic closeness is measured in the files, without what stays inside."""

    @pytest.fixture
    def copied(self, published: Path, tmp_path: Path) -> Path:
        place = tmp_path / "copy"
        shutil.copytree(published, place, ignore=shutil.ignore_patterns("internal"))
        return place

    def test_closeness_is_that_of_the_smallest_class(
        self, copied: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        audit = audit_release(copied)
        assert audit["findings"] == []
        rows = read_rows(copied)
        share = rows.groupby(["age", "town"]).size().min() / len(rows)
        for name, epsilon in {"pay": 2, "stage": 1.5, "ill": 0.5, "height": 3}.items():
            found = audit["noise"][name]["stochastic_t"]
            assert found == pytest.approx(share + (1 - share) * exp(epsilon), rel=1e-12)
        assert main(["audit", str(copied)]) == 0
        assert re.search(r"noise on pay +epsilon 2 .*stochastic t 7\.3", capsys.readouterr().out)

    @pytest.mark.parametrize("key", ["stochastic_t", "epsilon"])
    def test_edited_figure_is_found(self, key: str, copied: Path) -> None:
        edit(copied, lambda m: m["noise"]["stage"].update({key: 1.01}))
        (finding,) = audit_release(copied)["findings"]
        assert finding == "manifest.json: noise.stage.stochastic_t differs from what the rows say"

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("pay", {"high": 1_475}),
            ("pay", {"low": 225}),
            ("pay", {"step": 50}),
            ("height", {"low": 150.2}),
            ("height", {"step": 0.2, "high": 190.1}),
            ("stage", {"values": STAGES[:-1]}),
            ("ill", {"values": ILLS[1:]}),
        ],
    )
    def test_values_that_the_noise_does_not_give(
        self, name: str, change: dict[str, Any], copied: Path
    ) -> None:
        edit(copied, lambda m: m["noise"][name].update(change))
        (finding,) = audit_release(copied)["findings"]
        assert re.fullmatch(f"noise on {name}: [0-9,]+ rows have values that it .*", finding)

    @pytest.mark.parametrize(
        "change",
        [
            lambda m: m["noise"].pop("pay"),
            lambda m: m.pop("noise"),
            lambda m: m["noise"].update(age=m["noise"]["pay"]),
            lambda m: m["noise"]["pay"].pop("epsilon"),
            lambda m: m["noise"]["pay"].update(epsilon="much"),
            lambda m: m["noise"]["pay"].update(step=0),
            lambda m: m["noise"].update(pay=2),
        ],
    )
    def test_noise_that_is_none_is_damage(self, change: Any, copied: Path) -> None:
        edit(copied, change)
        assert any("is damaged" in finding for finding in audit_release(copied)["findings"])


def edit(release: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = release / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


class TestAsked:
    """A policy can hold noise to a stochastic t."""

    MODEL = "{name: stochastic-t-closeness, t: 2}"

    def test_refusal_names_what_gives_it(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy = str(write_policy(tmp_path / "policy.yaml", document_of(source, tmp_path)))
        asked = f"--set=privacy.models=[{self.MODEL}]"
        for command in ("plan", "run"):
            assert main([command, policy, "--quiet", asked]) == 3
            message = capsys.readouterr().err
            assert "'pay': noise of epsilon 2 gives classes of k = 5 stochastic t-clos" in message
        assert not list(tmp_path.glob("**/manifest.json"))
        named = re.search(
            r"of (7\.[0-9]+), above t = 2; lower epsilon to ([0-9.]+), raise", message
        )
        assert named
        larger = f"--set=privacy.models=[{self.MODEL.replace('2', named[1])}]"
        assert main(["plan", policy, "--quiet", larger]) == 0
        capsys.readouterr()
        smaller = f"--set=attributes.pay.noise.epsilon={named[2]}"
        assert main(["run", policy, "--quiet", asked, smaller]) == 0
        assert re.search("noise on pay .*, asked 2, stochastic t 2.000", capsys.readouterr().out)

    def test_stricter_demand_in_the_manifest_is_found_unmet(
        self, source: Path, tmp_path: Path
    ) -> None:
        document = document_of(source, tmp_path / "out")
        document["privacy"]["models"] = [{"name": "stochastic-t-closeness", "t": 7.4}]
        made = publish(document)
        assert made.manifest["noise"]["pay"]["asked_t"] == 7.4
        assert audit_release(made.release)["findings"] == []
        copy = tmp_path / "copy"
        shutil.copytree(made.release, copy, ignore=shutil.ignore_patterns("internal"))
        edit(copy, lambda m: m["noise"]["pay"].update(asked_t=7))
        (finding,) = audit_release(copy)["findings"]
        assert finding.startswith("stochastic t of pay: asked at most 7, found 7.3")


class TestDrawnOnce:
    @pytest.fixture
    def drawn(self, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
        """All that was drawn, partition by partition: row groups of 701 records and 299."""
        original, found = encoding.add_noise, []

        def add_noise(values: pa.Array, column: Any) -> pa.Array:
            made = original(values, column)
            found.append(made.to_numpy())
            return made

        monkeypatch.setattr(encoding, "add_noise", add_noise)
        return found

    @pytest.mark.parametrize("stage", ["microaggregate", "verify", "publish"])
    def test_run_that_goes_on_releases_what_was_drawn(
        self, stage: str, source: Path, drawn: list[np.ndarray], tmp_path: Path
    ) -> None:
        document = document_of(source, tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(release, stage, stop)
            with pytest.raises(RuntimeError):
                publish(document)
        assert [values.size for values in drawn] == [701, 299]
        rows = read_rows(publish(document).release)
        assert len(drawn) == 2  # nothing was drawn again
        by_id = rows.sort_values("id")["pay"].to_numpy().astype(np.int64)
        assert np.array_equal(by_id, np.concatenate(drawn))

    def test_partitions_that_were_finished_are_not_drawn_again(
        self, source: Path, drawn: list[np.ndarray], tmp_path: Path
    ) -> None:
        document = document_of(source, tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(encoding, "write_table", stop_at_second(encoding.write_table))
            with pytest.raises(Exception, match="RuntimeError"):
                publish(document)
        assert [values.size for values in drawn] == [701, 299]
        rows = read_rows(publish(document).release)
        assert [values.size for values in drawn] == [701, 299, 299]
        by_id = rows.sort_values("id")["pay"].to_numpy().astype(np.int64)
        assert np.array_equal(by_id, np.concatenate([drawn[0], drawn[2]]))

    def test_finished_release_is_found_and_a_new_run_draws_anew(
        self, source: Path, drawn: list[np.ndarray], tmp_path: Path
    ) -> None:
        first = publish(document_of(source, tmp_path / "a"))
        again = publish(document_of(source, tmp_path / "a"))
        assert again.was_there
        assert len(drawn) == 2
        other = publish(document_of(source, tmp_path / "b"))
        assert len(drawn) == 4
        assert data_digests(first.release) != data_digests(other.release)
        assert not np.array_equal(drawn[0], drawn[2])


class TestDrawnBefore:
    """Another draw of the same records is warned of: who has both can average them."""

    def run(self, document: dict[str, Any], place: Path, *sets: str) -> int:
        policy = write_policy(place / "policy.yaml", document)
        return main(["run", str(policy), "--quiet", *(f"--set={key}" for key in sets)])

    @pytest.mark.parametrize("change", ["seed=2", "name=others", "privacy.k=6"])
    def test_under_another_seed_name_or_policy(
        self, change: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        document = document_of(source, tmp_path, attributes={"stage": STAGE})
        assert self.run(document, tmp_path) == 0
        first = capsys.readouterr()
        assert first.err == ""
        assert "all draws" not in first.out
        assert self.run(document, tmp_path, change, "attributes.pay.noise.epsilon=1.5") == 0
        told = capsys.readouterr()
        assert "warning: 1 release of the same input has noise on the same columns" in told.err
        assert "'pay' 1.5, together 3.5; 'stage' 1.5, together 3" in told.err
        assert re.search("all draws of pay +epsilon 3.5, with those of other releases", told.out)
        assert self.run(document, tmp_path, change, "attributes.pay.noise.epsilon=1.5") == 0
        again = capsys.readouterr()
        assert again.err == ""  # nothing is drawn
        assert "already published" in again.out
        assert "epsilon 3.5, with those of other releases" in again.out

    def test_is_kept_inside(self, source: Path, tmp_path: Path) -> None:
        first = publish(document_of(source, tmp_path))
        second = publish(document_of(source, tmp_path, seed=2))
        internal = json.loads((second.release / "internal" / "manifest.json").read_text())
        assert internal["epsilon_of_all_draws"] == {"pay": 4.0}
        assert internal["earlier_draws"] == [
            {"release": f"patients/{first.release.name}", "epsilon": {"pay": 2.0}}
        ]
        assert second.budget == {"pay": 4.0}
        assert "earlier_draws" not in second.manifest
        assert first.budget == {}
        assert audit_release(second.release)["findings"] == []

    def test_damaged_release_that_is_made_again(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        made = publish(document_of(source, tmp_path))
        (made.release / "data" / "part-00000.parquet").write_bytes(b"")
        again = publish(document_of(source, tmp_path))
        assert (again.release, again.was_there) == (made.release, False)
        assert "together 4" in capsys.readouterr().err

    def test_of_other_records_or_columns(
        self, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        publish(document_of(source, tmp_path / "out"))
        others = write_patients(tmp_path / "others", N_RECORDS - 1)
        publish(document_of(others, tmp_path / "out"))
        attributes: dict[str, Any] = {"pay": "identifier", "stage": STAGE}
        publish(document_of(source, tmp_path / "out", attributes=attributes))
        plain = patient_document(
            source, tmp_path / "out", {"name": "mdav"}, privacy={"k": 5, "t": 1}
        )
        publish(plain)
        assert capsys.readouterr().err == ""


def stop(*_: Any) -> None:
    raise RuntimeError


def stop_at_second(function: Any) -> Any:
    calls = []

    def stopping(*given: Any) -> Any:
        calls.append(given)
        return stop() if len(calls) == 2 else function(*given)

    return stopping
