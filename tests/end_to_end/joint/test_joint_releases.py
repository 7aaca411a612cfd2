"""Closeness of combinations on the whole path, checked from the files by other means."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import shared_file
from support.cases.joint_cases import (
    NAME,
    PAIR,
    QUASI_NAMES,
    check,
    document,
    largest_joint,
    patients,
)
from support.cases.people import CONFIDENTIAL, QUASI, Released, release, write_csv
from support.naive import naive_joint, naive_taxonomy
from support.naive import naive_kernels as naive
from tclose.assess.auditing.audit import audit_release
from tclose.errors import InfeasibleError, VerificationError
from tclose.passes.microaggregate.repair.repair_region import Merger
from tclose.policy.policy import load_policy

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.mark.parametrize("refine", ["off", "fast"])
def test_release_is_close(refine, source, tmp_path):
    # A given size has no start of halves, which are fewer.
    method = {"refine": refine, "class_size": 18}
    made = release(document(source, tmp_path, method=method))
    check(made, ["illness", "pay"], 0.35)
    assert made.manifest["classes"]["n_classes"] > 30
    columns = [*QUASI_NAMES, "illness", "pay"]
    assert made.schema.names == columns
    expected = patients().select(["illness", "pay"]).to_pandas()
    counts = made.frame.value_counts(["illness", "pay"])
    assert counts.to_dict() == expected.value_counts().to_dict()


def test_each_attribute_alone_would_not_do(source, tmp_path):
    """Without the demand the same policy leaves classes that are farther."""
    made = release(document(source, tmp_path, privacy={"k": 4, "t": 0.3}))
    assert made.manifest["privacy"]["joint"] == []
    assert largest_joint(made.frame, ["illness", "pay"], QUASI_NAMES) > Fraction(1, 2)


def test_search_keeps_it_and_loses_less(source, tmp_path):
    losses, sizes = [], []
    for refine in ("off", "fast"):
        made = release(document(source, tmp_path / refine, method={"refine": refine}))
        losses.append(made.manifest["information_loss"]["total"])
        sizes.append(made.manifest["classes"]["mean"])
    assert losses[1] < 0.9 * losses[0]
    assert made.internal["rounds"][-1]["largest_emd"] <= 0.35


def test_attributes_without_a_t_are_within_that_of_their_combinations(source, tmp_path):
    made = release(document(source, tmp_path, privacy={"k": 4, "joint": [{"t": 0.3}]}))
    check(made, ["illness", "pay"], 0.3)
    frame, said = made.frame, made.manifest["privacy"]["t"]
    assert {t["asked"] for t in said.values()} == {0.3}
    groups = frame.groupby(QUASI_NAMES, observed=True)
    pay = max(naive.ordered_emd(m.tolist(), frame["pay"].tolist()) for _, m in groups["pay"])
    ills = frame["illness"].tolist()
    illness = max(naive_taxonomy.equal_emd(m.tolist(), ills) for _, m in groups["illness"])
    assert said["pay"]["largest_emd"] == pytest.approx(float(pay))
    assert said["illness"]["largest_emd"] == pytest.approx(float(illness))
    assert max(pay, illness) <= Fraction(3, 10)


def test_of_three_and_of_two_of_them(source, tmp_path):
    attributes = document(source, tmp_path)["attributes"] | {"smokes": CONFIDENTIAL}
    asked = [{"t": 0.5}, {"attributes": ["smokes", "illness"], "t": 0.25}]
    privacy = {"k": 4, "t": 0.3, "joint": asked}
    made = release(
        document(source, tmp_path, attributes=attributes, privacy=privacy, method={"refine": 3})
    )
    assert audit_release(made.folder).findings == []
    frame = made.frame
    for joint, t in zip(made.manifest["privacy"]["joint"], (0.5, 0.25), strict=True):
        found = largest_joint(frame, joint["attributes"], QUASI_NAMES)
        assert joint["largest_emd"] == pytest.approx(float(found), abs=1e-12)
        assert found <= Fraction(str(t))


@pytest.mark.parametrize("refine", ["off", "fast"])
def test_in_hard_partitions(refine, source, tmp_path):
    attributes = document(source, tmp_path)["attributes"] | {"site": "non-confidential"}
    output = {"path": str(tmp_path), "partition_by": ["site"]}
    made = release(
        document(source, tmp_path, attributes=attributes, output=output, method={"refine": refine})
    )
    check(made, ["illness", "pay"], 0.35, ["site", *QUASI_NAMES])


def test_far_partition_is_proved_infeasible(tmp_path):
    table = patients()
    north = np.array(table["site"].to_pylist()) == "north"
    pay = np.where(north, np.array(table["pay"]), 5_000 - np.array(table["pay"]))
    path = tmp_path / "in.parquet"
    pq.write_table(table.set_column(5, "pay", pa.array(pay)), path)
    attributes = document(path, tmp_path)["attributes"] | {"site": "non-confidential"}
    asked = document(
        path,
        tmp_path / "out",
        attributes=attributes,
        privacy={"k": 4, "t": 1, "joint": [PAIR | {"t": 0.05}]},
        output={"path": str(tmp_path / "out"), "partition_by": ["site"]},
    )
    rows = list(zip(table["illness"].to_pylist(), pay.tolist(), strict=True))
    far = max(
        naive_joint.joint_emd([r for r, is_there in zip(rows, of, strict=True) if is_there], rows)
        for of in (north, ~north)
    )
    with pytest.raises(InfeasibleError, match=f"'{NAME}' is at distance {float(far):.6f}"):
        release(asked)
    assert not list((tmp_path / "out").rglob("*.parquet"))


class TestMethods:
    @pytest.mark.parametrize(
        "method",
        [
            {"name": "microaggregate-and-merge"},
            {"name": "microaggregate-and-merge", "refine": 2},
            {"name": "mondrian"},
            {"name": "incognito"},
            {"scope": "table"},
            {"class_size": 4},
            {"class_size": "paper", "refine": 2},
        ],
        ids=lambda method: "-".join(map(str, method.values())),
    )
    def test_that_hold_it(self, method, source, tmp_path):
        attributes = document(source, tmp_path)["attributes"]
        if method.get("name") == "incognito":
            steps = {"role": QUASI, "intervals": {"widths": [20, 40, 80]}}
            attributes |= {"age": steps, "weight": steps}
        made = release(document(source, tmp_path, method=method, attributes=attributes))
        check(made, ["illness", "pay"], 0.35)

    @pytest.mark.parametrize("name", ["mdav", "v-mdav"])
    def test_that_know_nothing_of_t_fail_the_verification(self, name, source, tmp_path):
        with pytest.raises(VerificationError, match=f"t of {NAME}: asked at most 0.35, found"):
            release(document(source, tmp_path, method={"name": name}))

    def test_construction_that_ignores_it_publishes_nothing(self, source, tmp_path, monkeypatch):
        """Verification alone stands between."""
        monkeypatch.setattr(Merger, "repair", lambda _, labels, *__: (labels, 0, 0))
        with pytest.raises(VerificationError, match=f"t of {NAME}: .* classes above"):
            release(document(source, tmp_path, method={"refine": "off", "class_size": 4}))
        assert not list(tmp_path.glob("patients/*/manifest.json"))


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory) -> Released:
    return release(document(source, tmp_path_factory.mktemp("out"), method={"refine": 2}))


class TestSameBytes:
    def test_whatever_the_workers(self, source, expected, tmp_path):
        asked = document(source, tmp_path, method={"refine": 2}, engine={"workers": 2})
        assert release(asked).data == expected.data

    def test_however_the_input_is_cut(self, source, expected, tmp_path):
        whole = pa.concat_tables([pq.read_table(p) for p in sorted(source.glob("*.parquet"))])
        path = tmp_path / "in.parquet"
        pq.write_table(whole, path, row_group_size=200)
        assert release(document(path, tmp_path, method={"refine": 2})).data == expected.data

    def test_from_csv(self, source, expected, tmp_path):
        whole = pa.concat_tables([pq.read_table(p) for p in sorted(source.glob("*.parquet"))])
        path = write_csv(tmp_path / "in.csv", whole)
        made = release(document(path, tmp_path, method={"refine": 2}))
        assert made.table.equals(expected.table)


@pytest.mark.nightly
def test_adult(tmp_path):
    given = load_policy("config/adult-joint.yaml").model_dump(mode="json", exclude_unset=True)
    given["input"]["path"] = str(shared_file("adult.csv"))
    given["output"] = {"path": str(tmp_path)}
    given["method"] = {"refine": 1}
    made = release(given)
    (asked,), (said,) = given["privacy"]["joint"], made.manifest["privacy"]["joint"]
    quasi = [n for n, a in given["attributes"].items() if a["role"] == QUASI]
    frame = made.frame
    cells = frame.groupby(asked["attributes"]).ngroup()
    of_class = frame.groupby(quasi).ngroup()
    shares = pd.crosstab(of_class, cells, normalize="index").to_numpy()
    far = np.abs(shares - np.bincount(cells) / len(frame)).sum(axis=1) / 2
    assert said["largest_emd"] == pytest.approx(far.max(), abs=1e-9)
    assert far.max() <= asked["t"] + 1e-9
    assert len(far) > 300
    assert audit_release(made.folder).findings == []
