"""dp-confidential from a policy: noise on its grid, as manifest and audit tell, and held to a t."""

import re
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import shared_file
from support.cases.noise_cases import HEIGHT, ILL, ILLS, N_RECORDS, STAGE, document_of
from support.cases.patients import CONFIDENTIAL, STAGES, patient_document, patients
from support.cases.people import folder_of, publish, write_policy
from support.cases.published import edit_manifest, hand_out
from support.checks.released import check_release, read_rows
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main

pytestmark = pytest.mark.usefixtures("small_regions")

pytest.importorskip("opendp")


@pytest.fixture(scope="module")
def published(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    attributes = {"stage": STAGE, "ill": ILL, "height": HEIGHT}
    document = document_of(source, tmp_path_factory.mktemp("noise"), attributes=attributes)
    return folder_of(publish(document))


def test_every_kind_on_its_grid(source: Path, tmp_path: Path) -> None:
    attributes = {"stage": STAGE, "ill": ILL, "height": HEIGHT}
    document = document_of(source, tmp_path, attributes=attributes)
    made = publish(document)
    assert audit_release(made.release).findings == []
    rows = check_release(folder_of(made), patients(N_RECORDS), document)
    assert set(rows["pay"]) <= set(range(200, 1_501, 25))
    assert {200, 1_500} <= set(rows["pay"])  # clamped
    assert set(rows["stage"]) <= set(STAGES)
    assert set(rows["ill"]) == set(ILLS)  # gout, which nobody has, is as likely as any other
    assert set(rows["height"]) <= {i / 10 for i in range(1_501, 1_901)}
    own = patients(N_RECORDS).to_pandas().set_index("id").loc[rows["id"].tolist()]
    noised = ("pay", "stage", "ill", "height")
    changed = {name: (rows[name].to_numpy() != own[name].to_numpy()).mean() for name in noised}
    assert min(changed.values()) > 0
    del changed["height"]  # of 400 heights a thousand draws may well all be others
    assert max(changed.values()) < 1
    types = {c.name: (c.type, c.noised) for c in made.manifest.columns}
    assert types["pay"] == ("int64", True)
    assert types["height"] == ("double", True)
    assert types["age"] == ("int64", False)


def test_floats_of_32_bits_on_their_grid(tmp_path: Path) -> None:
    table, source = patients(N_RECORDS), tmp_path / "input.parquet"
    narrow = table["height"].cast(pa.float32())
    pq.write_table(table.set_column(2, "height", narrow), source)
    made = publish(document_of(source, tmp_path / "out", attributes={"height": HEIGHT}))
    assert audit_release(made.release).findings == []
    assert {c.name: c.type for c in made.manifest.columns}["height"] == "float"
    rows = read_rows(folder_of(made))
    grid = np.array([i / 10 for i in range(1_501, 1_901)], dtype=np.float32)
    assert set(rows["height"]) <= set(grid.tolist())


@pytest.mark.parametrize(("low", "step"), [(2**53 + 1, 2), (2**61, 2**54 + 2), (-(2**62), 1)])
def test_bounds_that_no_float_is(low: int, step: int, tmp_path: Path) -> None:
    table, source = patients(N_RECORDS), tmp_path / "input.parquet"
    pay = pa.array([low + n % 9 * step for n in range(N_RECORDS)])
    pq.write_table(table.set_column(6, "pay", pay), source)
    noise = {"epsilon": 2, "low": low, "high": low + 9 * step, "step": step}
    attributes = {"pay": {"role": CONFIDENTIAL, "noise": noise}}
    made = publish(document_of(source, tmp_path / "out", attributes=attributes))
    assert made.manifest.noise["pay"].to_json().items() >= noise.items()
    [told] = [column.treatment for column in made.manifest.columns if column.name == "pay"]
    assert told.endswith(f"values from {low} to {low + 9 * step} in steps of {step}")
    assert audit_release(made.release).findings == []


def test_manifest_tells_what_was_drawn(source: Path, tmp_path: Path) -> None:
    made = publish(document_of(source, tmp_path, attributes={"stage": STAGE, "ill": ILL}))
    noise = made.manifest.to_json()["noise"]
    pay = {"epsilon": 2, "low": 200, "high": 1_500, "step": 25, "mechanism": "discrete Laplace"}
    assert noise["pay"].items() >= pay.items()
    assert noise["stage"]["mechanism"] == "discrete Laplace"
    assert noise["stage"]["values"] == STAGES
    assert noise["ill"]["mechanism"] == "randomised response"
    assert all(noise[name]["stochastic_t"] > 1 for name in noise)
    assert made.manifest.privacy.t == {}


def test_classes_know_nothing_of_the_confidential_values(source: Path, tmp_path: Path) -> None:
    """They are those that mdav makes of the quasi-identifiers alone."""
    with_noise = read_rows(folder_of(publish(document_of(source, tmp_path / "noise"))))
    document = patient_document(source, tmp_path / "plain", {"name": "mdav"}, privacy={"k": 5})
    document["attributes"]["pay"] = "identifier"
    plain = read_rows(folder_of(publish(document)))
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
    assert audit.findings == []
    rows = read_rows(folder_of(made))
    share = rows.groupby(["age", "sex"]).size().min() / len(rows)
    assert share * len(rows) >= 5
    assert audit.noise is not None
    found = audit.noise["hours-per-week"].stochastic_t
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
    assert audit_release(made.release).findings == []
    check_release(folder_of(made), patients(N_RECORDS), document)


class TestAudit:
    """Stochastic closeness is measured in the files, without what stays inside."""

    @pytest.fixture
    def copied(self, published: Path, tmp_path: Path) -> Path:
        return hand_out(published, tmp_path / "copy")

    def test_closeness_is_that_of_the_smallest_class(
        self, copied: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        audit = audit_release(copied)
        assert audit.findings == []
        rows = read_rows(copied)
        share = rows.groupby(["age", "town"]).size().min() / len(rows)
        for name, epsilon in {"pay": 2, "stage": 1.5, "ill": 0.5, "height": 3}.items():
            assert audit.noise is not None
            found = audit.noise[name].stochastic_t
            assert found == pytest.approx(share + (1 - share) * exp(epsilon), rel=1e-12)
        assert main(["audit", str(copied)]) == 0
        assert re.search(r"noise on pay +epsilon 2 .*stochastic t 7\.3", capsys.readouterr().out)

    @pytest.mark.parametrize("key", ["stochastic_t", "epsilon"])
    def test_edited_figure_is_found(self, key: str, copied: Path) -> None:
        edit_manifest(copied, lambda m: m["noise"]["stage"].update({key: 1.01}))
        (finding,) = audit_release(copied).findings
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
        edit_manifest(copied, lambda m: m["noise"][name].update(change))
        (finding,) = audit_release(copied).findings
        assert re.fullmatch(
            f"noise on {name}: [0-9,]+ rows? ha(s a value|ve values) that it .*", finding
        )

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
        edit_manifest(copied, change)
        assert any("is damaged" in finding for finding in audit_release(copied).findings)


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
        assert made.manifest.noise["pay"].asked_t == 7.4
        assert audit_release(made.release).findings == []
        copy = hand_out(folder_of(made), tmp_path / "copy")
        edit_manifest(copy, lambda m: m["noise"]["pay"].update(asked_t=7))
        (finding,) = audit_release(copy).findings
        assert finding.startswith("stochastic t of pay: asked at most 7, found 7.3")
