"""Range counts over records whose values are numbered by parts, by bits of 64 records at a time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.range_bits import count_met
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.analyses.workload import Parts8

RECORDS_AT_ONCE = 1 << 17  # whose bits are made
_NONE, _ALL = 0, 1  # rows of the bits: no record, and every one

Bits = NDArray[np.uint64]


def count_ranges(codes: Sequence[Parts8], n_parts: Sequence[int], queries: Int64) -> Int64:
    """Count the records that meet each query: int64 (q,).

    Parameters
    ----------
    codes : of each column, the part of each record (n,)
    n_parts : of each column
    queries : int64 (q, 4, 3), as `Workload` has them
    """
    counts = np.zeros(len(queries), dtype=np.int64)
    if not len(queries):
        return counts
    rows = _find_rows(n_parts, queries)
    for start in range(0, codes[0].size, RECORDS_AT_ONCE):
        bits = _mark_records([c[start : start + RECORDS_AT_ONCE] for c in codes], n_parts)
        counts += count_met(bits, rows)
    return counts


def _find_rows(n_parts: Sequence[int], queries: Int64) -> Int64:
    """Rows of the bits that a range lies between: int64 (q, 4, 2).

    The bits of a column are those of the records before each of its parts but the first one.
    """
    first = _ALL + np.cumsum([0, *(n - 1 for n in n_parts)])  # the row before a column's
    column, parts = queries[:, :, :1], queries[:, :, 1:]
    rows = first[column] + parts
    rows = np.where(parts == 0, _NONE, rows)
    rows = np.where(parts == np.array(n_parts)[column], _ALL, rows)
    return np.where(column < 0, np.array([_NONE, _ALL]), rows)


def _mark_records(codes: Sequence[Parts8], n_parts: Sequence[int]) -> Bits:
    """A bit for each record, of no column and of the records before each part: uint64 (rows, w)."""
    n_records = codes[0].size
    n_rows = 2 + sum(n - 1 for n in n_parts)
    marked = np.zeros((n_rows, -(-n_records // 64) * 8), dtype=np.uint8)
    n_bytes = -(-n_records // 8)
    marked[_ALL, :n_bytes] = np.packbits(np.ones(n_records, dtype=bool))
    row = _ALL
    for column, n in zip(codes, n_parts, strict=True):
        for part in range(1, n):
            row += 1
            marked[row, :n_bytes] = np.packbits(column < part)
    return marked.view(np.uint64)
