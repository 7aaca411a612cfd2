"""Which columns are read, of what type they are, and where each partition's records stand."""

import contextlib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import pyarrow as pa

from pipeline.errors import DataError
from pipeline.execution.engine import Engine, merge_in_tree
from pipeline.execution.passes import run_pass
from pipeline.execution.progress import Progress
from pipeline.execution.run import Run
from pipeline.execution.units.reading import infer_unit
from pipeline.execution.units.shared import Source
from pipeline.model import Attribute, Column, Partition, Role
from pipeline.settings import Policy
from pipeline.stages.class_sizes import choose_class_size
from pipeline.stages.methods.method import Method
from pipeline.stages.tree import sample_size
from pipeline.storage.inspection import FileContent
from pipeline.storage.partitions import (
    Reading,
    csv_partitions,
    cut_parquet,
    name_files,
    place_partitions,
)
from pipeline.storage.text_types import TextCounts, has_texts, infer_type


@contextlib.contextmanager
def naming_input(policy: Policy) -> Iterator[None]:
    """Say of which input it is where a message speaks of a column."""
    try:
        yield
    except DataError as error:
        if not str(error).startswith(("input ", "file ", "files ")):
            raise DataError(f"input {policy.input.path}: {error}") from None
        raise


def released_attributes(policy: Policy, schema: pa.Schema) -> tuple[Attribute, ...]:
    """The attributes that are read: all but identifiers, in the order of the data's columns."""
    known = {attribute.name: attribute for attribute in policy.resolve_attributes()}
    absent = [name for name in known if name not in schema.names]
    if absent:
        named = ", ".join(f"{name!r}{_close_to(name, schema.names)}" for name in absent)
        raise DataError(
            f"input {policy.input.path}: has no column {named}, which the policy names; mend the "
            "name, or take it out"
        )
    unlisted = [name for name in schema.names if name not in known]
    if unlisted and policy.unlisted == "error":
        named = ", ".join(repr(name) for name in unlisted)
        raise DataError(
            f"input {policy.input.path}: column {named} is not in the policy; give it a role, or "
            "say unlisted: drop"
        )
    kept = [known[name] for name in schema.names if name in known]
    return tuple(a for a in kept if a.role is not Role.IDENTIFIER)


def _close_to(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def type_columns(
    run: Run, engine: Engine, contents: list[FileContent], attributes: Sequence[Attribute],
    progress: Progress,
) -> tuple[tuple[Partition, ...], dict[str, pa.DataType]]:  # fmt: skip
    """Partitions with their positions, and the type of each column."""
    schema = contents[0].schema
    if contents[0].file.format == "parquet":
        return cut_parquet(contents), {a.name: schema.field(a.name).type for a in attributes}
    partitions = csv_partitions(contents)
    if not partitions:
        raise DataError(f"input {run.policy.input.path}: has no records")
    names = tuple(a.name for a in attributes)
    reading = _reading(run.policy, schema, names, (pa.string(),) * len(names))
    items = [(partition, reading) for partition in partitions]
    found = run_pass(engine, run.workspace, "infer", infer_unit, items, progress)
    types = {
        attribute.name: _infer_type(attribute, partitions, [counts for _, counts in found])
        for attribute in attributes
    }
    return place_partitions(partitions, [n for n, _ in found]), types


def _infer_type(
    attribute: Attribute,
    partitions: Sequence[Partition],
    found: Sequence[dict[str, TextCounts]],
) -> pa.DataType:
    of_chunks = [counts[attribute.name] for counts in found]
    try:
        return infer_type(merge_in_tree(TextCounts.merge, of_chunks), attribute)
    except DataError as error:
        pairs = zip(partitions, of_chunks, strict=True)
        bad = [p for p, counts in pairs if has_texts(counts, attribute)]
        raise DataError(f"{error}{name_files(bad, partitions)}") from None


def _reading(
    policy: Policy, schema: pa.Schema, names: tuple[str, ...], types: tuple[pa.DataType, ...]
) -> Reading:
    given = policy.input
    return Reading(names, types, tuple(schema.names), given.missing_values, given.delimiter)


def make_source(
    policy: Policy,
    schema: pa.Schema,
    columns: tuple[Column, ...],
    partitions: tuple[Partition, ...],
) -> Source:
    """What every partition is read for: columns, hard ones among them, and the sample's share."""
    names = tuple(c.name for c in columns)
    n_read = sum(partition.n_records for partition in partitions)
    if not n_read:
        raise DataError(f"input {policy.input.path}: has no records")
    limits = [c.attribute.max_emd for c in columns if c.attribute.max_emd is not None]
    size = choose_class_size(n_read, policy.privacy.k, limits).adjusted if n_read > 1 else 1
    most = Method(policy.method.name).most_records
    roles = {c.name: c.role for c in columns}
    hard = tuple(n for n in policy.output.partition_by if roles[n] is Role.NON_CONFIDENTIAL)
    return Source(
        reading=_reading(policy, schema, names, tuple(c.type for c in columns)),
        columns=columns,
        hard=hard,
        sample_share=min(1.0, sample_size(n_read, size, most) / n_read),
        seed=policy.seed,
        joint=policy.combine_attributes(),
    )
