"""YAML of policies and taxonomies: text as it is written, and nothing that could be two things."""

import json
import re
from typing import Any, ClassVar, cast

import yaml

from tclose.errors import PolicyError


class _PolicyLoader(yaml.SafeLoader):
    """YAML in which text that only some readers take for something else stays text.

    Of what is not in quotes, ``true`` and ``false``, whole numbers and decimals, ``.inf`` and
    ``.nan``, and ``null`` are what they say. YAML 1.1 also reads 1:30 as 90, 1_000 as 1000, no as
    false, and days as dates: values of a column that are written so would be other ones. Readers
    of YAML 1.2 (ruamel.yaml) still do so with 1_000 and days. A key that appears twice is an error:
    a column has one role.
    """

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            is_merge = key_node.tag == "tag:yaml.org,2002:merge"
            key = "<<" if is_merge else self.construct_object(key_node, deep=True)
            if isinstance(key, str | int | float | bool) and key in seen:
                line = key_node.start_mark.line + 1
                raise PolicyError(f"key {key!r} appears twice (line {line}); say it once")
            seen.add(key if isinstance(key, str | int | float | bool) else repr(key))
        return cast(dict[Any, Any], super().construct_mapping(node, deep=deep))


_NUMBER = r"[-+]?(?:0|[1-9][0-9]*)"
_DECIMAL = rf"(?:{_NUMBER}(?:\.[0-9]*)?|[-+]?\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_MEANINGS = {
    "merge": (r"<<", "<"),
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (_NUMBER, "-+0123456789"),
    "float": (rf"{_DECIMAL}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
}
for _name, (_pattern, _first) in _MEANINGS.items():
    _PolicyLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(f"(?:{_pattern})\\Z"), list(_first)
    )
# What begins with 0 and goes on with digits is eight times or ten times what follows.
_AMBIGUOUS = re.compile(r"[-+]?0[0-9_]+\Z")
_MOST_NODES = 1_000_000
# By what PyYAML says.
_REMEDIES = {
    r"'\t' that cannot start": "indent by blanks, not by tabs",
    " alias": "put a text that begins with * in quotes, as in --set 'input.path=\"*.csv\"'",
    "cannot start any token": "put a text that begins with this character in quotes",
    "mapping values are not allowed": "put a text with a colon and a blank in quotes, or correct "
    "the indentation",
    "but found '<scalar>'": "put a text that begins with a brace, a bracket or a quote, and goes "
    'on after it, in quotes as a whole, as in path: "{as_of}/*.csv"',
    "but got '{'": 'put a text with a brace in it in quotes, as in path: "data/{as_of}.csv"',
    "or '}', but got '<scalar>'": "put a text with a brace in it in quotes, as in path: "
    '"{as_of}/*.csv", or put a comma between two keys',
    "a single document": "leave out the line ---, and what is below it",
}


def read_yaml(text: str) -> Any:
    """Parse YAML into values, without what could be read in two ways.

    Raises
    ------
    PolicyError
        It is no YAML, has numbers with leading zeros, or aliases that repeat too much.
    """
    try:
        loader = _PolicyLoader(text)
        try:
            root = loader.get_single_node()
            check_nodes(root)
            return None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PolicyError(describe_yaml_error(error)) from None


def has_comment(text: str) -> bool:
    """Return whether a part of some YAML is a comment."""
    marks = [place for place, mark in enumerate(text) if mark == "#"]
    tokens = yaml.scan(text) if marks else ()
    spans = [(token.start_mark.index, token.end_mark.index) for token in tokens]
    return any(all(not start <= place < stop for start, stop in spans) for place in marks)


def quote_yaml(text: str) -> str:
    """Write a text in quotes, so that YAML reads it as itself."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else _escape(c) for c in quoted)


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\U{number:08x}" if number > 0xFFFF else f"\\u{number:04x}"


def describe_yaml_error(error: Exception) -> str:
    """Say where text is no YAML, and what to do; the parser's own words could quote a value."""
    mark = getattr(error, "problem_mark", None)
    where = f" at line {mark.line + 1:,}" if mark else ""
    said = f"{getattr(error, 'context', '')} {getattr(error, 'problem', '')}"
    remedy = next((remedy for sign, remedy in _REMEDIES.items() if sign in said), "correct it")
    return f"not valid YAML{where}; {remedy}"


def check_nodes(root: yaml.Node | None, *, with_numbers: bool = True) -> None:
    """Refuse aliases that stand for more values than a policy has, and ambiguous numbers.

    Parameters
    ----------
    with_numbers : False where every value is text, so that none is ambiguous

    Raises
    ------
    PolicyError
    """
    sizes: dict[int, int] = {}
    if root is not None and _count_nodes(root, sizes, with_numbers) > _MOST_NODES:
        raise PolicyError(
            f"its aliases (*name) expand to more than {_MOST_NODES:,} values; write out what is "
            "meant"
        )


def _count_nodes(node: yaml.Node, sizes: dict[int, int], with_numbers: bool) -> int:
    """Values that a node stands for, each alias in full; ``sizes``: of nodes seen before."""
    if id(node) in sizes:
        if not sizes[id(node)]:
            line = node.start_mark.line + 1
            raise PolicyError(f"line {line}: an alias is inside what it names; write it out")
        return sizes[id(node)]
    sizes[id(node)] = 0
    if isinstance(node, yaml.ScalarNode):
        below = []
        if with_numbers and node.style is None and _AMBIGUOUS.match(node.value):
            raise PolicyError(
                f"line {node.start_mark.line + 1}: {node.value} begins with a zero, and some read "
                "it in base eight; put a text in quotes, write a number without the zero"
            )
    elif isinstance(node, yaml.MappingNode):
        below = [part for pair in node.value for part in pair]
    else:
        below = node.value
    sizes[id(node)] = 1 + sum(_count_nodes(part, sizes, with_numbers) for part in below)
    return sizes[id(node)]
