"""The JSON Schema of a public manifest, with what the models' sources say of each key."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tclose.releases.manifest.public_manifest import SCHEMA_ID, Manifest
from tclose.releases.manifest.sections import Section


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``manifest.json``."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID}
    schema = head | Manifest.model_json_schema()
    _describe(Manifest, schema)
    for section in _derived(Section):
        if section.__name__ in schema["$defs"]:
            _describe(section, schema["$defs"][section.__name__])
    return schema


def _derived(section: type[Section]) -> Iterator[type[Section]]:
    for derived in section.__subclasses__():
        yield derived
        yield from _derived(derived)


def _describe(section: type[Section], schema: dict[str, Any]) -> None:
    """Give the keys of a section the docstrings of its fields.

    Pydantic can do so while it makes the class, but reads the source for that, in every process.
    """
    for owner in reversed(section.__mro__):
        if issubclass(owner, Section) and owner is not Section:
            for field, text in _read_docstrings(owner):
                key = section.model_fields[field].alias or field
                schema["properties"][key].setdefault("description", text)


def _read_docstrings(section: type[Section]) -> Iterator[tuple[str, str]]:
    """Yield fields, and the texts below them in the source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(section)))
    assert isinstance(tree.body[0], ast.ClassDef)
    body = tree.body[0].body
    for field, below in pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(t))
            ):
                yield name, inspect.cleandoc(t)
