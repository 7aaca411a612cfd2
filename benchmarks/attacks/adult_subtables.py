"""Adult as the intruder meets it: small random tables of it, and the methods that release them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import yaml

from benchmarks.microdata.sources import REAL_DATA

POLICY = Path(__file__).resolve().parents[2] / "config" / "adult.yaml"
CONFIDENTIAL = "hours-per-week"


@dataclass(frozen=True)
class Method:
    """A method under attack: its name on the page, its keys, and what its policy has besides."""

    name: str
    keys: dict[str, Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    is_held_to_t: bool = True


_NOISE = {"role": "confidential", "noise": {"epsilon": 1, "low": 1, "high": 99}}
_INTERVALS = {"role": "quasi-identifier", "intervals": {"widths": [5, 10, 20], "origin": 0}}
METHODS = (
    Method("`t-closeness-first`", {"name": "t-closeness-first"}),
    Method("the same, `refine: off`", {"name": "t-closeness-first", "refine": "off"}),
    Method("`k-anonymity-first`", {"name": "k-anonymity-first"}),
    Method("`microaggregate-and-merge`", {"name": "microaggregate-and-merge"}),
    Method("`mdav` (t = 1)", {"name": "mdav"}, is_held_to_t=False),
    Method("`v-mdav` (t = 1)", {"name": "v-mdav"}, is_held_to_t=False),
    Method("`bucketization` (ratio 2)", {"name": "bucketization", "ratio": 2}),
    Method(
        "`dp-confidential`", {"name": "dp-confidential"}, {CONFIDENTIAL: _NOISE}, is_held_to_t=False
    ),
    Method("`mondrian`", {"name": "mondrian"}),
    Method("`incognito`", {"name": "incognito"}, {"age": _INTERVALS}),
    Method("`sabre`", {"name": "sabre"}),
)


def read_adult() -> pa.Table:
    """The complete records, by the columns of the policy.

    Raises
    ------
    FileNotFoundError
        The data are not at hand.
    """
    table = pa_csv.read_csv(REAL_DATA / "adult.csv").select(list(_attributes()))
    for name in table.column_names:
        if pa.types.is_string(table.schema.field(name).type):
            table = table.filter(pc.not_equal(table[name], "?"))
    return table


def draw_subtable(table: pa.Table, n_records: int, seed: int, number: int) -> pa.Table:
    """So many records at random, in the order of the file; the same for every method."""
    rng = np.random.default_rng([seed, number])
    return table.take(pa.array(np.sort(rng.choice(len(table), n_records, replace=False))))


def write_document(method: Method, k: int, t: float) -> dict[str, Any]:
    """The policy of Adult with this method, k and t; t is 1 where classes are not held to it."""
    privacy: dict[str, Any] = {"k": k, "t": t if method.is_held_to_t else 1}
    if "noise" in method.attributes.get(CONFIDENTIAL, {}):
        del privacy["t"]
    return {
        "name": "adult",
        "attributes": _attributes() | method.attributes,
        "privacy": privacy,
        "method": method.keys,
    }


def _attributes() -> dict[str, Any]:
    document = yaml.safe_load(POLICY.read_text(encoding="utf-8"))
    return {n: a for n, a in document["attributes"].items() if a != "identifier"}
