"""A policy's document: read from YAML, its keys overridden; what they mean is not known here."""

import re
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import PolicyError, UsageError


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error: a column has one role."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int | float | bool) and key in seen:
                line = key_node.start_mark.line + 1
                raise PolicyError(f"key {key!r} stands twice (line {line}); say it once")
            seen.add(key if isinstance(key, str | int | float | bool) else repr(key))
        return super().construct_mapping(node, deep=deep)


def read_yaml(text: str) -> Any:
    """Parse YAML; a scalar that looks like a date but is none is an error of its syntax too."""
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise PolicyError(f"not valid YAML{where}; mend it") from None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "not UTF-8 text"


_KEY_PART = re.compile(r'"([^"]*)"|([^."]+)')

_KEY = re.compile(r'("[^"]*"|[^."]+)(\.("[^"]*"|[^."]+))*')


def read_document(path: str | Path) -> Any:
    """The document of a policy file.

    Raises
    ------
    PolicyError
        No such file, or no YAML.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"policy {path}: cannot be read ({_reason(error)})") from None
    try:
        return read_yaml(text)
    except PolicyError as error:
        raise PolicyError(f"policy {path}: {error}") from None


def override_key(document: dict[str, Any], override: str) -> dict[str, Any]:
    """Apply ``a.b=value``; a part with dots in it stands in double quotes.

    Raises
    ------
    UsageError
        It is no such text.
    """
    key, equals, text = override.partition("=")
    parts = [quoted or plain for quoted, plain in _KEY_PART.findall(key)]
    if not equals or not _KEY.fullmatch(key):
        raise UsageError(f"--set {override}: has to be key=value, as in privacy.t=0.05")
    try:
        value = read_yaml(text)
    except PolicyError as error:
        raise UsageError(f"--set {key}: {error}") from None
    return _replaced(document, parts, value, override)


def _replaced(node: Any, parts: list[str], value: Any, override: str) -> dict[str, Any]:
    if isinstance(node, str):
        node = {"role": node}  # an attribute in its short form
    if not isinstance(node, dict | None):
        raise UsageError(f"--set {override}: {parts[0]!r} has no keys below it")
    node = dict(node or {})
    deeper = len(parts) > 1
    node[parts[0]] = _replaced(node.get(parts[0]), parts[1:], value, override) if deeper else value
    return node
