"""An audit finds whatever was changed after publication, and whatever never was right."""

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import discharge_policy, write_discharges
from support.cases.people import folder_of
from support.cases.published import copy_at_home, edit_manifest, hand_out, publish_discharges
from tclose.assess.auditing import audit as auditing
from tclose.assess.auditing.audit import audit_release
from tclose.assess.auditing.audit_result import AuditResult
from tclose.cli.main import main
from tclose.errors import DataError, InfeasibleError, OutputError, PolicyError
from tclose.passes.release import run_release
from tclose.releases.catalog.catalog import open_repository
from tclose.releases.repository.repository import file_sha256
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return publish_discharges(tmp_path_factory.mktemp("made"), 5_000)


@pytest.fixture
def published(made, tmp_path):
    """The release, for a test to change."""
    return copy_at_home(made, tmp_path)


def test_untouched_release_passes(published, capsys):
    assert main(["audit", str(published.parent)]) == 0
    assert "PASS" in capsys.readouterr().out
    audit = audit_release(published)
    assert audit.findings == []
    assert audit.records == 5_000
    assert audit.privacy.k.achieved >= 5


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (ZeroDivisionError, "ZeroDivisionError"),
        (KeyError, "KeyError"),
        (ValueError, "ValueError"),
        (pa.ArrowInvalid, "ArrowInvalid"),
        (DataError, "RuntimeError"),
        (InfeasibleError, "RuntimeError"),
        (PolicyError, "RuntimeError"),
    ],
)
def test_a_bug_of_the_audit_is_an_error_of_its_own_and_no_finding(
    kind, told, published, monkeypatch, capsys
):
    def stumble(*_: object) -> None:
        raise kind("Mrs Doe")

    monkeypatch.setattr(auditing, "describe_risk", stumble)
    with pytest.raises(kind if told != "RuntimeError" else RuntimeError):
        audit_release(published)
    assert main(["audit", str(published), "--json"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    place = r"audit\.py:\d+ in _check_rows, calling test_audit\.py:\d+ in stumble"
    stopped = rf"tclose: audit: stopped by {told} \({place}\)\n"
    assert re.fullmatch(stopped, shown.err)
    repository = open_repository(published.parent)
    assert main(["rollback", str(published.parent), published.name]) == 2  # is current already
    (repository.root / "CURRENT").unlink()
    assert main(["rollback", str(published.parent), published.name]) == 1
    assert "stopped by" in capsys.readouterr().err
    assert repository.current() is None


def test_no_release_is_refused(tmp_path, capsys):
    with pytest.raises(OutputError, match="is not a release"):
        audit_release(tmp_path)
    assert main(["audit", str(tmp_path)]) == 2
    assert "is neither a release" in capsys.readouterr().err


@pytest.mark.parametrize("place", [4, 1_000, -1])
def test_changed_byte_is_found(published, place, capsys):
    victim = published / "data" / "part-00001.parquet"
    content = bytearray(victim.read_bytes())
    content[place] ^= 1
    victim.write_bytes(bytes(content))
    assert main(["audit", str(published)]) == 3
    assert "part-00001.parquet: its content has changed" in capsys.readouterr().out


def flip(path: Path, place: float) -> None:
    """Change one bit, ``place`` of the way into the file."""
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 1.0])
def test_changed_byte_in_any_file_is_found(published, place):
    files = [path for path in published.rglob("*") if path.is_file()]
    assert {"manifest.json", "seal.json", "plan.json", "lineage.jsonl", "dictionary.md"} < {
        path.name for path in files
    }
    for path in files:
        before = path.read_bytes()
        flip(path, place)
        assert audit_release(published).findings, path.name
        path.write_bytes(before)
    assert audit_release(published).findings == []


@pytest.mark.parametrize(("before", "after"), [(b"}\n", b"} "), (b'{\n  "', b'{\n\t "')])
def test_seals_that_say_the_same_in_other_bytes_are_found(published, before, after):
    path = published / "internal" / "seal.json"
    content = path.read_bytes()
    assert before in content
    path.write_bytes(content.replace(before, after))
    assert audit_release(published).findings == ["internal/seal.json: is damaged"]


def test_manifests_that_were_edited_alike_are_found(published):
    for path in (published / "manifest.json", published / "internal" / "manifest.json"):
        path.write_text(
            path.read_text().replace('"method": "t-closeness-first"', '"method": "mdav"')
        )
    assert audit_release(published).findings == [
        "manifest.json: its content has changed",
        "internal/manifest.json: its content has changed",
    ]


def test_seals_are_looked_at_whatever_the_format_is_said_to_be(published):
    for path in (published / "manifest.json", published / "internal" / "manifest.json"):
        path.write_text(path.read_text().replace('"format": 4', '"format": 2'))
    assert "manifest.json: its content has changed" in audit_release(published).findings


def test_seals_of_another_release_are_found(published):
    other = published.with_name("0123456789abcdef0123")
    shutil.copytree(published, other)
    assert "plan.json: its content has changed" in " ".join(audit_release(other).findings)
    (other / "internal" / "seal.json").unlink()
    assert audit_release(other).findings == [
        "manifest.json: is that of another release",
        "internal/seal.json: is missing",
    ]


def test_release_that_was_handed_out_needs_no_seal(published, tmp_path):
    assert audit_release(hand_out(published, tmp_path / "elsewhere")).findings == []


def test_swapped_files_are_found(published):
    first, second = (published / "data" / f"part-0000{i}.parquet" for i in (0, 1))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert len(audit_release(published).findings) == 2


def test_missing_and_added_files_are_found(published):
    victim = published / "data" / "part-00001.parquet"
    victim.rename(victim.with_name("part-00009.parquet"))
    findings = audit_release(published).findings
    assert findings == [
        "data/part-00001.parquet: is missing",
        "data/part-00009.parquet: is not in the manifest",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["privacy"]["k"].update(asked=50), "k: asked at least 50"),
        (lambda m: m["privacy"]["k"].update(achieved=6), "k differs"),
        (lambda m: m["privacy"]["t"]["charge"].update(asked=0.01), "t of charge"),
        (lambda m: m["privacy"]["t"]["charge"].update(largest_emd=0.01), "largest EMD of 'charge'"),
        (lambda m: m.update(records=4_999), "values: records differs"),
        (lambda m: m["classes"].update(n_classes=1), "classes.n_classes"),
        (lambda m: m.update(verdict="fail"), "verdict is not pass"),
        (lambda m: m["files"].pop(), "is not in the manifest"),
        (lambda m: m["columns"].clear(), "columns are not those of the release"),
        (lambda m: m.pop("privacy"), "is damaged"),
        (lambda m: m["privacy"]["t"].clear(), "is damaged"),
        (lambda m: m["columns"][0].update(role="non-confidential"), "columns are not those"),
    ],
)
def test_edited_manifest_is_found(published, change, words):
    edit_manifest(published, change)
    findings = audit_release(published).findings
    assert any(words in finding for finding in findings), findings


def test_edited_attacks_are_found(published):
    edit_manifest(published, lambda m: m["risk"].update(discernibility=1))
    named = "manifest.json: risk.discernibility differs from what the rows say"
    assert named in audit_release(published).findings


def test_public_manifest_is_compared_with_the_internal_one(published):
    """Also in what no row says, and where seals cannot be checked."""
    (published.parents[1] / ".release-key").unlink()
    edit_manifest(published, lambda m: m.update(method="mdav"))
    named = "manifest.json: 'method' differs from the internal manifest"
    assert named in audit_release(published).findings


def test_what_was_not_checked_has_not_passed():
    assert not AuditResult(release="here").passed
    assert AuditResult(release="here", checked=True).passed


INSIDE = ("internal/report.html", "internal/seal.json")


def as_earlier(published):
    """The manifests as the version before further models and documents wrote them."""
    for place in (published, published / "internal"):
        path = place / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["format"] = 1
        for key in ("risk", "noise", "documents", "figures"):
            del manifest[key]
        manifest.pop("inside", None)
        del manifest["privacy"]["models"]
        for t in manifest["privacy"]["t"].values():
            del t["distance"]
        path.write_text(json.dumps(manifest))
    for name in ("dictionary.md", "datapackage.json", "report.html", *INSIDE):
        (published / name).unlink()


@pytest.mark.parametrize("inside", [True, False])
def test_release_of_an_earlier_version_passes(published, inside, capsys):
    as_earlier(published)
    if not inside:
        (published / "internal" / "manifest.json").unlink()
    assert audit_release(published).findings == ["internal/seal.json: is missing"]
    (published.parents[1] / ".release-key").unlink()
    audit = audit_release(published)
    assert audit.findings == []
    assert "made by an earlier version" in audit.notes[0]
    assert audit.privacy.models == []
    assert audit.risk.discernibility > 0
    assert main(["audit", str(published)]) == 0
    assert "note " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["privacy"]["k"].update(achieved=6), "k differs"),
        (lambda m: m["privacy"]["t"]["charge"].update(asked=0.01), "t of charge"),
        (lambda m: m["classes"].update(n_classes=1), "classes.n_classes"),
        (lambda m: m["privacy"].update(models=[]), "is damaged"),
        (lambda m: m.update(risk={}), "is damaged"),
        (lambda m: m.update(format=2), "is damaged"),
        (lambda m: m.pop("format"), "is damaged"),
    ],
)
def test_edited_manifest_of_an_earlier_version_is_found(published, change, words):
    as_earlier(published)
    (published / "internal" / "manifest.json").unlink()
    edit_manifest(published, change)
    findings = audit_release(published).findings
    assert any(words in finding for finding in findings), findings


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("risk"),
        lambda m: m["privacy"].pop("models"),
        lambda m: [m.pop("risk"), m["privacy"].pop("models")],
        lambda m: [m.pop("risk"), m["privacy"].pop("models"), m.update(format=1)],
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_manifest_that_was_cut_down_is_of_no_earlier_version(published, change, inside):
    if not inside:
        (published / "internal" / "manifest.json").unlink()
    edit_manifest(published, change)
    audit = audit_release(published)
    assert any("is damaged" in finding for finding in audit.findings)
    assert audit.notes == []


def rewrite(published, change):
    """Change the rows of all files and forge the manifest's digests; drop the internal part."""
    manifest = json.loads((published / "manifest.json").read_text())
    tables = [pq.read_table(published / entry["path"]) for entry in manifest["files"]]
    table = change(pa.concat_tables(tables).to_pandas())
    manifest["files"] = manifest["files"][:1]
    for extra in sorted((published / "data").iterdir())[1:]:
        extra.unlink()
    path = published / manifest["files"][0]["path"]
    made = pa.Table.from_pandas(table, tables[0].schema, preserve_index=False)
    pq.write_table(made.replace_schema_metadata(None), path)
    forged = {"bytes": path.stat().st_size, "sha256": file_sha256(path), "rows": len(table)}
    manifest["files"][0] |= forged
    (published / "manifest.json").write_text(json.dumps(manifest))
    (published / "internal" / "manifest.json").unlink()


def test_rows_out_of_order_are_found_and_still_checked(published):
    rewrite(published, lambda frame: frame.sample(frac=1.0, random_state=1))
    shutil.rmtree(published / "internal")
    (published.parents[1] / ".release-key").unlink()  # with it, missing seals are a finding
    audit = audit_release(published)
    assert audit.findings == ["rows are not in canonical order: their order may reveal something"]
    assert audit.privacy.k.achieved >= 5


def test_forged_row_that_breaks_k_is_found(published):
    def single_out(frame):
        frame.loc[0, "age"] = frame["age"].max() + 1
        return frame.sort_values(list(frame.columns))

    rewrite(published, single_out)
    assert any("k: asked" in finding for finding in audit_release(published).findings)


def test_forged_charges_that_break_t_are_found(published):
    def gather(frame):
        frame["charge"] = frame["charge"].sort_values().to_numpy()
        return frame

    rewrite(published, gather)
    assert any("t of charge" in finding for finding in audit_release(published).findings)


def resign(published, path):
    """Forge the manifests' digest of a file."""
    for manifest in (published / "manifest.json", published / "internal" / "manifest.json"):
        content = json.loads(manifest.read_text())
        entry = next(e for e in content["files"] if e["path"] == path)
        file = published / path
        entry |= {"bytes": file.stat().st_size, "sha256": file_sha256(file)}
        manifest.write_text(json.dumps(content))


@pytest.mark.parametrize("what", ["column", "metadata", "type"])
def test_smuggled_content_is_found(what, published):
    path = "data/part-00001.parquet"
    table = pq.read_table(published / path)
    if what == "column":
        table = table.append_column("patient_id", pa.array([f"P{i}" for i in range(len(table))]))
    elif what == "metadata":
        table = table.replace_schema_metadata({"secret": "canary"})
    else:
        table = table.set_column(0, "age", table["age"].cast(pa.int64()))
    pq.write_table(table, published / path)
    resign(published, path)
    (finding,) = audit_release(published).findings
    assert finding.startswith(path)


def test_file_beside_the_data_is_found(published):
    (published / "raw.csv").write_text("patient_id\n")
    assert audit_release(published).findings == ["raw.csv: does not belong to the release"]


def test_release_without_files_is_found(published):
    for path in sorted((published / "data").iterdir()):
        path.unlink()
    (published / "internal" / "manifest.json").unlink()
    edit_manifest(published, lambda m: m["files"].clear())
    assert audit_release(published).findings


def test_release_without_files_or_confidential_columns_is_found(tmp_path):
    path = write_discharges(tmp_path / "discharges.parquet", 500)
    document = {"attributes": {"age": "quasi-identifier"}, "privacy": {"k": 5}}
    made = run_release(discharge_policy(path, tmp_path / "out", **document), Progress("none"))
    for file in sorted((folder_of(made) / "data").iterdir()):
        file.unlink()
    edit_manifest(folder_of(made), lambda m: m["files"].clear())
    findings = audit_release(made.release).findings
    assert "records: asked 500, found 0" in findings


def test_manifest_of_another_release(published):
    edit_manifest(published, lambda m: m.update(release_id="0" * 20))
    assert "manifest.json: is that of another release" in audit_release(published).findings


def test_release_in_the_folder_of_another_name(published):
    """Where the output folder is known by its key; what is handed out may stand anywhere."""
    output, named = published.parents[1], "manifest.json: is that of a release of another name"
    (output / "alias").symlink_to(published.parent)
    assert audit_release(output / "alias" / published.name).findings == []
    elsewhere = output / "other" / published.name
    elsewhere.parent.mkdir()
    published.rename(elsewhere)
    assert named in audit_release(elsewhere).findings
    (output / ".release-key").unlink()
    assert named not in audit_release(elsewhere).findings


def test_loss_below_none(published):
    edit_manifest(published, lambda m: m["information_loss"].update(total=-0.5))
    [finding] = audit_release(published).findings
    assert "information_loss.total" in finding
