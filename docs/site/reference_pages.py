"""A hook of mkdocs: two pages of reference, made of the policy's JSON Schema and of docstrings.

They are pages of the site alone, beside the copy of the pages that ``stage_pages`` makes.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

import tclose
from tclose.policy.policy import policy_schema

_MADE = "*Made from {source} when the site is built.*"
_HEADINGS = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
Schema = dict[str, Any]


def on_config(config: Any) -> Any:
    """Write the pages into the folder that mkdocs reads."""
    folder = Path(config.docs_dir) / "docs"
    (folder / "reference-policy.md").write_text(describe_policy(policy_schema()), encoding="utf-8")
    (folder / "reference-python.md").write_text(describe_python(), encoding="utf-8")
    return config


def describe_policy(schema: Schema) -> str:
    """Every key of a policy, section by section: what it says, its values, default, an example."""
    said = _MADE.format(source="`tclose schema`")
    parts = [
        "# All keys of a policy",
        f"{said} [The policy](policy.md) explains them in their order, with examples.",
    ]
    for path, form in _list_sections("", schema, schema["$defs"]):
        name = f"`{path}`" if path else "Top level"
        parts.append(f"## {name}\n\n{_escape(form.get('description', ''))}")
        parts.append(_describe_keys(form, schema["$defs"]))
    return "\n\n".join(parts) + "\n"


def _list_sections(path: str, schema: Schema, known: Schema) -> Iterator[tuple[str, Schema]]:
    """Sections below a schema that have keys: their dotted path, and the form that has these."""
    for form in _resolve(schema, known):
        keys = form.get("properties", {})
        if keys:
            kind = keys.get("name", {}).get("const", "")
            here = f"{path}, name: {kind}" if kind else path
            yield here, form
            for key, value in keys.items():
                yield from _list_sections(f"{path}.{key}" if path else key, value, known)
        if form.get("items"):
            yield from _list_sections(f"{path}[]", form["items"], known)
        if isinstance(form.get("additionalProperties"), dict):
            yield from _list_sections(f"{path}.COLUMN", form["additionalProperties"], known)


def _resolve(schema: Schema, known: Schema) -> Iterator[Schema]:
    """The forms that a value can have, with references followed."""
    if "$ref" in schema:
        yield from _resolve(known[schema["$ref"].split("/")[-1]], known)
        return
    forms = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if not forms:
        yield schema
    for form in forms:
        yield from _resolve(form, known)


def _describe_keys(form: Schema, known: Schema) -> str:
    rows = ["| key | what it says | values | for example |", "|---|---|---|---|"]
    for key, value in form["properties"].items():
        kinds = dict.fromkeys(_name_values(one) for one in _resolve(value, known))
        values = " or ".join(kind for kind in kinds if kind)
        default = value.get("default")
        if key in form.get("required", []):
            values += "; required"
        elif not isinstance(default, dict) and _write(default):
            values += f"; default {_write(default)}"
        example = _write(next(iter(value.get("examples", [])), None))
        rows.append(f"| `{key}` | {_escape(value.get('description', ''))} | {values} | {example} |")
    return "\n".join(rows)


def _name_values(form: Schema) -> str:
    """What a form takes, in words; empty for nothing at all."""
    if "const" in form or "enum" in form:
        return ", ".join(_write(one) for one in form.get("enum", [form.get("const")]))
    kind = form.get("type", "")
    if kind == "null":
        return ""
    limits = {"exclusiveMinimum": "above", "minimum": "from", "maximum": "to",
              "exclusiveMaximum": "below"}  # fmt: skip
    range_ = " ".join(f"{words} {form[key]}" for key, words in limits.items() if key in form)
    names = {"string": "text", "object": "section", "array": "list", "boolean": "true, false"}
    return f"{names.get(kind, kind)} {range_}".strip()


def _write(value: Any) -> str:
    """A value as a policy has it; empty for none."""
    if value is None or value in ([], {}):
        return ""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    said = text.removesuffix("...\n").strip().replace("|", "\\|")
    return f"`{said}`"


def _escape(text: str) -> str:
    """Text as a cell of a table: braces, stars and brackets stay what they are."""
    return re.sub(r"([|*_<>\[\]{}])", r"\\\1", " ".join(text.split()))


def describe_python() -> str:
    """Every public name: its signature and docstring, with those of its public parts."""
    said = _MADE.format(source="the docstrings of `tclose`")
    parts = [
        "# All of the Python API",
        f"{said} [tclose from Python](python.md) says how the parts go together.",
    ]
    for name in sorted(set(tclose.__all__) - {"__version__"}, key=_place):
        value = getattr(tclose, name)
        parts.append(f"## `{name}`")
        if not inspect.isclass(value):
            parts.append(f"```python\n{name}{_sign(value)}\n```")
        parts.append(_format_docstring(inspect.getdoc(value) or ""))
        if inspect.isclass(value) and not issubclass(value, (Exception, tclose.Policy)):
            parts += _describe_members(name, value)
    return "\n\n".join(parts) + "\n"


def _place(name: str) -> tuple[bool, bool, str]:
    """Functions first, then values, then errors."""
    value = getattr(tclose, name)
    is_class = inspect.isclass(value)
    return is_class, is_class and issubclass(value, Exception), name


def _describe_members(name: str, value: type) -> Iterator[str]:
    for member, part in vars(value).items():
        if member.startswith("_") or not (callable(part) or isinstance(part, property)):
            continue
        signature = "" if isinstance(part, property) else _sign(part)
        yield f"### `{name}.{member}`"
        if signature:
            yield f"```python\n{name}.{member}{signature}\n```"
        yield _format_docstring(inspect.getdoc(part) or "")


def _sign(function: Any) -> str:
    """Parameters and defaults; types are in the docstring."""
    parameters = inspect.signature(function).parameters.values()
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    return str(inspect.Signature([one for one in plain if one.name != "self"]))


def _format_docstring(text: str) -> str:
    """A docstring of the numpy convention as Markdown."""
    first, *rest = _HEADINGS.split(text)
    parts = [_code(first.strip())]
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(f"**{heading}**")
        parts.append("\n".join(_list_entries(inspect.cleandoc(body))))
    return "\n\n".join(parts)


def _list_entries(body: str) -> Iterator[str]:
    """Names with their types, and what is indented below each, as a list."""
    for entry in re.split(r"\n(?=\S)", body):
        head, _, said = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        written = ", ".join(f"`{one.strip(' `')}`" for one in names.split(","))
        line = f"{written} ({_code(kind)})" if kind else written
        words = " ".join(said.split())
        yield f"- {line}: {_code(words)}" if words else f"- {line}"


def _code(text: str) -> str:
    return text.replace("``", "`")
