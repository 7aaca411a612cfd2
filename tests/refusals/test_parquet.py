"""What is refused in Parquet: one message that names file, column and remedy."""

import decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    N_PEOPLE,
    PASSTHROUGH,
    QUASI,
    people,
    policy_for,
    write_csv,
    write_parquet,
)
from support.checks.refusals import SECRET, SECRET_NUMBER, with_secret


class TestParquet:
    def test_truncated(self, tmp_path, refuse):
        path = write_parquet(tmp_path / "people.parquet", with_secret())
        path.write_bytes(path.read_bytes()[:-20])
        refuse(policy_for(path), "people.parquet: is not a complete Parquet file")

    def test_damaged_at_the_beginning(self, tmp_path, refuse):
        path = write_parquet(tmp_path / "people.parquet", with_secret())
        path.write_bytes(b"\0\0\0\0" + path.read_bytes()[4:])
        refuse(policy_for(path), "people.parquet: is not a complete Parquet file")

    def test_csv_by_another_name(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.parquet", with_secret())
        document = policy_for(path, input={"path": str(path), "format": "parquet"})
        refuse(document, "people.parquet: is not a complete Parquet file")

    def test_parquet_by_another_name(self, tmp_path, refuse):
        path = write_parquet(tmp_path / "people.csv", with_secret())
        document = policy_for(path, input={"path": str(path), "format": "csv"})
        refuse(document, "people.csv: is a Parquet file, and input.format says csv; correct")

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
    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL, PASSTHROUGH])
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
