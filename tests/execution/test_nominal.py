"""Nominal confidential attributes on the whole path, checked from the files by other means."""

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.cli import main
from pipeline.errors import InfeasibleError
from pipeline.execution.audit import audit_release
from pipeline.storage import partitions
from pipeline.storage.releases import file_sha256
from support import naive, naive_taxonomy
from support.cases import CONFIDENTIAL, QUASI, Released, release

N_RECORDS = 1_200
CARRIED = "non-confidential"
# Of different depths: a rare disease stands right below the root.
TREE: naive_taxonomy.Tree = (
    "any",
    [
        ("lungs", [("infections", ["flu", "pneumonia", "bronchitis"]), "embolism"]),
        ("bowels", ["ulcer", "cancer", "gastritis"]),
        "rabies",
    ],
)
ILLNESSES = naive_taxonomy.leaves(TREE)
ODDS = [0.3, 0.1, 0.15, 0.05, 0.1, 0.08, 0.2, 0.02]
HIERARCHICAL = {"role": CONFIDENTIAL, "taxonomy": naive_taxonomy.to_document(TREE)}
EQUAL = {"role": CONFIDENTIAL}


def patients(n_records: int = N_RECORDS, seed: int = 7) -> pa.Table:
    """What somebody has depends on age and sex; where somebody lives and earns hardly does."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n_records)
    drawn = rng.choice(len(ILLNESSES), n_records, p=ODDS)
    shifted = np.where(rng.random(n_records) < 0.3, (age - 18) // 9 % 8, drawn)
    return pa.table(
        {
            "age": age,
            "sex": np.where(rng.random(n_records) < 0.5, "f", "m"),
            "weight": np.round(rng.normal(70, 12, n_records), 1),
            "site": rng.choice(["north", "south"], n_records),
            "illness": np.array(ILLNESSES)[shifted],
            "pay": rng.integers(10, 60, n_records) * 100,
        }
    )


def write_pieces(folder: Path, table: pa.Table) -> Path:
    """Three files: one without two of the illnesses, one with them alone, one with all."""
    folder.mkdir()
    illness = table["illness"].to_numpy(zero_copy_only=False)
    rare = np.isin(illness, ["rabies", "flu"])
    rows = np.arange(len(table))
    first = np.flatnonzero(~rare & (rows % 3 > 0))
    second = np.flatnonzero(rare & (rows % 3 > 0))
    for number, chosen in enumerate((first, second, np.flatnonzero(rows % 3 == 0))):
        pq.write_table(table.take(chosen), folder / f"{number}.parquet")
    return folder


def document(source: Path, place: Path, **changes: Any) -> dict[str, Any]:
    return {
        "name": "patients",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": {"age": QUASI, "sex": QUASI, "weight": QUASI, "illness": HIERARCHICAL},
        "privacy": {"k": 4, "t": 0.15},
        "method": {"refine": "off"},
        "output": {"path": str(place), "rows_per_file": 500},
    } | changes


def with_illness(illness: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Roles of the columns."""
    return {"age": QUASI, "sex": QUASI, "weight": QUASI, "illness": illness} | others


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return write_pieces(tmp_path_factory.mktemp("input") / "patients", patients())


def released_frame(made: Released) -> pd.DataFrame:
    return pd.read_parquet(made.folder / "data")


def emd_of(members: list[str], table: list[str], distance: str) -> Fraction:
    if distance == "equal":
        return naive_taxonomy.equal_emd(members, table)
    return naive_taxonomy.hierarchical_emd(TREE, members, table)


def largest_emd(frame: pd.DataFrame, distance: str, quasi: list[str]) -> Fraction:
    """Over all classes, as anybody would compute it who has the files and the paper."""
    table = frame["illness"].tolist()
    groups = frame.groupby(quasi, observed=True, dropna=False)["illness"]
    return max(emd_of(members.tolist(), table, distance) for _, members in groups)


def check_release(
    made: Released, distance: str, t: float, quasi: tuple[str, ...] = ("age", "sex", "weight")
) -> pd.DataFrame:
    """The files meet k and t, and the audit and the manifest say what they say."""
    frame = released_frame(made)
    found = largest_emd(frame, distance, list(quasi))
    audit = audit_release(made.folder)
    assert audit["findings"] == []
    assert audit["checked"]
    for said in (made.manifest["privacy"], audit["privacy"]):
        of_illness = said["t"]["illness"]
        assert of_illness["distance"] == distance
        assert of_illness["asked"] == t
        assert of_illness["largest_emd"] == pytest.approx(float(found), abs=1e-12)
    assert found <= Fraction(str(t))
    assert frame.groupby(list(quasi), observed=True).size().min() >= 4
    return frame


@pytest.mark.parametrize("refine", ["off", "fast"])
@pytest.mark.parametrize(
    ("illness", "distance"),
    [
        (EQUAL, "equal"),
        (HIERARCHICAL, "hierarchical"),
        (HIERARCHICAL | {"subsets_by": "frequency"}, "hierarchical"),
        (HIERARCHICAL | {"distance": "equal"}, "equal"),
        (HIERARCHICAL | {"distance": "equal", "subsets_by": "frequency"}, "equal"),
    ],
    ids=["equal", "tree", "tree-by-frequency", "equal-by-tree", "equal-by-frequency"],
)
def test_release_is_close(illness, distance, refine, source, tmp_path):
    changes = {"attributes": with_illness(illness), "method": {"refine": refine}}
    made = release(document(source, tmp_path, **changes))
    frame = check_release(made, distance, 0.15)
    assert sorted(frame["illness"]) == sorted(patients()["illness"].to_pylist())
    assert made.manifest["classes"]["n_classes"] > 20


def test_refinement_loses_less(source, tmp_path):
    losses = [
        release(document(source, tmp_path / refine, method={"refine": refine})).manifest[
            "information_loss"
        ]["total"]
        for refine in ("off", "fast")
    ]
    assert losses[1] < 0.9 * losses[0]


@pytest.mark.parametrize("written", ["yaml", "csv"])
def test_taxonomy_of_a_file_is_that_of_the_policy(written, source, tmp_path):
    path = tmp_path / f"illnesses.{written}"
    if written == "yaml":
        path.write_text(yaml.safe_dump(naive_taxonomy.to_document(TREE), sort_keys=False))
    else:
        path.write_text("".join(";".join(row) + "\n" for row in naive_taxonomy.to_rows(TREE)))
    from_file = with_illness({"role": CONFIDENTIAL, "taxonomy": str(path)})
    made = release(document(source, tmp_path / "a", attributes=from_file))
    expected = release(document(source, tmp_path / "b"))
    assert made.data == expected.data
    assert made.manifest["columns"] == expected.manifest["columns"]
    assert made.manifest["columns"][-1]["taxonomy"] == naive_taxonomy.to_rows(TREE)


def test_distance_is_the_least_work_of_any_transport(source, tmp_path):
    """Solved as a linear program, for each class of few records."""
    made = release(document(source, tmp_path, method={"refine": 2}))
    frame = released_frame(made)
    table = frame["illness"].tolist()
    found = max(
        naive_taxonomy.transport(
            members.tolist(), table, lambda a, b: naive_taxonomy.distance(TREE, a, b)
        )
        for _, members in frame.groupby(["age", "sex", "weight"])["illness"]
    )
    said = made.manifest["privacy"]["t"]["illness"]["largest_emd"]
    assert said == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("refine", ["off", "fast"])
@pytest.mark.parametrize("first", ["illness", "pay"])
def test_beside_an_ordered_attribute(first, refine, source, tmp_path):
    """Subsets follow the one with the smaller t; classes are within both."""
    limits = {"illness": 0.25, "pay": 0.25} | {first: 0.15}
    roles = with_illness(
        HIERARCHICAL | {"t": limits["illness"]}, pay={"role": CONFIDENTIAL, "t": limits["pay"]}
    )
    made = release(document(source, tmp_path, attributes=roles, method={"refine": refine}))
    frame = check_release(made, "hierarchical", limits["illness"])
    groups = frame.groupby(["age", "sex", "weight"])["pay"]
    found = max(naive.ordered_emd(pay.tolist(), frame["pay"].tolist()) for _, pay in groups)
    of_pay = made.manifest["privacy"]["t"]["pay"]
    assert of_pay["distance"] == "ordered"
    assert of_pay["largest_emd"] == pytest.approx(float(found), abs=1e-12)
    assert found <= Fraction(str(limits["pay"]))


@pytest.mark.parametrize("refine", ["off", "fast"])
def test_beside_another_nominal_one(refine, source, tmp_path):
    roles = with_illness(HIERARCHICAL, site={"role": CONFIDENTIAL, "t": 0.2})
    made = release(document(source, tmp_path, attributes=roles, method={"refine": refine}))
    frame = check_release(made, "hierarchical", 0.15)
    groups = frame.groupby(["age", "sex", "weight"])["site"]
    found = max(naive_taxonomy.equal_emd(s.tolist(), frame["site"].tolist()) for _, s in groups)
    assert made.manifest["privacy"]["t"]["site"]["largest_emd"] == pytest.approx(float(found))
    assert found <= Fraction(1, 5)


@pytest.mark.parametrize("illness", [EQUAL, HIERARCHICAL], ids=["equal", "tree"])
@pytest.mark.parametrize("refine", ["off", "fast"])
def test_in_hard_partitions(refine, illness, source, tmp_path):
    """Some files lack some illnesses, so that each numbers its own in another way."""
    changes = {
        "attributes": with_illness(illness, site=CARRIED),
        "output": {"path": str(tmp_path), "partition_by": ["site"]},
        "privacy": {"k": 4, "t": 0.2},
        "method": {"refine": refine},
    }
    made = release(document(source, tmp_path, **changes))
    distance = "hierarchical" if "taxonomy" in illness else "equal"
    frame = check_release(made, distance, 0.2, ("site", "age", "sex", "weight"))
    expected = patients().to_pandas()
    for columns in (["site", "illness"],):
        counts = frame.astype({"site": str}).value_counts(columns)
        assert counts.to_dict() == expected.value_counts(columns).to_dict()


def test_partition_far_from_the_table_is_proved_infeasible(source, tmp_path):
    table = patients()
    north = np.array(table["site"].to_pylist()) == "north"
    illness = np.where(north, "embolism", table["illness"].to_numpy(zero_copy_only=False))
    path = tmp_path / "in.parquet"
    pq.write_table(table.set_column(4, "illness", pa.array(illness)), path)
    changes = {
        "attributes": with_illness(HIERARCHICAL, site=CARRIED),
        "output": {"path": str(tmp_path / "out"), "partition_by": ["site"]},
    }
    far = {
        site: naive_taxonomy.hierarchical_emd(TREE, illness[of_site].tolist(), illness.tolist())
        for site, of_site in (("north", north), ("south", ~north))
    }
    site = max(far, key=far.__getitem__)
    assert far[site] > Fraction(3, 20)
    words = rf"site={site}: .*'illness' is at distance {float(far[site]):.5f}"
    with pytest.raises(InfeasibleError, match=words) as refused:
        release(document(path, tmp_path / "out", **changes))
    assert "embolism" not in str(refused.value)
    assert not list((tmp_path / "out").rglob("*.parquet"))


def in_partitions(source: Path, place: Path, **more: Any) -> dict[str, Any]:
    """Of everything some: two confidential attributes, hard partitions, refined."""
    changes = {
        "attributes": with_illness(
            HIERARCHICAL, pay={"role": CONFIDENTIAL, "t": 0.3}, site=CARRIED
        ),
        "output": {"path": str(place), "partition_by": ["site"]},
        "privacy": {"k": 4, "t": 0.2},
        "method": {"refine": "fast"},
    }
    return document(source, place, **changes | more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "in.parquet"
    pq.write_table(patients(), path)
    return path


@pytest.fixture(scope="module")
def expected(whole, tmp_path_factory) -> dict[str, bytes]:
    return release(in_partitions(whole, tmp_path_factory.mktemp("expected"))).data


class TestSameBytes:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_whatever_the_workers(self, workers, whole, expected, tmp_path):
        asked = in_partitions(whole, tmp_path, engine={"workers": workers})
        assert release(asked).data == expected

    @pytest.mark.parametrize("sizes", [(1, 5, 400, 794), (600, 600)])
    def test_whatever_the_cut(self, sizes, expected, tmp_path, monkeypatch):
        """First files of one record and of five: they know few of the illnesses."""
        folder, table, start = tmp_path / "in", patients(), 0
        folder.mkdir()
        for number, size in enumerate(sizes):
            pq.write_table(
                table.slice(start, size), folder / f"{number}.parquet", row_group_size=70
            )
            start += size
        monkeypatch.setattr(partitions, "PARTITION_ROWS", 200)
        monkeypatch.setattr(partitions, "MIN_PARTITION_ROWS", 50)
        assert release(in_partitions(folder, tmp_path / "out")).data == expected

    def test_whatever_the_type_of_the_text(self, expected, tmp_path):
        table = patients()
        listed = table["illness"].combine_chunks().dictionary_encode()
        path = tmp_path / "in.parquet"
        pq.write_table(table.set_column(4, "illness", listed), path)
        assert release(in_partitions(path, tmp_path / "out")).data == expected


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("code", pa.array([(i * i) % 7 for i in range(N_RECORDS)])),
        ("code", pa.array([((i * i) % 7) / 2 - 1 for i in range(N_RECORDS)])),
        ("code", pa.array([i % 3 == 0 for i in range(N_RECORDS)])),
    ],
    ids=["integers", "floats", "booleans"],
)
@pytest.mark.parametrize("declared", [{}, {"type": "nominal"}], ids=["own", "nominal"])
def test_any_type_may_be_equally_far(declared, column, values, tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(patients().append_column(column, values), path)
    roles = {"age": QUASI, "sex": QUASI, column: {"role": CONFIDENTIAL, "distance": "equal"}}
    roles[column] |= declared
    made = release(document(path, tmp_path / "out", attributes=roles, method={"refine": 2}))
    frame = released_frame(made)
    assert audit_release(made.folder)["findings"] == []
    assert sorted(frame[column]) == sorted(values.to_pylist())
    found = max(
        naive_taxonomy.equal_emd(members.tolist(), frame[column].tolist())
        for _, members in frame.groupby(["age", "sex"])[column]
    )
    assert found <= Fraction(3, 20)
    said = made.manifest["privacy"]["t"][column]
    assert said["distance"] == "equal"
    assert said["largest_emd"] == pytest.approx(float(found), abs=1e-12)


class TestAudit:
    @pytest.fixture
    def published(self, source, tmp_path) -> Path:
        return release(document(source, tmp_path)).folder

    def edit(self, folder: Path, change, *, keep_internal: bool = False) -> list[str]:
        """Findings once the manifest says something else, as a stranger would see them."""
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest, next(c for c in manifest["columns"] if c["name"] == "illness"))
        path.write_text(json.dumps(manifest))
        if not keep_internal:
            (folder / "internal" / "manifest.json").unlink()
        return audit_release(folder)["findings"]

    @pytest.mark.parametrize("keep_internal", [True, False])
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda _, c: c.update(distance="equal"), "'illness'"),
            (lambda _, c: c.update(distance="ordered"), "is damaged"),
            (lambda _, c: c.update(distance="far"), "is damaged"),
            (lambda _, c: c.pop("taxonomy"), "is damaged"),
            (lambda _, c: c.update(taxonomy=[]), "is damaged"),
            (lambda _, c: c.update(taxonomy=5), "is damaged"),
            (lambda _, c: c["taxonomy"].pop(), "is damaged"),
            (lambda _, c: c["taxonomy"].append(c["taxonomy"][0]), "is damaged"),
            (lambda _, c: c["taxonomy"].append(["new", "elsewhere"]), "is damaged"),
            (lambda _, c: c["taxonomy"][0].append(7), "is damaged"),
            (
                lambda _, c: c.update(taxonomy=[[row[0], "any"] for row in c["taxonomy"]]),
                "EMD of 'illness' differs",
            ),
            (
                lambda m, _: m["privacy"]["t"]["illness"].update(distance="equal"),
                "distance of 'ill",
            ),
            (lambda m, _: m["privacy"]["t"]["illness"].pop("distance"), "distance of 'illness'"),
            (lambda m, _: m["privacy"]["t"]["illness"].update(asked=0.05), "t of illness"),
        ],
    )
    def test_finds_an_edited_manifest(self, change, words, keep_internal, published):
        findings = self.edit(published, change, keep_internal=keep_internal)
        assert any(words in finding for finding in findings), findings

    def test_finds_a_distance_that_is_gone_if_its_own_manifest_is_at_hand(self, published):
        """Otherwise the kind's own is meant, as in releases that are older than the key."""
        findings = self.edit(published, lambda _, c: c.pop("distance"), keep_internal=True)
        assert findings == [
            "manifest.json: 'columns' differs from the internal manifest",
            "manifest.json: its content has changed",
        ]
        shutil.rmtree(published / "internal")
        assert audit_release(published)["findings"] == []

    def rewrite(self, folder: Path, change) -> dict[str, Any]:
        """Change the rows and forge the digests; drop what is kept inside."""
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        for entry in manifest["files"]:
            file = folder / entry["path"]
            table = pq.ParquetFile(file).read()
            made = pa.Table.from_pandas(change(table.to_pandas()), table.schema)
            pq.write_table(made.replace_schema_metadata(None), file)
            entry |= {"bytes": file.stat().st_size, "sha256": file_sha256(file)}
        path.write_text(json.dumps(manifest))
        (folder / "internal" / "manifest.json").unlink()
        return audit_release(folder)

    def test_finds_classes_above_t(self, published):
        """All of a kind are together in each file: classes of one illness."""

        def gather(frame: pd.DataFrame) -> pd.DataFrame:
            frame["illness"] = frame["illness"].sort_values().to_numpy()
            return frame

        audit = self.rewrite(published, gather)
        assert any("t of illness: asked" in finding for finding in audit["findings"])
        assert audit["privacy"]["t"]["illness"]["largest_emd"] > 0.4

    def test_finds_a_value_that_the_taxonomy_has_not(self, published):
        def rename(frame: pd.DataFrame) -> pd.DataFrame:
            return frame.replace({"illness": {"flu": "measles"}})

        assert self.rewrite(published, rename)["findings"] == [
            "manifest.json: is damaged, or does not describe these files"
        ]

    def test_reports_the_distance(self, published, capsys):
        assert audit_release(published)["privacy"]["t"]["illness"]["distance"] == "hierarchical"
        assert main(["audit", str(published)]) == 0
        assert "hierarchical" in capsys.readouterr().out
