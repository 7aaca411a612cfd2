"""The parts of a plan that tasks read: distributions, encodings, types of records."""

import numpy as np
import pyarrow as pa

from tclose.data.keys import Encoding, Keys
from tclose.data.value_counts import (
    confidential_keys,
)
from tclose.errors import DataError
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
        raise DataError("the input changed while it was read; run again when it is at rest")
    return codes


def key_encodings(plan: Plan) -> list[Encoding]:
    """Return the encodings of a class's key in the release's order: partition columns first."""
    by_name = {e.column.name: e for e in (*plan.partition_columns, *plan.encodings)}
    first = [by_name[name] for name in plan.partition_by]
    return first + [e for e in plan.encodings if e.column.name not in plan.partition_by]


def record_type(plan: Plan) -> np.dtype:
    """An encoded record: its position, the keys of its quasi-identifiers, its confidential codes.

    ``position``, ``q0``, ``q1``, ..., ``c0``, ...: int64, or float64 where keys are floats; then
    ``person``, where there is a column of them; and last, of the quasi-identifiers that
    `filled_by_class` names, which records lack them, uint8: ``g0``, ...
    """
    quasi: list[type[np.generic]] = [
        np.float64 if e.has_float_keys else np.int64 for e in plan.encodings
    ]
    names = [POSITION, *(f"q{j}" for j in range(len(quasi)))]
    names += [f"c{a}" for a in range(plan.n_released)]
    kinds: list[type[np.generic]] = [np.int64, *quasi, *[np.int64] * plan.n_released]
    if plan.persons is not None:
        names, kinds = [*names, PERSON], [*kinds, np.int64]
    lacking = filled_by_class(plan)
    names += [f"{LACKS}{j}" for j in lacking]
    kinds += [np.uint8] * len(lacking)
    return np.dtype(list(zip(names, kinds, strict=True)), align=bool(lacking))


def filled_by_class(plan: Plan) -> tuple[int, ...]:
    """Places of the quasi-identifiers that records without a value take from their class."""
    prepared = [encoding.column.attribute.preparation for encoding in plan.encodings]
    return tuple(j for j, one in enumerate(prepared) if one is not None and one.by_class)


def stack_codes(records: np.ndarray, plan: Plan, joints: tuple[Joint, ...]) -> Int64:
    """Confidential values of encoded records as positions in their distributions: int64 (p, n).

    Those of joint attributes are found anew from what is released.
    """
    columns = [records[f"c{a}"] for a in range(plan.n_released)]
    codes = np.array(columns, dtype=np.int64).reshape(len(columns), records.size)
    return append_joint(codes, joints)
