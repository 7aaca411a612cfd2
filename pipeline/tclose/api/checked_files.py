"""The columns of files that `tclose.check` measures, typed as a release types its input."""

from collections.abc import Sequence

import pyarrow as pa

from tclose.data.files.input_files import find_files
from tclose.data.files.input_partitions import (
    Reading,
    csv_partitions,
    cut_parquet,
    name_files,
    read_partition,
)
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import check_same_schema, inspect_file
from tclose.data.files.type_inference import TextCounts, has_texts, infer_type
from tclose.errors import DataError
from tclose.model.attributes import Attribute
from tclose.model.column_terms import Distance
from tclose.model.input_pieces import Partition
from tclose.passes.summarise.summarise_task import count_types
from tclose.runtime.tasks import merge_in_tree
from tclose.security.redaction import name_apart


def read_checked(path: str, quasi: Sequence[str], confidential: Sequence[Attribute]) -> pa.Table:
    """The columns of a file, or of all files of a folder.

    Quasi-identifiers of CSV are texts: "1" and "01" can be told apart. Confidential values have the
    type that all of them have, in whatever file they are.

    Raises
    ------
    DataError
        A file cannot be read, a column is not there, or its confidential values have no one type.
    """
    settings = InputSettings(path=path)
    paths = find_files(settings)
    named = zip(paths, name_apart(paths), strict=True)
    contents = [inspect_file(path, settings, name=name) for path, name in named]
    names, schema = [*quasi, *(a.name for a in confidential)], contents[0].schema
    check_same_schema(contents, names)
    check_present(schema.names, names)
    is_csv = contents[0].file.format == "csv"
    partitions = csv_partitions(contents) if is_csv else cut_parquet(contents)
    if not partitions:
        raise DataError("data: has no records")
    types = {name: schema.field(name).type for name in names}
    if is_csv:
        types |= _infer_types(partitions, Reading.by(settings, schema, types), confidential)
    reading = Reading.by(settings, schema, types)
    return pa.concat_tables([read_partition(partition, reading) for partition in partitions])


def check_present(there: Sequence[str], names: Sequence[str]) -> None:
    """Refuse data without one of the columns.

    Raises
    ------
    DataError
    """
    absent = [name for name in names if name not in there]
    if absent:
        raise DataError(f"data: has no column {absent[0]!r}; correct the name")


def _infer_types(
    partitions: Sequence[Partition], as_texts: Reading, confidential: Sequence[Attribute]
) -> dict[str, pa.DataType]:
    """The types of confidential columns of CSV, by the values of all files."""
    if not confidential:
        return {}
    reading = as_texts.of([attribute.name for attribute in confidential])
    counted = [count_types(partition, reading)[1] for partition in partitions]
    return {a.name: _infer_type(a, partitions, [c[a.name] for c in counted]) for a in confidential}


def _infer_type(
    attribute: Attribute, partitions: Sequence[Partition], counted: Sequence[TextCounts]
) -> pa.DataType:
    try:
        return infer_type(merge_in_tree(TextCounts.merge, counted), attribute)
    except DataError as error:
        if attribute.distance is Distance.EQUAL:  # for which texts do as well
            return pa.string()
        pairs = zip(partitions, counted, strict=True)
        bad = [partition for partition, counts in pairs if has_texts(counts, attribute)]
        problem, _, _ = str(error).partition(";")  # remedies are those of a policy
        raise DataError(
            f"{problem}; correct them, or take distance: equal{name_files(bad, partitions)}"
        ) from None
