"""An independent look at a release: by what stands in its files, and by the definitions.

Classes are pandas groups of released values, distances the slow twins', exactly. A non-confidential
column, ``id``, says which record of the input a row is.
"""

import datetime
import json
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from support.naive import naive_kernels as naive
from support.naive import naive_ratio, naive_taxonomy
from tclose.methods.generalisation.notation import parse_interval, parse_set

GENERALISING = ("mondrian", "incognito", "sabre")
HALF_OPEN = re.compile(r"\[([^,]+), ([^,]+)\)")
Attributes = dict[str, dict[str, Any]]


def attributes_of(document: dict[str, Any]) -> Attributes:
    """Attributes of a policy, each in its long form."""
    given = document["attributes"]
    return {n: {"role": a} if isinstance(a, str) else a for n, a in given.items()}


def with_role(document: dict[str, Any], role: str) -> list[str]:
    """Names of the attributes with a role."""
    return [n for n, a in attributes_of(document).items() if a["role"] == role]


def read_rows(release: Path) -> pd.DataFrame:
    """All rows of a release, partition columns among them, each column as Python values."""
    table = pq.read_table(release / "data")
    return pd.DataFrame({n: table[n].to_pylist() for n in table.column_names}, dtype=object)


def class_columns(document: dict[str, Any]) -> list[str]:
    """Return the columns by which an outsider distinguishes classes."""
    partition_columns = document.get("output", {}).get("partition_by", [])
    return list(dict.fromkeys([*partition_columns, *with_role(document, "quasi-identifier")]))


def classes_in(rows: pd.DataFrame, document: dict[str, Any]) -> list[pd.DataFrame]:
    """Records that share every released quasi-identifier and partition value."""
    grouped = rows.groupby(class_columns(document), dropna=False, sort=False)
    return [members for _, members in grouped]


def quoted(name: str) -> str:
    """A name as it is released: in quotes where it has a comma."""
    return f'"{name}"' if "," in name else name


def place_in(order: Sequence[Hashable] | None) -> Any:
    """Key that orders the values of an attribute."""
    return (lambda value: value) if order is None else [str(o) for o in order].index


def as_tree(document: Any) -> naive_taxonomy.Tree:
    """A policy's taxonomy as the slow twins take it."""
    if isinstance(document, dict):
        ((name, children),) = document.items() if len(document) == 1 else ((None, None),)
        if name is None:
            raise ValueError("several roots")
        return name, [as_tree(child) for child in _listed(children)]
    return str(document)


def _listed(children: Any) -> list[Any]:
    return [{n: c} for n, c in children.items()] if isinstance(children, dict) else children


def distance(members: Sequence[Any], table: Sequence[Any], attribute: dict[str, Any]) -> Fraction:
    """Distance of a class to the table, by the attribute's definition."""
    is_text = isinstance(table[0], str) and "order" not in attribute
    if not is_text and "distance" not in attribute:
        key = place_in(attribute.get("order"))
        return naive.ordered_emd(Counter(key(v) for v in members), Counter(key(v) for v in table))
    if "taxonomy" in attribute and attribute.get("distance") != "equal":
        return naive_taxonomy.hierarchical_emd(as_tree(attribute["taxonomy"]), members, table)
    return naive_taxonomy.equal_emd(members, table)


def covers(text: str, value: Any, attribute: dict[str, Any]) -> bool:
    """Return whether a generalised value, as released, stands for a record's own."""
    if text == "*":
        return True
    if isinstance(value, bool):
        value = str(value).lower()
    if isinstance(value, str) and "order" not in attribute:
        tree = as_tree(attribute["taxonomy"]) if "taxonomy" in attribute else None
        names = {value}
        if tree is not None:
            names |= {naive_taxonomy.name_of(n) for n in naive_taxonomy.ancestors(tree, value)}
        return bool(names & set(parse_set(text)))
    half_open = HALF_OPEN.fullmatch(text)
    low, high = half_open.groups() if half_open else parse_interval(text)
    if "order" in attribute:
        place = place_in(attribute["order"])
        return bool(place(low) <= place(str(value)) <= place(high))
    read = _read_day if isinstance(value, datetime.date) else Fraction
    own, first, last = (read(str(v)) for v in (value, low, high))
    return first <= own < last if half_open else first <= own <= last


def _read_day(text: str) -> Fraction:
    return Fraction(datetime.date.fromisoformat(text).toordinal())


def check_release(release: Path, table: pa.Table, document: dict[str, Any]) -> pd.DataFrame:
    """Every record is there, k and t hold, generalised values are true; gives the rows."""
    rows = read_rows(release)
    assert sorted(rows["id"]) == sorted(table["id"].to_pylist())
    by_id = {r["id"]: r for r in table.to_pylist()}
    originals = [by_id[i] for i in rows["id"]]
    attributes, method = attributes_of(document), document["method"]["name"]
    classes = classes_in(rows, document)
    assert min(len(members) for members in classes) >= document["privacy"]["k"]
    models = [m["name"] for m in document["privacy"].get("models", [])]
    for name in with_role(document, "confidential"):
        attribute = attributes[name]
        if "distinct-l-diversity" in models:
            assert min(m[name].nunique() for m in classes) >= 2
        if method == "bucketization" and document["method"].get("release") != "value":
            check_buckets(rows[name], [o[name] for o in originals], classes, document)
        elif "noise" not in attribute:
            assert rows[name].tolist() == [o[name] for o in originals]
            limit = Fraction(str(attribute.get("t", document["privacy"].get("t", 1))))
            limit = Fraction(1) if "n-t-closeness" in models else limit  # which takes its place
            whole = rows[name].tolist()
            assert max(distance(m[name].tolist(), whole, attribute) for m in classes) <= limit
            if method == "bucketization":
                check_values_in_buckets(name, whole, classes, release, document)
    if method in GENERALISING:
        for name in with_role(document, "quasi-identifier"):
            pairs = {(r, o[name]) for r, o in zip(rows[name], originals, strict=True)}
            assert all(covers(text, value, attributes[name]) for text, value in pairs)
    return rows


def check_buckets(
    released: pd.Series, own: list[Any], classes: list[pd.DataFrame], document: dict[str, Any]
) -> None:
    """Each bucket's share is within the ratio of the table's, either way.

    Domingo-Ferrer and Soria-Comas 2015, Definition 4.
    """
    name = str(released.name)
    attribute, ratio = attributes_of(document)[name], Fraction(str(document["method"]["ratio"]))
    for bucket, value in set(zip(released, own, strict=True)):
        assert is_in_bucket(bucket, value, attribute, own)
    check_shares([m[name].tolist() for m in classes], released.tolist(), ratio)


def check_values_in_buckets(
    name: str,
    table: list[Any],
    classes: list[pd.DataFrame],
    release: Path,
    document: dict[str, Any],
) -> None:
    """The same where values are released: in the buckets of section 6.2, or that are named."""
    ratio = Fraction(str(document["method"]["ratio"]))
    manifest = json.loads((release / "manifest.json").read_text())
    (asked,) = [m["asked"] for m in manifest["privacy"]["models"] if "release" in m["asked"]]
    if isinstance(asked["buckets"], list):
        buckets = asked["buckets"]
    else:
        assert asked["buckets"] == document["method"].get("buckets", int(ratio) + 1)
        key = place_in(attributes_of(document)[name].get("order"))
        by_place = {key(value): value for value in table}
        places = naive_ratio.cut_buckets([key(value) for value in table], asked["buckets"])
        buckets = [[by_place[place] for place in bucket] for bucket in places]
    of_value = {value: b for b, bucket in enumerate(buckets) for value in bucket}
    in_classes = [[of_value[value] for value in members[name]] for members in classes]
    check_shares(in_classes, [of_value[value] for value in table], ratio)


def check_shares(classes: list[list[Any]], table: list[Any], ratio: Fraction) -> None:
    """Each share of a class is at most ``ratio`` times the table's, and at least 1/ratio of it."""
    shares = {b: Fraction(n, len(table)) for b, n in Counter(table).items()}
    for members in classes:
        counts = Counter(members)
        for bucket, share in shares.items():
            found = Fraction(counts[bucket], len(members))
            assert found <= ratio * share
            assert share <= ratio * found


def is_in_bucket(bucket: str, value: Any, attribute: dict[str, Any], table: list[Any]) -> bool:
    """Return whether a bucket contains a value; its ends may be open."""
    if isinstance(value, bool) or (isinstance(value, str) and "order" not in attribute):
        value = str(value).lower() if isinstance(value, bool) else value
        if bucket.startswith("["):  # of ordered values
            low, high = parse_interval(bucket)
            return value in (low, high)
        return value in parse_set(bucket)
    low, high = parse_interval(bucket)
    key = place_in(attribute.get("order"))
    smallest, largest = min(table, key=key), max(table, key=key)
    ends = [str(smallest) if low == ".." else low, str(largest) if high == ".." else high]
    return covers(f"[{ends[0]}, {ends[1]}]", value, attribute)
