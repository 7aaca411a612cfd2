"""Digests of records: free of order and cut, and of nothing else."""

import math
import struct
import tracemalloc
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_digests
from support.tables.arrow_types import DICTIONARIES, NUMBERS, TEXTS, numbers_of
from support.tables.random_tables import repeatable
from tclose.errors import VerificationError
from tclose.passes.compare import record_digests
from tclose.passes.compare.keyed_hashes import hash_texts, hash_words
from tclose.passes.compare.record_digests import (
    Compared,
    RecordDigest,
    digest_records,
    keep_complete,
)

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
NAMES = ("pay", "height", "note")
COMPARED = Compared(NAMES, ("pay",), as_values=("height",))
SCHEMA = pa.schema([("pay", pa.int64()), ("height", pa.float64()), ("note", pa.string())])

texts = st.one_of(
    st.none(),
    st.sampled_from(["", "\0", "a", "a\0", "a\0\0", "x" * 15, "x" * 16, "x" * 17, "x" * 256]),
    st.sampled_from(["x" * 257, "é", "e\u0301", "y" * 1_000]),
)
rows = st.tuples(
    st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, math.inf]), st.floats(allow_nan=False)),
    texts,
)
tables = st.lists(rows, min_size=1, max_size=40)


def table_of(records: list[tuple]) -> pa.Table:
    columns = list(zip(*records, strict=True)) if records else [(), (), ()]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def digest(records: list[tuple], key: bytes = KEY) -> RecordDigest:
    return digest_records(table_of(records), COMPARED, key)


def as_seen(records: list[tuple]) -> list[tuple]:
    """Records with what counts as one value made one; floats by their bits."""
    return sorted(
        (
            (
                pay is None,
                pay or 0,
                height is None,
                struct.pack("<d", (height or 0.0) + 0.0),
                note is None,
                note or "",
            )
            for pay, height, note in records
        )
    )


class TestDigest:
    @repeatable
    @given(tables)
    def test_is_that_of_the_naive_twin(self, records):
        expected = naive_digests.digest(records, NAMES, ("height",), KEY)
        assert [tuple(row) for row in digest(records).sums.tolist()] == expected

    @repeatable
    @given(tables, st.randoms(use_true_random=False), st.integers(1, 7))
    def test_is_free_of_order_and_cut(self, records, random, n_parts):
        shuffled = random.sample(records, len(records))
        cuts = sorted(random.randint(0, len(records)) for _ in range(n_parts))
        parts = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(records)], strict=True)]
        merged = reduce(RecordDigest.merge, [digest(part) for part in parts])
        assert merged.equals(digest(records))

    @repeatable
    @given(tables, tables)
    def test_tells_other_records_apart(self, first, second):
        assert digest(first).equals(digest(second)) == (as_seen(first) == as_seen(second))

    @repeatable
    @given(tables, st.data())
    def test_finds_a_changed_bit(self, records, data):
        place = data.draw(st.integers(0, len(records) - 1))
        bit = data.draw(st.integers(0, 63))
        pay, height, note = records[place]
        (word,) = struct.unpack("<q", struct.pack("<Q", ((pay or 0) % 2**64) ^ (1 << bit)))
        changed = [*records[:place], (word, height, note), *records[place + 1 :]]
        assert not digest(changed).equals(digest(records))

    @repeatable
    @given(tables, st.data())
    def test_finds_swapped_values(self, records, data):
        a, b = (data.draw(st.integers(0, len(records) - 1)) for _ in range(2))
        swapped = list(records)
        swapped[a], swapped[b] = (records[b][0], *records[a][1:]), (records[a][0], *records[b][1:])
        found, expected = digest(swapped), digest(records)
        assert np.array_equal(found.sums[1:], expected.sums[1:])
        assert found.equals(expected) == (as_seen(swapped) == as_seen(records))

    @repeatable
    @given(tables, st.data())
    def test_finds_lost_and_doubled_records(self, records, data):
        place = data.draw(st.integers(0, len(records) - 1))
        doubled, lost = [*records, records[place]], records[:place] + records[place + 1 :]
        assert not digest(doubled).equals(digest(records))
        assert not digest(lost).equals(digest(records))

    def test_finds_a_record_in_the_place_of_another(self):
        """As many records, and an XOR of hashes would not change: twice one, twice another."""
        one, other = (1, 0.5, "a"), (2, 0.5, "b")
        assert not digest([one, one, other, other]).equals(digest([one, one, one, one]))

    def test_highest_bits_do_not_cancel(self):
        """What multiplications pass on unchanged: the same high bits moved to other records."""
        top = -(2**63)
        kept = [(pay, 0.5, "a") for pay in (1, 2 + top, 5, 9)]
        moved = [(pay, 0.5, "a") for pay in (1 + top, 2, 5, 9)]
        assert not digest(kept).equals(digest(moved))

    def test_depends_on_the_key(self):
        records = [(1, 0.5, "a"), (2, 1.5, "b")]
        assert not np.isin(digest(records).sums, digest(records, OTHER_KEY).sums).any()

    def test_chunks_change_nothing(self, monkeypatch):
        records = [(i, i / 2, str(i % 5)) for i in range(100)]
        whole = digest(records)
        monkeypatch.setattr(record_digests, "CHUNK_ROWS", 7)
        assert digest(records).equals(whole)

    def test_columns_count_by_their_place(self):
        table = pa.table({"a": [1, 2], "b": [2, 1], "c": [5, 6]})
        compared = Compared(("a", "b", "c"), ())
        moved = table.rename_columns(["b", "a", "c"])
        first, second = (digest_records(t, compared, KEY) for t in (table, moved))
        assert not first.equals(second)

    def test_records_without_columns_are_counted(self):
        found = [digest_records(pa.table({"a": [1] * n}), Compared((), ()), KEY) for n in (2, 3)]
        assert not found[0].equals(found[1])


class TestTypes:
    @pytest.mark.parametrize("dtype", [*NUMBERS, pa.bool_(), *TEXTS, *DICTIONARIES], ids=str)
    def test_bits_decide(self, dtype, tmp_path):
        """Slices, holes and a way through a file change nothing; one other value does."""
        keys = np.arange(50) % (2 if pa.types.is_boolean(dtype) else 20)
        array = make_array(dtype, keys)
        compared = Compared(("x",), ())

        def of(values):
            return digest_records(pa.table({"x": values}), compared, KEY)

        holes = make_array(dtype, keys, mask=np.arange(50) % 7 == 0)
        for values in (array, holes):
            copied = pa.concat_arrays([values.slice(10, 11), values.slice(21, 19)])
            assert of(values.slice(10, 30)).equals(of(copied))
            if not pa.types.is_dictionary(dtype):
                pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet")
                read = pq.read_table(tmp_path / "x.parquet")["x"].cast(dtype)
                assert of(read).equals(of(values))
        assert not of(holes).equals(of(array))
        other = keys.copy()  # of which the first array may be a view
        other[17] ^= 1
        assert not of(make_array(dtype, other)).equals(of(array))

    def test_null_is_no_value(self):
        compared = Compared(("x",), ())
        for values in ([0, None], [0.0, None], ["", None], [False, None]):
            array = pa.array(values)
            alone = [
                digest_records(pa.table({"x": array.slice(i, 1)}), compared, KEY) for i in (0, 1)
            ]
            assert not alone[0].equals(alone[1])

    def test_nan_equals_itself(self):
        table = pa.table({"x": [math.nan, 1.0]})
        compared = Compared(("x",), ())
        found = [digest_records(t, compared, KEY) for t in (table, table.take([1, 0]))]
        assert found[0].equals(found[1])

    @pytest.mark.parametrize("as_values", [(), ("x",)])
    def test_negative_zero(self, as_values):
        compared = Compared(("x",), (), as_values=as_values)
        found = [digest_records(pa.table({"x": [v]}), compared, KEY) for v in (0.0, -0.0)]
        assert found[0].equals(found[1]) == bool(as_values)

    def test_other_types_are_refused(self):
        table = pa.table({"x": pa.array([b"a"])})
        with pytest.raises(VerificationError, match="column 'x': values of type binary"):
            digest_records(table, Compared(("x",), ()), KEY)


def make_array(dtype, keys, mask=None):
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    if pa.types.is_boolean(plain) or plain in NUMBERS:
        values = numbers_of(plain, keys)
    else:
        values = pa.array(keys).cast(pa.string()).cast(plain)
    if mask is not None:
        values = pa.array(values.to_pylist(), plain, mask=mask)
    return values.dictionary_encode().cast(dtype) if pa.types.is_dictionary(dtype) else values


class TestHashes:
    def test_texts_are_told_apart_by_their_bytes_alone(self):
        texts = ["", "\0", "a", "a\0", *("x" * n for n in (15, 16, 17, 255, 256, 257, 300))]
        hashes = hash_texts(pa.array(texts), KEY)
        assert len({tuple(row) for row in hashes.tolist()}) == len(texts)
        sliced = hash_texts(pa.array(["no", *texts]).slice(1), KEY)
        assert np.array_equal(sliced, hashes)
        assert np.array_equal(hash_texts(pa.array(texts, pa.large_string()), KEY), hashes)

    def test_no_texts(self):
        assert hash_texts(pa.array([], pa.string()), KEY).shape == (0, 2)

    def test_words_of_any_number(self):
        words = np.arange(15, dtype=np.uint64).reshape(3, 5)
        for row, found in zip(words, hash_words(words, KEY), strict=True):
            expected = naive_digests.mac(row.tobytes(), KEY)
            assert found.tobytes() == expected


def test_records_without_a_value_they_need_are_left_out():
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [None, 1, 2]})
    assert keep_complete(table, ("a", "b")).to_pylist() == [{"a": 1, "b": "x", "c": None}]
    assert len(keep_complete(table, ())) == 3


def test_a_long_text_is_hashed_in_about_its_own_size():
    texts = pa.array(["x" * 5_000_000, *(f"short {i}" for i in range(1_000))])
    tracemalloc.start()
    try:
        hash_texts(texts, KEY)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000
