"""A policy's document: read from YAML, its keys overridden; what they mean is not known here."""

import os
import re
from pathlib import Path
from typing import Any, cast

from tclose.errors import PolicyError, UsageError, name_kind
from tclose.policy.yaml_values import has_comment, read_yaml

_DELIMITERS = (",", "|")  # which YAML reads as marks of its own
_MOST_BYTES = 64 << 20  # of a policy's file: a device has no end


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "not UTF-8 text"


_KEY_PART = re.compile(r'"([^"]*)"|([^."]+)')

_KEY = re.compile(r'("[^"]*"|[^."]+)(\.("[^"]*"|[^."]+))*')


def read_document(path: str | os.PathLike[str]) -> Any:
    """The document of a policy file.

    Raises
    ------
    UsageError
        It is no path.
    PolicyError
        No such file, or no YAML.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"policy: is {name_kind(path)}; give the path of a YAML file")
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        text = content[:_MOST_BYTES].decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"policy {path}: cannot be read ({_reason(error)})") from None
    if len(content) > _MOST_BYTES:
        raise PolicyError(f"policy {path}: is larger than 64 MB, and so no policy; name its file")
    try:
        return read_yaml(text)
    except PolicyError as error:
        raise PolicyError(f"policy {path}: {error}") from None


def override_key(document: dict[str, Any], override: str) -> dict[str, Any]:
    """Apply ``a.b=value``; a part with dots in it is in double quotes.

    Raises
    ------
    UsageError
        It is no such text, or a part of it would be a comment.
    """
    key, equals, text = override.partition("=")
    parts = [quoted or plain for quoted, plain in _KEY_PART.findall(key)]
    if not equals or not _KEY.fullmatch(key):
        raise UsageError(f"--set {override}: has to be key=value, as in privacy.t=0.05")
    try:
        value = text if text in _DELIMITERS else read_yaml(text)
    except PolicyError as error:
        raise UsageError(f"--set {key}: {error}") from None
    if has_comment(text):
        raise UsageError(
            f"--set {key}: what follows a # is a comment to YAML; put a value that has one in "
            "quotes, as in --set 'input.path=\"part #1.csv\"'"
        )
    return _replaced(document, parts, value, override)


def _replaced(node: Any, parts: list[str], value: Any, override: str) -> dict[str, Any]:
    if isinstance(node, str):
        node = {"role": node}  # an attribute in its short form
    if not isinstance(node, dict | None):
        raise UsageError(f"--set {override}: {parts[0]!r} has no keys below it")
    node = dict(node or {})
    deeper = len(parts) > 1
    node[parts[0]] = _replaced(node.get(parts[0]), parts[1:], value, override) if deeper else value
    return cast(dict[str, Any], node)
