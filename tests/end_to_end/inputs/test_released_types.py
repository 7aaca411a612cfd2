"""Every type survives a release as what it was, and its values are aggregated exactly."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    N_PEOPLE,
    PASSTHROUGH,
    QUASI,
    people,
    policy_for,
    release,
    write_parquet,
)
from support.tables.arrow_types import DICTIONARIES, NUMBERS, TEXTS, numbers_of
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.data.keys import plain_type, to_keys
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress


class TestReleasedTypes:
    """Parquet in, Parquet out: the same types, the same confidential values."""

    @pytest.mark.parametrize("dtype", [*NUMBERS, pa.bool_()], ids=str)
    @pytest.mark.parametrize("missing", ["error", "drop"])
    def test_numbers(self, dtype, missing, tmp_path):
        rng = np.random.default_rng(7)
        top = 2 if pa.types.is_boolean(dtype) else 50
        keys = [rng.integers(0, top, N_PEOPLE) for _ in range(3)]
        quasi, confidential, passthrough = (numbers_of(dtype, k) for k in keys)
        holes = pc.if_else(pa.array(keys[2] % 2 == 0), passthrough, pa.scalar(None, dtype))
        passthrough = holes.cast(dtype)  # Arrow makes decimals of few bits wide ones
        n_dropped = 0
        if missing == "drop":
            n_dropped = 2
            quasi = pa.concat_arrays([quasi.slice(0, N_PEOPLE - 2), pa.nulls(2, dtype)])
        table = people(q=quasi, c=confidential, x=passthrough)
        path = write_parquet(tmp_path / "people.parquet", table)
        document = policy_for(path, missing=missing)
        document["attributes"] |= {"q": QUASI, "c": CONFIDENTIAL, "x": PASSTHROUGH}
        released = release(document)
        wanted = pq.read_schema(path)
        for name in ("age", "sex", "pay", "q", "c", "x"):
            assert released.schema.field(name).type == wanted.field(name).type
        assert released.internal["records_dropped"] == n_dropped
        assert len(released.table) == N_PEOPLE - n_dropped
        kept = pq.read_table(path).slice(0, N_PEOPLE - n_dropped)
        for name in ("c", "x"):
            assert sorted_values(released.table[name]) == sorted_values(kept[name])
        assert min(released.class_sizes(["age", "sex", "q"])) >= 3
        low, high = extremes(kept["q"])
        assert low <= extremes(released.table["q"])[0]
        assert extremes(released.table["q"])[1] <= high

    @pytest.mark.parametrize("dtype", [*TEXTS, *DICTIONARIES], ids=str)
    def test_texts_and_dictionaries(self, dtype, tmp_path):
        rng = np.random.default_rng(7)
        codes = pa.array(rng.integers(0, 5, N_PEOPLE)).cast(plain_type(dtype))
        holes = pc.if_else(pa.array([True, False] * (N_PEOPLE // 2)), codes, None)
        values, passthrough = (
            column.cast(dtype) if dtype in TEXTS else column.dictionary_encode().cast(dtype)
            for column in (codes, holes)
        )
        path = write_parquet(tmp_path / "people.parquet", people(q=values, x=passthrough))
        document = policy_for(path)
        document["attributes"] |= {"q": {"role": QUASI, "type": "nominal"}, "x": PASSTHROUGH}
        released = release(document)
        for name in ("q", "x"):
            wanted = plain_type(pq.read_schema(path).field(name).type)
            assert released.schema.field(name).type == wanted
        assert sorted_values(released.table["x"]) == sorted_values(holes)
        assert set(released.table["q"].to_pylist()) <= set(values.to_pylist())

    def test_dictionary_of_numbers_as_confidential(self, tmp_path):
        values = pa.array(list(range(20)) * 3).dictionary_encode()
        path = write_parquet(tmp_path / "people.parquet", people(pay=values))
        released = release(policy_for(path))
        assert released.schema.field("pay").type == pa.int64()
        assert sorted(released.table["pay"].to_pylist()) == sorted(values.to_pylist())

    def test_column_of_nulls_passes_through(self, tmp_path):
        path = write_parquet(tmp_path / "people.parquet", people(x=pa.nulls(N_PEOPLE)))
        document = policy_for(path)
        document["attributes"]["x"] = PASSTHROUGH
        released = release(document)
        assert released.schema.field("x").type == pa.null()
        assert released.table["x"].null_count == N_PEOPLE

    def test_nan_passes_through(self, tmp_path):
        values = [float("nan"), None, 1.5, float("inf"), -0.0] * (N_PEOPLE // 5)
        path = write_parquet(tmp_path / "people.parquet", people(x=values))
        document = policy_for(path)
        document["attributes"]["x"] = PASSTHROUGH
        found = release(document).table["x"]
        assert found.null_count == N_PEOPLE // 5
        assert pc.sum(pc.is_nan(found)).as_py() == N_PEOPLE // 5


def sorted_values(column: pa.ChunkedArray | pa.Array) -> list[str]:
    return sorted(repr(value) for value in column.to_pylist())


def extremes(column: pa.ChunkedArray) -> tuple[Any, Any]:
    values = [value for value in column.to_pylist() if value is not None]
    return min(values), max(values)


class TestReleasedValues:
    def test_integers_beyond_2_to_the_53(self, tmp_path):
        base = 2**60 + 1
        quasi = base + np.arange(N_PEOPLE)
        confidential = base + 2 * np.arange(N_PEOPLE)[::-1]
        path = write_parquet(tmp_path / "p.parquet", people(age=quasi, pay=confidential))
        document = policy_for(path)
        document |= {"unlisted": "drop"}
        document["attributes"] = {"age": QUASI, "pay": CONFIDENTIAL}
        released = release(document)
        assert sorted(released.table["pay"].to_pylist()) == sorted(confidential.tolist())
        check_means(released.table, "age", "pay", dict(zip(confidential, quasi, strict=True)))

    def test_decimals(self, tmp_path):
        dtype = pa.decimal128(18, 4)
        quasi = [Decimal(10**13 + 7 * i).scaleb(-4) for i in range(N_PEOPLE)]
        pays = [Decimal(i).scaleb(-4) for i in range(N_PEOPLE)]
        table = people(age=pa.array(quasi, dtype), pay=pa.array(pays, dtype))
        document = policy_for(write_parquet(tmp_path / "p.parquet", table))
        document |= {"unlisted": "drop"}
        document["attributes"] = {"age": QUASI, "pay": CONFIDENTIAL}
        released = release(document)
        assert sorted(released.table["pay"].to_pylist()) == pays
        check_means(released.table, "age", "pay", dict(zip(pays, quasi, strict=True)), scale=4)

    @pytest.mark.parametrize("dtype", [pa.decimal32(9, 2), pa.decimal64(18, 4)], ids=str)
    @pytest.mark.parametrize(
        "keys",
        [
            {"role": QUASI, "type": "nominal"},
            {"role": CONFIDENTIAL, "type": "nominal"},
            {"role": CONFIDENTIAL, "round": 2},
            {"role": PASSTHROUGH, "top": 3},
            {"role": QUASI, "missing": "median", "aggregate": "low-median"},
            {"role": PASSTHROUGH},
        ],
        ids=lambda keys: "-".join(map(str, keys.values())),
    )
    def test_decimals_of_few_bits(self, dtype, keys, tmp_path):
        codes = np.random.default_rng(7).integers(0, 5, N_PEOPLE)
        values = pa.array([Decimal(int(code)) for code in codes], dtype)
        if "missing" in keys:
            values = pa.concat_arrays([values.slice(2), pa.nulls(2, dtype)])
        path = write_parquet(tmp_path / "p.parquet", people(code=values))
        document = policy_for(path)
        document["attributes"]["code"] = keys
        released = release(document)
        assert released.schema.field("code").type == dtype
        found = set(released.table["code"].to_pylist())
        assert found <= set(range(5) if "round" not in keys else range(0, 5, 2))
        originals = add_originals(
            audit_release(released.folder), parse_policy(document), Progress("none")
        )
        assert originals.findings == []

    @pytest.mark.parametrize(
        ("dtype", "expected"),
        [
            (pa.int32(), pa.float64()),
            (pa.decimal128(9, 2), pa.float64()),
            (pa.float32(), pa.float32()),
        ],
        ids=str,
    )
    def test_unrounded(self, dtype, expected, tmp_path):
        keys = np.arange(N_PEOPLE) ** 2
        values = numbers_of(dtype, keys)
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(age=values, pay=keys)))
        document |= {"unlisted": "drop"}
        document["attributes"] = {"age": {"role": QUASI, "round": False}, "pay": CONFIDENTIAL}
        table = release(document).table
        assert table.schema.field("age").type == expected
        original = dict(zip(keys.tolist(), values.to_pylist(), strict=True))
        for members, value in classes_of(table, "age", "pay"):
            mean = float(np.mean([float(original[pay]) for pay in members]))
            assert value == pytest.approx(mean, rel=1e-6)

    @pytest.mark.parametrize("dtype", [pa.int64(), pa.float32(), pa.date32()], ids=str)
    def test_medians(self, dtype, tmp_path):
        keys = np.arange(N_PEOPLE) * 4
        path = write_parquet(tmp_path / "p.parquet", people(age=numbers_of(dtype, keys), pay=keys))
        document = policy_for(path)
        document["privacy"]["t"] = 0.5
        document |= {"unlisted": "drop"}
        document["attributes"] = {
            "age": {"role": QUASI, "aggregate": "median"},
            "pay": CONFIDENTIAL,
        }
        table = release(document).table
        for members, value in classes_of(table, "age", "pay"):
            middle = to_keys(numbers_of(dtype, np.array([int(np.median(members))])), "x")
            assert to_keys(pa.array([value], dtype), "x") == pytest.approx(middle, abs=0)

    def test_integers_declared_nominal(self, tmp_path):
        codes = np.random.default_rng(7).choice([10_115, 20_095, 80_331], N_PEOPLE)
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(zip=codes)))
        document["attributes"]["zip"] = {"role": QUASI, "type": "nominal"}
        released = release(document)
        assert released.schema.field("zip").type == pa.int64()
        assert set(released.table["zip"].to_pylist()) <= set(codes.tolist())

    def test_floats_declared_nominal(self, tmp_path):
        codes = pa.array([-0.0, 0.0, 1.5] * (N_PEOPLE // 3), pa.float32())
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(code=codes)))
        document["attributes"]["code"] = {"role": QUASI, "type": "nominal"}
        released = release(document)
        assert released.schema.field("code").type == pa.float32()
        assert set(released.table["code"].to_pylist()) <= {0.0, 1.5}

    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL])
    @pytest.mark.parametrize("dtype", [pa.int8(), pa.string(), pa.bool_()], ids=str)
    def test_ordinals(self, role, dtype, tmp_path):
        order: dict[pa.DataType, Any] = {
            pa.int8(): [3, 1, 2],
            pa.string(): ["low", "mid", "high"],
            pa.bool_(): [True, False],
        }
        present = order[dtype][:2]
        values = pa.array(present * (N_PEOPLE // 2), dtype)
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(grade=values)))
        document["attributes"]["grade"] = {"role": role, "type": "ordinal", "order": order[dtype]}
        released = release(document)
        assert released.schema.field("grade").type == dtype
        found = released.table["grade"].to_pylist()
        assert set(found) <= set(present)
        if role == CONFIDENTIAL:
            assert sorted(found) == sorted(values.to_pylist())


def classes_of(table: pa.Table, quasi: str, confidential: str) -> list[tuple[list[Any], Any]]:
    """Confidential values and released value of each class."""
    grouped = table.group_by(quasi).aggregate([(confidential, "list")])
    pairs = zip(
        grouped[f"{confidential}_list"].to_pylist(), grouped[quasi].to_pylist(), strict=True
    )
    return list(pairs)


def check_means(
    table: pa.Table, quasi: str, confidential: str, original: dict[Any, Any], scale: int = 0
) -> None:
    """Every class has the exact mean of its records, rounded; they are told by unique values."""
    for members, value in classes_of(table, quasi, confidential):
        values = [Fraction(int(original[m]) if scale == 0 else original[m]) for m in members]
        mean = sum(values) / len(values) * 10**scale
        released = value.scaleb(scale) if scale else value
        assert released == (2 * mean + 1) // 2
