"""A release as everybody who gets it reads it: its rows' classes and confidential values.

A folder is a release of tclose, whose manifest says which columns are what; a Parquet or CSV file
is a table that any tool made, in which the policy of the originals says it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tclose.assess.any_table import code_values_apart
from tclose.assess.auditing.released_rows import column_roles, read_class_columns
from tclose.assess.linkage import find_points
from tclose.data.arrow_errors import refusing_arrow
from tclose.data.keys import is_number, is_text
from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError
from tclose.errors import DataError, OutputError
from tclose.model.array_types import Int64
from tclose.model.counted_words import count_words
from tclose.policy.policy import Policy
from tclose.policy.suggest.csv_dialect import detect_delimiter
from tclose.releases.catalog.catalog import find_release
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.repository.repository import read_manifest

TABLES = (".parquet", ".csv")
_HEAD_BYTES = 1 << 20
_CODE = r"^[+-]?0\d"  # numbers with leading zeros are texts


@dataclass(frozen=True, eq=False)
class Published:
    """A published table.

    ``place``: what to call it; ``quasi``: the released quasi-identifiers of each class, (c,) rows;
    ``class_of`` int64 (n,): the class of each row; ``confidential``: the values of each row;
    ``release``, ``manifest``: None for a table of another tool.
    """

    place: str
    quasi: pa.Table
    class_of: Int64
    confidential: pa.Table
    release: Location | None = None
    manifest: Manifest | None = None

    @property
    def n_classes(self) -> int:
        """Classes of rows that are released alike."""
        return len(self.quasi)


def read_published(place: Location, policy: Policy) -> Published:
    """Read a release, or a table whose columns the policy names.

    Raises
    ------
    OutputError
        There is neither.
    DataError
        It cannot be read, or lacks columns.
    """
    if place.name.lower().endswith(TABLES):
        return _read_table(place, policy)
    return replace(read_release(find_release(place)), place=str(place))


def read_release(release: Location) -> Published:
    """Read a release by its own folder.

    Raises
    ------
    OutputError
        It has no manifest.
    DataError
        It cannot be read, or has no classes.
    """
    manifest = read_manifest(release)
    if manifest is None:
        raise OutputError(f"{release}: its manifest cannot be read; run `tclose audit` on it")
    roles = column_roles(manifest)
    try:
        pieces = [read_class_columns(release / file.path, roles) for file in manifest.files]
    except MalformedError as error:
        raise DataError(f"{release}: {error}; run `tclose audit` on it") from None
    if not pieces or not roles.class_columns:
        raise DataError(f"{release}: has no classes; run `tclose audit` on it")
    quasi = [column.name for column in roles.class_columns]
    confidential = [c.name for c in roles.confidential if not c.bucketed]
    table = pa.concat_tables(piece.unify_dictionaries() for piece in pieces)
    return _sort_out(str(release), table, quasi, confidential, (release, manifest))


def _read_table(place: Location, policy: Policy) -> Published:
    names = {role: _names_of(policy, role) for role in ("quasi-identifier", "confidential")}
    refusal = DataError(f"{place}: cannot be read as Parquet or CSV; name another file")
    with refusing_arrow(refusal, OSError, UnicodeDecodeError), place.open("rb") as stream:
        is_csv = place.name.lower().endswith(".csv")
        listed = [*names["quasi-identifier"], *names["confidential"]]
        table = _read_csv(stream.read(), listed) if is_csv else _read_parquet(stream)
    absent = [n for n in (*names["quasi-identifier"], *policy.output.partition_by)
              if n not in table.column_names]  # fmt: skip
    if absent:
        raise DataError(
            f"{place}: has no column {absent[0]!r}, which the policy of its originals calls a "
            "quasi-identifier; correct the policy or the table"
        )
    if not len(table):
        raise DataError(f"{place}: has no records")
    _refuse_gaps(place, table, names["quasi-identifier"])
    present = [name for name in names["confidential"] if name in table.column_names]
    return _sort_out(str(place), table, names["quasi-identifier"], present, (None, None))


def _read_parquet(stream: BinaryIO) -> pa.Table:
    """Read Parquet in this thread: one of Arrow's that is still there aborts what ends then."""
    with pq.ParquetFile(stream, pre_buffer=False) as parquet:
        return parquet.read(use_threads=False)


def _read_csv(content: bytes, names: Sequence[str]) -> pa.Table:
    """Read CSV as originals are: empty fields lack values, numbers with leading zeros are codes.

    Whatever cuts its fields.
    """
    head = content[:_HEAD_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    parsing = pa_csv.ParseOptions(delimiter=detect_delimiter(head))
    table = pa_csv.read_csv(pa.BufferReader(content), parse_options=parsing)
    read = [name for name in names if name in table.column_names]
    if not read:
        return table
    as_texts = pa_csv.ConvertOptions(
        include_columns=read,
        column_types=dict.fromkeys(read, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
    )
    texts = pa_csv.read_csv(
        pa.BufferReader(content), parse_options=parsing, convert_options=as_texts
    )
    for name in read:
        is_code = pc.any(pc.match_substring_regex(texts[name], _CODE)).as_py()
        if is_text(table[name].type) or (is_number(table[name].type) and is_code):
            place = table.column_names.index(name)
            table = table.set_column(place, name, texts[name])
    return table


def _refuse_gaps(place: Location, table: pa.Table, quasi: Sequence[str]) -> None:
    """Refuse rows without a value, which are near nothing and cover nothing.

    Raises
    ------
    DataError
    """
    for name in quasi:
        n_gaps = int(pc.sum(pc.is_null(table[name], nan_is_null=True)).as_py() or 0)
        if n_gaps:
            raise DataError(
                f"{place}: {count_words(n_gaps, 'row has', 'rows have')} no value in column "
                f"{name!r}; where values were "
                "suppressed write *, as of any value"
            )


def _names_of(policy: Policy, role: str) -> list[str]:
    return [name for name, settings in policy.attributes.items() if settings.role == role]


def _sort_out(
    place: str,
    table: pa.Table,
    quasi: Sequence[str],
    confidential: Sequence[str],
    release: tuple[Location | None, Manifest | None],
) -> Published:
    codes = [code_values_apart(table[name], name) for name in quasi]
    points, class_of, _ = find_points(codes)
    first = np.full(points[0].size, len(table), dtype=np.int64)
    np.minimum.at(first, class_of, np.arange(len(table)))
    return Published(
        place, table.select(list(quasi)).take(pa.array(first)), class_of,
        table.select(list(confidential)), *release,
    )  # fmt: skip
