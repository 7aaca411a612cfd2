"""An independent check of all that a policy asks of privacy, by the files of a release alone.

Classes are pandas groups, distances and models the slow twins', in Fractions.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from support.checks.released import (
    attributes_of,
    class_columns,
    classes_in,
    covers,
    distance,
    is_in_bucket,
    quoted,
    read_rows,
    with_role,
)
from support.naive import naive_joint, naive_models, naive_ratio
from support.naive.naive_requirements import value_ranges

QUASI, CONFIDENTIAL = "quasi-identifier", "confidential"


def check_held(release: Path, records: pa.Table, document: dict[str, Any]) -> None:
    """Everything that a policy asks of privacy, by the files of the release."""
    rows = read_rows(release)
    attributes = attributes_of(document)
    hidden = set(with_role(document, "identifier"))
    assert set(rows) == set(attributes) - hidden
    by_id = {r["id"]: r for r in records.to_pylist() if _is_complete(r, document)}
    assert sorted(rows["id"]) == sorted(by_id)
    classes = classes_in(rows, document)
    assert min(len(members) for members in classes) >= document["privacy"]["k"]
    for name in with_role(document, CONFIDENTIAL):
        own = [by_id[i][name] for i in rows["id"]]
        _check_values(rows[name], own, classes, document)
    _check_joint(rows, classes, document)
    _check_models(rows, classes, document)
    _check_generalised(rows, by_id, document)


def _is_complete(record: dict[str, Any], document: dict[str, Any]) -> bool:
    checked = (*with_role(document, QUASI), *with_role(document, CONFIDENTIAL))
    return all(record[name] is not None for name in (*checked, *class_columns(document)))


def _check_values(
    released: pd.Series, own: list[Any], classes: list[pd.DataFrame], document: dict[str, Any]
) -> None:
    """The values are the records' own, or what the method gives for them; t holds."""
    name, method = str(released.name), document["method"]
    attribute = attributes_of(document)[name]
    if "noise" in attribute:
        _check_noise(released, attribute["noise"])
        _check_stochastic(classes, attribute["noise"], document)
        return
    in_buckets = method["name"] == "bucketization" and method.get("release") != "value"
    if in_buckets:
        pairs = set(zip(released, own, strict=True))
        assert all(is_in_bucket(bucket, value, attribute, own) for bucket, value in pairs)
    else:
        assert released.tolist() == own
    if method["name"] == "bucketization":
        _check_ratio(released, classes, in_buckets, document)
    limit = Fraction(str(attribute.get("t", document["privacy"].get("t", 1))))
    if limit < 1:
        key = _places(released, own, attribute) if in_buckets else (lambda value: value)
        is_ordered = (
            attribute.get("distance", "ordered") == "ordered" and "taxonomy" not in attribute
        )
        by = {} if in_buckets and is_ordered else attribute
        if attribute.get("type") == "nominal":
            key, by = str, attribute | {"distance": "equal"}
        whole = [key(value) for value in released]
        found = [distance([key(v) for v in m[name]], whole, by) for m in classes]
        assert max(found) <= limit


def _places(released: pd.Series, own: list[Any], attribute: dict[str, Any]) -> Any:
    """Place of each released bucket among them, by the values that it stands for."""
    order = attribute.get("order")
    rank = order.index if order else (lambda value: value)
    lowest: dict[Any, Any] = {}
    for bucket, value in zip(released, own, strict=True):
        lowest[bucket] = min(lowest.get(bucket, rank(value)), rank(value))
    return sorted(lowest, key=lowest.__getitem__).index


def _check_ratio(
    released: pd.Series, classes: list[pd.DataFrame], in_buckets: bool, document: dict[str, Any]
) -> None:
    """Shares of the buckets, those of section 6.2, are within the ratio.

    Domingo-Ferrer and Soria-Comas 2015, Definition 4.
    """
    name, method = str(released.name), document["method"]
    bucket_of = {value: value for value in released}
    is_nominal = isinstance(released[0], str) or attributes_of(document)[name].get("type")
    if not in_buckets and not is_nominal:
        cut = naive_ratio.cut_buckets(released.tolist(), method["buckets"])
        bucket_of = {value: number for number, bucket in enumerate(cut) for value in bucket}
    elif not in_buckets:
        return  # its buckets are said in the manifest, and checked elsewhere
    whole = [bucket_of[value] for value in released]
    for members in classes:
        shares = [bucket_of[value] for value in members[name]]
        assert naive_models.ratio_distance(shares, whole) <= Fraction(str(method["ratio"]))


def _check_noise(released: pd.Series, noise: dict[str, Any]) -> None:
    if "values" in noise:
        assert set(released) <= set(noise["values"])
        return
    low, high, step = (noise[key] for key in ("low", "high", "step"))
    assert set(released) <= set(range(low, high + 1, step))


def _check_stochastic(
    classes: list[pd.DataFrame], noise: dict[str, Any], document: dict[str, Any]
) -> None:
    """t = max over |E| of |E|/n (1 + (n/|E| - 1) e^epsilon).

    Domingo-Ferrer and Soria-Comas 2015, Proposition 1.
    """
    n_records = sum(map(len, classes))
    for model in document["privacy"].get("models", []):
        shares = [len(members) / n_records for members in classes]
        found = max(s + (1 - s) * np.exp(noise["epsilon"]) for s in shares)
        assert found <= model["t"]


def _check_joint(rows: pd.DataFrame, classes: list[pd.DataFrame], document: dict[str, Any]) -> None:
    for joint in document["privacy"].get("joint", []):
        names = joint.get("attributes") or with_role(document, CONFIDENTIAL)
        whole = list(rows[names].itertuples(index=False, name=None))
        for members in classes:
            own = members[names].itertuples(index=False, name=None)
            assert naive_joint.joint_emd(own, whole) <= Fraction(str(joint["t"]))


def _check_models(
    rows: pd.DataFrame, classes: list[pd.DataFrame], document: dict[str, Any]
) -> None:
    for model in document["privacy"].get("models", []):
        for name in model.get("attributes", []):
            places = {value: i for i, value in enumerate(dict.fromkeys(rows[name]))}
            if not isinstance(rows[name][0], str):
                places = {value: i for i, value in enumerate(sorted(set(rows[name])))}
            members = [[places[value] for value in m[name]] for m in classes]
            whole = [places[value] for value in rows[name]]
            _check_model(model, members, whole, places, document)


def _check_model(
    model: dict[str, Any],
    classes: list[list[int]],
    whole: list[int],
    places: dict[Any, int],
    document: dict[str, Any],
) -> None:
    name = model["name"]
    if name in ("distinct-l-diversity", "p-sensitive-k-anonymity"):
        least = model["l"] if "l" in model else model["p"]
        assert min(map(naive_models.n_distinct, classes)) >= least
    elif name == "entropy-l-diversity":
        assert all(naive_models.has_entropy(m, Fraction(str(model["l"]))) for m in classes)
    elif name == "recursive-cl-diversity":
        factor = Fraction(str(model["c"]))
        assert all(naive_models.is_recursive(m, factor, model["l"]) for m in classes)
    elif name == "n-t-closeness":
        for i in range(len(classes)):
            found = naive_models.superset_distance(classes, i, [], model["n"])
            assert found <= Fraction(str(model["t"]))
    else:
        group = _groups(model["buckets"], whole, places)
        limit = Fraction(str(model["t"]))
        table = [group[value] for value in whole]
        for members in classes:
            assert naive_models.ratio_distance([group[v] for v in members], table) <= limit


def _groups(buckets: Any, whole: list[int], places: dict[Any, int]) -> dict[int, int]:
    """Group of each place: named ones, or ranges of equal numbers of records."""
    if isinstance(buckets, list):
        named = {text: number for number, texts in enumerate(buckets) for text in texts}
        return {place: named[str(value)] for value, place in places.items()}
    counts = [whole.count(place) for place in range(len(places))]
    return dict(enumerate(value_ranges(counts, buckets)))


def _check_generalised(
    rows: pd.DataFrame, by_id: dict[int, dict[str, Any]], document: dict[str, Any]
) -> None:
    """Check that the value that covers a class covers each record's own value."""
    if document["method"]["name"] not in ("mondrian", "incognito", "sabre"):
        return
    for name in with_role(document, QUASI):
        attribute = attributes_of(document)[name]
        for text, i in zip(rows[name], rows["id"], strict=True):
            assert text == quoted(str(by_id[i][name])) or covers(text, by_id[i][name], attribute)
