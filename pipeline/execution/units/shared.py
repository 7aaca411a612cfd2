"""What units of several passes need."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.errors import DataError
from pipeline.model import Attribute, Column, Distribution, Int64, Kind
from pipeline.stages.combinations import Joint, append_joint
from pipeline.stages.distances import with_metric
from pipeline.stages.keys import Encoding, Keys
from pipeline.stages.plan import Plan
from pipeline.stages.summarise import (
    ValueCounts,
    checked_columns,
    complete_records,
    confidential_keys,
)
from pipeline.storage.partitions import Reading
from pipeline.storage.tables import read_distribution
from pipeline.storage.workspace import Workspace

POSITION = "position"
ORIGINAL = "o"  # and a number: what noise was drawn for; it stays in the working files
JOINTS = "joints"


@dataclass(frozen=True)
class Source:
    """How records are read and what is taken of them: the same for every partition.

    ``joint``: attributes whose values are combinations of confidential ones.
    """

    reading: Reading
    columns: tuple[Column, ...]
    hard: tuple[str, ...]
    sample_share: float
    seed: int
    joint: tuple[Attribute, ...] = ()

    @property
    def checked(self) -> tuple[Column, ...]:
        """The columns in which a record needs a value."""
        return checked_columns(self.columns, self.hard)

    @property
    def confidential(self) -> tuple[Column, ...]:
        """The confidential attributes that classes are held to a t in, in the policy's order."""
        return tuple(c for c in self.columns if c.is_held_to_t)


def split_domains(table: pa.Table, hard: tuple[str, ...]) -> dict[tuple[Any, ...], Int64]:
    """Rows of each combination of hard partition values, ascending."""
    if not hard:
        return {(): np.arange(len(table))}
    if not len(table):
        return {}
    found: dict[tuple[Any, ...], Int64] = {}
    codes = np.zeros(len(table), dtype=np.int64)
    levels: list[list[Any]] = []
    for name in hard:
        column = table[name].combine_chunks().dictionary_encode()
        levels.append(column.dictionary.to_pylist())
        codes = codes * max(len(levels[-1]), 1) + column.indices.to_numpy(zero_copy_only=False)
    present, inverse = np.unique(codes, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    pieces = np.split(order, np.cumsum(np.bincount(inverse, minlength=present.size))[:-1])
    for code, rows in zip(present.tolist(), pieces, strict=True):
        key, left = [], code
        for values in levels[::-1]:
            left, level = divmod(left, max(len(values), 1))
            key.append(values[level])
        found[tuple(key[::-1])] = rows
    return found


def kept_positions(table: pa.Table, checked: tuple[Column, ...], first: int) -> Int64:
    """Positions in the whole input of a partition's complete records."""
    mask = complete_records(table, checked)
    if mask is None:
        return np.arange(first, first + len(table))
    return first + np.flatnonzero(mask.to_numpy())


def write_counts(
    counted: dict[tuple[Any, ...], ValueCounts], path: Path
) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Write counts one domain after the other; returns which rows are whose."""
    spans, filled = {}, 0
    for domain, counts in counted.items():
        spans[domain] = (filled, filled + counts.values.size)
        filled += counts.values.size
    values = [counts.values for counts in counted.values()]
    dtype = [("value", values[0].dtype if values else np.int64), ("count", np.int64)]
    rows = np.empty(filled, dtype=dtype)
    for (start, stop), counts in zip(spans.values(), counted.values(), strict=True):
        rows["value"][start:stop] = counts.values
        rows["count"][start:stop] = counts.counts
    with path.open("wb") as stream:
        np.save(stream, rows)
    return spans


@lru_cache(maxsize=4)
def _load_cached(root: Path, name: str, _stamp: int) -> Any:
    return Workspace(root).load(name)


def load_shared(workspace: Workspace, name: str) -> Any:
    """A value that all units of a pass need; read once per process."""
    stamp = (workspace.root / "values" / f"{name}.record").stat().st_mtime_ns
    return _load_cached(workspace.root, name, stamp)


def load_distributions(workspace: Workspace, plan: Plan) -> tuple[Distribution, ...]:
    """The table's distributions, mapped from disk, each with the metric of its attribute."""
    return tuple(
        load_distribution(workspace, a, encoding) for a, encoding in enumerate(plan.confidential)
    )


def load_distribution(workspace: Workspace, attribute: int, encoding: Encoding) -> Distribution:
    """The table's distribution of one confidential attribute."""
    distribution = read_distribution(workspace.path("values", f"distribution{attribute}"))
    return with_metric(distribution, encoding.column, encoding.texts)


def confidential_codes(table: pa.Table, encoding: Encoding, distribution: Distribution) -> Int64:
    """Confidential values as positions in their distribution: int64 (n,)."""
    if encoding.column.kind is Kind.NOMINAL:
        codes = encoding.encode(table[encoding.column.name].combine_chunks())
        return codes.astype(np.int64)
    return find_codes(distribution, confidential_keys(table, encoding.column))


def find_codes(distribution: Distribution, keys: Keys) -> Int64:
    """Positions of keys among a distribution's values: int64 (n,).

    Keys are looked up in their order, so that each search goes on near where the last one ended: a
    large table does not stay in the processor's cache.
    """
    order = np.argsort(keys)
    codes = np.empty(keys.size, dtype=np.int64)
    codes[order] = np.searchsorted(distribution.values, keys[order])
    known = np.minimum(codes, distribution.values.size - 1)
    if not np.array_equal(distribution.values[known], keys):
        raise DataError("the input changed while it was read; run again when it is at rest")
    return codes


def key_encodings(plan: Plan) -> list[Encoding]:
    """What a class is told by, in the release's order: partition columns, then the other QIs."""
    by_name = {e.column.name: e for e in (*plan.hard, *plan.encodings)}
    first = [by_name[name] for name in plan.partition_by]
    return first + [e for e in plan.encodings if e.column.name not in plan.partition_by]


def load_joints(workspace: Workspace, plan: Plan) -> tuple[Joint, ...]:
    """How the plan's joint attributes are made of the others; read once per process."""
    if plan.n_released == len(plan.confidential):
        return ()
    joints: tuple[Joint, ...] = load_shared(workspace, JOINTS)
    return joints


def record_type(plan: Plan) -> np.dtype:
    """An encoded record: its position, the keys of its quasi-identifiers, its confidential codes.

    ``position``, ``q0``, ``q1``, ..., ``c0``, ...: int64, or float64 where keys are floats.
    """
    quasi = [np.float64 if e.has_float_keys else np.int64 for e in plan.encodings]
    names = [POSITION, *(f"q{j}" for j in range(len(quasi)))]
    names += [f"c{a}" for a in range(plan.n_released)]
    kinds = [np.int64, *quasi, *[np.int64] * plan.n_released]
    return np.dtype(list(zip(names, kinds, strict=True)))


def stack_codes(records: np.ndarray, plan: Plan, joints: tuple[Joint, ...]) -> Int64:
    """Confidential values of encoded records as positions in their distributions: int64 (p, n).

    Those of joint attributes are found anew from what is released.
    """
    columns = [records[f"c{a}"] for a in range(plan.n_released)]
    codes = np.array(columns, dtype=np.int64).reshape(len(columns), records.size)
    return append_joint(codes, joints)
