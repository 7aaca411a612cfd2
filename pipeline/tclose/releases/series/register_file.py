"""The register of a release: in which class each of its persons is, with what values.

It is a private file below ``internal/``, so that it appears with the release in one step. Persons
are keyed hashes: without the release key nobody can tell whether somebody is in it. Its digest is
in the internal manifest, which is sealed. Rows are in the order of the released ones.
"""

import hashlib
import io
import json
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tclose.data.places.locations import internal_of
from tclose.data.places.untrusted_files import MalformedError, read_bounded
from tclose.errors import ForbiddenError, OutputError
from tclose.model.array_types import Int32, Int64, Integers
from tclose.model.distribution import Distribution, TreeMetric
from tclose.releases.series.series_history import SeriesRelease
from tclose.releases.signatures.seals import REGISTER_FILE

VERSION = 1
_MOST_BYTES = 1 << 36
_ROWS = 1 << 16  # of a row group, which is all that is made or read at once
_ABOUT = b"tclose"
NOBODY = np.empty((0, 2), dtype=np.uint64)


@dataclass(frozen=True)
class Centre:
    """The form in which classes release a quasi-identifier, where the table decides it.

    ``aggregate``: of a number, None if it is the usual one; ``order``: keyed hashes of the
    categories, as hexadecimal digits, the one first that wins a tie.
    """

    name: str
    aggregate: str | None
    order: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ValueSpace:
    """The values of a confidential attribute: how many there are, and how far from each other.

    ``metric``: None of values that are as far from each other as their order says.
    """

    n_values: int
    metric: TreeMetric | None = None


@dataclass(frozen=True, eq=False)
class ReleasedPersons:
    """The persons of a release, row by row in its order.

    ``release``: its name and id; ``hashes`` uint64 (n, 2); ``classes`` (n,);
    ``attributes``: names of the confidential ones; ``limits``: the t that each is held to over
    time; ``codes`` (p, n): values as positions in their ``spaces``;
    ``forgotten`` uint64 (f, 2): hashes of persons who are left out of later releases, as whose rows
    they were is not to be known any more; ``key_id``: of the key of the hashes, empty if the
    register does not say; ``stale`` (n,): for how many releases the row has been held since its
    person left, 0 of others, and empty if no row is held; ``centres``: of the quasi-identifiers,
    none if the register does not say. Integers are int32, as in the file, or int64.
    """

    release: str
    hashes: NDArray[np.uint64]
    classes: Integers
    attributes: tuple[str, ...]
    limits: tuple[Fraction, ...]
    codes: Integers
    spaces: tuple[ValueSpace, ...]
    forgotten: NDArray[np.uint64] = field(default_factory=lambda: NOBODY)
    key_id: str = ""
    stale: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    centres: tuple[Centre, ...] = ()

    @property
    def tables(self) -> tuple[Distribution, ...]:
        """The distributions of the release, counted from its rows."""
        pairs = zip(self.codes, self.spaces, strict=True)
        return tuple(tabulate(codes, space.n_values, space.metric) for codes, space in pairs)


def tabulate(codes: Integers, n_values: int, metric: TreeMetric | None = None) -> Distribution:
    """The distribution of all rows over values that are told apart by their positions alone."""
    return tabulate_counts(np.bincount(codes, minlength=n_values), metric)


def tabulate_counts(counts: Int64, metric: TreeMetric | None = None) -> Distribution:
    """The same of the rows that have each value, int64 (m,)."""
    cumulative = np.cumsum(counts, dtype=np.int64)
    prefix = np.concatenate([np.zeros(1, np.int64), np.cumsum(cumulative, dtype=np.int64)])
    return Distribution(np.arange(counts.size), cumulative, prefix, metric)


def write_register(persons: ReleasedPersons) -> bytes:
    """The bytes of a register, the same for the same persons."""
    columns: dict[str, np.ndarray] = {
        "person_high": persons.hashes[:, 0],
        "person_low": persons.hashes[:, 1],
        "class": persons.classes.astype(np.int32, copy=False),
    }
    columns |= {
        f"value{a}": codes.astype(np.int32, copy=False) for a, codes in enumerate(persons.codes)
    }
    if persons.stale.any():
        columns["stale"] = persons.stale.astype(np.int32)
    described = [
        {"name": name, "t": str(limit), "values": space.n_values} | _describe(space.metric)
        for name, limit, space in zip(
            persons.attributes, persons.limits, persons.spaces, strict=True
        )
    ]
    about: dict[str, Any] = {"version": VERSION, "release": persons.release}
    about["attributes"] = described
    if persons.key_id:
        about["key_id"] = persons.key_id
    if persons.centres:
        about["centres"] = [asdict(centre) for centre in persons.centres]
    if len(persons.forgotten):
        about["forgotten"] = [row.tobytes().hex() for row in persons.forgotten]
    return _write_rows(columns, {_ABOUT: json.dumps(about)})


def _write_rows(columns: dict[str, np.ndarray], metadata: dict[bytes, str]) -> bytes:
    """The bytes of a Parquet file; hashes hardly occur twice, and so are in no dictionary."""
    schema = pa.table({name: column[:0] for name, column in columns.items()}).schema
    repeated = [name for name in columns if not name.startswith("person")]
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink, schema.with_metadata(metadata), compression="zstd", use_dictionary=repeated
    ) as writer:
        for start in range(0, max(1, columns["class"].size), _ROWS):
            rows = {name: column[start : start + _ROWS] for name, column in columns.items()}
            writer.write_table(pa.table(rows).replace_schema_metadata(metadata))
    return sink.getvalue()


def _describe(metric: TreeMetric | None) -> dict[str, Any]:
    if metric is None:
        return {}
    return {
        "paths": metric.paths.tolist(),
        "weights": metric.numerators.tolist(),
        "denominator": metric.denominator,
        "below": metric.below.tolist(),
    }


def read_register(content: bytes) -> ReleasedPersons:
    """The persons of a release, from bytes whose digest was compared.

    Raises
    ------
    ValueError
        They are of another version, or no register.
    """
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        about = json.loads((file.schema_arrow.metadata or {})[_ABOUT])
        if about["version"] != VERSION:
            raise ValueError(f"is of version {about['version']}")
        described = about["attributes"]
        hashes, classes, codes, stale = _read_rows(file, len(described))
        return ReleasedPersons(
            release=about["release"],
            hashes=hashes,
            classes=classes,
            attributes=tuple(one["name"] for one in described),
            limits=tuple(Fraction(one["t"]) for one in described),
            codes=codes,
            spaces=tuple(ValueSpace(int(one["values"]), _metric(one)) for one in described),
            forgotten=_read_hashes(about.get("forgotten", [])),
            key_id=str(about.get("key_id", "")),
            stale=stale,
            centres=tuple(
                Centre(one["name"], one["aggregate"], tuple(one["order"]))
                for one in about.get("centres", [])
            ),
        )
    except MemoryError:  # which an exception of pyarrow can be; nothing is wrong with the file then
        raise
    except (KeyError, TypeError, pa.ArrowException) as error:
        raise ValueError("is no register") from error


def _read_hashes(texts: list[str]) -> NDArray[np.uint64]:
    return np.frombuffer(bytes.fromhex("".join(texts)), dtype=np.uint64).reshape(-1, 2)


def _read_rows(
    file: pq.ParquetFile, n_attributes: int
) -> tuple[NDArray[np.uint64], Int32, Int32, Int32]:
    """The hashes, classes, values and ages of all rows; a row group at a time is decoded."""
    n_rows, is_stale = file.metadata.num_rows, "stale" in file.schema_arrow.names
    hashes = np.empty((n_rows, 2), dtype=np.uint64)
    classes = np.empty(n_rows, dtype=np.int32)
    codes = np.empty((n_attributes, n_rows), dtype=np.int32)
    stale = np.empty(n_rows if is_stale else 0, dtype=np.int32)
    columns = {"person_high": hashes[:, 0], "person_low": hashes[:, 1], "class": classes}
    columns |= {f"value{a}": of_attribute for a, of_attribute in enumerate(codes)}
    columns |= {"stale": stale} if is_stale else {}
    start = 0
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, columns=[*columns])
        for name, column in columns.items():
            column[start : start + len(rows)] = rows[name].to_numpy()
        start += len(rows)
    return hashes, classes, codes, stale


def _metric(described: dict[str, Any]) -> TreeMetric | None:
    if "paths" not in described:
        return None
    return TreeMetric(
        np.array(described["paths"], dtype=np.int64),
        np.array(described["weights"], dtype=np.int64),
        described["denominator"],
        np.array(described["below"], dtype=np.int64),
    )


def load_register(release: SeriesRelease) -> ReleasedPersons:
    """Read the register of a release.

    Raises
    ------
    OutputError
        It is missing, or not as it was published.
    """
    where = f"release {release.name}: internal/{REGISTER_FILE}"
    try:
        place = internal_of(release.place) / REGISTER_FILE
        content = read_bounded(place, min(place.stat().st_size, _MOST_BYTES))
    except (OSError, MalformedError, ForbiddenError):
        raise OutputError(f"{where} is missing or cannot be read; put it back") from None
    if hashlib.sha256(content).hexdigest() != release.entry.register_sha256:
        raise OutputError(f"{where} is not as it was published; put it back")
    try:
        return read_register(content)
    except ValueError as error:
        raise OutputError(f"{where} {error}; read it by the version that wrote it") from None
