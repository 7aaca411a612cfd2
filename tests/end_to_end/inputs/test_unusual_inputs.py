"""Inputs that are unusual and right: they are released as any other."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    N_PEOPLE,
    PASSTHROUGH,
    QUASI,
    Released,
    mixed_people,
    mixed_policy,
    people,
    people_policy,
    policy_for,
    release,
    write_csv,
    write_parquet,
)


class TestUnusualInputs:
    """What is unusual and right: released as any other."""

    def test_csv_types(self, tmp_path):
        table = mixed_people(300).append_column("code", pa.array([f"{i:03d}" for i in range(300)]))
        table = table.append_column("ok", pa.array([True, None, False] * 100))
        path = write_csv(tmp_path / "people.csv", table)
        document = mixed_policy(path, tmp_path / "releases")
        document["attributes"] |= {"code": PASSTHROUGH, "ok": PASSTHROUGH}
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
    def test_forms_of_csv(self, edit, tmp_path, sizes):
        sizes.pieces(csv_bytes=100)
        table = people(day=[None, "a\tb"] * (N_PEOPLE // 2))
        document = policy_for(write_csv(tmp_path / "people.csv", table))
        document["attributes"]["day"] = PASSTHROUGH
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
    def test_column_names(self, write, tmp_path, sizes):
        sizes.pieces(least=16)
        odd = {
            "age": "a.b", "sex": 'sex "quoted" ☃', "pay": "pay, gross\nper year",
            "x": " lead", "y": "a", "z": "$ref/=%",
        }  # fmt: skip
        table = people(x=range(N_PEOPLE), y=range(N_PEOPLE), z=["k", "l"] * (N_PEOPLE // 2))
        document = policy_for(write(tmp_path / "p.x", table.rename_columns(list(odd.values()))))
        roles = [QUASI, QUASI, CONFIDENTIAL, PASSTHROUGH, PASSTHROUGH, PASSTHROUGH]
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
        keys = {"privacy": {"k": k}, "method": {"refine": "fast"}}
        document = policy_for(write_parquet(tmp_path / "p.parquet", table), **keys)
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
        document = people_policy(tmp_path)
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
        document = people_policy(tmp_path)
        document["output"]["rows_per_file"] = 25
        released = release(document)
        assert [file["rows"] for file in released.manifest["files"]] == [25, 25, 10]
        assert_complete(released)

    def test_partitions(self, tmp_path):
        areas = [("north west", "süd/ost", "50%=half")[i % 3] for i in range(2 * N_PEOPLE)]
        table = people(2 * N_PEOPLE, area=areas)
        document = policy_for(write_parquet(tmp_path / "p.parquet", table))
        document["attributes"]["area"] = PASSTHROUGH
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
