"""Whether confidential values are distributed, noised and bucketed as a policy asks."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from nightly.independent import distances, models
from nightly.independent.asked import CONFIDENTIAL, Asked
from nightly.independent.notation import parse
from nightly.independent.quasi import coordinate, is_ordered_axis
from nightly.independent.release import Release
from nightly.independent.values import as_fraction, rank_of, read_end

# Ends of buckets that are no values, which would be quoted.
OPEN_BELOW, OPEN_ABOVE = "[.., ", ", ..]"


def check_limits(asked: Asked, release: Release) -> Iterator[str]:
    """The distance of every class to the table, of attributes and of combinations."""
    classes = release.classes(asked.class_columns)
    for name in asked.with_role(CONFIDENTIAL):
        limit = asked.limit(name)
        if name in asked.noised:
            continue
        table = release.columns[name]
        found = max(
            distance(asked, release, name, [table[i] for i in rows], table) for rows in classes
        )
        if limit is not None and found > limit:
            yield f"{name}: a class is at {float(found)}, above {float(limit)}"
        stated = release.manifest["privacy"]["t"][name]["largest_emd"]
        if abs(stated - float(found)) > 1e-9:
            yield f"{name}: the manifest states {stated}, the largest distance is {float(found)}"
    for joint in asked.privacy.get("joint", []):
        names = joint.get("attributes") or asked.with_role(CONFIDENTIAL)
        combined = list(zip(*(release.columns[n] for n in names), strict=True))
        found = max(distances.equal([combined[i] for i in rows], combined) for rows in classes)
        if found > Fraction(str(joint["t"])):
            yield f"{names}: combinations of a class are at {float(found)}"


def distance(
    asked: Asked, release: Release, name: str, members: list[Any], other: list[Any]
) -> Fraction:
    """Distance of two lists of values of an attribute; places are those of the whole table."""
    attribute, kind = asked.attributes[name], asked.kind(name)
    if name in asked.bucketed:
        return distances.ordered(members, other, order_buckets(asked, release, name))
    how = attribute.get("distance")
    if how is None:
        how = "ordered" if kind != "nominal" else "equal"
        how = "hierarchical" if "taxonomy" in attribute else how
    if how == "equal":
        return distances.equal(members, other)
    if how == "hierarchical":
        tree = distances.read_tree(attribute["taxonomy"])
        return distances.hierarchical(map(str, members), map(str, other), tree)
    places = sorted(set(release.columns[name]), key=lambda value: rank_of(asked, name, value))
    return distances.ordered(members, other, places)


def check_models(asked: Asked, release: Release) -> Iterator[str]:
    """Every further model, in every class."""
    classes = release.classes(asked.class_columns)
    for name in asked.with_role(CONFIDENTIAL):
        table = release.columns[name]
        for model in asked.models(name):
            if model["name"] == "n-t-closeness":
                yield from _check_supersets(asked, release, name, model)
                continue
            failing = [
                rows
                for rows in classes
                if not holds(asked, name, model, [table[i] for i in rows], table, release)
            ]
            if failing:
                yield f"{name}: {len(failing)} classes do not have {model}"


def holds(
    asked: Asked,
    name: str,
    model: dict[str, Any],
    members: list[Any],
    table: list[Any],
    release: Release,
) -> bool:
    """Whether a class has what a model asks."""
    what = model["name"]
    if what == "distinct-l-diversity":
        return models.is_distinct(members, model["l"])
    if what == "p-sensitive-k-anonymity":
        return models.is_distinct(members, model["p"]) and len(members) >= asked.privacy["k"]
    if what == "entropy-l-diversity":
        return models.has_entropy(members, Fraction(str(model["l"])))
    if what == "recursive-cl-diversity":
        return models.is_recursive(members, Fraction(str(model["c"])), model["l"])
    if what == "stochastic-t-closeness":
        smallest = min(map(len, release.classes(asked.class_columns)))
        epsilon = Fraction(str(asked.attributes[name]["noise"]["epsilon"]))
        achieved = models.reached_by_noise(epsilon, release.n_records, smallest)
        return achieved <= Fraction(str(model["t"]))
    group = group_values(asked, name, table, model.get("buckets"))
    inside, whole = [group[v] for v in members], [group[v] for v in table]
    return models.has_ratio(inside, whole, Fraction(str(model["t"])))


def group_values(asked: Asked, name: str, table: list[Any], buckets: Any) -> dict[Any, Any]:
    """The bucket of each value: itself, a range, or the group that names it."""
    if buckets is None:
        return {value: value for value in table}
    if isinstance(buckets, int):
        ranks = [_place(asked, name, value) for value in table]
        groups = models.cut_stretches(ranks, buckets)
        return {value: groups[rank] for value, rank in zip(table, ranks, strict=True)}
    of_text = {str(value): number for number, group in enumerate(buckets) for value in group}
    return {value: of_text[spell(value)] for value in table}


def _place(asked: Asked, name: str, value: Any) -> Any:
    """Nominal values have the order of the released buckets, others their own."""
    if name in asked.bucketed:
        return value
    return rank_of(asked, name, value)


def spell(value: Any) -> str:
    """A value as a policy writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_supersets(
    asked: Asked, release: Release, name: str, model: dict[str, Any]
) -> Iterator[str]:
    """(n, t): some box of released quasi-identifiers around the class is close; all are tried.

    A class of n records is close to itself; else the whole table is tried first.
    """
    least, limit = model["n"], Fraction(str(model["t"]))
    classes, table = release.classes(asked.class_columns), release.columns[name]
    values = [[table[i] for i in rows] for rows in classes]
    open_classes = [
        i
        for i, members in enumerate(values)
        if len(members) < least
        and (len(table) < least or distance(asked, release, name, members, table) > limit)
    ]
    if not open_classes:
        return
    names = asked.class_columns
    boxes = models.Boxes(
        [[coordinate(asked, n, release.columns[n][rows[0]]) for rows in classes] for n in names],
        [is_ordered_axis(asked, n) for n in names],
    )
    sizes = np.array([len(rows) for rows in classes])
    for i in open_classes:
        for inside in boxes.around(i):
            if sizes[inside].sum() < least:
                continue
            other = [v for j in np.flatnonzero(inside) for v in values[j]]
            if distance(asked, release, name, values[i], other) <= limit:
                break
        else:
            yield f"{name}: a class is close to no {least} records around it"
            return


def check_noise(asked: Asked, release: Release) -> Iterator[str]:
    """Released values are some that the noise gives, and the manifest states what it costs."""
    sizes = [len(rows) for rows in release.classes(asked.class_columns)]
    if set(release.manifest["noise"]) != set(asked.noised):
        yield "the manifest states noise of other columns"
        return
    for name in asked.noised:
        given, stated = asked.attributes[name]["noise"], release.manifest["noise"][name]
        allowed = can_be_released(asked, name, given)
        if not all(allowed(value) for value in set(release.columns[name])):
            yield f"{name}: has a value that its noise does not give"
        epsilon = Fraction(str(given["epsilon"]))
        achieved = models.reached_by_noise(epsilon, release.n_records, min(sizes))
        if stated["epsilon"] != float(epsilon) or Fraction(stated["stochastic_t"]) < achieved:
            yield f"{name}: the manifest states less than its noise gives, {stated}"


def can_be_released(asked: Asked, name: str, noise: dict[str, Any]) -> Any:
    """Tells of a value whether noise can give it."""
    if asked.kind(name) == "numeric":
        low, high, step = (Fraction(str(noise.get(k, 1))) for k in ("low", "high", "step"))
        dtype = asked.types[name]

        def on_grid(value: Any) -> bool:
            place = round((as_fraction(value) - low) / step)
            nearest = low + place * step
            is_near = abs(as_fraction(value) - nearest) <= abs(nearest) / 2**20
            is_near = is_near if pa.types.is_floating(dtype) else as_fraction(value) == nearest
            return low <= nearest <= high and is_near

        return on_grid
    if asked.kind(name) == "ordinal":
        return set(asked.order(name)).__contains__
    listed = [str(value) for value in noise["values"]]
    if pa.types.is_temporal(asked.types[name]):
        listed = [read_end(text, asked, name) for text in listed]
        return set(listed).__contains__
    return lambda value: spell(value) in listed


def check_buckets(
    asked: Asked, originals: dict[str, list[Any]], release: Release, own: list[int] | None
) -> Iterator[str]:
    """Of bucketization: buckets hold their records' values, and every share is within the ratio."""
    if asked.method["name"] != "bucketization":
        return
    ratio = Fraction(str(asked.method["ratio"]))
    for name in asked.with_role(CONFIDENTIAL):
        table = release.columns[name]
        if name in asked.bucketed:
            group = {text: text for text in table}
            if own is not None:
                values = [originals[name][i] for i in own]
                yield from _check_members(asked, name, table, values)
        else:
            group = _ranked_buckets(asked, name, table, release)
        whole = [group[v] for v in table]
        for rows in release.classes(asked.class_columns):
            if not models.has_ratio([whole[i] for i in rows], whole, ratio):
                yield f"{name}: a class has a bucket beyond the ratio {ratio}"
                break


def _check_members(
    asked: Asked, name: str, released: list[str], values: list[Any]
) -> Iterator[str]:
    """Each record's value is in its bucket, equal ones in one, and buckets do not overlap."""
    nominal = asked.kind(name) == "nominal"
    spans: dict[str, list[Any]] = {}
    for text, value in zip(released, values, strict=True):
        spans.setdefault(text, []).append(value if nominal else rank_of(asked, name, value))
    if sum(len(set(found)) for found in spans.values()) != len(set(values)):
        yield f"{name}: equal values are in several buckets"
    for text, found in spans.items():
        cover = parse(text)
        if nominal:
            is_right = set(map(str, found)) <= set(cover.parts)
        else:
            low, high = cover.parts
            is_right = text.startswith(OPEN_BELOW) or read_end(low, asked, name) == min(found)
            is_right &= text.endswith(OPEN_ABOVE) or read_end(high, asked, name) == max(found)
        if not is_right:
            yield f"{name}: bucket {text!r} is not that of its records"
    if not nominal:
        ends = sorted((min(found), max(found)) for found in spans.values())
        if any(a[1] >= b[0] for a, b in pairwise(ends)):
            yield f"{name}: buckets overlap"


def order_buckets(asked: Asked, release: Release, name: str) -> list[str]:
    """Buckets in the order of their values; the one that is open below is the first.

    Those of nominal values have the order that the manifest gives them.
    """
    buckets = sorted(set(release.columns[name]))
    if asked.kind(name) == "nominal":
        (stated,) = [c for c in release.manifest["columns"] if c["name"] == name]
        return sorted(buckets, key=stated["order"].index)

    def lowest(text: str) -> tuple[int, Any]:
        low, _ = parse(text).parts
        return (0, 0) if text.startswith(OPEN_BELOW) else (1, read_end(low, asked, name))

    return sorted(buckets, key=lowest)


def _ranked_buckets(asked: Asked, name: str, table: list[Any], release: Release) -> dict[Any, Any]:
    """The buckets that values were put in where the values are released."""
    stated = [m for m in release.manifest["privacy"]["models"] if "release" in m["asked"]]
    buckets = stated[0]["asked"]["buckets"]
    if isinstance(buckets, list):
        return group_values(asked, name, table, buckets)
    ranks = [rank_of(asked, name, value) for value in table]
    groups = models.cut_at_ranks(ranks, buckets)
    return {value: groups[rank] for value, rank in zip(table, ranks, strict=True)}
