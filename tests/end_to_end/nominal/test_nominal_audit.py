"""What an audit finds of a nominal attribute whose manifest or rows were edited."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.nominal_cases import document
from support.cases.people import release
from tclose.assess.auditing.audit import audit_release
from tclose.assess.auditing.audit_result import AuditResult
from tclose.cli.main import main
from tclose.releases.repository.repository import file_sha256

pytestmark = pytest.mark.usefixtures("small_regions")


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
        return audit_release(folder).findings

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
        assert audit_release(published).findings == ["internal/seal.json: is missing"]
        (published.parents[1] / ".release-key").unlink()
        assert audit_release(published).findings == []

    def rewrite(self, folder: Path, change) -> AuditResult:
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
        assert any("t of illness: asked" in finding for finding in audit.findings)
        assert audit.privacy.t["illness"].largest_emd > 0.4

    def test_finds_a_value_that_the_taxonomy_has_not(self, published):
        def rename(frame: pd.DataFrame) -> pd.DataFrame:
            return frame.replace({"illness": {"flu": "measles"}})

        assert self.rewrite(published, rename).findings == [
            "manifest.json: is damaged, or does not describe these files"
        ]

    def test_reports_the_distance(self, published, capsys):
        assert audit_release(published).privacy.t["illness"].distance == "hierarchical"
        assert main(["audit", str(published)]) == 0
        assert "hierarchical" in capsys.readouterr().out
