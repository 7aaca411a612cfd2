"""The rows of a release, read file by file; columns in folders' names among them."""

from urllib.parse import unquote

import pyarrow as pa

from tclose.data.arrow_errors import refusing_arrow
from tclose.data.formats.released_file import open_released
from tclose.data.keys import folder_type
from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError
from tclose.errors import OutputError
from tclose.releases.manifest.public_manifest import Manifest


def read_released(release: Location, manifest: Manifest) -> pa.Table:
    """All rows, in their canonical order."""
    files = [entry.path for entry in manifest.files]
    return pa.concat_tables([read_released_file(release, manifest, file) for file in files])


def read_released_file(release: Location, manifest: Manifest, file: str) -> pa.Table:
    """The rows of one file: columns in the order of the manifest.

    Raises
    ------
    OutputError
        It is gone, or damaged.
    """
    table = _read(release, file)
    types = {column.name: column.type for column in manifest.columns}
    for folder in file.split("/")[1:-1]:
        name, _, text = folder.partition("=")
        value = pa.scalar(unquote(text)).cast(folder_type(types[unquote(name)]))
        table = table.append_column(unquote(name), pa.repeat(value, len(table)))
    return table.select([name for name in types if name in table.column_names])


def released_schema(release: Location, manifest: Manifest) -> pa.Schema:
    """Names and types of the released columns."""
    first = manifest.files[0].path
    return read_released_file(release, manifest, first).slice(0, 0).schema


def _read(release: Location, file: str) -> pa.Table:
    refusal = OutputError(
        f"{release}: {file} is gone or damaged; audit the release, and publish it again"
    )
    with (
        refusing_arrow(refusal, OSError, MalformedError),
        open_released(release / file) as released,
    ):
        return released.read()
