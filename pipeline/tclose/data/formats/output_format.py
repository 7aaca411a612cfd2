"""The protocol of an output format: its policy settings, and its writing and reading of files.

A format is one module: a class that derives from `OutputFormat`, has its keys as fields, and is
decorated with `tclose.data.formats.format_registry.register_format`. Its bytes are decided by the
rows, their chunks and its keys alone. The rest of the package knows files of a release by this
class only.
"""

import re
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, ClassVar

import pyarrow as pa
from pydantic import GetJsonSchemaHandler, ModelWrapValidatorHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tclose.data.formats.format_registry import DEFAULT_FORMAT, FORMATS
from tclose.data.formats.released_file import ReleasedFile
from tclose.data.widths import PassthroughWidths
from tclose.model.registry import Registrable, check_hooks

_SUFFIX = re.compile(r"[a-z0-9]+")  # as the manifest's `DataFile` has it


class OutputFormat(Registrable):
    """A format in which the files of a release are written and read."""

    suffix: ClassVar[str]
    """The suffix of file names, without the dot, by which a file's format is recognised."""
    media_type: ClassVar[str]
    title: ClassVar[str]
    """The name of the format in texts, as in "3 Parquet files"."""

    name: str = DEFAULT_FORMAT

    @model_validator(mode="wrap")
    @classmethod
    def _find_format(
        cls, value: Any, handler: ModelWrapValidatorHandler["OutputFormat"]
    ) -> "OutputFormat":
        """A format of any name where any is allowed; a text is a name."""
        document = {"name": value} if isinstance(value, str) else value
        if cls is not OutputFormat or not isinstance(document, Mapping):
            return handler(document)
        name = document.get("name", DEFAULT_FORMAT)
        format_class = FORMATS.find(name)
        if format_class is None:
            raise FORMATS.refuse_name(name, "OutputFormat")
        output_format: OutputFormat = format_class.model_validate(document)
        return output_format

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """One of the formats or its name, for editors."""
        if cls is not OutputFormat:
            return handler(schema)
        formats = FORMATS.classes()
        keys = [one.model_json_schema() for one in formats.values()]
        return {"oneOf": [{"enum": list(formats)}, *keys]}

    @classmethod
    def check_class(cls) -> None:
        """Refuse a class without what it has to define."""
        hooks = ["suffix", "media_type", "title", "rows_per_chunk", "write", "open"]
        check_hooks(cls, OutputFormat, hooks)
        if not _SUFFIX.fullmatch(str(cls.suffix)):
            raise ValueError(
                f"{cls.__name__}.suffix is {cls.suffix!r}; a manifest names files by small letters "
                "and digits after the dot"
            )

    @abstractmethod
    def rows_per_chunk(self, widths: PassthroughWidths) -> int:
        """Rows that are in memory together, in the writer and in readers of the file."""

    @abstractmethod
    def write(self, path: Path, chunks: Iterator[pa.Table]) -> None:
        """Write a file of tables that have `rows_per_chunk` rows each, but for the last one.

        Each table is to be given up before the next one is asked for.
        """

    @classmethod
    @abstractmethod
    def open(
        cls, source: Path | IO[bytes], listed: Collection[str] = ()
    ) -> AbstractContextManager[ReleasedFile]:
        """Open a file for reading.

        Parameters
        ----------
        listed : columns of texts that are read as dictionaries, if the format can
        """
