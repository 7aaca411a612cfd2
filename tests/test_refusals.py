"""What is refused: one message that names place, column, kind of value and remedy; nothing left.

Every case runs the command twice: with an output folder that is not there, and with one that is.
"""

import contextlib
import datetime
import decimal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from distributed import LocalCluster

from pipeline.cli import main
from pipeline.engine_settings import EngineSettings
from pipeline.execution import scheduler
from support.cases import (
    CONFIDENTIAL,
    N_PEOPLE,
    QUASI,
    people,
    policy_for,
    tree,
    write_csv,
    write_parquet,
    write_policy,
)

SECRET = "Quecksilber4711"
SECRET_NUMBER = 86_753_091
OTHER_KEY = "non-confidential"

Refuse = Callable[..., str]


@pytest.fixture
def refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Run a policy (a document, or YAML as text), which has to be refused; gives the message."""

    def run(given: dict[str, Any] | str, *fragments: str, sets: tuple[str, ...] = ()) -> str:
        policy = tmp_path / "policy.yaml"
        text = given if isinstance(given, str) else yaml.safe_dump(given, sort_keys=False)
        policy.write_text(text, encoding="utf-8")
        output = tmp_path / "releases"
        message = ""
        for _ in range(2):
            message = check_refusal(policy, output, fragments, sets)
            if not output.exists():
                output.mkdir()
                (output / "notes.txt").write_text("was there before")
        return message

    def check_refusal(
        policy: Path, output: Path, fragments: tuple[str, ...], sets: tuple[str, ...]
    ) -> str:
        before = tree(tmp_path)
        status = main(["run", str(policy), "--quiet", *(f"--set={key}" for key in sets)])
        printed, message = capsys.readouterr()
        assert status == 2, message
        assert printed == ""
        assert message.startswith("tclose: ")
        assert "Traceback" not in message
        assert SECRET not in message
        assert str(SECRET_NUMBER) not in message.replace(",", "").replace("_", "")
        for fragment in fragments:
            assert fragment in message
        assert tree(tmp_path) == before
        return message

    return run


def with_secret(column: str = "sex", value: Any = SECRET) -> pa.Table:
    """People, one of whom has the value that no message may hold."""
    table = people()
    values = [type(value)(other) for other in table[column].to_pylist()]
    values[N_PEOPLE // 2] = value
    return people(**{column: values})


def csv_of(folder: Path, text: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


class TestPolicyFile:
    def test_no_such_file(self, tmp_path, capsys):
        assert main(["run", str(tmp_path / "nowhere.yaml")]) == 2
        message = capsys.readouterr().err
        assert "nowhere.yaml: cannot be read (No such file or directory)" in message

    @pytest.mark.parametrize(
        ("text", "fragment"),
        [
            ("name: [unclosed", "not valid YAML at line 1"),
            ("\tname: x", "not valid YAML at line 1"),
            ("just text", "has to be a mapping of keys"),
            ("", "has to be a mapping of keys"),
            ("name: 2020-13-45", "not valid YAML"),
            ("name: a\nname: b", "key 'name' stands twice (line 2)"),
        ],
    )
    def test_no_mapping(self, text, fragment, refuse):
        refuse(text, "policy.yaml", fragment)

    def test_column_in_two_roles(self, tmp_path, refuse):
        text = yaml.safe_dump(policy_for(tmp_path / "people.csv"))
        twice = text.replace("attributes:\n", "attributes:\n  age: confidential\n")
        refuse(twice, "key 'age' stands twice", "say it once")

    @pytest.mark.parametrize(
        ("place", "allowed"),
        [
            ((), "attributes, engine, input, method, missing, name, output, privacy, seed"),
            (("input",), "delimiter, format, missing_values, path"),
            (("privacy",), "joint, k, models, t"),
            (
                ("attributes", "pay"),
                "aggregate, distance, intervals, noise, order, role, round, subsets_by, t, taxo",
            ),
            (
                ("method",),
                "block_clusters, buckets, class_size, gamma, name, ratio, refine, release, scop",
            ),
            (("output",), "partition_by, path, rows_per_file"),
            (("engine",), "claim_expiry, kubernetes, memory_per_worker, scheduler, tls, work_path"),
        ],
    )
    def test_unknown_key(self, place, allowed, tmp_path, refuse):
        document = policy_for(tmp_path / "people.csv", engine={}, method={})
        document["attributes"]["pay"] = {"role": CONFIDENTIAL}
        node = document
        for part in place:
            node = node[part]
        node["colour"] = "red"
        refuse(document, f"{'.'.join((*place, 'colour'))}: unknown key; allowed: {allowed}")

    @pytest.mark.parametrize(
        ("override", "fragment"),
        [
            ("privacy.k=1", "privacy.k: has to be at least 2 (given: 1)"),
            ("privacy.k=2.5", "privacy.k: has to be a whole number (given: 2.5)"),
            ("privacy.t=0", "privacy.t: has to be above 0 (given: 0)"),
            ("privacy.t=-0.1", "privacy.t: has to be above 0 (given: -0.1)"),
            ("privacy.t=1.01", "privacy.t: has to be at most 1 (given: 1.01)"),
            ("privacy.t=.nan", "privacy.t: has to be a number (given: nan)"),
            ("privacy.t=yes", "privacy.t: has to be a number (given: 'True')"),
            ("privacy.t=", "privacy.t is missing: 'pay' is confidential and has no t"),
            ("attributes.pay={role: confidential, t: 2}", "attributes.pay.t: has to be at most 1"),
            ("attributes.age.order=[1, 2]", "attributes.age: order goes with type: ordinal"),
            ("attributes.sex.type=ordinal", "needs order: [lowest, ..., highest]"),
            ("attributes.sex={role: quasi-identifier, type: ordinal, order: [m, m]}", "twice"),
            ("attributes.sex.t=0.1", "attributes.sex: t belongs to confidential attributes only"),
            ("attributes.pay.round=false", "aggregate and round belong to quasi-identifiers only"),
            ("attributes.age=unknown", "attributes.age.role: has to be 'identifier', 'quasi-"),
            ("attributes.no=identifier", "attributes: YAML reads"),
            ("attributes={pay: confidential}", "attributes: no quasi-identifier"),
            ("attributes={}", "attributes: is empty"),
            ("output.partition_by=[agee]", "'agee' has to be a quasi-identifier or a non-conf"),
            ("output.partition_by=[pay]", "'pay' has to be a quasi-identifier or a non-confid"),
            ("output.partition_by=[sex, sex]", "output.partition_by names a column twice"),
            ("output.partition_by=[pay, age, sex]", "'pay' has to be"),
            ("output.partition_by=sex", "output.partition_by: has to be a list"),
            ("engine.scheduler=somewhere", "has to be local, kubernetes, or an address as in tl"),
            ("engine.scheduler=tcp://host", "has to be local, kubernetes, or an address as in tls"),
            ("engine.tls={ca: x}", "engine.tls.cert: is missing"),
            ("engine.tls={pem: x}", "engine.tls.pem: unknown key; allowed: ca, cert, key"),
            ("engine.kubernetes.cluster=A_b", "engine.kubernetes.cluster: has to be small letters"),
            ("engine.kubernetes.port=0", "engine.kubernetes.port: has to be at least 1"),
            ("engine={scheduler: tcp://h:1, tls: {ca: a, cert: b, key: c}}", "write tls://"),
            ("engine.workers=0", "engine.workers: has to be a whole number from 1, or auto"),
            ("engine.memory_per_worker=lots", "has to be a size as in 4GB, or auto"),
            ("input.delimiter=tab", "input.delimiter: has to be one ASCII character"),
            ("input.missing_values=NA", "input.missing_values: has to be a list"),
            ("name=../elsewhere", "name: has to be letters, digits,"),
            ("seed=-1", "seed: has to be at least 0 (given: -1)"),
            ("privacy.k", "--set privacy.k: has to be key=value"),
            ("=5", "--set =5: has to be key=value"),
            ("privacy..k=5", "--set privacy..k=5: has to be key=value"),
            ("privacy.k=[", "--set privacy.k: not valid YAML"),
            ("privacy.k.deep=5", "--set privacy.k.deep=5: 'deep' has no keys below it"),
            ("privacy.colour=5", "privacy.colour: unknown key; allowed: joint, k, models, t"),
        ],
    )
    def test_values_and_overrides(self, override, fragment, tmp_path, refuse):
        write_csv(tmp_path / "people.csv", people())
        if "attributes.no" in override:  # YAML's no is false; --set keys are text always
            text = yaml.safe_dump(policy_for(tmp_path / "people.csv"))
            refuse(text.replace("attributes:\n", "attributes:\n  no: identifier\n"), fragment)
            return
        refuse(policy_for(tmp_path / "people.csv"), fragment, sets=(override,))


class TestFiles:
    @pytest.mark.parametrize("name", ["nowhere.csv", "nowhere/", "*.csv", "http://[", "gs://a/b"])
    def test_nothing_there(self, name, tmp_path, refuse):
        source = name if "://" in name else str(tmp_path / name)
        document = policy_for(source)
        document["output"]["path"] = str(tmp_path / "releases")
        refuse(document, "input ")

    def test_folder_without_data(self, tmp_path, refuse):
        (tmp_path / "data").mkdir()
        csv_of(tmp_path / "data", "age\n1\n", "notes.txt")
        csv_of(tmp_path / "data", "age\n1\n", "_people.csv")
        refuse(policy_for(tmp_path / "data"), "no such file, or no CSV or Parquet file in it")

    @pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
    def test_empty_file(self, name, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, "", name)), name, "is empty (0 bytes)")

    @pytest.mark.parametrize("text", ["age,sex,pay", "age,sex,pay\n", "age,sex,pay\r\n\r\n"])
    def test_header_only(self, text, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, text)), "people.csv", "has no records")

    @pytest.mark.parametrize("n_groups", [0, 1])
    def test_parquet_without_rows(self, n_groups, tmp_path, refuse):
        table = people().slice(0, 0)
        with pq.ParquetWriter(tmp_path / "people.parquet", table.schema) as writer:
            for _ in range(n_groups):
                writer.write_table(table)
        refuse(policy_for(tmp_path / "people.parquet"), "people.parquet", "has no records")

    @pytest.mark.parametrize(
        "head",
        [b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"],
    )
    def test_compressed(self, head, tmp_path, refuse):
        path = csv_of(tmp_path, head + SECRET.encode() * 9, "people.csv.gz")
        refuse(policy_for(path), "people.csv.gz: is compressed; decompress it first")

    def test_compressed_file_of_a_folder_is_not_left_out(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        write_csv(folder / "a.csv", people())
        csv_of(folder, b"\x1f\x8b\x08", "b.csv.gz")
        refuse(policy_for(folder), "b.csv.gz: is compressed; decompress it first")

    def test_output_within_the_input(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        write_csv(folder / "a.csv", people())
        document = policy_for(folder, output={"path": str(folder / "releases")})
        refuse(document, "output.path lies in it", "choose another output.path")

    def test_output_within_the_pattern(self, tmp_path, refuse):
        document = policy_for(tmp_path / "**" / "*.parquet")
        document["output"]["path"] = str(tmp_path / "releases")
        write_parquet(tmp_path / "a.parquet", people())
        old = tmp_path / "releases" / "people" / "0" / "data"
        old.mkdir(parents=True)
        write_parquet(old / "part-00000.parquet", people())
        refuse(document, "output.path lies in it", "choose another output.path")

    def test_column_named_twice(self, tmp_path, refuse):
        path = csv_of(tmp_path, f"age,age,pay\n1,{SECRET},3\n")
        refuse(policy_for(path), "people.csv: several columns are named 'age'; rename them")
        arrays = [pa.array([1, 2]), pa.array([3, 4])]
        twice = pa.Table.from_arrays(arrays, names=["age", "age"])
        path = write_parquet(tmp_path / "people.parquet", twice)
        refuse(policy_for(path), "people.parquet: several columns are named 'age'; rename them")

    @pytest.mark.parametrize("blocked", ["a file", "/proc"])
    def test_output_that_cannot_be_written(self, blocked, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", people())
        output = path / "below" if blocked == "a file" else Path("/proc/tclose/releases")
        refuse(policy_for(path, output={"path": str(output)}), str(output), "cannot be written")

    def test_output_that_is_a_file(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", people())
        refuse(policy_for(path, output={"path": str(path)}), "cannot be written", "choose another")


class TestCsv:
    def test_not_utf8(self, tmp_path, refuse):
        text = f"age,sex,pay\n1,{SECRET}\xe9,3\n" * 1
        path = csv_of(tmp_path, text.encode("latin-1"))
        refuse(policy_for(path), "people.csv: column 'sex' holds text that is not UTF-8")

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
    def test_header_not_utf8(self, encoding, tmp_path, refuse):
        path = csv_of(tmp_path, f"\xe9ge,sex,pay\n1,{SECRET},3\n".encode(encoding))
        refuse(policy_for(path), "people.csv: the header line cannot be read as CSV in UTF-8")

    @pytest.mark.parametrize(("line", "n_fields"), [(f"1,{SECRET}", 2), (f"1,{SECRET},3,4", 4)])
    def test_ragged(self, line, n_fields, tmp_path, refuse):
        path = csv_of(tmp_path, f"age,sex,pay\n1,m,2\n{line}\n")
        refuse(
            policy_for(path),
            f"people.csv: a record has {n_fields} fields where the header names 3 (record 2 after",
        )

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ('1,5" {0},2\n1,m,2\n', "line 2: a quote stands inside a field"),
            ('1,m,2\n1,"{0}"x,2\n', "line 3: a quote stands inside a field"),
            ('1,m,2\n1, "{0}",2\n', "line 3: a quote stands inside a field"),
            ('1,m,2\n1,"{0},2\n1,m,2\n', "line 3: a quote opens a field that is never closed"),
        ],
    )
    def test_quotes(self, text, line, tmp_path, refuse):
        path = csv_of(tmp_path, "age,sex,pay\n" + text.format(SECRET))
        refuse(policy_for(path), f"people.csv, {line}", "enclose the whole field in quotes")

    def test_no_header(self, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, "\n1,2,3\n")), "people.csv: has no header line")

    def test_lines_that_end_in_cr(self, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, "age,sex,pay\r1,m,2\r")), "end in CR alone")

    def test_other_delimiter(self, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, "age;sex;pay\n1;m;2\n")), "has no column 'age'")

    @pytest.mark.parametrize("declared", ["date", None])
    @pytest.mark.parametrize(
        "wrong", ["2020-13-45", "2021-02-29", "2020-06-31", "2020-01-01 25:00", "2020-01-01T10:61"]
    )
    def test_no_such_date(self, declared, wrong, tmp_path, refuse):
        dates = ["2020-01-31"] * N_PEOPLE
        dates[7] = wrong
        path = write_csv(tmp_path / "people.csv", people(age=dates))
        document = policy_for(path)
        document["attributes"]["age"] = {"role": QUASI, "type": declared}
        message = refuse(document, "people.csv: column 'age'", f"1 of {N_PEOPLE} values", "mend")
        assert wrong not in message

    def test_text_in_declared_number(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", with_secret("age"))
        document = policy_for(path)
        document["attributes"]["age"] = {"role": QUASI, "type": "numeric"}
        refuse(
            document,
            f"people.csv: column 'age': the policy says numeric, but 1 of {N_PEOPLE} values do not "
            "read as numbers",
            "input.missing_values",
        )

    def test_text_in_confidential_number(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", with_secret("pay"))
        refuse(
            policy_for(path),
            f"people.csv: column 'pay': is confidential, but 1 of {N_PEOPLE} values do not read as "
            "numbers",
            "input.missing_values",
        )

    @pytest.mark.parametrize("declared", ["numeric", None])
    def test_integers_of_19_digits(self, declared, tmp_path, refuse):
        pays = np.arange(N_PEOPLE)
        path = write_csv(tmp_path / "people.csv", people(pay=pays * 10**17 + 1))
        document = policy_for(path)
        document["attributes"]["pay"] = {"role": CONFIDENTIAL, "type": declared}
        n_long = int(np.count_nonzero(pays >= 10))
        refuse(document, "'pay'", f"({n_long} are integers of more than 18 digits)")

    def test_file_among_several_is_named(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        for name in "abc":
            write_csv(folder / f"{name}.csv", with_secret("pay") if name == "b" else people())
        refuse(policy_for(folder), f"1 of {3 * N_PEOPLE} values", "\nin b.csv")


class TestParquet:
    def test_truncated(self, tmp_path, refuse):
        path = write_parquet(tmp_path / "people.parquet", with_secret())
        path.write_bytes(path.read_bytes()[:-20])
        refuse(policy_for(path), "people.parquet: is not a complete Parquet file")

    def test_csv_by_another_name(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.parquet", with_secret())
        document = policy_for(path, input={"path": str(path), "format": "parquet"})
        refuse(document, "people.parquet: is not a complete Parquet file")

    def test_parquet_by_another_name(self, tmp_path, refuse):
        path = write_parquet(tmp_path / "people.csv", with_secret())
        document = policy_for(path, input={"path": str(path), "format": "csv"})
        refuse(document, "people.csv")

    @pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
    def test_damaged_pages(self, compression, tmp_path, refuse):
        path = write_parquet(
            tmp_path / "people.parquet",
            with_secret(),
            compression=compression,
            write_page_checksum=True,
        )
        column = pq.ParquetFile(path).metadata.row_group(0).column(2)
        data = bytearray(path.read_bytes())
        middle = column.data_page_offset + column.total_compressed_size // 2
        data[middle : middle + 4] = b"\xff\x00\xff\x00"
        path.write_bytes(data)
        refuse(policy_for(path), "people.parquet", "damaged", "produce it again")

    def test_text_that_is_not_utf8(self, tmp_path, refuse):
        texts = pa.array([b"m\xff", SECRET.encode()] * (N_PEOPLE // 2), pa.binary())
        texts = pa.Array.from_buffers(pa.string(), len(texts), texts.buffers())
        path = write_parquet(tmp_path / "people.parquet", people(sex=texts))
        refuse(policy_for(path), "people.parquet: column 'sex' holds values", "not UTF-8")

    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL])
    def test_text_in_declared_number(self, role, tmp_path, refuse):
        texts = [SECRET, *("12" for _ in range(N_PEOPLE - 1))]
        path = write_parquet(tmp_path / "people.parquet", people(pay=texts))
        document = policy_for(path)
        document["attributes"]["pay"] = {"role": role, "type": "numeric"}
        refuse(
            document, "people.parquet: column 'pay': the policy says numeric, the data hold text"
        )

    @pytest.mark.parametrize(
        ("values", "named"),
        [
            (pa.array([[1]] * N_PEOPLE), "list"),
            (pa.array([{"a": SECRET}] * N_PEOPLE), "struct"),
            (pa.array([SECRET.encode()] * N_PEOPLE), "binary"),
            (pa.array([SECRET.encode()] * N_PEOPLE, pa.binary(15)), "fixed_size_binary"),
            (pa.array([[(SECRET, 1)]] * N_PEOPLE, pa.map_(pa.string(), pa.int64())), "map"),
        ],
        ids=["list", "struct", "binary", "fixed", "map"],
    )
    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL, OTHER_KEY])
    @pytest.mark.parametrize("declared", [None, "nominal"])
    def test_nested_and_binary(self, values, named, role, declared, tmp_path, refuse):
        path = write_parquet(tmp_path / "people.parquet", people(more=values))
        document = policy_for(path)
        document["attributes"]["more"] = {"role": role, "type": declared}
        refuse(
            document, f"people.parquet: column 'more': type {named}", "is not supported; convert"
        )

    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL])
    @pytest.mark.parametrize("dtype", [pa.decimal128(19, 2), pa.decimal256(40, 0)], ids=str)
    def test_long_decimals(self, role, dtype, tmp_path, refuse):
        values = pa.array([decimal.Decimal(SECRET_NUMBER)] * N_PEOPLE, dtype)
        path = write_parquet(tmp_path / "people.parquet", people(pay=values))
        document = policy_for(path)
        document["attributes"]["pay"] = role
        refuse(document, f"people.parquet: column 'pay': {dtype} has more than 18 digits", "store")

    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL])
    def test_unsigned_beyond_int64(self, role, tmp_path, refuse):
        values = pa.array([2**63 + SECRET_NUMBER] * N_PEOPLE, pa.uint64())
        path = write_parquet(tmp_path / "people.parquet", people(pay=values))
        document = policy_for(path)
        document["attributes"]["pay"] = role
        refuse(document, "people.parquet: column 'pay': holds integers beyond the signed 64-bit")


class TestColumns:
    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_column_not_in_the_data(self, write, tmp_path, refuse):
        path = write(tmp_path / "people.x", with_secret())
        document = policy_for(path)
        document["attributes"]["pey"] = CONFIDENTIAL
        document["attributes"]["colour"] = QUASI
        refuse(document, "people.x: has no column 'pey' (did you mean 'pay'?), 'colour', which")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_column_not_in_the_policy(self, write, tmp_path, refuse):
        path = write(tmp_path / "people.x", people(colour=[SECRET] * N_PEOPLE))
        refuse(policy_for(path), "people.x: column 'colour' is not in the policy", "unlisted: drop")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_text_has_no_order(self, write, tmp_path, refuse):
        document = policy_for(write(tmp_path / "people.x", with_secret()))
        document["attributes"]["sex"] = {"role": CONFIDENTIAL, "distance": "ordered"}
        refuse(
            document,
            "people.x: column 'sex': distance: ordered needs values with an order, the data hold t",
            "give it type: ordinal and an order, or take distance: equal",
        )

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    @pytest.mark.parametrize("keys", [{}, {"subsets_by": "frequency"}], ids=["tree", "frequency"])
    def test_value_that_the_taxonomy_has_not(self, keys, write, tmp_path, refuse):
        document = policy_for(write(tmp_path / "people.x", with_secret()))
        taxonomy = {"any": ["m", "f"]}
        document["attributes"]["sex"] = {"role": CONFIDENTIAL, "taxonomy": taxonomy} | keys
        message = refuse(document, "column 'sex': 1 of its values are not in its taxonomy; add th")
        assert message.count("\n") == 1

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_taxonomy_of_numbers(self, write, tmp_path, refuse):
        document = policy_for(write(tmp_path / "people.x", people()))
        document["attributes"]["pay"] = {"role": CONFIDENTIAL, "taxonomy": {"any": ["1", "2"]}}
        refuse(
            document,
            "of its values are not in its taxonomy; add them to it, or name",
        )

    @pytest.mark.parametrize(
        ("name", "text", "fragment"),
        [
            ("t.yaml", "any: [m", "t.yaml: not valid YAML at line 1"),
            ("t.yaml", "any: [m, f, m]\n", "t.yaml: below 'any': a value that stands twice"),
            ("t.yaml", "", "t.yaml: at the top: nothing where a name or a list of values is due"),
            ("t.csv", "m;any\nf;all\n", "t.csv: it has 2 roots; put one above them all"),
            ("t.csv", "m\n", "t.csv: line 1: a value with nothing above it; put a root"),
            ("t.csv", b"m\xff;any\n", "t.csv: not UTF-8 text; convert it"),
            ("t.json", "{}", "t.json: has to be a file .yaml, .yml or .csv; rename it"),
        ],
    )
    def test_taxonomy_file_that_is_none(self, name, text, fragment, tmp_path, refuse):
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        path = csv_of(tmp_path, text, name)
        document["attributes"]["sex"] = {"role": CONFIDENTIAL, "taxonomy": str(path)}
        message = refuse(document, f"attributes.sex.taxonomy: taxonomy {tmp_path}/{fragment}")
        assert message.count("\n") == 2

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_missing_values(self, write, tmp_path, refuse):
        table = people(
            age=pa.array([None, None, *range(N_PEOPLE - 2)]),
            pay=pa.array([*range(N_PEOPLE - 1), None]),
            note=pa.array([None] * N_PEOPLE, pa.string()),
        )
        document = policy_for(write(tmp_path / "people.x", table))
        document["attributes"]["note"] = "non-confidential"
        message = refuse(
            document,
            "people.x: the data cannot be used",
            "column 'age': 2 missing values",
            "column 'pay': 1 missing values",
            "missing: drop",
        )
        assert "note" not in message

    @pytest.mark.parametrize("name", ["sex", "note"])
    def test_missing_partition_value(self, name, tmp_path, refuse):
        notes = pa.array([None, *(["x"] * (N_PEOPLE - 1))])
        document = policy_for(write_parquet(tmp_path / "people.parquet", people(note=notes)))
        document["attributes"]["note"] = "non-confidential"
        document["output"]["partition_by"] = ["note"]
        refuse(document, "column 'note': 1 missing values")

    def test_nothing_left(self, tmp_path, refuse):
        table = people(age=pa.array([None] * N_PEOPLE, pa.int64()))
        document = policy_for(write_parquet(tmp_path / "p.parquet", table), missing="drop")
        refuse(document, f"all {N_PEOPLE} records have a missing value")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    @pytest.mark.parametrize("missing", ["error", "drop"])
    @pytest.mark.parametrize("name", ["age", "pay"])
    @pytest.mark.parametrize(
        ("value", "counted"),
        [(float("nan"), "1 NaN and 0 infinite"), (float("-inf"), "0 NaN and 1 infinite")],
    )
    def test_nan_and_infinity(self, write, missing, name, value, counted, tmp_path, refuse):
        values = np.linspace(0, 1, N_PEOPLE)
        values[3] = value
        document = policy_for(write(tmp_path / "p.x", people(**{name: values})), missing=missing)
        refuse(document, f"p.x: the data cannot be used\n  column {name!r}: {counted} values")

    @pytest.mark.parametrize("role", [QUASI, "non-confidential"])
    def test_nan_as_a_category(self, role, tmp_path, refuse):
        values = pa.array([float("nan"), *([1.5] * (N_PEOPLE - 1))])
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(more=values)))
        document["attributes"]["more"] = {"role": role, "type": "nominal"}
        if role != QUASI:
            document["output"]["partition_by"] = ["more"]
        refuse(document, "column 'more': 1 NaN and 0 infinite values")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL])
    def test_outside_the_order(self, write, role, tmp_path, refuse):
        document = policy_for(write(tmp_path / "p.x", with_secret()))
        document["attributes"]["sex"] = {"role": role, "type": "ordinal", "order": ["f", "m"]}
        refuse(document, "p.x: the data cannot be used\n  column 'sex': 1 values outside its order")

    @pytest.mark.parametrize(
        ("values", "aggregate", "fragment"),
        [
            (["a"] * N_PEOPLE, "mean", "is nominal, its aggregate can be mode, not mean"),
            (list(range(N_PEOPLE)), "mode", "is numeric, its aggregate can be mean or median"),
        ],
    )
    def test_aggregate_of_another_kind(self, values, aggregate, fragment, tmp_path, refuse):
        document = policy_for(write_csv(tmp_path / "people.csv", people(age=values)))
        document["attributes"]["age"] = {"role": QUASI, "aggregate": aggregate}
        refuse(document, "people.csv: column 'age'", fragment)

    def test_unrounded_date(self, tmp_path, refuse):
        days = [datetime.date(2020, 1, 1)] * N_PEOPLE
        document = policy_for(write_csv(tmp_path / "people.csv", people(age=days)))
        document["attributes"]["age"] = {"role": QUASI, "round": False}
        refuse(document, "column 'age': is date; round: false goes with numbers")

    @pytest.mark.parametrize(
        "values",
        [
            pa.array([-(2**62), 2**62, *([0] * (N_PEOPLE - 2))]),
            pa.array([-1e308, 1e308, *([0.0] * (N_PEOPLE - 2))]),
        ],
        ids=["integers", "floats"],
    )
    def test_range_too_wide(self, values, tmp_path, refuse):
        document = policy_for(write_parquet(tmp_path / "people.parquet", people(age=values)))
        refuse(document, "people.parquet: column 'age': the range of its values is too wide")

    def test_more_than_there_are(self, tmp_path, refuse):
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        document["privacy"]["k"] = N_PEOPLE + 1
        refuse(document, f"privacy.k: {N_PEOPLE + 1} is more than the {N_PEOPLE} records")

    def test_single_record(self, tmp_path, refuse):
        source = write_csv(tmp_path / "people.csv", people(1))
        refuse(policy_for(source), "privacy.k: there is 1 record, and no class has fewer")

    @pytest.mark.parametrize(
        "values",
        [pa.array(np.linspace(0, 1, N_PEOPLE)), pa.array([decimal.Decimal("1.5")] * N_PEOPLE)],
        ids=["float", "decimal"],
    )
    def test_partition_by_what_cannot_name_folders(self, values, tmp_path, refuse):
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(age=values)))
        document["output"]["partition_by"] = ["age"]
        refuse(document, "output.partition_by: column 'age'", "cannot name folders")


class TestSeveralFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        made = tmp_path / "data"
        made.mkdir()
        write_parquet(made / "a.parquet", people())
        return made

    def test_missing_column(self, folder, refuse):
        write_parquet(folder / "b.parquet", with_secret().drop_columns("pay"))
        refuse(policy_for(folder), "a.parquet and b.parquet: column 'pay' is in one of them only")

    def test_other_type(self, folder, refuse):
        write_parquet(folder / "b.parquet", with_secret("age"))
        refuse(policy_for(folder), "column 'age' is int64 in one, string in the other")

    def test_csv_and_parquet(self, folder, refuse):
        write_csv(folder / "b.csv", with_secret())
        refuse(policy_for(folder), "a.parquet and b.csv: one is CSV, one is Parquet")

    def test_csv_columns_in_another_order(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        write_csv(folder / "a.csv", people())
        write_csv(folder / "b.csv", with_secret().select(["pay", "sex", "age"]))
        refuse(policy_for(folder), "a.csv and b.csv: their columns stand in different orders")


class TestScheduler:
    def test_nobody_answers(self, tmp_path, refuse):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        document["engine"] = {"scheduler": f"tcp://127.0.0.1:{port}"}
        start = time.perf_counter()
        refuse(document, f"tcp://127.0.0.1:{port}: no Dask scheduler answers there; start it")
        assert time.perf_counter() - start < 5

    @pytest.mark.parametrize("greeting", [b"", b"220 mail.example ready\r\n"])
    def test_something_else_answers(self, greeting, tmp_path, refuse, monkeypatch):
        monkeypatch.setattr(scheduler, "ANSWER_SECONDS", 0.2)
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            document["engine"] = {"scheduler": address}

            def greet() -> None:
                with contextlib.ExitStack() as peers:
                    for _ in range(2):
                        peers.enter_context(server.accept()[0]).sendall(greeting)

            thread = threading.Thread(target=greet)
            thread.start()
            refuse(document, f"{address}: no Dask scheduler answers there; start it")
            thread.join()

    def test_scheduler_answers(self):
        with LocalCluster(
            n_workers=0, processes=False, dashboard_address=None, host="127.0.0.1", protocol="tcp"
        ) as cluster:
            scheduler.check_scheduler(EngineSettings(scheduler=cluster.scheduler_address))


def test_plan_refuses_in_the_same_words(tmp_path, capsys):
    path = write_csv(tmp_path / "people.csv", with_secret("pay"))
    policy = write_policy(tmp_path / "policy.yaml", policy_for(path))
    messages = []
    for command in ("run", "plan"):
        assert main([command, str(policy), "--quiet"]) == 2
        messages.append(capsys.readouterr().err)
    assert messages[0] == messages[1]
    assert sorted(tree(tmp_path)) == ["people.csv", "policy.yaml"]
