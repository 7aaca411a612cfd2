"""The files of a release as far as their schemas tell: columns, rows, and nothing beside them.

They are read by others than who wrote them, so whether their rows fit in memory is asked first.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import pyarrow as pa

from tclose.data.formats.format_registry import find_format
from tclose.data.formats.released_file import ReleasedFile, open_released
from tclose.data.keys import natural_kind, plain_type
from tclose.data.places.locations import Location
from tclose.data.places.process_limits import machine_memory
from tclose.data.places.untrusted_files import MalformedError
from tclose.model.counted_words import count_words
from tclose.releases.manifest.public_manifest import Manifest

_BYTES_PER_VALUE = 24  # of a column that is checked: the value, its key, and a copy of one


@contextmanager
def refusing_content(file_name: str) -> Iterator[None]:
    """Turn what Arrow says of a file that is not of its format into `MalformedError`.

    An error of the system, as a disk's, and one of memory stay what they are.
    """
    title = find_format(file_name).title
    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError):
        raise MalformedError(f"cannot be read as {title}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise MalformedError(f"cannot be read as {title}") from None


@contextmanager
def open_checked(location: Location, listed: Collection[str] = ()) -> Iterator[ReleasedFile]:
    """Open a file of a release; one that is not of its format is a `MalformedError`."""
    with refusing_content(location.name), open_released(location, listed) as released:
        yield released


def check_data_files(release: Location, manifest: Manifest) -> list[str]:
    """Check that each file has exactly the columns and rows that the manifest names.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    findings = []
    for entry in manifest.files:
        try:
            with open_checked(release / entry.path) as file:
                wrong = _check_file(file, entry.rows, manifest)
        except MalformedError as error:
            wrong = [str(error)]
        findings += [f"{entry.path}: {what}" for what in wrong]
    return findings


def _check_file(file: ReleasedFile, n_rows: int, manifest: Manifest) -> list[str]:
    inside = [c for c in manifest.columns if c.name not in manifest.partition_by]
    schema = file.schema
    findings = []
    if [(field.name, str(field.type)) for field in schema] != [
        (column.name, column.type) for column in inside
    ]:
        findings.append("its columns are not those of the manifest")
    if any(natural_kind(field.type) is None or not _is_plain(field.type) for field in schema):
        findings.append("has columns of types that no release has")
    findings += file.find_extras()
    if file.n_rows != n_rows:
        findings.append(
            f"has {count_words(file.n_rows, 'row')}, not the {n_rows:,} of the manifest"
        )
    if not file.n_rows:  # which whoever reads classes of rows relies on
        findings.append("has no rows, as no file of a release")
    if n_rows * len(manifest.columns) * _BYTES_PER_VALUE > machine_memory():
        findings.append(f"{n_rows:,} rows are more than this machine has the memory to check")
    return findings


def _is_plain(dtype: pa.DataType) -> bool:
    return bool(plain_type(dtype) == dtype)
