"""Closeness of combinations on the whole path, checked from the files by other means."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli import main
from pipeline.errors import InfeasibleError, VerificationError
from pipeline.execution.audit import audit_release
from pipeline.settings import load_policy
from pipeline.stages.microaggregate import _Merger
from pipeline.storage.releases import file_sha256
from support import naive, naive_joint, naive_taxonomy
from support.cases import CONFIDENTIAL, QUASI, Released, release, write_csv, write_policy
from support.policies import shared_file

QUASI_NAMES = ["age", "sex", "weight"]
ILLS = ["flu", "ulcer", "asthma", "rabies"]
PAIR = {"attributes": ["illness", "pay"], "t": 0.35}
NAME = "illness with pay"


def patients(n_records: int = 1_500, seed: int = 3) -> pa.Table:
    """Pay follows the illness of the old: each alone is evenly spread, the two together are not."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n_records)
    illness = rng.choice(4, n_records, p=[0.4, 0.35, 0.2, 0.05])
    pay = np.where(age > 54, illness % 2, rng.integers(0, 2, n_records)) * 3 + rng.integers(
        0, 3, n_records
    )
    return pa.table(
        {
            "age": age,
            "sex": np.where(rng.random(n_records) < 0.5, "f", "m"),
            "weight": np.round(rng.normal(70, 12, n_records), 1),
            "site": rng.choice(["north", "south"], n_records),
            "illness": np.array(ILLS)[illness],
            "pay": 1_000 + 250 * pay,
            "smokes": rng.random(n_records) < 0.3,
        }
    )


def document(source: Path, place: Path, **changes: Any) -> dict[str, Any]:
    roles = dict.fromkeys(QUASI_NAMES, QUASI) | {"illness": CONFIDENTIAL, "pay": CONFIDENTIAL}
    return {
        "name": "patients",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": roles,
        "privacy": {"k": 4, "t": 0.3, "joint": [PAIR]},
        "method": {"refine": "off"},
        "output": {"path": str(place), "rows_per_file": 600},
    } | changes


def write_pieces(folder: Path, table: pa.Table) -> Path:
    """Files of which one has no rabies and one nothing else, so that each numbers its own."""
    folder.mkdir()
    rare = np.array(table["illness"].to_pylist()) == "rabies"
    rows = np.arange(len(table))
    for number, chosen in enumerate((~rare & (rows % 2 > 0), rare, ~rare & (rows % 2 == 0))):
        pq.write_table(table.filter(pa.array(chosen)), folder / f"{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return write_pieces(tmp_path_factory.mktemp("input") / "patients", patients())


def rows_of(made: Released) -> pd.DataFrame:
    return pd.read_parquet(made.folder / "data")


def largest_joint(frame: pd.DataFrame, names: list[str], quasi: list[str]) -> Fraction:
    """Over all classes, as anybody would compute it who has the files and the paper."""
    table = list(frame[names].itertuples(index=False, name=None))
    groups = frame.groupby(quasi, observed=True)[names]
    return max(
        naive_joint.joint_emd(members.itertuples(index=False, name=None), table)
        for _, members in groups
    )


def check(made: Released, names: list[str], t: float, quasi: list[str] = QUASI_NAMES) -> None:
    """The files are within t; manifest and audit say what is so."""
    found = largest_joint(rows_of(made), names, quasi)
    assert found <= Fraction(str(t))
    audit = audit_release(made.folder)
    assert audit["findings"] == []
    for said in (made.manifest["privacy"], audit["privacy"]):
        (joint,) = said["joint"]
        assert joint["attributes"] == names
        assert (joint["asked"], joint["distance"]) == (t, "equal")
        assert joint["largest_emd"] == pytest.approx(float(found), abs=1e-12)
        assert " with ".join(names) not in said["t"]


@pytest.mark.parametrize("refine", ["off", "fast"])
def test_release_is_close(refine, source, tmp_path):
    made = release(document(source, tmp_path, method={"refine": refine}))
    check(made, ["illness", "pay"], 0.35)
    assert made.manifest["classes"]["n_classes"] > 30
    columns = [*QUASI_NAMES, "illness", "pay"]
    assert made.schema.names == columns
    expected = patients().select(["illness", "pay"]).to_pandas()
    counts = rows_of(made).value_counts(["illness", "pay"])
    assert counts.to_dict() == expected.value_counts().to_dict()


def test_each_attribute_alone_would_not_do(source, tmp_path):
    """Without the demand the same policy leaves classes that are farther."""
    made = release(document(source, tmp_path, privacy={"k": 4, "t": 0.3}))
    assert made.manifest["privacy"]["joint"] == []
    assert largest_joint(rows_of(made), ["illness", "pay"], QUASI_NAMES) > Fraction(1, 2)


def test_search_keeps_it_and_loses_less(source, tmp_path):
    losses, sizes = [], []
    for refine in ("off", "fast"):
        made = release(document(source, tmp_path / refine, method={"refine": refine}))
        losses.append(made.manifest["information_loss"]["total"])
        sizes.append(made.manifest["classes"]["mean"])
    assert losses[1] < 0.9 * losses[0]
    assert made.manifest["refinement"]["rounds"][-1]["largest_emd"] <= 0.35


def test_attributes_without_a_t_are_within_that_of_their_combinations(source, tmp_path):
    made = release(document(source, tmp_path, privacy={"k": 4, "joint": [{"t": 0.3}]}))
    check(made, ["illness", "pay"], 0.3)
    frame, said = rows_of(made), made.manifest["privacy"]["t"]
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
    assert audit_release(made.folder)["findings"] == []
    frame = rows_of(made)
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
        monkeypatch.setattr(_Merger, "mend", lambda self, labels: (labels, 0, 0))
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


@pytest.fixture(scope="module")
def made(source, tmp_path_factory) -> Released:
    return release(document(source, tmp_path_factory.mktemp("made")))


class TestAccounts:
    @pytest.fixture
    def copied(self, made, tmp_path) -> Path:
        """The release without its internal part, to tamper with."""
        for path in made.folder.rglob("*"):
            if path.is_file() and "internal" not in path.parts:
                place = tmp_path / "copy" / path.relative_to(made.folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(path.read_bytes())
        return tmp_path / "copy"

    def edit(self, folder: Path, change: Any) -> list[str]:
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))
        return audit_release(folder)["findings"]

    def test_untouched_copy_passes(self, copied):
        assert audit_release(copied)["findings"] == []

    def test_figure_that_is_edited_is_found(self, copied):
        findings = self.edit(copied, lambda m: m["privacy"]["joint"][0].update(largest_emd=0.1))
        assert findings == [
            "manifest.json: privacy.joint[0].largest_emd differs from what the rows say"
        ]

    def test_stricter_demand_is_found_unmet(self, copied):
        findings = self.edit(copied, lambda m: m["privacy"]["joint"][0].update(asked=0.01))
        assert any(f.startswith(f"t of {NAME}: asked at most 0.01") for f in findings)

    @pytest.mark.parametrize(
        "change",
        [
            {"attributes": ["illness", "age"]},
            {"attributes": ["illness"]},
            {"attributes": ["illness", "illness"]},
            {"attributes": "illness"},
            {"attributes": [1, 2]},
            {"distance": "ordered"},
            {"asked": "much"},
        ],
        ids=str,
    )
    def test_manifest_that_fits_no_rows_is_damaged(self, change, copied):
        findings = self.edit(copied, lambda m: m["privacy"]["joint"][0].update(change))
        assert any("is damaged" in finding for finding in findings)

    def test_rows_that_keep_each_attribute_but_not_the_two_are_found(self, copied):
        """Within each class: the old are paid for one illness, the young for another."""
        entry = json.loads((copied / "manifest.json").read_text())["files"][0]
        path = copied / entry["path"]
        frame = pq.read_table(path).to_pandas()
        classes = frame.groupby(QUASI_NAMES)
        frame["illness"] = classes["illness"].transform(sorted)
        rising, falling = (classes["pay"].transform(sorted, reverse=down) for down in (False, True))
        frame["pay"] = rising.where(frame["age"] > frame["age"].median(), falling)
        schema = pq.read_schema(path)
        forged = pa.Table.from_pandas(frame, schema, preserve_index=False)
        pq.write_table(forged.replace_schema_metadata(None), path)
        forged = {"sha256": file_sha256(path), "bytes": path.stat().st_size}
        findings = self.edit(copied, lambda m: m["files"][0].update(forged))
        assert any(f.startswith(f"t of {NAME}: asked at most 0.35") for f in findings), findings
        assert not any(f.startswith(("t of illness:", "t of pay:")) for f in findings)

    def test_documents_and_lineage_tell_of_it(self, made, capsys):
        text = (made.folder / "dictionary.md").read_text()
        assert "combinations of illness with pay | at most 0.35 |" in text
        lines = (made.folder / "internal" / "lineage.jsonl").read_text().splitlines()
        facet = json.loads(lines[-1])["outputs"][0]["facets"]["tclose_privacy"]
        (joint,) = facet["joint"]
        assert joint["attributes"] == ["illness", "pay"]
        assert joint["asked"] == 0.35
        assert joint["largestEmd"] == made.manifest["privacy"]["joint"][0]["largest_emd"]
        assert set(facet["t"]) == {"illness", "pay"}
        for command in (["show"], ["audit"], ["releases"]):
            place = made.folder.parent if command == ["releases"] else made.folder
            assert main([*command, str(place)]) == 0
            assert NAME in capsys.readouterr().out

    def test_difference_is_told(self, made, source, tmp_path, capsys):
        other = release(
            document(source, tmp_path, privacy={"k": 4, "t": 0.3, "joint": [PAIR | {"t": 0.4}]})
        )
        assert main(["diff", str(made.folder), str(other.folder)]) == 1
        assert "joint" in capsys.readouterr().out


class TestPlan:
    def plan(self, asked: dict[str, Any], tmp_path: Path, *more: str, status: int = 0) -> None:
        policy = write_policy(tmp_path / "policy.yaml", asked)
        assert main(["plan", str(policy), "--quiet", *more]) == status

    def test_says_what_is_asked(self, source, tmp_path, capsys):
        self.plan(document(source, tmp_path), tmp_path)
        assert f"0.35 for {NAME}" in capsys.readouterr().out

    def many(self, tmp_path: Path, t: float, n_records: int = 600) -> dict[str, Any]:
        """A number that is another in every record."""
        table = patients(n_records).set_column(5, "pay", pa.array(np.arange(n_records)))
        path = tmp_path / "many.parquet"
        pq.write_table(table, path)
        return document(path, tmp_path / "out", privacy={"k": 4, "t": 0.5, "joint": [{"t": t}]})

    def test_says_how_large_classes_have_to_be(self, tmp_path, capsys):
        self.plan(self.many(tmp_path, 0.8), tmp_path)
        printed = capsys.readouterr().out
        assert "120 or more: fewer are farther than t = 0.8 from the 600 combinations" in printed
        assert "k = 4 could meet t = 0.993334 at best" in printed
        made = release(self.many(tmp_path, 0.8))
        assert made.manifest["classes"]["smallest"] >= 120

    def test_refuses_what_leaves_one_class(self, tmp_path, capsys):
        self.plan(self.many(tmp_path, 0.4), tmp_path, status=3)
        message = capsys.readouterr().err
        assert "no class of fewer than 360 records is within t = 0.4 of" in message
        assert "The smallest t that could work is 0.500000" in message

    def test_nearest_t_works(self, tmp_path):
        made = release(self.many(tmp_path, 0.5))
        assert made.manifest["classes"]["n_classes"] == 2


def test_frontier_varies_t_beside_it(source, tmp_path):
    policy, found = (
        write_policy(tmp_path / "policy.yaml", document(source, tmp_path)),
        tmp_path / "f.json",
    )
    asked = ["--k", "4", "--t", "0.3,0.6", "--json", str(found)]
    assert main(["frontier", str(policy), "--quiet", *asked]) == 0
    points = json.loads(found.read_text())["points"]
    assert len(points) == 2
    assert all(point["largest_emd"][NAME] <= 0.35 for point in points)


def test_adult(tmp_path):
    given = load_policy("config/adult-joint.yaml").model_dump(mode="json", exclude_unset=True)
    given["input"]["path"] = str(shared_file("adult.csv"))
    given["output"] = {"path": str(tmp_path)}
    given["method"] = {"refine": 1}
    made = release(given)
    (asked,), (said,) = given["privacy"]["joint"], made.manifest["privacy"]["joint"]
    quasi = [n for n, a in given["attributes"].items() if a["role"] == QUASI]
    frame = rows_of(made)
    cells = frame.groupby(asked["attributes"]).ngroup()
    of_class = frame.groupby(quasi).ngroup()
    shares = pd.crosstab(of_class, cells, normalize="index").to_numpy()
    far = np.abs(shares - np.bincount(cells) / len(frame)).sum(axis=1) / 2
    assert said["largest_emd"] == pytest.approx(far.max(), abs=1e-9)
    assert far.max() <= asked["t"] + 1e-9
    assert len(far) > 300
    assert audit_release(made.folder)["findings"] == []
