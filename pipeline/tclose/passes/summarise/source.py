"""The columns that are read, their types, and each partition's record ranges."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

import pyarrow as pa

from tclose.data.column_scales import SAMPLE_RECORDS
from tclose.data.files.column_names import NO_HEADER, name_positions
from tclose.data.files.csv_chunks import MARKS
from tclose.data.files.input_partitions import (
    Reading,
    csv_partitions,
    cut_parquet,
    name_files,
    place_partitions,
)
from tclose.data.files.inspection import FileContent
from tclose.data.files.type_inference import TextCounts, has_texts, infer_type
from tclose.errors import DataError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Role
from tclose.model.counted_words import count_words
from tclose.model.input_pieces import Partition
from tclose.passes.plan.class_sizes import choose_class_size
from tclose.passes.plan.coarse_tree import sample_size
from tclose.passes.summarise.records import DatesAhead, Source
from tclose.passes.summarise.summarise_task import INFER_TASK
from tclose.policy.policy import Policy
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import merge_in_tree

KNOWN_RECORDS = 10_000  # on which it is tried whether some columns tell another
_MOST_NAMES = 5
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_WITHOUT_INDEX = ", or write the file without the index of pandas (to_parquet, index=False)"


@contextlib.contextmanager
def naming_input(policy: Policy) -> Iterator[None]:
    """Say of which input it is where a message speaks of a column."""
    try:
        yield
    except DataError as error:
        if not str(error).startswith(("input ", "file ", "files ")):
            raise DataError(f"input {policy.input.shown}: {error}") from None
        raise


def released_attributes(
    policy: Policy, schema: pa.Schema, files: Sequence[str] = (), *, is_csv: bool = True
) -> tuple[Attribute, ...]:
    """The attributes that are read: all but identifiers, in the order of the data's columns.

    ``files``: names of the input's, with the folders that they are in.
    """
    known = {attribute.name: attribute for attribute in policy.resolve_attributes()}
    names = schema.names
    _check_present(policy, tuple(known), names, files, is_csv=is_csv)
    unlisted = [index for index, name in enumerate(names) if name not in known]
    if unlisted and policy.unlisted == "error":
        is_one = len(unlisted) == 1
        is_index = any(_PANDAS_INDEX.fullmatch(names[index]) for index in unlisted)
        raise DataError(
            f"input {policy.input.shown}: {name_positions(unlisted, len(names))} "
            f"{'is' if is_one else 'are'} not in the policy; give {'it' if is_one else 'each'} a "
            f"role, or say unlisted: drop{_WITHOUT_INDEX if is_index else ''}"
        )
    attributes = [known[name] for name in names if name in known]
    return tuple(a for a in attributes if a.role is not Role.IDENTIFIER)


def _check_present(
    policy: Policy,
    known: Sequence[str],
    names: Sequence[str],
    files: Sequence[str],
    *,
    is_csv: bool,
) -> None:
    """Refuse data without some of the columns that the policy names."""
    there = set(names)
    absent = [name for name in known if name not in there]
    if not absent:
        return
    named = ", ".join(f"{name!r}{_find_close(name, names)}" for name in absent[:_MOST_NAMES])
    more = f" and {len(absent) - _MOST_NAMES:,} more" if len(absent) > _MOST_NAMES else ""
    raise DataError(
        f"input {policy.input.shown}: has no column {named}{more}, which the policy names; "
        f"{_find_remedy(policy, absent, known, names, files, is_csv=is_csv)}"
    )


def _find_remedy(
    policy: Policy,
    absent: Sequence[str],
    known: Sequence[str],
    names: Sequence[str],
    files: Sequence[str],
    *,
    is_csv: bool,
) -> str:
    """Say what helps where columns are absent: they may be elsewhere, or none was told apart."""
    if any(f"/{name}=" in f"/{file}" for name in absent for file in files):
        return "names of folders (as column=value) are not read: write the column into the files"
    remedy = "correct the name, or take it out"
    if policy.input.shown.startswith("memory://"):
        return f"{remedy}, or make it a column if it is in the index (reset_index)"
    if len(absent) < len(known) or not is_csv:
        return remedy
    mark = _find_mark(names, known, policy.input.delimiter)
    if mark is None:
        return f"{remedy}; it has none of the policy's columns: {NO_HEADER}"
    return (
        f"{remedy}; it has one column, with {mark!r} in its name: if that divides fields, name it "
        "as input.delimiter"
    )


def _find_mark(names: Sequence[str], known: Sequence[str], delimiter: str) -> str | None:
    """Find what divides the names of columns in a line that was read as a single one."""
    if len(names) != 1 or not any(name in names[0] for name in known):
        return None
    return next((m for m in MARKS if m in names[0] and m != delimiter), None)


def _find_close(name: str, names: Sequence[str]) -> str:
    """Suggest a column of a similar name; a name that only the data have is not quoted."""
    close = get_close_matches(name, names, n=1)
    return f" (column {names.index(close[0]) + 1:,} has a name like it)" if close else ""


def type_columns(
    context: PassContext, contents: list[FileContent], attributes: Sequence[Attribute]
) -> tuple[tuple[Partition, ...], dict[str, pa.DataType], tuple[DatesAhead, ...]]:
    """Partitions with their positions, the type of each column, and dates that are to come."""
    policy, schema = context.run.policy, contents[0].schema
    is_parquet = contents[0].file.format == "parquet"
    partitions = cut_parquet(contents) if is_parquet else csv_partitions(contents)
    if not partitions:  # whose columns may have any type
        raise DataError(f"input {policy.input.shown}: has no records")
    if is_parquet:
        return partitions, {a.name: schema.field(a.name).type for a in attributes}, ()
    names = tuple(a.name for a in attributes)
    reading = _reading(policy, schema, dict.fromkeys(names, pa.string()))
    items = [(partition, reading) for partition in partitions]
    counted = context.map(INFER_TASK, items)
    _check_header_lines(policy, partitions, [counts for _, counts in counted])
    types = {
        attribute.name: _infer_type(attribute, partitions, [counts for _, counts in counted])
        for attribute in attributes
    }
    ahead = tuple(find_ahead(types, partitions, [counts for _, counts in counted]))
    return place_partitions(partitions, [n for n, _ in counted]), types, ahead


def _check_header_lines(
    policy: Policy, partitions: Sequence[Partition], counted: Sequence[Mapping[str, TextCounts]]
) -> None:
    """Refuse lines of column names among the records, as files have that were put together.

    Where all columns hold texts, they would be a record.
    """
    of_chunks = [[counts.n_names for counts in of_one.values()] for of_one in counted]
    n_lines = min(map(sum, zip(*of_chunks, strict=True)), default=0)
    if n_lines and len(of_chunks[0]) > 1:
        bad = [p for p, n_of in zip(partitions, of_chunks, strict=True) if all(n_of)]
        raise DataError(
            f"input {policy.input.shown}: {_count_records(n_lines)} the names of the columns as "
            "values; take the lines of column names out that are among the records"
            f"{name_files(bad, partitions)}"
        )


def _count_records(n_records: int) -> str:
    return count_words(n_records, "record has", "records have")


def find_ahead(
    types: Mapping[str, pa.DataType],
    partitions: Sequence[Partition],
    counted: Sequence[Mapping[str, TextCounts]],
) -> Iterator[DatesAhead]:
    """Find columns of dates whose years of two digits are read as some to come."""
    for name, dtype in types.items():
        of_chunks = [counts[name] for counts in counted]
        merged = merge_in_tree(TextCounts.merge, of_chunks)
        if merged.n_ahead and pa.types.is_temporal(dtype):
            pairs = zip(partitions, of_chunks, strict=True)
            files = tuple(dict.fromkeys(p.name for p, counts in pairs if counts.n_ahead))
            yield DatesAhead(name, merged.n_ahead, merged.n_values, files)


def _infer_type(
    attribute: Attribute,
    partitions: Sequence[Partition],
    counted: Sequence[dict[str, TextCounts]],
) -> pa.DataType:
    of_chunks = [counts[attribute.name] for counts in counted]
    try:
        return infer_type(merge_in_tree(TextCounts.merge, of_chunks), attribute)
    except DataError as error:
        pairs = zip(partitions, of_chunks, strict=True)
        bad = [p for p, counts in pairs if has_texts(counts, attribute)]
        raise DataError(f"{error}{name_files(bad, partitions)}") from None


def _reading(policy: Policy, schema: pa.Schema, types: Mapping[str, pa.DataType]) -> Reading:
    settings = policy.input
    formats = {name: policy.attributes[name].text_format(settings.text_format) for name in types}
    spelled = tuple((name, of_one) for name, of_one in formats.items() if not of_one.is_plain)
    return replace(Reading.by(settings, schema, types), formats=spelled)


def make_source(
    policy: Policy,
    schema: pa.Schema,
    columns: tuple[Column, ...],
    types: Mapping[str, pa.DataType],
    partitions: tuple[Partition, ...],
) -> Source:
    """Return how every partition is read: columns, partition columns, and the sample's share.

    Parameters
    ----------
    columns : as they are prepared
    types : of these columns, as the files have them
    """
    n_read = sum(partition.n_records for partition in partitions)
    if not n_read:
        raise DataError(f"input {policy.input.shown}: has no records")
    limits = [c.attribute.max_emd for c in columns if c.attribute.max_emd is not None]
    size = choose_class_size(n_read, policy.privacy.k, limits).adjusted if n_read > 1 else 1
    most = policy.method.max_records
    roles = {c.name: c.role for c in columns}
    partition_columns = tuple(
        n for n in policy.output.partition_by if roles[n] is Role.NON_CONFIDENTIAL
    )
    return Source(
        reading=replace(
            _reading(policy, schema, {c.name: types[c.name] for c in columns}),
            prepared=tuple(
                (c.name, c.attribute.preparation)
                for c in columns
                if c.attribute.preparation is not None
            ),
        ),
        columns=columns,
        partition_columns=partition_columns,
        sample_share=min(1.0, sample_size(n_read, size, most) / n_read),
        seed=policy.seed,
        joint=policy.combine_attributes(),
        scaled=tuple(c.name for c in columns if _is_number(c)),
        scale_share=min(1.0, SAMPLE_RECORDS / n_read),
        known_share=min(1.0, KNOWN_RECORDS / n_read),
    )


def _is_number(column: Column) -> bool:
    """Return whether a column is a quasi-identifier with numbers, whose quantiles are wanted."""
    return column.role is Role.QUASI_IDENTIFIER and not column.kind.is_categorical
