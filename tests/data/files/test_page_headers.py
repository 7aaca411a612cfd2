"""Sizes of pages are those that the file has; what is no page is told as that."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose.data.files.page_headers import PageError, read_pages


def chunk_of(column, **options):
    file = io.BytesIO()
    pq.write_table(pa.table({"a": column}), file, **options)
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(0)
    start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
    return file, start, chunk


TEXTS = pa.array([None if i % 7 == 0 else f"text {i:06d}" * 20 for i in range(5_000)])
OPTIONS = [
    {"compression": compression, "data_page_version": version, "use_dictionary": has_dictionary}
    for compression in ("none", "zstd")
    for version in ("1.0", "2.0")
    for has_dictionary in (True, False)
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_all_values_stand_in_some_page(options):
    file, start, chunk = chunk_of(TEXTS, data_page_size=50_000, **options)
    pages = list(read_pages(file, start, chunk.total_compressed_size))
    assert sum(page.n_values for page in pages) == len(TEXTS)
    assert sum(page.is_dictionary for page in pages) == options["use_dictionary"]
    headers = chunk.total_uncompressed_size - sum(page.n_bytes for page in pages)
    assert 0 < headers < 1_000 * len(pages)  # of which statistics take most


def test_pages_after_a_full_dictionary_have_no_places():
    file, start, chunk = chunk_of(TEXTS, dictionary_pagesize_limit=100_000, data_page_size=50_000)
    pages = list(read_pages(file, start, chunk.total_compressed_size))
    with_indices = [page.n_values for page in pages if page.has_indices]
    assert 0 < sum(with_indices) < len(TEXTS)


def test_long_statistics_are_passed_over():
    file, start, chunk = chunk_of(pa.array(["x" * 40_000, "y" * 40_000]), use_dictionary=False)
    assert sum(p.n_values for p in read_pages(file, start, chunk.total_compressed_size)) == 2


@pytest.mark.parametrize("data", [b"", b"\x15", b"\xff" * 5_000, b"\x00" * 100, b"\x19" * 9_000])
def test_what_is_no_page(data):
    with pytest.raises(PageError):
        list(read_pages(io.BytesIO(data), 0, 100))
