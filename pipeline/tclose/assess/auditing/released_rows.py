"""The rows of a release as its manifest lays them out: read file by file, as keys and codes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.assess.auditing.file_checks import open_checked, refusing_content
from tclose.assess.auditing.misfits import refusing_misfits
from tclose.data.keys import (
    Keys,
    folder_name,
    folder_type,
    plain_type,
    to_keys,
    to_values,
    widen_decimals,
)
from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError
from tclose.data.value_counts import ValueCounts, count_values, merge_counts
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.distribution import Distribution, make_distribution
from tclose.privacy.t_closeness import with_metric
from tclose.releases.manifest.privacy_sections import Privacy
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import ReleasedColumn


@dataclass(frozen=True)
class ColumnRoles:
    """The manifest's columns by role: those of the classes' keys, and the confidential ones."""

    class_columns: tuple[ReleasedColumn, ...]
    confidential: tuple[ReleasedColumn, ...]
    partition_by: tuple[str, ...]

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """All columns that are read."""
        return self.class_columns + self.confidential


def column_roles(manifest: Manifest) -> ColumnRoles:
    """The roles that a manifest describes."""
    by_name = {column.name: column for column in manifest.columns}
    partition_by = tuple(manifest.partition_by)
    quasi = [
        column
        for name, column in by_name.items()
        if column.role is Role.QUASI_IDENTIFIER and name not in partition_by
    ]
    # Where there is noise classes are held to no distance: the rows need not show it.
    confidential = [c for c in by_name.values() if c.role is Role.CONFIDENTIAL and not c.noised]
    first = [by_name[name] for name in partition_by]
    return ColumnRoles((*first, *quasi), tuple(confidential), partition_by)


def released_columns(paths: list[Location], roles: ColumnRoles) -> tuple[Column, ...]:
    """The confidential columns, with the types that they have in the files."""
    schema = _read_schema(paths[0]) if paths else pa.schema([])
    types = [plain_type(schema.field(column.name).type) for column in roles.confidential]
    return tuple(map(as_column, roles.confidential, types))


def check_roles(roles: ColumnRoles, stated: Privacy, *, has_files: bool) -> None:
    """See that a manifest has quasi-identifiers, and a t for each confidential attribute alone.

    Raises
    ------
    MalformedError
        It describes no release.
    """
    if not roles.class_columns:
        raise MalformedError("no quasi-identifiers")
    if set(stated.t) != {column.name for column in roles.confidential}:
        raise MalformedError("t of other columns than the confidential ones")
    if roles.confidential and not has_files:
        raise MalformedError("no files")


def _read_schema(path: Location) -> pa.Schema:
    with open_checked(path) as file:
        return file.schema


def read_class_columns(path: Location, roles: ColumnRoles) -> pa.Table:
    """The columns of a file that are checked, those in its folders' names among them.

    Texts stay in dictionaries: one that every row has may be long.
    """
    names = [c.name for c in roles.columns if c.name not in roles.partition_by]
    texts = [c.name for c in roles.columns if c.name in names and "string" in c.type]
    with open_checked(path, texts) as file:
        table, n_rows = file.read(names), file.n_rows
        table.validate(full=True)  # indices into dictionaries are as they are in the file
    if len(table) != n_rows:
        raise MalformedError("a file has other rows than its footer says")
    _check_values(table)
    folders = path.parts[-1 - len(roles.partition_by) : -1] if roles.partition_by else ()
    for column, folder in zip(roles.class_columns, folders, strict=False):
        name, _, text = folder.partition("=")
        if unquote(name) != column.name:
            raise MalformedError("folders of other columns")
        with refusing_content(path.name):
            value = pa.scalar(unquote(text)).cast(folder_type(column.type))
        if folder != folder_name(column.name, value.as_py()):  # or readers find two values
            raise MalformedError("folders whose names are spelled as no release's are")
        table = table.append_column(column.name, pa.repeat(value, len(table)))
    return table


def _check_values(table: pa.Table) -> None:
    """Refuse what no release has in a column that is checked.

    Raises
    ------
    MalformedError
        Missing values, or numbers that are not finite, or a zero below zero.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count:
            raise MalformedError(f"missing values in {name!r}")
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column)).as_py():
            raise MalformedError(f"numbers that are not finite in {name!r}")
        if pa.types.is_floating(column.type) and _has_negative_zero(column):
            raise MalformedError(f"-0.0 in {name!r}, which is another text than 0.0")


def _has_negative_zero(column: pa.ChunkedArray) -> bool:
    numbers = column.to_numpy()
    return bool((np.signbit(numbers) & (numbers == 0)).any())


def _is_listed(column: ReleasedColumn) -> bool:
    """Return whether values compare by their index in a list: text, booleans, ordered values."""
    listed = (Kind.NOMINAL, Kind.BOOLEAN, Kind.ORDINAL)
    return column.kind in listed or column.generalised


def survey_files(
    paths: list[Location], roles: ColumnRoles
) -> tuple[dict[str, pa.Array], tuple[Distribution, ...]]:
    """Pass over all files: the values of listed columns, and the confidential distributions."""
    listed_counts: dict[str, Counter[Any]] = {
        c.name: Counter() for c in roles.columns if _is_listed(c)
    }
    counts: dict[str, list[ValueCounts]] = {c.name: [] for c in roles.confidential}
    types: dict[str, pa.DataType] = {}
    for path in paths:
        table = read_class_columns(path, roles)
        for name, values in listed_counts.items():
            counted = widen_decimals(table[name].combine_chunks()).value_counts()
            pairs = zip(to_values(counted.field("values")), counted.field("counts"), strict=True)
            values.update({value: count.as_py() for value, count in pairs})
            types[name] = plain_type(table[name].type)
        for column in roles.confidential:
            if column.kind is not Kind.NOMINAL:
                counts[column.name].append(count_values(_confidential_keys(table, column)))
    orders = {c.name: None if c.generalised else c.order for c in roles.columns}
    categories = {
        name: pa.array(_in_order(set(values), orders[name]), type=types[name])
        for name, values in listed_counts.items()
    }
    distributions = []
    for column in roles.confidential:
        name = column.name
        if column.kind is Kind.NOMINAL:
            distributions.append(
                _nominal_distribution(column, categories[name], listed_counts[name])
            )
        else:
            merged = merge_counts(counts[name])
            distribution = make_distribution(merged.values, merged.counts)
            typed = as_column(column, types.get(name))
            with refusing_misfits():
                distributions.append(with_metric(distribution, typed, ()))
    return categories, tuple(distributions)


def _nominal_distribution(
    column: ReleasedColumn, categories: pa.Array, counts: Counter[Any]
) -> Distribution:
    values = to_values(categories)
    distribution = make_distribution(np.arange(len(values)), np.array([counts[v] for v in values]))
    typed = as_column(column, categories.type)
    with refusing_misfits():
        return with_metric(distribution, typed, [str(v) for v in values])


def as_column(column: ReleasedColumn, dtype: pa.DataType | None = None) -> Column:
    """The column that the manifest describes, with its distance: its kind's where none is named."""
    attribute = Attribute(
        column.name,
        Role.CONFIDENTIAL,
        order=tuple(column.order or ()),
        distance=column.distance,
        taxonomy=tuple(tuple(row) for row in column.taxonomy),
    )
    typed = Column(attribute, column.kind, dtype or pa.null())
    if typed.kind is Kind.NOMINAL and typed.distance is Distance.ORDERED:
        raise MalformedError(f"an ordered distance of {typed.name!r}, which has no order")
    if typed.attribute.taxonomy and typed.kind is not Kind.NOMINAL:
        raise MalformedError(f"a taxonomy of {typed.name!r}, which is not nominal")
    return typed


def _in_order(values: set[Any], order: list[str] | None) -> list[Any]:
    if order is None:
        return sorted(values)
    place = _rank(order, values)
    return sorted(values, key=lambda value: place[str(value)])


def _rank(order: list[str], values: Iterable[Any]) -> dict[str, int]:
    """Places in an order, which has to have all of the values."""
    place = {text: rank for rank, text in enumerate(order)}
    if not all(str(value) in place for value in values):
        raise MalformedError("values that their order does not have")
    return place


def _confidential_keys(table: pa.Table, column: ReleasedColumn) -> Keys:
    """Keys in the order of the values; ordinal ones by the order that the manifest gives."""
    values = table[column.name].combine_chunks()
    if column.kind is not Kind.ORDINAL:
        return _number_keys(values, column.name)
    listed = widen_decimals(values).dictionary_encode()
    texts = listed.dictionary.to_pylist()
    place = _rank(column.order or [], texts)
    ranks = np.array([place[str(text)] for text in texts], np.int64)
    return cast(Keys, ranks[listed.indices.to_numpy(zero_copy_only=False)])


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file: class keys, one array per column (n,), and confidential codes (p, n)."""

    keys: list[Keys]
    codes: Int64


def encode_files(
    paths: list[Location],
    roles: ColumnRoles,
    categories: dict[str, pa.Array],
    distributions: tuple[Distribution, ...],
) -> Iterator[Rows]:
    """The rows of each file, in the files' order."""
    for path in paths:
        table = read_class_columns(path, roles)
        keys = [_class_keys(table, column, categories) for column in roles.class_columns]
        codes = [
            _class_keys(table, column, categories)
            if column.kind is Kind.NOMINAL
            else np.searchsorted(distribution.values, _confidential_keys(table, column))
            for column, distribution in zip(roles.confidential, distributions, strict=True)
        ]
        yield Rows(keys, np.array(codes, dtype=np.int64).reshape(len(codes), len(table)))


def _class_keys(table: pa.Table, column: ReleasedColumn, categories: dict[str, pa.Array]) -> Keys:
    values = table[column.name].combine_chunks()
    if column.name in categories:
        listed = widen_decimals(values).dictionary_encode()
        places = pc.index_in(listed.dictionary, value_set=widen_decimals(categories[column.name]))
        of_texts = places.to_numpy(zero_copy_only=False).astype(np.int64)
        return cast(Keys, of_texts[listed.indices.to_numpy(zero_copy_only=False)])
    return _number_keys(values, column.name)


def _number_keys(values: pa.Array, name: str) -> Keys:
    with refusing_misfits():  # as integers beyond 64 bits
        return to_keys(values, name)
