"""The input's files, and the pieces of them that tasks read."""

from dataclasses import dataclass, field

import numpy as np

from tclose.model.array_types import Int64


@dataclass(frozen=True)
class InputFile:
    """One file of the input: its name within the input, and what identifies its content."""

    path: str
    name: str
    format: str
    n_bytes: int
    sha256: str
    stamp: str


@dataclass(frozen=True, eq=False)
class Partition:
    """A physical piece of the input that one task reads.

    Parquet: rows ``start`` to ``stop`` of the row groups from ``first_group`` to ``last_group``,
    mostly one. CSV: the bytes from ``start`` to ``stop``, which hold whole records (both groups are
    -1). ``first_position`` is the position of its first record in the whole input, ``stamp`` what
    its file looked like when it was digested. ``batch_rows``: of Parquet, how many rows are decoded
    at a time. ``left_out``: positions in the whole input of its records that are left out,
    ascending. ``held`` int64 (n, 3): of records that are held from the release before both words of
    the hash of the person, who is not in the file, and for how many releases; none of a piece of
    the input itself.
    """

    path: str
    name: str
    format: str
    first_group: int
    last_group: int
    start: int
    stop: int
    n_records: int
    first_position: int
    stamp: str
    batch_rows: int = 65_536
    left_out: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    held: Int64 = field(default_factory=lambda: np.empty((0, 3), dtype=np.int64))
