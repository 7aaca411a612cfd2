"""The parts of a plan that tasks read: distributions, encodings, types of records."""

import numpy as np
import pyarrow as pa

from tclose.data.keys import Encoding, Keys
from tclose.data.value_counts import (
    confidential_keys,
)
from tclose.errors import CHANGED_INPUT, ChangedInputError
from tclose.model.array_types import Int64
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.passes.plan.plan import Plan
from tclose.passes.summarise.records import DISTRIBUTIONS
from tclose.privacy.joint import Joint, append_joint
from tclose.privacy.t_closeness import with_metric
from tclose.runtime.artifacts.arrays import DistributionFile
from tclose.runtime.artifacts.artifacts import FileArtifact, Workspace

# The distribution of the values, where buckets are released in their place.
BUCKETED_VALUES = FileArtifact("plan/bucketed-values", DistributionFile)
POSITION = "position"
PERSON = "person"
LACKS = "g"  # and the number of a quasi-identifier: 1 where the record has no value of it
ORIGINAL = "o"  # and a number: what noise was drawn for; it stays in the working files


def load_distributions(workspace: Workspace, plan: Plan) -> tuple[Distribution, ...]:
    """The table's distributions, mapped from disk, each with the metric of its attribute."""
    return tuple(
        load_distribution(workspace, a, encoding) for a, encoding in enumerate(plan.confidential)
    )


def load_distribution(workspace: Workspace, attribute: int, encoding: Encoding) -> Distribution:
    """The table's distribution of one confidential attribute."""
    distribution = workspace.file(DISTRIBUTIONS, attribute).read()
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
        raise ChangedInputError(CHANGED_INPUT)
    return codes


def key_encodings(plan: Plan) -> list[Encoding]:
    """Return the encodings of a class's key in the release's order: partition columns first."""
    by_name = {e.column.name: e for e in (*plan.partition_columns, *plan.encodings)}
    first = [by_name[name] for name in plan.partition_by]
    return first + [e for e in plan.encodings if e.column.name not in plan.partition_by]


def record_type(plan: Plan) -> np.dtype:
    """An encoded record: its position, the keys of its quasi-identifiers, its confidential codes.

    ``position``, ``q0``, ``q1``, ..., ``c0``, ...; ``person``, where there is a column of them; of
    the quasi-identifiers that `filled_by_class` names, which records lack them: ``g0``, ...
    Each is as narrow as the table's values of it allow, the wide ones first.
    """
    kinds: dict[str, np.dtype] = {POSITION: np.dtype(np.int64)}
    kinds |= {f"q{j}": _key_type(encoding) for j, encoding in enumerate(plan.encodings)}
    code_type = _integer_type(0, plan.n_records)
    kinds |= {f"c{a}": code_type for a in range(plan.n_released)}
    if plan.persons is not None:
        kinds[PERSON] = np.dtype(np.int64)
    kinds |= {f"{LACKS}{j}": np.dtype(np.int8) for j in filled_by_class(plan)}
    wide_first = sorted(kinds.items(), key=lambda field: -field[1].itemsize)
    return np.dtype(wide_first, align=True)


def _key_type(encoding: Encoding) -> np.dtype:
    if encoding.has_float_keys:
        return np.dtype(np.float64)
    if encoding.categories is None or encoding.ranks is not None:
        return _integer_type(int(encoding.low), int(encoding.high))
    return _integer_type(0, len(encoding.categories))


def _integer_type(low: int, high: int) -> np.dtype:
    """The narrowest signed integers that hold both."""
    return np.min_scalar_type(min(low, -1 - high))


def pack_records(plan: Plan, columns: dict[str, Keys]) -> np.ndarray:
    """Records of the `record_type`, from its columns (n,), int64 or float64.

    Raises
    ------
    ChangedInputError
        Values are not those that the plan was made from.
    """
    records = np.empty(columns[POSITION].size, dtype=record_type(plan))
    for name, column in columns.items():
        kind = records.dtype[name]
        if column.size and kind.kind == "i" and not _fit(column, kind):
            raise ChangedInputError(CHANGED_INPUT)
        records[name] = column
    return records


def _fit(column: Keys, kind: np.dtype) -> bool:
    limits = np.iinfo(kind)
    return bool(limits.min <= column.min() and column.max() <= limits.max)


def unpack_keys(records: np.ndarray, plan: Plan) -> list[Keys]:
    """Keys of the quasi-identifiers of encoded records: int64 or float64 (n,) each."""
    columns = [records[f"q{j}"] for j in range(len(plan.encodings))]
    return [
        column.astype(np.float64) if encoding.has_float_keys else column.astype(np.int64)
        for column, encoding in zip(columns, plan.encodings, strict=True)
    ]


def filled_by_class(plan: Plan) -> tuple[int, ...]:
    """Places of the quasi-identifiers that records without a value take from their class."""
    prepared = [encoding.column.attribute.preparation for encoding in plan.encodings]
    return tuple(j for j, one in enumerate(prepared) if one is not None and one.by_class)


def count_codes(plan: Plan) -> int:
    """Numbers that classes on disk have of each record: codes, its position, its person."""
    return plan.n_released + bool(plan.referenced) + (plan.persons is not None)


def stack_codes(records: np.ndarray, plan: Plan, joints: tuple[Joint, ...]) -> Int64:
    """Confidential values of encoded records as positions in their distributions: int64 (p, n).

    Those of joint attributes are found anew from what is released.
    """
    columns = [records[f"c{a}"] for a in range(plan.n_released)]
    codes = np.array(columns, dtype=np.int64).reshape(len(columns), records.size)
    return append_joint(codes, joints)
