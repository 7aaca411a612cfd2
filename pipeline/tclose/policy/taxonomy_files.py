"""Taxonomies of a policy: nested names, rows, or a file of either.

YAML files hold nested names, CSV files one line for each value.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import yaml

from tclose.data.taxonomy import Taxonomy, build_from_mapping, build_from_rows, to_text
from tclose.errors import PolicyError
from tclose.policy.yaml_values import check_nodes, describe_yaml_error


def taxonomy_rows(value: object) -> object:
    """The rows of a taxonomy that a policy names or holds, as `build_from_rows` takes them.

    Raises
    ------
    ValueError
        It is no taxonomy.
    """
    try:
        if isinstance(value, str):
            return read_taxonomy(value).rows
        if isinstance(value, dict):
            return build_from_mapping(value).rows
        if isinstance(value, list | tuple) and all(isinstance(r, list | tuple) for r in value):
            rows = [[to_text(n, f"row {i:,}") for n in row] for i, row in enumerate(value, 1)]
            return build_from_rows(rows).rows
    except PolicyError as error:
        raise ValueError(str(error)) from None
    return value


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Read a ``.yaml``, ``.yml`` or ``.csv`` file in UTF-8.

    YAML: mappings and lists of names, one root at the top; every scalar is text, so that ``no`` and
    ``1.50`` stay as they are written. CSV, without a header: value, parent, ..., root; fields are
    separated by semicolons if the first line has them, else by commas.

    Raises
    ------
    PolicyError
        The file cannot be read, or holds no taxonomy; names the file, the place and the remedy.
    """
    suffix = Path(path).suffix.lower()
    readers = {".yaml": _read_yaml, ".yml": _read_yaml, ".csv": _read_csv}
    if suffix not in readers:
        raise PolicyError(f"taxonomy {path}: has to be a file .yaml, .yml or .csv; rename it")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PolicyError(f"taxonomy {path}: cannot be read ({reason}); check its name") from None
    except UnicodeDecodeError:
        raise PolicyError(f"taxonomy {path}: not UTF-8 text; convert it") from None
    try:
        return readers[suffix](text)
    except PolicyError as error:
        raise PolicyError(f"taxonomy {path}: {error}") from None


def _read_yaml(text: str) -> Taxonomy:
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
        check_nodes(root, with_numbers=False)
        _refuse_repeated_keys(root)
        document = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (makes texts alone)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise PolicyError(describe_yaml_error(error)) from None
    return build_from_mapping(document)


def _refuse_repeated_keys(root: yaml.Node | None) -> None:
    """Refuse a name that appears twice in one mapping: the second would replace the first."""
    pending, seen = [root], set()
    while pending:
        node = pending.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
            continue
        names = set()
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else id(key)
            if name in names:
                raise PolicyError(
                    f"line {key.start_mark.line + 1:,}: a name appears twice; write it once"
                )
            names.add(name)
            pending.append(value)


def _read_csv(text: str) -> Taxonomy:
    records = list(_records(text, ";" if _has_semicolons(text) else ","))
    labels = [f"line {line:,}" for line, _ in records]
    return build_from_rows([row for _, row in records], labels)


def _has_semicolons(text: str) -> bool:
    """Return whether the fields of the first record are separated by semicolons."""
    try:
        return len(next(_records(text, ";"), (0, []))[1]) > 1
    except PolicyError:  # quotes that do not end at one
        return False


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records that are not blank, each with the line it ends in."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error:
        raise PolicyError(
            f"line {reader.line_num:,}: not valid CSV; check its quotes and separators"
        ) from None
