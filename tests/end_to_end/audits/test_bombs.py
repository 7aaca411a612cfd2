"""A small file that stands for very much is audited in the memory that its rows need, or not."""

import json
import shutil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import policy_for, publish
from tclose.assess.auditing import audit as module
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.releases.repository.repository import file_sha256

pytestmark = pytest.mark.usefixtures("small_regions")

N_ROWS = 4_000
LONG = "x" * 1_000_000  # in every row: 4 GB
ROOM = 500_000_000


@pytest.fixture
def texts(tmp_path):
    """A release with texts as quasi-identifier, confidential attribute and pass-through column."""
    values = ["a", "b"] * (N_ROWS // 2)
    table = pa.table({"age": [30] * N_ROWS, "town": values, "ill": values, "note": values})
    pq.write_table(table, tmp_path / "texts.parquet")
    roles = {
        "age": "quasi-identifier", "town": "quasi-identifier",
        "ill": {"role": "confidential", "distance": "equal"}, "note": "non-confidential",
    }  # fmt: skip
    document = policy_for(
        tmp_path / "texts.parquet", attributes=roles, privacy={"k": 2, "t": 1.0}, unlisted="error"
    )
    return publish(document).release


def write_forged(release, table):
    (path,) = sorted((release / "data").iterdir())
    pq.write_table(table, path, store_schema=False, dictionary_pagesize_limit=1 << 30)
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"][0] |= {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
    (release / "manifest.json").write_text(json.dumps(manifest))


POOLS: list[Any] = []  # for good: what is allocated from a pool may be freed after the test


@pytest.mark.parametrize("column", ["town", "ill", "note"])
def test_long_text_in_every_row_is_held_once(texts, column):
    """As Parquet holds it; as plain values the rows would be 4 GB."""
    (path,) = (texts / "data").iterdir()
    table = pq.read_table(path)
    place = table.column_names.index(column)
    rows = pa.array([0] * len(table), pa.int32())
    listed = pa.DictionaryArray.from_arrays(rows, pa.array([LONG]))
    write_forged(texts, table.set_column(place, column, listed).replace_schema_metadata(None))
    assert pq.read_schema(path).field(column).type == pa.string()
    usual, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    POOLS.append(counted)
    pa.set_memory_pool(counted)
    try:
        findings = audit_release(texts).findings
    finally:
        pa.set_memory_pool(usual)
    assert not any("its columns" in finding for finding in findings)
    assert 0 < counted.max_memory() < ROOM


@pytest.mark.parametrize("n_buckets", [-(2**63), -1, 0, 1, 1_001, 10**12, 2**62])
@pytest.mark.parametrize("of_values", [True, False])
def test_numbers_of_buckets_that_rows_cannot_have_are_found(varied, tmp_path, n_buckets, of_values):
    """Found before room is made for as many."""
    manifests = {place: json.loads((place / "manifest.json").read_text()) for place in varied}
    [(source, manifest)] = [
        (place, found)
        for place, found in manifests.items()
        if any(has_buckets(model, of_values) for model in found["privacy"]["models"])
    ][:1]
    place = shutil.copytree(source, tmp_path / source.name)
    for model in manifest["privacy"]["models"]:
        if has_buckets(model, of_values):
            model["asked"]["buckets"] = n_buckets
    (place / "manifest.json").write_text(json.dumps(manifest))
    (finding,) = audit_release(place).findings
    assert "is damaged" in finding


def has_buckets(model, of_values):
    asked = model["asked"]
    return isinstance(asked.get("buckets"), int) and ("release" in asked) == of_values


def test_error_of_the_audit_itself_is_no_finding(texts, monkeypatch, capsys):
    """Else a fault of tclose would say that somebody has changed the release."""
    monkeypatch.setattr(module, "column_roles", lambda _: dict[str, Any]()["nothing"])
    assert main(["audit", str(texts)]) == 1
    said = capsys.readouterr()
    assert "stopped by KeyError" in said.err
    assert "FAIL" not in said.out


def test_disk_that_cannot_be_read_is_no_finding(texts, monkeypatch, capsys):
    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "survey_files", fail)
    assert main(["audit", str(texts)]) == 1
    assert "Input/output error" in capsys.readouterr().err
