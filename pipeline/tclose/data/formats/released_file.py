"""A file of a release that is read, whatever its format."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from tclose.data.formats.format_registry import find_format
from tclose.data.places.locations import Location


class ReleasedFile(ABC):
    """A released file that is open for reading; rows come in chunks, as they were written.

    Errors of Arrow and of the system are those of a damaged file.
    """

    schema: pa.Schema
    n_rows: int
    n_chunks: int

    @abstractmethod
    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """The rows: of these columns, in this order, or all."""

    @abstractmethod
    def read_chunk(
        self, number: int, names: Sequence[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a chunk, about so many at a time."""

    @abstractmethod
    def find_extras(self) -> list[str]:
        """List the file's content besides its rows and their schema, as in "has metadata"."""


@contextmanager
def open_released(location: Location, listed: Collection[str] = ()) -> Iterator[ReleasedFile]:
    """Open a file of a release in its format.

    Parameters
    ----------
    listed : columns of texts that are read as dictionaries, if the format can

    Raises
    ------
    NotInstalledError
        No registered format has such files.
    OSError, pyarrow.ArrowException
        It cannot be read.
    """
    output_format = find_format(location.name)
    with location.open("rb") as stream, output_format.open(stream, listed) as released:
        yield released
