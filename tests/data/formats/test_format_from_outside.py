"""A format that the package does not know: a release is written in it, read back, audited."""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.ipc
import pytest

from support.cases.method_cases import BY_SITE
from support.cases.patients import patient_document, patients, write_patients
from support.cases.people import publish
from tclose.api.released_files import read_released
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.data.formats.format_registry import FORMATS, register_format
from tclose.data.formats.output_format import OutputFormat
from tclose.data.formats.released_file import ReleasedFile
from tclose.data.widths import PassthroughWidths
from tclose.errors import NotInstalledError, PolicyError, VerificationError
from tclose.policy.policy import load_policy, parse_policy, policy_schema
from tclose.releases.manifest.public_manifest import parse_manifest
from tclose.releases.manifest.sections import DataFile

N_RECORDS = 300
CHUNK_ROWS = 40


class ArrowReleased(ReleasedFile):
    def __init__(self, reader: pa.ipc.RecordBatchFileReader) -> None:
        self._reader, self.schema = reader, reader.schema
        self.n_chunks = reader.num_record_batches
        self.n_rows = sum(reader.get_batch(i).num_rows for i in range(self.n_chunks))

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        table = self._reader.read_all()
        return table if names is None else table.select(list(names))

    def read_chunk(
        self, number: int, names: Sequence[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        yield self._reader.get_batch(number).select(list(names))

    def find_extras(self) -> list[str]:
        return ["has metadata in addition to its schema"] if self.schema.metadata else []


class ArrowFormat(OutputFormat):
    """Files of Arrow's own format, a batch for each chunk."""

    suffix: ClassVar[str] = "arrow"
    media_type: ClassVar[str] = "application/vnd.apache.arrow.file"
    title: ClassVar[str] = "Arrow"

    name: Literal["arrow"] = "arrow"
    compression: Literal["lz4", "zstd"] | None = None

    def rows_per_chunk(self, widths: PassthroughWidths) -> int:
        return CHUNK_ROWS

    def write(self, path: Path, chunks: Iterator[pa.Table]) -> None:
        tables = list(chunks)
        options = pa.ipc.IpcWriteOptions(compression=self.compression)
        with pa.ipc.new_file(path, tables[0].schema, options=options) as writer:
            for table in tables:
                writer.write_table(table.combine_chunks())

    @classmethod
    @contextmanager
    def open(
        cls, source: Path | IO[bytes], listed: Collection[str] = ()
    ) -> Iterator[ArrowReleased]:
        with pa.ipc.open_file(source) as reader:
            yield ArrowReleased(reader)


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    register_format(ArrowFormat)
    yield
    FORMATS.unregister("arrow")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "in", N_RECORDS)


def document_of(source: Path, place: Path, asked: Any, **keys: Any) -> dict[str, Any]:
    keys["output"] = keys.get("output", {}) | {"format": asked, "rows_per_file": 130}
    document: dict[str, Any] = patient_document(source, place, {"name": "mondrian"}, **keys)
    return document


@pytest.mark.parametrize("asked", ["arrow", {"name": "arrow", "compression": "zstd"}])
@pytest.mark.parametrize("keys", [{}, BY_SITE])
def test_release_is_written_read_back_and_audited(
    asked: Any, keys: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    release = publish(document_of(source, tmp_path / "arrow", asked, **keys)).release
    audit = audit_release(release)
    assert (audit.checked, audit.findings) == (True, [])
    manifest = parse_manifest((release / "manifest.json").read_bytes())
    assert {file.path.rpartition(".")[2] for file in manifest.files} == {"arrow"}
    package = json.loads((release / "datapackage.json").read_text())
    assert {(r["format"], r["mediatype"]) for r in package["resources"]} == {
        ("arrow", ArrowFormat.media_type)
    }
    assert "Arrow files" in (release / "dictionary.md").read_text()
    as_parquet = publish(document_of(source, tmp_path / "parquet", "parquet", **keys))
    mine, usual = (read_released(r, m) for r, m in [
        (release, manifest), (as_parquet.release, as_parquet.manifest)
    ])  # fmt: skip
    assert mine.equals(usual)
    assert sorted(mine["id"].to_pylist()) == patients(N_RECORDS)["id"].to_pylist()


def test_its_keys_and_version_make_another_release(source: Path, tmp_path: Path) -> None:
    asked: list[Any] = ["parquet", "arrow", {"name": "arrow", "compression": "lz4"}]
    ids = [publish(document_of(source, tmp_path, one)).release.name for one in asked]
    assert len(set(ids)) == 3
    again = publish(document_of(source, tmp_path, {"name": "arrow"}))
    assert again.already_published
    assert again.release.name == ids[1]


def test_audit_without_the_format(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody can tell whether the rows hold, but what was changed is found."""
    release = publish(document_of(source, tmp_path, "arrow")).release
    FORMATS.unregister("arrow")
    manifest = parse_manifest((release / "manifest.json").read_bytes())
    capsys.readouterr()
    told = "made with the format of .arrow files, which is not installed here: install the dist"
    try:
        assert main(["audit", str(release)]) == 2
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert told in shown.err
        with pytest.raises(
            NotInstalledError, match=r"the format of \.arrow files is not installed"
        ):
            read_released(release, manifest)
        part = release / "data" / "part-00000.arrow"
        part.write_bytes(part.read_bytes() + b"x")
        audit = audit_release(release)
    finally:
        register_format(ArrowFormat)
    assert audit.findings == ["data/part-00000.arrow: its content has changed"]
    assert (told in audit.notes[0], audit.checked) == (True, False)


@pytest.mark.parametrize("harm", ["rows", "values", "chunks"])
def test_what_is_not_read_back_is_not_published(
    harm: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def harmed(self: ArrowFormat, path: Path, chunks: Iterator[pa.Table]) -> None:
        tables = list(chunks)
        first = tables[0]
        if harm == "rows":
            tables[0] = first.slice(1)
        elif harm == "values":
            tables[0] = first.set_column(0, first.field(0), first[0].take([0] * len(first)))
        else:
            tables.pop()
        write(self, path, iter(tables))

    write = ArrowFormat.write
    monkeypatch.setattr(ArrowFormat, "write", harmed)
    with pytest.raises(VerificationError, match="does not read back as it was written"):
        publish(document_of(source, tmp_path, "arrow"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("csv", r"output\.format\.name: has to be 'parquet' or 'arrow'"),
        ({"name": "csv"}, r"output\.format\.name: has to be 'parquet' or 'arrow'"),
        ({"name": "arrow", "compression": "gz"}, r"output\.format\.compression: has to be"),
        ({"name": "parquet", "compression": "lz4"}, r"output\.format\.compression: unknown key"),
        (7, r"output\.format: has to be"),
    ],
)
def test_its_keys_are_checked(asked: Any, message: str, source: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=message):
        parse_policy(document_of(source, tmp_path, asked))


def test_policy_of_it_is_written_and_read(source: Path, tmp_path: Path) -> None:
    policy = parse_policy(document_of(source, tmp_path, {"name": "arrow", "compression": "lz4"}))
    path = tmp_path / "policy.yaml"
    path.write_text(policy.model_dump_json(exclude_unset=True))
    assert load_policy(path).output == policy.output
    assert isinstance(policy.output.format, ArrowFormat)


def test_schema_has_it() -> None:
    names, *forms = policy_schema()["$defs"]["OutputFormat"]["oneOf"]
    assert names["enum"] == ["parquet", "arrow"]
    assert forms[1]["properties"]["compression"]


class WithoutWriting(OutputFormat):
    name: Literal["without-writing"] = "without-writing"


class WithoutSuffix(ArrowFormat):
    name: Literal["another"] = "another"  # type: ignore[assignment]


@pytest.mark.parametrize("suffix", [".csv", "CSV", "csv.gz", "", "a/b", 7.5])
def test_suffix_that_no_manifest_holds(suffix: Any) -> None:
    class Odd(ArrowFormat):
        name: Literal["odd"] = "odd"  # type: ignore[assignment]

    Odd.suffix = suffix
    with pytest.raises(ValueError, match=r"Odd\.suffix is .*small letters and digits"):
        register_format(Odd)
    assert FORMATS.find("odd") is None


@pytest.mark.parametrize("suffix", ["csv", "7z", "a"])
def test_suffix_that_a_manifest_holds(suffix: str) -> None:
    DataFile(path=f"data/part-00000.{suffix}", rows=1, bytes=1, sha256="0" * 64)

    class Plain(ArrowFormat):
        name: Literal["plain"] = "plain"  # type: ignore[assignment]

    Plain.suffix = suffix
    register_format(Plain)
    FORMATS.unregister("plain")


def test_class_that_lacks_what_a_format_has() -> None:
    with pytest.raises(ValueError, match=r"has to define suffix, .* rows_per_chunk, write"):
        register_format(WithoutWriting)
    with pytest.raises(ValueError, match=r"files of 'arrow' end in \.arrow, too"):
        register_format(WithoutSuffix)
    assert list(FORMATS.classes()) == ["parquet", "arrow"]
