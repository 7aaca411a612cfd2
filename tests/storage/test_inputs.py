"""The input: where it is found, how it is cut, and that neither changes a byte of a release."""

import functools
import hashlib
import http.server
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.settings import InputSettings
from pipeline.storage import csv_files, inputs
from pipeline.storage.inputs import (
    FileContent,
    Reading,
    check_same_schema,
    csv_partitions,
    cut_parquet,
    find_files,
    inspect_file,
    name_files,
    place_partitions,
    read_partition,
    total_bytes,
)
from support.cases import (
    CONFIDENTIAL,
    N_PEOPLE,
    QUASI,
    Released,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from support.tables import repeatable

CARRIED = "non-confidential"
SIZES = [0, 1, 23, 36]  # of the pieces that people are cut into


def pieces_of(table: pa.Table) -> list[pa.Table]:
    starts = np.cumsum([0, *SIZES[:-1]])
    return [table.slice(start, size) for start, size in zip(starts, SIZES, strict=True)]


def names(paths: tuple[str, ...]) -> list[str]:
    return [Path(path).name for path in paths]


class QuietServer(http.server.SimpleHTTPRequestHandler):
    """Files as a whole only, as Python's own server gives them."""

    def log_message(self, *_):
        pass


class RangeServer(QuietServer):
    """Ranges of files too, as web servers give them."""

    def send_head(self):
        place = Path(self.translate_path(self.path))
        if not place.is_file():
            self.send_error(404)
            return
        body = place.read_bytes()
        first, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")
        part = body[int(first) : int(last or len(body)) + 1]
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if "Range" in self.headers:
            stop = int(first) + len(part) - 1
            self.send_header("Content-Range", f"bytes {first}-{stop}/{len(body)}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(part)


@pytest.fixture(params=[QuietServer, RangeServer])
def served(request, tmp_path):
    """Address of a loopback server for the files of ``tmp_path / "served"``."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(request.param, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class TestFind:
    @pytest.fixture
    def folder(self, tmp_path):
        made = tmp_path / "data"
        for name in ("b.csv", "a.CSV", "deep/c.parquet", "d.pq", "_e.csv", ".f.csv", "g.txt"):
            (made / name).parent.mkdir(exist_ok=True, parents=True)
            (made / name).write_text("x")
        (made / "_logs").mkdir()
        (made / "_logs" / "h.csv").write_text("x")
        return made

    def find(self, path: Path | str) -> list[str]:
        return names(find_files(InputSettings(path=str(path))))

    def test_folder(self, folder):
        assert self.find(folder) == ["a.CSV", "b.csv", "d.pq", "c.parquet"]
        assert self.find(f"{folder}/") == self.find(folder)

    def test_glob(self, folder):
        assert self.find(folder / "*.csv") == ["_e.csv", "b.csv"]
        assert self.find(folder / "**" / "*.p*") == ["d.pq", "c.parquet"]

    def test_one_file_of_any_name(self, folder):
        assert self.find(folder / "g.txt") == ["g.txt"]
        assert self.find((folder / "g.txt").as_uri()) == ["g.txt"]

    @pytest.mark.parametrize(
        "name", ["people[1].csv", "what?.csv", "a*b.csv", "a b.csv", "ä%20.csv"]
    )
    def test_name_that_looks_like_a_pattern(self, name, tmp_path):
        write_csv(tmp_path / name, people())
        assert self.find(tmp_path / name) == [name]
        assert len(release(policy_for(tmp_path / name)).table) == N_PEOPLE

    def test_home(self, folder, monkeypatch):
        monkeypatch.setenv("HOME", str(folder))
        assert self.find("~/b.csv") == ["b.csv"]

    def test_nothing(self, folder):
        with pytest.raises(DataError, match="no such file, or no CSV or Parquet file in it"):
            self.find(folder / "nowhere")

    def test_protocol_not_installed(self):
        with pytest.raises(DataError, match="the protocol 'gs' is not installed; install its"):
            self.find("gs://bucket/people.csv")

    def test_total_bytes(self, folder):
        assert total_bytes(find_files(InputSettings(path=str(folder)))) == 4
        assert total_bytes((str(folder / "nowhere"),)) == 0


class TestWeb:
    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_same_release_as_from_disk(self, write, served, tmp_path):
        path = write(tmp_path / "served" / "people.data", people(20_000))
        urls = policy_for(f"{served}/people.data?as=1")
        urls["output"]["path"] = str(tmp_path / "releases")
        assert release(urls).data == release(policy_for(path)).data

    def test_page_that_names_others_is_a_file(self, served, tmp_path):
        links = [f"<a href='{served}/{i}.csv'>" for i in range(N_PEOPLE)]
        write_csv(tmp_path / "served" / "people.csv", people(sex=links))
        document = policy_for(f"{served}/people.csv")
        document["output"]["path"] = str(tmp_path / "releases")
        assert len(release(document).table) == N_PEOPLE

    def test_large_file_without_ranges(self, served, tmp_path, monkeypatch, request):
        monkeypatch.setattr(inputs, "MAX_DOWNLOAD_BYTES", 100)
        write_csv(tmp_path / "served" / "people.csv", people())
        url = f"{served}/people.csv"
        if request.node.callspec.params["served"] is RangeServer:
            assert inspect_file(url, InputSettings(path=url)).file.n_bytes > 100
        else:
            with pytest.raises(DataError, match=r"gives files as a whole only.*download it first"):
                inspect_file(url, InputSettings(path=url))

    def test_no_such_page(self, served):
        with pytest.raises(DataError, match=r"nowhere\.csv: no such file"):
            find_files(InputSettings(path=f"{served}/nowhere.csv"))

    def test_nobody_there(self):
        with pytest.raises(DataError, match=r"input http://127\.0\.0\.1:9/x.csv: cannot be read"):
            find_files(InputSettings(path="http://127.0.0.1:9/x.csv"))


def look_at(path: Path, **keys: str) -> FileContent:
    return inspect_file(str(path), InputSettings(path=str(path), **keys))


class TestInspect:
    def test_parquet(self, tmp_path):
        path = write_parquet(tmp_path / "people.x", people(), row_group_size=25)
        content = look_at(path)
        assert content.file.format == "parquet"
        assert content.file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert content.file.n_bytes == path.stat().st_size
        assert content.pieces == ((0, 0, 25), (1, 0, 25), (2, 0, 10))
        assert content.schema == people().schema

    def test_csv(self, tmp_path):
        path = write_csv(tmp_path / "people.x", people())
        content = look_at(path)
        assert content.file.format == "csv"
        assert content.file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert content.schema.names == people().column_names
        assert content.pieces == ((-1, len(b'"age","sex","pay"\n'), path.stat().st_size),)

    @pytest.mark.parametrize("first", ["PK", "PAR1", "PAR10", "BZh9"])
    def test_header_that_looks_like_another_format(self, first, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"{first},sex\n1,m\n")
        assert look_at(path).schema.names == [first, "sex"]

    def test_pandas_index_and_metadata_stay_out(self, tmp_path):
        frame = people().to_pandas().set_index("age")
        frame.to_parquet(tmp_path / "people.parquet")
        content = look_at(tmp_path / "people.parquet")
        assert content.schema.metadata is None


class TestSchemas:
    def test_columns_in_any_order(self, tmp_path):
        folder = tmp_path / "data"
        folder.mkdir()
        write_parquet(folder / "a.parquet", people())
        write_parquet(folder / "b.parquet", people().select(["pay", "age", "sex"]))
        table = release(policy_for(folder)).table
        assert len(table) == 2 * N_PEOPLE
        assert table.column_names == ["age", "sex", "pay"]

    def test_dictionaries_are_what_they_hold(self, tmp_path):
        folder = tmp_path / "data"
        folder.mkdir()
        write_parquet(folder / "a.parquet", people())
        sexes = people()["sex"].dictionary_encode()
        write_parquet(folder / "b.parquet", people(sex=sexes))
        assert release(policy_for(folder)).schema.field("sex").type == pa.string()

    def test_one_file_is_like_itself(self, tmp_path):
        check_same_schema([look_at(write_csv(tmp_path / "a.csv", people()))])


class TestCut:
    def test_parquet_positions(self, tmp_path, monkeypatch):
        monkeypatch.setattr(inputs, "MIN_PARTITION_ROWS", 4)
        contents = [
            look_at(write_parquet(tmp_path / f"{i}.parquet", piece, row_group_size=20))
            for i, piece in enumerate(pieces_of(people()))
        ]
        cut = cut_parquet(contents)
        positions = [p.first_position for p in cut]
        assert positions == [0, *np.cumsum([p.n_records for p in cut])[:-1].tolist()]
        assert sum(p.n_records for p in cut) == N_PEOPLE
        assert max(p.n_records for p in cut) <= 8
        assert all(p.stop - p.start == p.n_records for p in cut)

    def test_csv_positions(self, tmp_path, monkeypatch):
        monkeypatch.setattr(csv_files, "CHUNK_BYTES", 64)
        content = look_at(write_csv(tmp_path / "a.csv", people()))
        cut = csv_partitions([content])
        assert len(cut) > 5
        placed = place_partitions(cut, [2] * len(cut))
        assert [p.first_position for p in placed] == list(range(0, 2 * len(cut), 2))

    def test_names_of_files(self, tmp_path):
        contents = [look_at(write_csv(tmp_path / f"{i}.csv", people())) for i in range(5)]
        cut = csv_partitions(contents)
        assert name_files(cut[:1], cut[:1]) == ""
        assert name_files([], cut) == ""
        assert name_files(cut[1:2], cut) == "\nin 1.csv"
        assert name_files(cut, cut) == "\nin 0.csv, 1.csv, 2.csv and 2 more"


class TestRead:
    def read(self, path: Path, columns: tuple[str, ...], missing: tuple[str, ...] = ()) -> pa.Table:
        content = look_at(path)
        types = tuple(content.schema.field(name).type for name in columns)
        reading = Reading(columns, types, tuple(content.schema.names), missing, ",")
        cut = (
            cut_parquet([content])
            if content.file.format == "parquet"
            else csv_partitions([content])
        )
        return pa.concat_tables([read_partition(p, reading) for p in cut])

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_wanted_columns_in_wanted_order(self, write, tmp_path):
        table = self.read(write(tmp_path / "a.x", people()), ("pay", "age"))
        assert table.column_names == ["pay", "age"]
        assert [str(v) for v in table["age"].to_pylist()] == [
            str(v) for v in people()["age"].to_pylist()
        ]

    def test_dots_are_no_paths(self, tmp_path):
        table = pa.table({"a": [{"b": 1, "c": 2}], "a.b": [3], "a.c.d": [4], "x": [5]})
        path = write_parquet(tmp_path / "a.parquet", table)
        found = self.read(path, ("a.c.d", "a.b"))
        assert found.to_pydict() == {"a.c.d": [4], "a.b": [3]}

    @pytest.mark.parametrize("dtype", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
    def test_missing_values_of_texts(self, dtype, tmp_path):
        texts = pa.array(["a", "NA", None, "", "?"], dtype)
        table = pa.table({"t": texts, "d": texts.cast(pa.string()).dictionary_encode()})
        found = self.read(write_parquet(tmp_path / "a.parquet", table), ("t", "d"), ("NA", "?"))
        assert found["t"].to_pylist() == ["a", None, None, "", None]
        assert found["d"].to_pylist() == ["a", None, None, "", None]

    def test_missing_values_of_csv(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('t,u\na,1\nNA,"NA"\n"",2\n,3\n')
        found = self.read(path, ("t", "u"), ("NA",))
        assert found["t"].to_pylist() == ["a", None, None, None]
        assert found["u"].to_pylist() == ["1", None, "2", "3"]

    def test_file_that_went_away(self, tmp_path):
        path = write_csv(tmp_path / "a.csv", people())
        content = look_at(path)
        path.unlink()
        reading = Reading(("age",), (pa.string(),), ("age", "sex", "pay"), (), ",")
        with pytest.raises(DataError, match=r"file a\.csv: cannot be read"):
            read_partition(csv_partitions([content])[0], reading)

    def test_file_that_has_changed(self, tmp_path):
        path = write_parquet(tmp_path / "a.parquet", people())
        content = look_at(path)
        write_parquet(path, people(N_PEOPLE - 1))
        reading = Reading(("age",), (pa.int64(),), (), (), ",")
        with pytest.raises(DataError, match="changed while it was read"):
            read_partition(cut_parquet([content])[0], reading)


def cut_apart(folder: Path, table: pa.Table, write, n_files: int, **options) -> Path:
    """The table's rows in files of about one size, the first of which has none."""
    folder.mkdir()
    cuts = [len(table) * i // n_files for i in range(n_files + 1)]
    for i, (start, stop) in enumerate(pairwise(cuts)):
        write(folder / f"{i + 1:04d}.data", table.slice(start, stop - start), **options)
    write(folder / "0000.data", table.slice(0, 0), **options)
    return folder


def mixed_people(n_records: int) -> pa.Table:
    """Ties, quoted texts, dates, holes and carried columns."""
    rng = np.random.default_rng(11)
    notes = np.array(["plain", 'quo"ted', "line\nfeed", "com,ma", "ünï"])[
        rng.integers(0, 5, n_records)
    ]
    pay = rng.integers(0, 40, n_records)
    return people(
        n_records,
        pay=pa.array(pay, mask=rng.random(n_records) < 0.02),
        day=pa.array(rng.integers(18_000, 19_000, n_records).astype(np.int32)).cast(pa.date32()),
        height=rng.integers(0, 1_000, n_records) / 8,
        note=pa.array(notes, mask=rng.random(n_records) < 0.1),
    )


def mixed_policy(source: Path, output: Path, partition_by: tuple[str, ...] = ()) -> dict:
    return policy_for(
        source,
        attributes={
            "age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL, "day": QUASI, "height": QUASI,
            "note": CARRIED,
        },
        missing="drop",
        output={"path": str(output), "partition_by": list(partition_by), "rows_per_file": 70},
    )  # fmt: skip


class TestHowItIsCut:
    """The same rows, cut into other files, row groups, partitions or chunks: the same bytes."""

    @pytest.mark.parametrize("partition_by", [(), ("sex",), ("note",)])
    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_same_bytes(self, write, partition_by, tmp_path, monkeypatch):
        table = mixed_people(600)
        if "note" in partition_by:
            notes = np.where(np.arange(600) % 2, "a b", "ü/x=1")
            table = table.set_column(table.column_names.index("note"), "note", pa.array(notes))
        whole = write(tmp_path / "whole.data", table)
        data = [release(mixed_policy(whole, tmp_path / "0", partition_by)).data]
        monkeypatch.setattr(inputs, "MIN_PARTITION_ROWS", 16)
        monkeypatch.setattr(inputs, "PARTITION_ROWS", 50)
        monkeypatch.setattr(csv_files, "CHUNK_BYTES", 256)
        data.append(release(mixed_policy(whole, tmp_path / "1", partition_by)).data)
        options = {"row_group_size": 37} if write is write_parquet else {}
        cut_apart(tmp_path / "cut", table, write, 7, **options)
        source = tmp_path / "cut" / "*.data"
        data.append(release(mixed_policy(source, tmp_path / "2", partition_by)).data)
        assert data[0] == data[1] == data[2]
        assert len(data[0]) > 5

    def test_several_regions(self, tmp_path, monkeypatch):
        table = mixed_people(60_000)
        whole = write_parquet(tmp_path / "whole.parquet", table)
        first = mixed_policy(whole, tmp_path / "0")
        first["output"]["rows_per_file"] = 1_000_000
        data = [release(first).data]
        monkeypatch.setattr(inputs, "MIN_PARTITION_ROWS", 5_000)
        second = mixed_policy(whole, tmp_path / "1")
        second["output"]["rows_per_file"] = 1_000_000
        data.append(release(second).data)
        assert data[0] == data[1]

    @repeatable
    @given(st.integers(1, 200), st.integers(0, 6))
    def test_chunks_of_csv(self, tmp_path_factory, chunk_bytes, n_blank):
        folder = tmp_path_factory.mktemp("csv")
        path = write_csv(folder / "a.csv", mixed_people(40))
        path.write_bytes(path.read_bytes() + b"\r\n" * n_blank)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_files, "CHUNK_BYTES", chunk_bytes)
            content = look_at(path)
        header = tuple(content.schema.names)
        reading = Reading(header, (pa.string(),) * len(header), header, (), ",")
        cut = csv_partitions([content])
        assert [p.start for p in cut[1:]] == [p.stop for p in cut[:-1]]
        found = pa.concat_tables([read_partition(p, reading) for p in cut])
        whole = csv_partitions([look_at(path)])
        assert found.to_pydict() == read_partition(whole[0], reading).to_pydict()
        assert found["note"].to_pylist() == mixed_people(40)["note"].to_pylist()


class TestUnusualInputs:
    """What is unusual and right: released as any other."""

    def test_csv_types(self, tmp_path):
        table = mixed_people(300).append_column("code", pa.array([f"{i:03d}" for i in range(300)]))
        table = table.append_column("ok", pa.array([True, None, False] * 100))
        path = write_csv(tmp_path / "people.csv", table)
        document = mixed_policy(path, tmp_path / "releases")
        document["attributes"] |= {"code": CARRIED, "ok": CARRIED}
        released = release(document)
        assert {field.name: str(field.type) for field in released.schema} == {
            "age": "int64", "sex": "string", "pay": "int64", "day": "date32[day]",
            "height": "double", "note": "string", "code": "string", "ok": "bool",
        }  # fmt: skip
        kept = table.filter(table["pay"].is_valid())
        assert released.internal["records_dropped"] == 300 - len(kept)
        for name in ("pay", "note", "code", "ok"):
            found = released.table[name].to_pylist()
            assert sorted(map(repr, found)) == sorted(map(repr, kept[name].to_pylist()))

    @pytest.mark.parametrize(
        "edit",
        [
            lambda text: text.replace(b"\n", b"\r\n"),
            lambda text: b"\xef\xbb\xbf" + text,
            lambda text: b"\xef\xbb\xbf" + text.replace(b'"age"', b"age", 1),
            lambda text: text + b"\n\r\n\n",
            lambda text: text.rstrip(b"\n"),
        ],
        ids=["crlf", "bom", "bom without quote", "blank lines", "no last line feed"],
    )
    def test_forms_of_csv(self, edit, tmp_path, monkeypatch):
        monkeypatch.setattr(csv_files, "CHUNK_BYTES", 100)
        table = people(day=[None, "a\tb"] * (N_PEOPLE // 2))
        document = policy_for(write_csv(tmp_path / "people.csv", table))
        document["attributes"]["day"] = CARRIED
        plain = release(document)
        path = tmp_path / "people.csv"
        path.write_bytes(edit(path.read_bytes()))
        document["output"]["path"] = str(tmp_path / "others")
        assert release(document).data == plain.data

    @pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
    def test_delimiters(self, delimiter, tmp_path):
        path = write_csv(tmp_path / "people.csv", people(), delimiter=delimiter)
        document = policy_for(path, input={"path": str(path), "delimiter": delimiter})
        assert_complete(release(document))

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_column_names(self, write, tmp_path, monkeypatch):
        monkeypatch.setattr(inputs, "MIN_PARTITION_ROWS", 16)
        odd = {
            "age": "a.b", "sex": 'sex "quoted" ☃', "pay": "pay, gross\nper year",
            "x": " lead", "y": "a", "z": "$ref/=%",
        }  # fmt: skip
        table = people(x=range(N_PEOPLE), y=range(N_PEOPLE), z=["k", "l"] * (N_PEOPLE // 2))
        document = policy_for(write(tmp_path / "p.x", table.rename_columns(list(odd.values()))))
        roles = [QUASI, QUASI, CONFIDENTIAL, CARRIED, CARRIED, CARRIED]
        document["attributes"] = dict(zip(odd.values(), roles, strict=True))
        document["output"]["partition_by"] = [odd["z"]]
        released = release(document)
        assert released.schema.names == [name for name in odd.values() if name != odd["z"]]
        pays = people()["pay"].to_pylist()
        assert sorted(released.table[odd["pay"]].to_pylist()) == sorted(pays)
        assert sorted(released.table["a"].to_pylist()) == list(range(N_PEOPLE))

    def test_single_column(self, tmp_path):
        path = tmp_path / "ages.csv"
        path.write_text("age\n" + "\n".join(str(i % 9) for i in range(50)))
        document = policy_for(path, attributes={"age": QUASI}, privacy={"k": 4})
        released = release(document)
        assert len(released.table) == 50
        assert min(released.class_sizes(["age"])) >= 4

    @pytest.mark.parametrize("k", [3, 7])
    def test_no_confidential_attribute(self, k, tmp_path):
        rng = np.random.default_rng(5)
        table = people(age=rng.normal(size=N_PEOPLE)).drop_columns("pay")
        document = policy_for(write_parquet(tmp_path / "p.parquet", table), privacy={"k": k})
        document["attributes"] = {"age": QUASI, "sex": QUASI}
        sizes = release(document).class_sizes(["age", "sex"])
        assert sum(sizes) == N_PEOPLE
        assert set(sizes) <= {k, k + 1, k + 2, *range(k, k + N_PEOPLE % k + 1)}

    def test_constant_confidential(self, tmp_path):
        path = write_csv(tmp_path / "people.csv", people(pay=[7] * N_PEOPLE))
        document = policy_for(path, privacy={"k": 3, "t": 0.001})
        released = release(document)
        assert released.manifest["privacy"]["t"]["pay"]["largest_emd"] == 0
        assert_complete(released)

    def test_constant_quasi_identifier(self, tmp_path):
        path = write_parquet(tmp_path / "p.parquet", people(age=[41.5] * N_PEOPLE))
        released = release(policy_for(path))
        assert set(released.table["age"].to_pylist()) == {41.5}
        assert_complete(released)

    def test_all_records_identical(self, tmp_path):
        same = people(age=[1] * N_PEOPLE, sex=["m"] * N_PEOPLE, pay=[2] * N_PEOPLE)
        released = release(policy_for(write_csv(tmp_path / "people.csv", same)))
        assert released.table.equals(same)
        assert released.manifest["classes"]["n_classes"] == 1

    def test_as_many_as_k(self, tmp_path):
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        document["privacy"]["k"] = N_PEOPLE
        released = release(document)
        assert released.manifest["classes"]["n_classes"] == 1
        assert released.manifest["privacy"]["t"]["pay"]["largest_emd"] == 0
        ages = people()["age"].to_numpy()
        assert set(released.table["age"].to_pylist()) == {int(np.floor(ages.mean() + 0.5))}

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_dropped_records(self, write, tmp_path):
        rng = np.random.default_rng(3)
        holes = {name: rng.random(N_PEOPLE) < 0.1 for name in ("age", "sex", "pay")}
        table = people()
        for name, mask in holes.items():
            column = pa.array(table[name].to_pylist(), mask=mask)
            table = table.set_column(table.column_names.index(name), name, column)
        document = policy_for(write(tmp_path / "people.x", table), missing="drop")
        released = release(document)
        complete = ~np.any(list(holes.values()), axis=0)
        assert released.internal["records_read"] == N_PEOPLE
        assert released.internal["records_dropped"] == N_PEOPLE - complete.sum()
        kept = table.filter(pa.array(complete))
        assert sorted(released.table["pay"].to_pylist()) == sorted(kept["pay"].to_pylist())

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_named_missing_values(self, write, tmp_path):
        sexes = ["m", "f", "?", "NaN"] * (N_PEOPLE // 4)
        path = write(tmp_path / "people.x", people(sex=sexes))
        document = policy_for(path, missing="drop")
        document["input"]["missing_values"] = ["?", "NaN"]
        released = release(document)
        assert released.internal["records_dropped"] == N_PEOPLE // 2
        assert set(released.table["sex"].to_pylist()) <= {"m", "f"}

    def test_nan_named_as_missing(self, tmp_path):
        pays = pa.array([float("nan"), *range(1, N_PEOPLE)])
        document = policy_for(write_csv(tmp_path / "p.csv", people(pay=pays)), missing="drop")
        document["input"]["missing_values"] = ["nan"]
        released = release(document)
        assert released.internal["records_dropped"] == 1
        assert released.schema.field("pay").type == pa.int64()

    def test_codes_with_leading_zeros(self, tmp_path):
        codes = [f"{i % 3:05d}" for i in range(N_PEOPLE)]
        released = release(policy_for(write_csv(tmp_path / "p.csv", people(sex=codes))))
        assert released.schema.field("sex").type == pa.string()
        assert set(released.table["sex"].to_pylist()) <= set(codes)

    def test_ordinal_codes(self, tmp_path):
        grades = [("01", "2", "x")[i % 3] for i in range(N_PEOPLE)]
        document = policy_for(write_csv(tmp_path / "p.csv", people(sex=grades)))
        order = {"role": QUASI, "type": "ordinal", "order": ["01", 2, "x"]}
        document["attributes"]["sex"] = order
        assert set(release(document).table["sex"].to_pylist()) <= set(grades)

    def test_files_of_a_size(self, tmp_path):
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        document["output"]["rows_per_file"] = 25
        released = release(document)
        assert [file["rows"] for file in released.manifest["files"]] == [25, 25, 10]
        assert_complete(released)

    def test_partitions(self, tmp_path):
        areas = [("north west", "süd/ost", "50%=half")[i % 3] for i in range(2 * N_PEOPLE)]
        table = people(2 * N_PEOPLE, area=areas)
        document = policy_for(write_parquet(tmp_path / "p.parquet", table))
        document["attributes"]["area"] = CARRIED
        document["output"]["partition_by"] = ["area", "sex"]
        released = release(document)
        assert released.schema.names == ["age", "pay"]
        folders = {path.rpartition("/")[0] for path in released.paths}
        assert {folder.split("/")[1] for folder in folders} == {
            "area=north west", "area=s%C3%BCd%2Fost", "area=50%25%3Dhalf",
        }  # fmt: skip
        read = pq.read_table(released.folder / "data")
        wanted = sorted(zip(areas, table["pay"].to_pylist(), strict=True))
        found = zip(read["area"].to_pylist(), read["pay"].to_pylist(), strict=True)
        assert sorted(found) == wanted
        counted = read.group_by(["area", "sex", "age"]).aggregate([([], "count_all")])
        assert min(counted["count_all"].to_pylist()) >= 3


def assert_complete(released: Released) -> None:
    """Sixty records in classes of at least three."""
    assert len(released.table) == N_PEOPLE
    assert min(released.class_sizes(["age", "sex"])) >= 3
