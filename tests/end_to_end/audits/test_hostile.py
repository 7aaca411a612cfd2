"""Whoever wrote a manifest, its audit ends with findings: never stuck, out of memory, or broken."""

import copy
import io
import json
import re
import shutil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.cases import method_cases, patients
from support.cases.people import folder_of, publish, read_document
from support.cases.published import hand_out
from support.length import count
from support.tables.random_tables import repeatable
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.data.formats.parquet_format import ParquetReleased
from tclose.errors import NotInstalledError
from tclose.releases.repository.repository import file_sha256, read_manifest

pytestmark = [pytest.mark.usefixtures("small_regions"), pytest.mark.timeout(300)]

HUGE = [
    b'"1e20000000"', b'"1e-20000000"', b"1e400", b"NaN", b"-Infinity", b"9" * 1_000_000, b"-1",
    b"1e308", b"5e-324", b"9223372036854775807", b"true", b"null", b'""', b"[]", b"{}",
    b"[" * 100_000, b'{"a":' * 100_000, b"[" * 60 + b"]" * 60, b'"\\ud800"', b'"\\u0000"',
]  # fmt: skip


def write(release, manifest: dict[str, Any]) -> None:
    (release / "manifest.json").write_text(json.dumps(manifest))


def find(release) -> list[str]:
    """Findings of an audit that came to its end, or why it can say nothing; it can be shown."""
    try:
        findings = audit_release(release).findings
    except NotInstalledError as error:  # whose name an edit has made another one
        findings = [str(error)]
    "\n".join(findings).encode()
    if read_manifest(release) is not None:
        assert main(["show", str(release)]) == 0
    return findings


def places_of(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a document something stands."""
    keys = (
        value.keys() if isinstance(value, dict) else range(len(value) if type(value) is list else 0)
    )
    return [at, *(place for key in keys for place in places_of(value[key], (*at, key)))]


@pytest.mark.parametrize("number", HUGE, ids=range(len(HUGE)))
@pytest.mark.parametrize("key", ["asked", "records", "format", "rows", "bytes", "smallest"])
def test_number_that_is_none_is_found(handed_out, key, number):
    """Of k and of t, where both are asked."""
    path = handed_out / "manifest.json"
    content = path.read_bytes()
    for match in re.finditer(rb'"%s": ([0-9.]+)' % key.encode(), content):
        path.write_bytes(content[: match.start(1)] + number + content[match.end(1) :])
        assert find(handed_out), match[0]


def test_key_that_stands_twice_is_found(handed_out):
    """Readers differ in which of the two they take."""
    path = handed_out / "manifest.json"
    path.write_text(path.read_text().replace('"k": {', '"k": {"asked": 50, ', 1))
    assert find(handed_out) == ["manifest.json: has a key twice"]


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe{\x00}\x00", b"[]", b"1", b'"x"', b"{}", b"null", b"\x00" * 100]
)
def test_file_that_is_no_manifest_is_found(handed_out, content):
    (handed_out / "manifest.json").write_bytes(content)
    assert len(find(handed_out)) == 1


def test_manifest_of_any_size_is_found(handed_out):
    with (handed_out / "manifest.json").open("r+b") as stream:
        stream.truncate(1 << 40)
    assert find(handed_out) == ["manifest.json: is larger than 67,108,864 bytes"]


@pytest.mark.parametrize(
    "path",
    [
        "../../secret.parquet", "/etc/passwd", "data/../../secret.parquet",
        "data//part-00000.parquet", "data/./part-00000.parquet", "internal/part-00000.parquet",
        "data/_part-00000.parquet",
        "data/.x=1/part-00000.parquet", "data/_x=1/part-00000.parquet", "data/x/part-00000.parquet",
        "data/a=1/part-00000.parquet", "data/part-00000.parquet\x00", "", ".", "data",
    ],
)  # fmt: skip
def test_nothing_outside_the_data_can_be_listed(handed_out, path):
    secret = handed_out.parents[1] / "secret.parquet"
    shutil.copy(handed_out / "data" / "part-00000.parquet", secret)
    manifest = read_document(handed_out)
    manifest["files"][0]["path"] = path
    write(handed_out, manifest)
    (finding,) = find(handed_out)
    assert "files.0.path" in finding or "not in a folder" in finding


def test_file_that_is_listed_twice_is_found(handed_out):
    """Each of its records would count for two: classes of half of k would pass."""
    manifest = read_document(handed_out)
    manifest["files"] = [entry for entry in manifest["files"] for _ in range(2)]
    write(handed_out, manifest)
    assert find(handed_out) == ["manifest.json: is damaged (a file is listed twice)"]


def test_manifest_of_a_later_format_is_no_pass(handed_out):
    manifest = read_document(handed_out)
    write(handed_out, manifest | {"format": 99})
    assert find(handed_out) == ["manifest.json: is of format 99; audit it with a later version"]


@pytest.mark.parametrize("change", [{"role": "confidential"}, {"noised": True}])
def test_folders_of_a_confidential_column_are_found(change, varied):
    """The rows lack it, so nothing of it could be read."""
    release = next(r for r in varied if read_document(r)["partition_by"])
    before = read_document(release)
    edited = copy.deepcopy(before)
    [name] = edited["partition_by"]
    next(column for column in edited["columns"] if column["name"] == name).update(change)
    edited.pop("values")
    try:
        write(release, edited)
        [finding] = find(release)
    finally:
        write(release, before)
    assert "partition_by: names a confidential column" in finding


def test_noise_that_nothing_is_said_of_is_found(handed_out):
    """Classes are held to no t of a column with noise, so that it has to be told."""
    manifest = read_document(handed_out)
    next(one for one in manifest["columns"] if one["name"] == "charge").update(noised=True)
    for section in ("privacy", "risk", "figures"):
        key = "t" if section == "privacy" else "attributes"
        del manifest[section][key]["charge"]
    manifest.pop("values")
    write(handed_out, manifest)
    [finding] = find(handed_out)
    assert "noise on other columns than those that have it" in finding


def test_edited_figures_are_found(varied):
    """A report is drawn from them: they are as much the rows' as k is."""
    n_edited = 0
    for release in varied:
        before = read_document(release)
        figures = before["figures"]
        tables = [("attributes", name, "table") for name in figures["attributes"]]
        for way in [("class_sizes",), *tables]:
            edited = copy.deepcopy(before)
            shares = edited["figures"]
            for key in way:
                shares = shares[key]
            for edit in ("first", "last", "label"):
                forged = copy.deepcopy(shares)
                if edit == "label":
                    shares["labels"][0] = "9 of 10"
                else:
                    place = 0 if edit == "first" else -1
                    shares["shares"][place] = abs(shares["shares"][place] - 0.01)
                try:
                    write(release, edited)
                    assert [f for f in find(release) if "figures." in f], (release, way, edit)
                    n_edited += 1
                finally:
                    write(release, before)
                    shares.update(forged)
    assert n_edited > 30


@pytest.mark.parametrize("name", ["toy", "\x1b[31m\u202e", "x" * 10_000_000, ""])
def test_model_that_nobody_has_is_no_pass(name, handed_out, capsys):
    manifest = read_document(handed_out)
    entry = {"name": name, "attribute": "charge", "asked": {}, "reached": 1.0, "failing_classes": 0}
    manifest["privacy"]["models"] = [entry]
    write(handed_out, manifest)
    assert main(["audit", str(handed_out)]) == 2
    told = capsys.readouterr().err
    assert "is not installed here" in told
    assert told.strip().isprintable()
    assert len(told) < 1_000


def test_taxonomy_of_numbers_is_found(handed_out):
    manifest = read_document(handed_out)
    column = next(column for column in manifest["columns"] if column["name"] == "charge")
    column["taxonomy"] = [["1", "*"], ["2", "*"]]
    write(handed_out, manifest)
    [finding] = find(handed_out)
    assert "a taxonomy of 'charge', which is not nominal" in finding


def replace_file(release, name: str, content: bytes, rows: int) -> None:
    """Put other bytes in the place of a file, and forge its entry."""
    (release / name).write_bytes(content)
    manifest = read_document(release)
    entry = next(entry for entry in manifest["files"] if entry["path"] == name)
    forged = {"bytes": len(content), "sha256": file_sha256(release / name), "rows": rows}
    entry |= forged
    write(release, manifest)


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"PAR1" * 3, b"x" * 1000, b"PAR1\xff\xff\xff\x7fPAR1", b"ARROW1" * 9],
    ids=range(6),
)
def test_file_that_is_no_parquet_is_found(handed_out, content):
    replace_file(handed_out, "data/part-00000.parquet", content, 1_500)
    assert find(handed_out) == ["data/part-00000.parquet: cannot be read as Parquet"]


@given(data=st.data())
@settings(repeatable, max_examples=count(15, 300), suppress_health_check=list(HealthCheck))
def test_damaged_parquet_with_the_right_digest_is_found(handed_out, data):
    """Unless its rows are read as they were."""
    name = "data/part-00000.parquet"
    aside = handed_out / "manifest.json"
    content, manifest = (handed_out / name).read_bytes(), aside.read_bytes()
    try:
        forged = bytearray(content)
        for _ in range(data.draw(st.integers(1, 8))):
            forged[data.draw(st.integers(0, len(forged) - 1))] = data.draw(st.integers(0, 255))
        replace_file(handed_out, name, bytes(forged), 1_500)
        if not audit_release(handed_out).findings:
            assert pq.read_table(handed_out / name).equals(pq.read_table(io.BytesIO(content)))
    finally:
        (handed_out / name).write_bytes(content)
        aside.write_bytes(manifest)


def test_text_of_no_place_in_its_dictionary_is_found(handed_out, monkeypatch):
    """As damaged indices are, which Arrow reads without a look at them."""
    read = ParquetReleased.read

    def read_damaged(file, names=None):
        table = read(file, names)
        place = next(i for i, f in enumerate(table.schema) if pa.types.is_dictionary(f.type))
        column = table.column(place).combine_chunks()
        outside = pa.array([len(column.dictionary)] * len(column), column.indices.type)
        damaged = pa.DictionaryArray.from_arrays(outside, column.dictionary, safe=False)
        return table.set_column(place, table.schema.field(place), damaged)

    monkeypatch.setattr(ParquetReleased, "read", read_damaged)
    [finding] = find(handed_out)
    assert "(cannot be read as Parquet)" in finding


def forge_table(release, change, rows: int | None = None) -> None:
    name = "data/part-00000.parquet"
    table = change(pq.read_table(release / name))
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(None), sink)
    content = sink.getvalue().to_pybytes()
    replace_file(release, name, content, len(table) if rows is None else rows)


def put(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


@pytest.mark.parametrize("rows", [0, 1, 1_499, 10**12])
def test_other_number_of_rows_than_the_manifest_says_is_found(handed_out, rows):
    forge_table(handed_out, lambda table: table, rows)
    assert any("rows, not the" in finding for finding in find(handed_out))


def test_file_without_rows_is_found(handed_out):
    """No class begins in it; before the others of texts alone it stopped the audit."""
    forge_table(handed_out, lambda table: table.slice(0, 0))
    name = "data/part-00000.parquet"
    assert f"{name}: has no rows, as no file of a release" in find(handed_out)


def test_rows_that_no_machine_can_hold_are_not_read(handed_out, monkeypatch):
    monkeypatch.setattr("tclose.assess.auditing.file_checks.machine_memory", lambda: 100_000)
    monkeypatch.setattr("tclose.assess.auditing.released_rows.read_class_columns", lambda *_: 1 / 0)
    assert any("more than this machine has the memory" in finding for finding in find(handed_out))


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_values_that_no_release_has_are_found(handed_out, value):
    def change(table):
        field = table.schema.field("charge")
        values = table["charge"].to_pylist()
        return put(table, "charge", pa.array([value, *values[1:]], field.type, from_pandas=False))

    try:
        forge_table(handed_out, change)
    except (pa.ArrowInvalid, TypeError, OverflowError):
        pytest.skip("charges of another type")
    assert any("in 'charge'" in finding for finding in find(handed_out))


def test_zero_below_zero_is_found(handed_out):
    """To Arrow the same value, and printed another one: a class of one for whoever reads texts."""
    schema = pq.read_schema(handed_out / "data/part-00000.parquet")
    name = next(f.name for f in schema if pa.types.is_floating(f.type))

    def change(table):
        values = table[name].to_pylist()
        return put(table, name, pa.array([-0.0, *values[1:]], table.schema.field(name).type))

    forge_table(handed_out, change)
    assert any(f"-0.0 in {name!r}" in finding for finding in find(handed_out))


def test_folder_of_a_value_that_is_spelled_otherwise_is_found(tmp_path):
    """Arrow reads `TRUE` as `true`; other readers find two values, and a class in each."""
    table = patients.write_patients(tmp_path / "patients.parquet", 600)
    method, changes = method_cases.CASES["mondrian in folders"]
    made = folder_of(
        publish(patients.patient_document(table, tmp_path / "made", method, **changes))
    )
    release = hand_out(made, tmp_path / "out")
    assert find(release) == []
    manifest = read_document(release)
    old = manifest["files"][0]["path"]
    folder = old.split("/")[1]
    other = f"{folder[:-1]}%{ord(folder[-1]):02X}"
    (release / "data" / folder).rename(release / "data" / other)
    for entry in manifest["files"]:
        entry["path"] = entry["path"].replace(f"/{folder}/", f"/{other}/")
    manifest["files"].sort(key=lambda entry: entry["path"])
    write(release, manifest)
    assert any("spelled as no release's are" in finding for finding in find(release))


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5),
    st.sampled_from([
        "1e20000000", "..", "/", "quasi-identifier", "confidential", "non-confidential", "nominal",
        "ordinal", "numeric", "date", "boolean", "ordered", "equal", "hierarchical", "string",
        "int64", "double", "bool", "value", "2026-01-01", 0.5, 1, 2, 3, 5, "age", "sex", "charge",
    ]),
    st.lists(st.one_of(st.text(max_size=3), st.lists(st.text(max_size=3), max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


def mutate(document: dict[str, Any], data) -> None:
    """Change, remove, copy or swap something anywhere in a document."""
    for _ in range(data.draw(st.integers(1, 3))):
        places = [place for place in places_of(document) if place]
        *way, last = data.draw(st.sampled_from(places))
        holder: Any = document
        for key in way:
            holder = holder[key]
        act = data.draw(st.sampled_from(["put", "put", "remove", "copy", "add"]))
        if act == "put":
            holder[last] = data.draw(VALUES)
        elif act == "remove":
            del holder[last]
        elif act == "copy":
            value: Any = document
            for key in data.draw(st.sampled_from(places)):
                value = value[key]
            holder[last] = copy.deepcopy(value)
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            holder[data.draw(st.text(max_size=4))] = data.draw(VALUES)


@given(data=st.data())
@settings(repeatable, max_examples=count(50, 1_000), suppress_health_check=list(HealthCheck))
def test_any_edit_of_a_manifest_ends_in_findings_or_a_pass(varied, data):
    release = data.draw(st.sampled_from(varied))
    path = release / "manifest.json"
    before = path.read_bytes()
    document = json.loads(before)
    mutate(document, data)
    try:
        path.write_text(json.dumps(document))
        find(release)
    finally:
        path.write_bytes(before)
