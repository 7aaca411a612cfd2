"""Whether released quasi-identifiers are what the records of their class give.

``classes``: rows of each class; ``originals``: the own values of each row's record.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import Any

import pyarrow as pa

from nightly.independent import distances
from nightly.independent.asked import Asked
from nightly.independent.notation import MalformedError, parse
from nightly.independent.values import as_fraction, rank_of, read_end

Rows = Sequence[Any]


def check_aggregate(asked: Asked, name: str, released: Any, own: Rows, dtype: str) -> str:
    """What is wrong with the aggregate of a class; empty if nothing is."""
    attribute, kind = asked.attributes[name], asked.kind(name)
    has_categories = kind in ("nominal", "boolean", "ordinal")
    how = attribute.get("aggregate") or ("representative" if has_categories else "mean")
    if how == "representative":
        return "" if str(released) in set(map(str, own)) else "is no value of its class"
    if kind == "ordinal":
        return _check_median([rank_of(asked, name, v) for v in own], rank_of(asked, name, released))
    if how == "mode":
        counts = Counter(map(str, own))
        return "" if counts[str(released)] == max(counts.values()) else "is not a commonest value"
    if how == "ancestor":
        node = distances.lowest_above(distances.read_tree(attribute["taxonomy"]), map(str, own))
        return "" if released == node else "is not the lowest node above its class"
    if how == "low-median":
        return "" if released == sorted(own)[(len(own) - 1) // 2] else "is not the lower median"
    if how == "median":
        return _check_median(own, released)
    return _check_mean(own, released, dtype)


def _check_median(own: Rows, released: Any) -> str:
    """As many values above as below; between the two middle ones where they are not rounded."""
    ranked = sorted(own)
    low, high = ranked[(len(own) - 1) // 2], ranked[len(own) // 2]
    return "" if low <= released <= high else "is not a median of its class"


def _check_mean(own: Rows, released: Any, dtype: str) -> str:
    """Halves upward where the type is kept; floats up to the rounding of their sum."""
    mean = sum(map(as_fraction, own), Fraction(0)) / len(own)
    if dtype.startswith(("float", "double", "halffloat")):
        largest = max(abs(as_fraction(v)) for v in own)
        error = Fraction(1, 2**20) if dtype == "float" else Fraction(1, 2**44)
        is_close = abs(as_fraction(released) - mean) <= largest * error
        return "" if is_close else "is not the mean of its class"
    parts = 1
    if dtype.startswith("decimal"):
        parts = 10 ** int(dtype.split(",")[1].strip(" )"))
    wanted = Fraction(floor(mean * parts + Fraction(1, 2)), parts)
    return "" if as_fraction(released) == wanted else "is not the rounded mean of its class"


def covers(asked: Asked, name: str, text: str, value: Any) -> bool:
    """Whether a generalised value stands for a record's own."""
    found = parse(text)
    if found.form == "any":
        return True
    if asked.kind(name) in ("nominal", "boolean") and found.form in ("one", "set"):
        if pa.types.is_temporal(asked.types[name]):
            return value in {read_end(part, asked, name) for part in found.parts}
        own = str(value).lower() if isinstance(value, bool) else str(value)
        names = {own}
        if "taxonomy" in asked.attributes[name]:
            names |= set(distances.path_to(tree_of(asked, name), own))
        return bool(names & set(found.parts))
    ends = [read_end(part, asked, name) for part in found.parts]
    rank = rank_of(asked, name, value)
    if found.form == "one":
        return bool(rank == ends[0])
    if found.form == "half-open":
        low, high = map(Fraction, found.parts)
        if isinstance(value, float):
            return float(low) <= value < float(high)
        return bool(low <= as_fraction(value) < high)
    return found.form == "interval" and bool(ends[0] <= rank <= ends[1])


def tree_of(asked: Asked, name: str) -> distances.Tree:
    """The taxonomy of an attribute."""
    return distances.read_tree(asked.attributes[name]["taxonomy"])


def check_cover(asked: Asked, name: str, text: str, own: Rows) -> str:
    """What is wrong with what a class is generalised to."""
    try:
        if not all(covers(asked, name, text, value) for value in set(own)):
            return "does not cover its class"
        if asked.method["name"] != "incognito" and not _is_tight(asked, name, text, own):
            return "covers more than its class"
        if asked.method["name"] == "incognito":
            return _check_level(asked, name, text)
    except MalformedError as error:
        return f"does not parse: {error}"
    return ""


def _is_tight(asked: Asked, name: str, text: str, own: Rows) -> bool:
    """The ends are values of the class; a set has no others, a node is the lowest."""
    found = parse(text)
    if found.form == "any":
        return False
    if asked.kind(name) == "nominal" and pa.types.is_temporal(asked.types[name]):
        moments = [read_end(part, asked, name) for part in found.parts]
        return set(moments) == set(own) and len(moments) == len(set(own))
    if asked.kind(name) == "nominal":
        values = {str(v) for v in own}
        if "taxonomy" in asked.attributes[name]:
            return found.parts == (distances.lowest_above(tree_of(asked, name), values),)
        return set(found.parts) == values and len(found.parts) == len(values)
    ranks = [rank_of(asked, name, v) for v in own]
    ends = [read_end(part, asked, name) for part in found.parts]
    return bool((ends[0], ends[-1]) == (min(ranks), max(ranks)))


def _check_level(asked: Asked, name: str, text: str) -> str:
    """An interval has one of the widths, and begins where one of them does."""
    found = parse(text)
    if found.form in ("set", "interval"):
        return "is no value, interval of a width, node or everything"
    if found.form != "half-open":
        return ""
    low, high = map(Fraction, found.parts)
    asked_of = asked.attributes[name].get("intervals", {"widths": []})
    origin = Fraction(str(asked_of.get("origin", 0)))
    for width in map(Fraction, map(str, asked_of["widths"])):
        if high - low == width and ((low - origin) / width).denominator == 1:
            return ""
    return "is an interval of no width of the policy"


def level_of(text: str) -> str:
    """What tells levels of a full domain apart by a text: any, a width, or one value or node."""
    found = parse(text)
    if found.form != "half-open":
        return found.form
    low, high = map(Fraction, found.parts)
    return f"width {high - low}"


def check_full_domain(released: Rows, originals: Rows) -> str:
    """In a table, or a partition, equal values become equal texts, all of one level."""
    of_value: dict[Any, str] = {}
    for text, own in zip(released, originals, strict=True):
        if of_value.setdefault(own, text) != text:
            return "makes two texts of one value"
    if len({level_of(text) for text in set(released)}) > 1:
        return "is of several levels"
    return ""


def coordinate(asked: Asked, name: str, released: Any) -> Any:
    """Where a released value lies on its axis: the middle of an interval, a place in an order."""
    if not asked.generalises or name in asked.domains:
        return rank_of(asked, name, released)
    found = parse(released)
    if found.form == "any":
        return 0
    ends = [as_fraction(read_end(p, asked, name)) for p in found.parts]
    return ends[0] + ends[-1]


def is_ordered_axis(asked: Asked, name: str) -> bool:
    """Whether released values of an axis have an order."""
    return asked.kind(name) != "nominal"
