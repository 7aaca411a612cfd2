"""Messages about an invalid policy, a line for each key, in words for a release officer."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from tclose.errors import suggest
from tclose.methods.method import method_keys
from tclose.model.setting_fields import NO_NUL, ONE_LINE, SOME_LINES
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.policy.sections.privacy_settings import JointSettings
from tclose.privacy.model_registry import MODELS


def describe_problems(error: ValidationError, policy: type[BaseModel]) -> list[str]:
    """One line for each key that is wrong: the key, what it has to be, and what was given.

    ``policy``: the whole model, for the keys that it knows.
    """
    lines: dict[str, None] = {}
    told: dict[str, str] = {}  # lists of allowed keys, and where each was said
    for problem in _leave_out_echoes(error.errors()):
        location = _strip_branches(tuple(str(part) for part in problem["loc"]))
        message = _format(problem, location, policy, told)
        lines[f"{'.'.join(location)}: {message}" if location else message] = None
    return list(lines)


def _leave_out_echoes(problems: Sequence[Any]) -> Iterator[Any]:
    """All problems but what pydantic says of them again.

    That is of what is no number that it is no integer, and of a list that its wrong items lack.
    """
    located = {problem["loc"] for problem in problems}
    for problem in problems:
        is_of_items = problem["type"] == "too_short" and problem["ctx"]["actual_length"] < len(
            problem["input"]
        )
        is_of_integers = problem["type"] in ("int_parsing", "int_type", "int_from_float")
        is_echo = is_of_integers and (*problem["loc"][:-1], "float") in located
        if not is_of_items and not is_echo:
            yield problem


def _strip_branches(location: tuple[str, ...]) -> tuple[str, ...]:
    """Without what pydantic puts last: names of union members, and places of items."""
    if location[:2] == ("privacy", "models"):  # a model is known by its name, not by its place
        return (*location[:2], *location[3:5])
    if location[:2] in (("engine", "tls"), ("engine", "kubernetes")):
        return location[:3]
    of_attribute = 4 if location[2:3] in (("noise",), ("intervals",)) else 3
    depth = {
        "engine": 2,
        "method": 2,
        "attributes": 1 if location[-1:] == ("[key]",) else of_attribute,
    }
    return location[: depth.get(location[0], len(location))] if location else ()


def _name_allowed_keys(
    location: tuple[str, ...], policy: type[BaseModel], told: dict[str, str]
) -> str:
    """Say which keys there are, once: an attribute has many, and many attributes may be wrong."""
    known = _allowed_keys(location[:-1], policy)
    allowed, where = ", ".join(known), ".".join(location)
    first = told.setdefault(allowed, where)
    said = allowed if first == where else f"as for {first}"
    return f"unknown key; allowed: {said}{suggest(location[-1], known)}"


def _format(
    problem: Any, location: tuple[str, ...], policy: type[BaseModel], told: dict[str, str]
) -> str:
    kind, value = problem["type"], problem["input"]
    if location[:1] == ("attributes",) and location[2:] in (("bottom",), ("top",)):
        return _BOUND  # whatever is wrong with a number or with a percentile's keys, in one line
    if kind == "extra_forbidden":
        return _name_allowed_keys(location, policy, told)
    if kind == "value_error":
        return str(problem["msg"].removeprefix("Value error, "))
    if kind == "missing":
        return "is missing"
    if problem["loc"][-1] == "[key]":
        return f"YAML reads a column name as {value!r}; put it in quotes"
    template = _WANTED.get((location[0], *location[2:])) or _WANTED.get(location)
    template = template or _wanted_of_model(location) or _template(problem)
    context = problem.get("ctx", {}) | {"models": ", ".join(MODELS.classes())}
    message = template.format(**context) if template else problem["msg"]
    if isinstance(value, str):
        known = re.findall(r"'([^']+)'", message) if kind in ("enum", "literal_error") else ()
        return f"{message} (given: {value!r}){suggest(value, known)}"
    if kind == "union_tag_invalid":
        tag = str(problem["ctx"]["tag"])
        return f"{message} (given: {tag!r}){suggest(tag, MODELS.classes())}"
    return f"{message} (given: {value!r})" if isinstance(value, int | float | None) else message


def _template(problem: Any) -> str | None:
    """Return the words on a kind of problem, by what pydantic says about it."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return _WANTED_BY_PATTERN.get(context["pattern"])
    if kind == "too_short" and context["min_length"] > 1:
        return "needs at least {min_length}, and has {actual_length}"
    if isinstance(problem["input"], bool) and kind in _BOUNDS:  # the number 1 or 0 to pydantic
        of_floats = any(isinstance(bound, float) for bound in context.values())
        return _WANTED_BY_PROBLEM["float_type" if of_floats else "int_type"]
    return _WANTED_BY_PROBLEM.get(kind)


def _wanted_of_model(location: tuple[str, ...]) -> str | None:
    """Return the values that a key of a privacy model may have, if the model states them."""
    if location[:2] != ("privacy", "models") or len(location) < 4:
        return None
    return cast(str | None, MODELS.classes()[location[2]].wanted.get(location[3]))


_BOUND = (
    "has to be a number, or {percentile: 99, public: true}: above 0, below 100, and declared to be "
    "known to everybody"
)
_NAME = (
    "has to be letters, digits, '.', '_' and '-', beginning with one of the first two, 100 at "
    "most, and in quotes if it is a number"
)
_DNS_LABEL = "has to be small letters, digits and '-', beginning with a letter, 40 at most"

# What pydantic says of a key of several types or with a pattern is no help to a release officer.
# Keys of an attribute are listed without its name.
_WANTED: dict[tuple[str, ...], str] = {
    ("name",): _NAME,
    ("series",): _NAME,
    ("input", "delimiter"): "has to be one ASCII character, not a quote or a line end",
    ("attributes", "taxonomy"): "has to be a file, or nested keys and lists of values",
    ("attributes", "round"): "has to be true, false, or a number whose multiples are released",
    ("attributes", "order"): "has to be a list of texts and numbers, lowest first",
    ("method", "class_size"): "has to be auto, paper, or a whole number from 2",
    (
        "method",
        "refine",
    ): "has to be off, lean, fast, full, a number of rounds, or a time as in 10min",
    ("engine", "scheduler"): "has to be local, kubernetes, or an address as in tls://host:8786",
    ("engine", "cluster"): _DNS_LABEL,
    ("engine", "namespace"): _DNS_LABEL,
    ("engine", "workers"): "has to be a whole number from 1, or auto",
    ("engine", "memory_per_worker"): "has to be a size as in 4GB, or auto",
}

_WANTED_BY_PATTERN = {
    NO_NUL: "has to be text without NUL characters",
    ONE_LINE: "has to be one line, without line ends, tabs and other control characters",
    SOME_LINES: "has to be text without tabs and other control characters but line ends",
}

_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")

_WANTED_BY_PROBLEM = {
    "string_type": "has to be text; put it in quotes",
    "string_too_short": "is empty",
    "string_too_long": "has to be {max_length} long at most",
    "too_short": "is empty",
    "tuple_type": "has to be a list, as in [a, b]",
    "dict_type": "has to be keys and their values",
    "model_type": "has to be keys and their values",
    "int_type": "has to be a whole number",
    "int_parsing": "has to be a whole number",
    "int_from_float": "has to be a whole number",
    "float_type": "has to be a number",
    "float_parsing": "has to be a number",
    "finite_number": "has to be a number",
    "model_attributes_type": "has to be keys and their values, as in {{name: ..., l: 3}}",
    "union_tag_not_found": "each needs a name: {models}",
    "union_tag_invalid": "a name has to be one of {models}",
    "bool_type": "has to be true or false",
    "bool_parsing": "has to be true or false",
    "greater_than": "has to be above {gt:g}",
    "greater_than_equal": "has to be at least {ge}",
    "less_than": "has to be below {lt}",
    "less_than_equal": "has to be at most {le:g}",
    "enum": "has to be {expected}",
    "literal_error": "has to be {expected}",
}


def _allowed_keys(location: tuple[str, ...], policy: type[BaseModel]) -> list[str]:
    model: Any = policy
    if location[:2] == ("privacy", "models") and len(location) > 2:
        return sorted(MODELS.classes()[location[2]].model_fields)
    if location[:2] == ("privacy", "joint"):
        return sorted(JointSettings.model_fields)
    if location[:1] == ("method",):
        return method_keys()
    if location[:1] == ("attributes",):  # a column may have the name of a key
        model, location = AttributeSettings, location[2:]
    for part in location:
        if part not in getattr(model, "model_fields", {}):
            break
        annotation = model.model_fields[part].annotation
        sections = (kind for kind in get_args(annotation) if hasattr(kind, "model_fields"))
        model = next(sections, annotation)
    return sorted(model.model_fields)
