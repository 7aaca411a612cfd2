"""The release as a Data Package (version 2 of the standard): one tabular resource for each file.

Everything in it is taken from the public manifest.
"""

import re

from tclose.releases.manifest.figure_sections import About
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import DataFile, ReleasedColumn

JsonObject = dict[str, object]

PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"

# How the name of an Arrow type begins, and the type that the Table Schema has for it.
_FIELD_TYPES = {
    "int": "integer",
    "uint": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "string": "string",
    "large_string": "string",
    "date": "date",
    "timestamp": "datetime",
    "time": "time",
    "duration": "duration",  # as readers of Arrow's types have them
}


def describe_package(manifest: Manifest) -> JsonObject:
    """The content of ``datapackage.json``.

    Partition columns are no columns of the files, so they are described apart, in
    ``partitionFields``: a resource's path holds their values as ``name=value``.
    """
    fields = {column.name: describe_field(column) for column in manifest.columns}
    apart = list(manifest.partition_by)
    inside = [field for name, field in fields.items() if name not in apart]
    package: JsonObject = {
        "$schema": PROFILE,
        "name": manifest.name.lower(),
        "id": manifest.release_id,
        "title": manifest.name,
        # to the second, as the standard's pattern has it
        "created": manifest.published.isoformat(timespec="seconds"),
    }
    if manifest.about is not None:
        package |= describe_publisher(manifest.about)
    if apart:
        package["partitionFields"] = [fields[name] for name in apart]
    resources = [_describe_file(i, file, inside) for i, file in enumerate(manifest.files)]
    return package | {"resources": resources}


def describe_publisher(about: About) -> JsonObject:
    """Title, description, contributors, licence and citation, in the standard's properties.

    A licence is a name as in CC-BY-4.0, an address, or else a title of a custom one.
    """
    properties: JsonObject = {}
    for key in ("title", "description", "citation"):
        if (text := getattr(about, key)) is not None:
            properties[key] = text
    people: list[JsonObject] = []
    if about.publisher is not None:
        people.append({"title": about.publisher, "roles": ["publisher"]})
    if about.contact is not None:
        way = "email" if re.fullmatch(r"[^\s@]+@[^\s@]+", about.contact) else "title"
        people.append({way: about.contact, "roles": ["contact"]})
    if people:
        properties["contributors"] = people
    if about.licence is not None:
        properties["licenses"] = [_describe_licence(about.licence)]
    return properties


def _describe_licence(text: str) -> JsonObject:
    if re.fullmatch(r"https?://\S+", text):
        return {"path": text}
    if re.fullmatch(r"[A-Za-z0-9._-]+", text):
        return {"name": text}
    return {"name": "custom", "title": text}


def _describe_file(index: int, file: DataFile, fields: list[JsonObject]) -> JsonObject:
    from tclose.data.formats.format_registry import (
        find_format,  # slow to import, and for writing alone
    )

    output_format = find_format(file.path)
    return {
        "name": f"part-{index:05d}",
        "type": "table",
        "path": file.path,
        "format": output_format.suffix,
        "mediatype": output_format.media_type,
        "bytes": file.bytes,
        "hash": f"sha256:{file.sha256}",
        "rows": file.rows,
        "schema": {"fields": fields},
    }


def describe_field(column: ReleasedColumn) -> JsonObject:
    """A field of the Table Schema; the values of an ordered one that is released as it is."""
    field: JsonObject = {
        "name": column.name,
        "type": field_type(column.type),
        "description": f"{column.role}: {column.treatment}",
    }
    if column.label is not None:
        field["title"] = column.label
    if column.unit is not None:
        field["unit"] = column.unit
    if column.description is not None:
        field["description"] = f"{column.description} ({column.role}: {column.treatment})"
    if column.order is not None and field["type"] == "string" and not column.generalised:
        field |= {"categories": list(column.order), "categoriesOrdered": True}
    return field


def field_type(arrow_type: str) -> str:
    """The Table Schema's name of an Arrow type: ``any`` where it has none."""
    beginnings = [start for start in _FIELD_TYPES if arrow_type.startswith(start)]
    return _FIELD_TYPES[max(beginnings, key=len)] if beginnings else "any"
