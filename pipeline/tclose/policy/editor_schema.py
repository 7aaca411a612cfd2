"""The JSON Schema of a policy made complete for editors: every key has a description and examples.

A field says both itself where what it says cannot be seen from its type, its default or the section
that it leads to; the rest is filled in here. Limits that pydantic leaves beside a choice of types
are written in the words of JSON Schema.
"""

from collections.abc import Iterator, Mapping
from typing import Any

JsonSchema = dict[str, Any]

_LIMITS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}


def complete_for_editors(schema: JsonSchema, schema_id: str) -> JsonSchema:
    """The schema with an identifier, and with descriptions and examples of all of its keys.

    Parameters
    ----------
    schema : as pydantic makes it, in draft 2020-12; it is changed
    """
    sections = schema.get("$defs", {})
    for section in list(_sections(schema)):
        for key, described in section["properties"].items():
            for limit in (word for word in _LIMITS if word in described):
                described[_LIMITS[limit]] = described.pop(limit)
            described.setdefault("description", _describe(key, described, section, sections))
    for section in list(_sections(schema)):
        for described in section["properties"].values():
            described["examples"] = list(_examples(described, sections))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": schema_id}
    return head | schema


def _sections(node: Any) -> Iterator[JsonSchema]:
    """All parts of a schema that have keys."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield node
        for inner in node.values():
            yield from _sections(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _sections(inner)


def _describe(
    key: str, described: JsonSchema, section: JsonSchema, sections: Mapping[str, JsonSchema]
) -> str:
    """Return the words on what a key leads to; of a name with one value, on what that names."""
    named = section if "const" in described else _follow(described, sections)
    texts = (form.get("description") for form in (named, *named.get("anyOf", ())))
    return next((text for text in texts if text), key)


def _follow(described: JsonSchema, sections: Mapping[str, JsonSchema]) -> JsonSchema:
    """Return what a key may hold: a section of the schema, or what is written at its place."""
    forms = described.get("anyOf", [described])
    for form in forms:
        if "$ref" in form:
            return sections[form["$ref"].rpartition("/")[2]]
    return described


def _examples(described: JsonSchema, sections: Mapping[str, JsonSchema]) -> Iterator[Any]:
    """Examples of what a key may hold: those given, all of few values, the default, or a made one.

    A text without any of these has none.
    """
    target = sections[described["$ref"].rpartition("/")[2]] if "$ref" in described else described
    default = described.get("default")
    if "examples" in described:
        yield from described["examples"]
    elif "const" in target or "enum" in target:
        yield from target.get("enum", [target.get("const")])
    elif target.get("type") == "boolean":
        yield from (True, False)
    elif default not in (None, [], {}):
        yield default
    elif "anyOf" in target or "oneOf" in target:
        for form in (*target.get("anyOf", ()), *target.get("oneOf", ())):
            yield from _examples(form, sections)
    elif "properties" in target:
        yield _fill_section(target, sections)
    elif target.get("type") == "array":
        items = list(_examples(target["items"], sections))
        yield items[: max(1, target.get("minItems", 1))]
    elif target.get("type") in ("integer", "number"):
        yield _number(target)


def _fill_section(section: JsonSchema, sections: Mapping[str, JsonSchema]) -> JsonSchema:
    """A section with the keys that it needs, or its first one."""
    properties = section["properties"]
    keys = section.get("required") or list(properties)[:1]
    return {key: next(_examples(properties[key], sections)) for key in keys}


def _number(described: JsonSchema) -> int | float:
    """A number within the limits."""
    if "exclusiveMinimum" in described:
        low: int | float = described["exclusiveMinimum"]
        return (low + described["maximum"]) / 2 if "maximum" in described else low + 1
    low = described.get("minimum", 1)
    return int(low) if described["type"] == "integer" else float(low)
