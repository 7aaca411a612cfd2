"""Closeness of combinations as audit, documents, plan and frontier tell of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.joint_cases import NAME, PAIR, QUASI_NAMES, document, patients
from support.cases.people import Released, release, write_policy
from support.cases.published import edit_manifest, hand_out
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.releases.repository.repository import file_sha256

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(scope="module")
def made(source, tmp_path_factory) -> Released:
    return release(document(source, tmp_path_factory.mktemp("made")))


class TestJointResults:
    @pytest.fixture
    def copied(self, made, tmp_path) -> Path:
        """The release without its internal part, to tamper with."""
        return hand_out(made.folder, tmp_path)

    def edit(self, folder: Path, change: Any) -> list[str]:
        edit_manifest(folder, change)
        return audit_release(folder).findings

    def test_untouched_copy_passes(self, copied):
        assert audit_release(copied).findings == []

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


def test_frontier_varies_t_beside_it(source, tmp_path, capsys):
    policy = write_policy(tmp_path / "policy.yaml", document(source, tmp_path))
    asked = ["--k", "4", "--t", "0.3,0.6", "--json"]
    assert main(["frontier", str(policy), "--quiet", *asked]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert len(points) == 2
    assert all(point["largest_emd"][NAME] <= 0.35 for point in points)
