"""The release as a Data Package (version 2 of the standard): one tabular resource for each file.

Everything in it is taken from the public manifest.
"""

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
        "created": manifest.published_at,
    }
    if apart:
        package["partitionFields"] = [fields[name] for name in apart]
    resources = [_describe_file(i, file, inside) for i, file in enumerate(manifest.files)]
    return package | {"resources": resources}


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
    if column.order is not None and field["type"] == "string" and not column.generalised:
        field |= {"categories": list(column.order), "categoriesOrdered": True}
    return field


def field_type(arrow_type: str) -> str:
    """The Table Schema's name of an Arrow type: ``any`` where it has none."""
    beginnings = [start for start in _FIELD_TYPES if arrow_type.startswith(start)]
    return _FIELD_TYPES[max(beginnings, key=len)] if beginnings else "any"
