"""Every key of a policy that is about privacy, asked of a small table.

``CASES`` has a demand for each key, and a stricter one that the same release does not meet.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from support.cases.patients import STAGES, TOWNS

QUASI, CONFIDENTIAL, PASSTHROUGH = "quasi-identifier", "confidential", "non-confidential"
N_RECORDS = 96
ILLS = {"any": {"lungs": ["flu", "cold"], "belly": ["ulcer", "hernia"]}}
STAGE = {"role": CONFIDENTIAL, "type": "ordinal", "order": STAGES}
METHODS: dict[str, dict[str, Any]] = {
    "t-closeness-first": {"refine": "off"},
    "k-anonymity-first": {},
    "microaggregate-and-merge": {},
    "mdav": {},
    "v-mdav": {},
    "bucketization": {"ratio": 2, "buckets": 2},
    "bucketization of values": {"ratio": 2, "buckets": 2, "release": "value"},
    "dp-confidential": {},
    "mondrian": {},
    "incognito": {},
    "sabre": {},
}


@dataclass(frozen=True)
class Demand:
    """A policy's demand by one key; ``stricter``: the same, with more than a release has.

    ``attributes`` and ``privacy`` are merged with the policy's own, other sections replace its.
    ``only``: the methods that have the key; of others a refusal is due.
    """

    asked: dict[str, Any]
    stricter: dict[str, Any]
    only: tuple[str, ...] = field(default=())


def table() -> pa.Table:
    """Records with an ``id`` to know them again; the last has no stage."""
    rng = np.random.default_rng(8)
    stages = list(rng.choice(STAGES, N_RECORDS, p=[0.5, 0.3, 0.2]))
    return pa.table(
        {
            "id": np.arange(N_RECORDS),
            "name": [f"person {i}" for i in range(N_RECORDS)],
            "age": rng.integers(18, 60, N_RECORDS),
            "town": rng.choice(["Bonn", "Lyon", "Oslo"], N_RECORDS),
            "site": rng.choice(["a", "b"], N_RECORDS),
            "pay": 100 * rng.integers(1, 5, N_RECORDS),
            "ill": rng.choice(["flu", "cold", "ulcer", "hernia"], N_RECORDS),
            "stage": pa.array(stages, mask=np.arange(N_RECORDS) == N_RECORDS - 1),
            "note": rng.choice(["x", "y"], N_RECORDS),
        }
    )


def document_of(method: str, source: Path, place: Path, asked: Mapping[str, Any]) -> Any:
    """A policy of a method over the table, with what a demand asks of it."""
    name = method.removesuffix(" of values")
    pay: dict[str, Any] = {"role": CONFIDENTIAL}
    privacy: dict[str, Any] = {"k": 4, "t": 0.5}
    if name == "dp-confidential":
        pay["noise"] = {"epsilon": 2, "low": 100, "high": 400, "step": 100}
        privacy = {"k": 4}
    attributes: dict[str, Any] = {
        "id": {"role": PASSTHROUGH},
        "name": {"role": "identifier"},
        "age": {"role": QUASI},
        "town": {"role": QUASI, "taxonomy": TOWNS},
        "pay": pay,
    }
    if name == "incognito":
        attributes["age"]["intervals"] = {"widths": [10, 20, 40]}
    document = {
        "name": "people",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": attributes,
        "privacy": privacy,
        "method": {"name": name} | METHODS[method],
        "output": {"path": str(place)},
    }
    return merged(document, asked)


def merged(document: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A document with the keys of another, below each other's; None takes a key out."""
    made = dict(document)
    for key, value in more.items():
        own = made.get(key)
        made[key] = (
            merged(own, value) if isinstance(value, dict) and isinstance(own, dict) else value
        )
    return {key: value for key, value in made.items() if value is not None}


def _model(name: str, asked: dict[str, Any], **stricter: Any) -> Demand:
    """A further model of the pay."""
    own = {"name": name, "attributes": ["pay"]} | asked
    return Demand({"privacy": {"models": [own]}}, {"privacy": {"models": [own | stricter]}})


def _attribute(name: str, *, stricter: dict[str, Any], **keys: Any) -> Demand:
    return Demand({"attributes": {name: keys}}, {"attributes": {name: stricter}})


ILL_ALONE = {"pay": None, "ill": {"role": CONFIDENTIAL}}
NOISE = ("dp-confidential",)
BUCKETS = ("bucketization", "bucketization of values")
DISTINCT = {"name": "distinct-l-diversity"}
FAR = {"privacy": {"t": 0.001}}  # which no class has by the attribute's distance
CASES: dict[str, Demand] = {
    "privacy.k": Demand({"privacy": {"k": 7}}, {"privacy": {"k": N_RECORDS + 1}}),
    "privacy.t": Demand({"privacy": {"t": 0.25}}, FAR),
    "privacy.joint.attributes": Demand(
        {"attributes": {"stage": STAGE}, "missing": "drop",
         "privacy": {"joint": [{"attributes": ["pay", "stage"], "t": 0.8}]}},
        {"privacy": {"joint": [{"attributes": ["pay", "stage"], "t": 0.001}]}},
    ),
    "privacy.joint.t": Demand(
        {"attributes": {"ill": {"role": CONFIDENTIAL}}, "privacy": {"joint": [{"t": 0.8}]}},
        {"privacy": {"joint": [{"t": 0.001}]}},
    ),
    "privacy.models.distinct-l-diversity.l": _model("distinct-l-diversity", {"l": 2}, l=9),
    "privacy.models.entropy-l-diversity.l": _model("entropy-l-diversity", {"l": 1.5}, l=9),
    "privacy.models.recursive-cl-diversity.c": _model(
        "recursive-cl-diversity", {"c": 3, "l": 2}, c=0.01
    ),
    "privacy.models.recursive-cl-diversity.l": _model(
        "recursive-cl-diversity", {"c": 3, "l": 2}, l=9
    ),
    "privacy.models.p-sensitive-k-anonymity.p": _model("p-sensitive-k-anonymity", {"p": 2}, p=9),
    "privacy.models.n-t-closeness.n": _model("n-t-closeness", {"n": 60, "t": 0.3}, n=N_RECORDS * 2),
    "privacy.models.n-t-closeness.t": _model("n-t-closeness", {"n": 60, "t": 0.3}, t=0.0001),
    "privacy.models.ratio-closeness.t": _model(
        "ratio-closeness", {"t": 3, "buckets": 2}, t=1.0001
    ),
    "privacy.models.ratio-closeness.buckets": _model(
        "ratio-closeness", {"t": 3, "buckets": [["100", "200"], ["300", "400"]]},
        buckets=[["100"], ["200", "300", "400"]], t=1.0001,
    ),
    "privacy.models.attributes": Demand(
        {"attributes": {"stage": STAGE}, "missing": "drop",
         "privacy": {"models": [DISTINCT | {"l": 2, "attributes": ["stage"]}]}},
        {"privacy": {"models": [DISTINCT | {"l": 9, "attributes": ["stage"]}]}},
    ),
    "privacy.models.stochastic-t-closeness.t": Demand(
        {"privacy": {"models": [{"name": "stochastic-t-closeness", "t": 7.5}]}},
        {"privacy": {"models": [{"name": "stochastic-t-closeness", "t": 1.01}]}}, NOISE,
    ),
    "attributes.role": Demand(
        {"attributes": {"ill": {"role": CONFIDENTIAL}, "note": {"role": "identifier"}}},
        {"attributes": {"id": {"role": "identifier"}}},
    ),
    "attributes.t": _attribute("pay", t=0.2, stricter={"t": 0.001}),
    "attributes.type": Demand(
        {"attributes": {"pay": {"type": "nominal"}}, "privacy": {"t": 0.5}}, FAR
    ),
    "attributes.order": Demand(
        {"attributes": {"pay": None, "stage": STAGE}, "missing": "drop"}, FAR
    ),
    "attributes.distance": Demand(
        {"attributes": merged(ILL_ALONE, {"ill": {"distance": "equal"}}), "privacy": {"t": 0.6}},
        FAR,
    ),
    "attributes.distance, of numbers": Demand(
        {"attributes": {"pay": {"distance": "equal"}}, "privacy": {"t": 0.5}}, FAR
    ),
    "attributes.distance, of nominal values": Demand(
        {"attributes": ILL_ALONE, "privacy": {"t": 0.6}}, FAR
    ),
    "attributes.taxonomy": Demand(
        {"attributes": merged(ILL_ALONE, {"ill": {"taxonomy": ILLS}}), "privacy": {"t": 0.4}}, FAR
    ),
    "attributes.noise.epsilon": _attribute("pay", noise={"epsilon": 1}, stricter={}),
    "attributes.noise.low": _attribute("pay", noise={"low": 200}, stricter={"noise": {"low": 900}}),
    "attributes.noise.high": _attribute(
        "pay", noise={"high": 300}, stricter={"noise": {"high": 0}}
    ),
    "attributes.noise.step": _attribute(
        "pay", noise={"step": 50}, stricter={"noise": {"step": 700}}
    ),
    "attributes.noise.values": Demand(
        {"attributes": {"pay": None, "ill": {
            "role": CONFIDENTIAL,
            "noise": {"epsilon": 1, "values": ["flu", "cold", "ulcer", "hernia", "gout"]}}}},
        {"attributes": {"ill": {"noise": {"values": ["flu", "cold"]}}}}, NOISE,
    ),
    "missing": Demand(
        {"attributes": {"stage": {"role": QUASI, "type": "ordinal", "order": STAGES}},
         "missing": "drop"},
        {"attributes": {"stage": {"role": "identifier"}}},
    ),
    "unlisted": Demand({"unlisted": "drop"}, {"attributes": {"town": {"role": "identifier"}}}),
    "output.partition_by": Demand(
        {"attributes": {"site": {"role": PASSTHROUGH}}, "output": {"partition_by": ["site"]},
         "privacy": {"k": 3, "t": None}},
        {"privacy": {"k": 60}},
    ),
    "method.ratio": Demand({"method": {"ratio": 2.5}}, {"method": {"ratio": 1.0001}}, BUCKETS),
    "method.buckets": Demand({"method": {"buckets": 3}}, {"method": {"ratio": 1.0001}}, BUCKETS),
    "method.release": Demand(
        {"method": {"release": "value"}}, {"method": {"ratio": 1.0001}}, BUCKETS
    ),
}  # fmt: skip
# Each is about the way, or the form, of a release; k, t and models hold whatever it says.
OTHERS = {
    *("name", "seed", "input.path", "input.format", "input.delimiter", "input.missing_values"),
    *("input.decimal", "input.thousands", "input.date_format", "input.encoding"),
    "input.sampling_fraction",
    *("attributes.decimal", "attributes.thousands", "attributes.date_format", "unconfirmed"),
    *(
        "output.path",
        "output.format.parquet",
        "output.rows_per_file",
        "output.signing_key",
        "engine",
    ),
    *("attributes.intervals", "attributes.aggregate", "attributes.round", "attributes.subsets_by"),
    *("attributes.scale", "attributes.weight", "attributes.prefixes", "attributes.calendar"),
    *("attributes.label", "attributes.unit", "attributes.description", "attributes.persistent"),
    *("about.title", "about.description", "about.publisher"),
    *("about.contact", "about.licence", "about.citation"),
    *("method.name", "method.scope", "method.block_clusters", "method.class_size"),
    *("method.refine", "method.losses", "method.start", "method.gamma"),
    *(f"attributes.{end}.{key}" for end in ("bottom", "top") for key in ("percentile", "public")),
    *("attributes.bands", "attributes.missing"),
    # who is left out: tests/end_to_end/inputs/test_suppressed_records.py
    "suppress.at_most",
    # of several releases together: tests/end_to_end/persons/test_series.py
    *("series", "privacy.over_time.k", "privacy.over_time.t", "privacy.over_time.window"),
    *("privacy.over_time.departures", "privacy.over_time.churn", "privacy.over_time.made_within"),
    # of records that are held: tests/end_to_end/persons/test_held_departures.py
    "privacy.over_time.hold.at_most",
    "privacy.persons",  # tests/end_to_end/persons hold it
}


def keys_of(schema: dict[str, Any]) -> set[str]:
    """Every key of a policy, by its JSON Schema; models by their names, attributes by none."""
    found = set(_walk(schema, schema, ""))
    return {key for key in found if not any(other.startswith(f"{key}.") for other in found)}


def _walk(node: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    below = [*node.get("anyOf", []), *node.get("oneOf", [])]
    below += [node[k] for k in ("items", "additionalProperties") if isinstance(node.get(k), dict)]
    properties = node.get("properties", {})
    if "const" in properties.get("name", {}):
        path = f"{path}.{properties['name']['const']}"
    found = [key for part in below for key in _walk(part, schema, path)]
    for key, value in properties.items():
        if key == "name" and "const" in value:
            continue
        place = f"{path}.{key}" if path else key
        if place.startswith("privacy.models.") and key == "attributes":
            place = "privacy.models.attributes"
        found += (
            [place]
            if place in ("engine", "attributes.intervals")
            else (list(_walk(value, schema, place)))
        )
    yield from found or ([path] if path else [])
