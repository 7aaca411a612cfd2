"""Policies that a table can meet, most of the time: of every method, with all their keys."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nightly.drawn import drawn_columns as columns
from nightly.drawn import hostility
from nightly.drawn.drawn_columns import Drawn, Rng, pick
from nightly.independent.asked import is_text
from nightly.independent.gaps import CATEGORY

QUASI, CONFIDENTIAL, PASSTHROUGH = "quasi-identifier", "confidential", "non-confidential"
METHODS = (
    *("t-closeness-first", "mdav", "v-mdav", "microaggregate-and-merge", "k-anonymity-first"),
    *("bucketization", "dp-confidential", "mondrian", "incognito", "sabre"),
)
AGGREGATING = {"t-closeness-first", "mdav", "v-mdav", "microaggregate-and-merge"} | {
    *("k-anonymity-first", "bucketization", "dp-confidential"),
}
VERIFIED_ONLY = {"mdav", "v-mdav", "dp-confidential"}
ONE_CONFIDENTIAL = {"bucketization", "sabre"}
WHOLE_TABLE = {"bucketization", "sabre"}
WITH_JOINT = {"t-closeness-first", "microaggregate-and-merge", "mondrian", "incognito"}
QUASI_NAMES = ["age", "größe", "with space", "a,b", 'quo"te', "x.y", "Count", "1"]
TRAPS = ["_x", ".x", "count_all", "__index_level_0__", "class", "size", "row", "subset"]
TIE = "record"


@dataclass(frozen=True)
class Asking:
    """What is drawn: a table, and the policy for it but for places."""

    table: pa.Table
    document: dict[str, Any]
    in_csv: bool


class Drawing:
    """Draws one case: of a method, by a generator of random numbers."""

    def __init__(self, rng: Rng, method: str) -> None:
        self.rng, self.method = rng, method
        [self.gap_rng] = rng.spawn(1)  # so that the other draws are what they are without gaps
        self.in_csv = bool(rng.random() < 0.35)
        self.n = int(pick(rng, [20, 40, 60, 60, 90, 130, 200, 400]))
        self.k = int(rng.integers(2, min(7, self.n // 8 + 2)))
        self.is_hostile = self.chance(0.12)
        if self.is_hostile and self.chance(0.3):
            self.n = int(pick(rng, [1, 5, 12]))
        self.method_keys = self._draw_method()
        self.columns: dict[str, Drawn] = {}
        self.attributes: dict[str, Any] = {}

    def draw(self) -> Asking:
        """The whole case."""
        self._draw_quasi()
        self._draw_confidential()
        self._draw_passthrough()
        document: dict[str, Any] = {
            "name": "drawn",
            "attributes": self.attributes,
            "privacy": self._draw_privacy(),
            "method": {"name": self.method} | self.method_keys,
            "seed": int(self.rng.integers(1, 10**6)),
        }
        document["output"] = self._draw_output()
        if self.is_hostile:
            hostility.worsen(self.rng, document)
        table = pa.table({n: c.values for n, c in self.columns.items()})
        if self.rng.random() < 0.3:
            table, more = self._with_gaps(table)
            document |= more
        if self.chance(0.3):
            table = table.append_column(
                "unlisted", pa.array([f"UNLISTED-{i}" for i in range(self.n)])
            )
            document["unlisted"] = "drop"
        order = self.rng.permutation(table.num_columns).tolist()
        return Asking(table.select(order), document, self.in_csv)

    @property
    def makes_buckets(self) -> bool:
        """Whether the confidential attribute is released as its bucket."""
        return self.method == "bucketization" and "release" not in self.method_keys

    def chance(self, share: float) -> bool:
        """Whether something comes up."""
        return bool(self.rng.random() < share)

    def _names(self, n: int) -> list[str]:
        pool = [*QUASI_NAMES, *(TRAPS if self.chance(0.1) else [])]
        return [pool[int(i)] for i in self.rng.permutation(len(pool))[:n]]

    def _draw_quasi(self) -> None:
        for name in self._names(int(pick(self.rng, [1, 2, 2, 3]))):
            n_values = int(pick(self.rng, [2, 4, 10, 40]))
            if self.chance(0.65):
                drawn = columns.draw_ordered(self.rng, self.n, self.in_csv, n_values)
            else:
                tree = self.chance(0.5)
                drawn = columns.draw_nominal(self.rng, self.n, self.in_csv, min(n_values, 6), tree)
            keys = {"role": QUASI} | self._release_keys(drawn)
            if self.gap_rng.random() < 0.25:
                drawn, more = self._fill_gaps(drawn)
                keys |= more
            self._add(name, drawn, keys)

    def _fill_gaps(self, drawn: Drawn) -> tuple[Drawn, dict[str, Any]]:
        """A column with missing values, and what records get in their place."""
        dtype, keys = drawn.values.type, drawn.keys
        rng = self.gap_rng
        values = columns.with_gaps(rng, drawn.values, float(pick(rng, [0.02, 0.2, 0.6])))
        is_nominal = "taxonomy" in keys or keys.get("type") == "nominal" or is_text(dtype)
        has_modes = pa.types.is_boolean(dtype) or (is_nominal and "order" not in keys)
        options = ["class", "class", "class"] if self.method in AGGREGATING else []
        options.append("mode" if has_modes else "median")
        if is_nominal and "taxonomy" not in keys:
            options.append("category")
        chosen = pick(rng, options)
        if chosen == "category" and "order" in keys:
            keys = keys | {"order": [CATEGORY, *keys["order"]]}
        return Drawn(values, keys), {"missing": chosen}

    def _release_keys(self, drawn: Drawn) -> dict[str, Any]:
        """How a quasi-identifier is released."""
        dtype, keys = drawn.values.type, drawn.keys
        is_number = pa.types.is_integer(dtype) or pa.types.is_floating(dtype)
        if self.method == "incognito" and is_number and self.chance(0.6):
            return self._draw_intervals(drawn)
        if self.method not in AGGREGATING or self.chance(0.5):
            return {}
        if "taxonomy" in keys:
            return {"aggregate": pick(self.rng, ["mode", "ancestor", "representative"])}
        if is_number or pa.types.is_temporal(dtype):
            return {"aggregate": pick(self.rng, ["mean", "median", "low-median"])} | (
                {"round": False} if pa.types.is_integer(dtype) and self.chance(0.4) else {}
            )
        usual = "median" if "order" in keys else "mode"
        return {"aggregate": pick(self.rng, ["representative", usual])}

    def _draw_intervals(self, drawn: Drawn) -> dict[str, Any]:
        values = np.array(drawn.values.to_pylist(), dtype=float)
        span = float(np.ptp(values)) or 1.0
        if not 1e-3 < span < 1e9 or float(np.abs(values).max()) > 1e12:
            return {}
        if pa.types.is_integer(drawn.values.type):
            first = max(1, round(span / 8))
            return {
                "intervals": {"widths": [first, first * 3], "origin": int(self.rng.integers(5))}
            }
        return {"intervals": {"widths": [0.3, 0.9, 3.6], "origin": 0.1}}

    def _draw_confidential(self) -> None:
        counts = [1, 1, 1, 2, 3] if self.method != "k-anonymity-first" else [1, 1, 2]
        n = 1 if self.method in ONE_CONFIDENTIAL else int(pick(self.rng, counts))
        if self.method not in (*ONE_CONFIDENTIAL, "k-anonymity-first") and self.chance(0.06):
            n = 0
        for name in ["pay", "ill", "stage"][:n]:
            self._draw_attribute(name)

    def _draw_attribute(self, name: str) -> None:
        n_values = int(pick(self.rng, [2, 3, 5, 12, 40]))
        if self.method == "dp-confidential":
            return self._draw_noised(name, n_values)
        is_nominal = self.method != "k-anonymity-first" and self.chance(0.35)
        if is_nominal:
            tree = self.chance(0.1 if self.makes_buckets else 0.5)
            few = min(n_values, 4)
            drawn = columns.draw_nominal(self.rng, self.n, self.in_csv, few, tree)
            keys: dict[str, Any] = {"distance": "equal"} if tree and self.chance(0.2) else {}
            if tree and self.chance(0.2):
                keys["subsets_by"] = "frequency"
        else:
            drawn = columns.draw_ordered(self.rng, self.n, self.in_csv, n_values)
            is_few = drawn.n_distinct <= 4 and self.method not in (
                "k-anonymity-first",
                *WHOLE_TABLE,
            )
            keys = {"distance": "equal"} if is_few and self.chance(0.3) else {}
        if self.chance(0.2) and not (is_nominal and self.makes_buckets):
            keys["t"] = self._draw_t()
        return self._add(name, drawn, {"role": CONFIDENTIAL} | keys)

    def _draw_noised(self, name: str, n_values: int) -> None:
        epsilon = pick(self.rng, [0.1, 0.5, 1, 2.5])
        how = int(self.rng.integers(4))
        if how == 0:
            values = columns.draw_integers(self.rng, self.n, self.in_csv, min(n_values, 9))
            values = pa.array([v % 10 for v in values.to_pylist()], values.type)
            step = pick(self.rng, [1, 3])
            drawn, noise = Drawn(values), {"low": 0, "high": 9, "step": step}
        elif how == 1:
            values = pa.array(columns.draw_codes(self.rng, self.n, 9) / 8 + 0.0625)
            drawn, noise = Drawn(values), {"low": 0, "high": 1, "step": 0.125}
        elif how == 2:
            drawn, noise = columns.draw_ordinal(self.rng, self.n, self.in_csv, min(n_values, 6)), {}
        else:
            drawn = columns.draw_nominal(self.rng, self.n, self.in_csv, min(n_values, 6), False)
            noise = {"values": [*sorted({str(v) for v in drawn.values.to_pylist()}), "other"]}
        self._add(name, drawn, {"role": CONFIDENTIAL, "noise": {"epsilon": epsilon} | noise})

    def _draw_passthrough(self) -> None:
        if self.chance(0.85):
            numbers = self.rng.permutation(self.n) + 1000
            self._add(TIE, Drawn(pa.array(numbers)), PASSTHROUGH)
        if self.chance(0.4):
            values = columns.draw_texts(
                self.rng, self.n, self.in_csv, columns.draw_names(self.rng, self.in_csv, 5)
            )
            keys = {"role": PASSTHROUGH, "type": "nominal"} if self.in_csv else PASSTHROUGH
            self._add("note", Drawn(columns.with_gaps(self.rng, values, 0.1)), keys)
        if self.chance(0.3):
            values = columns.draw_ordered(self.rng, self.n, self.in_csv, 10)
            if "order" not in values.keys:
                self._add("extra", values, PASSTHROUGH)
        if self.chance(0.5):
            names = [f"IDENTIFIER-{i:04x}-7f3a" for i in range(self.n)]
            self._add("person", Drawn(pa.array(names)), "identifier")

    def _add(self, name: str, drawn: Drawn, keys: Any) -> None:
        self.columns[name] = drawn
        self.attributes[name] = keys if isinstance(keys, str) else keys | drawn.keys

    def _draw_t(self) -> float:
        """A t that classes of about k records of most tables can have."""
        if self.method in VERIFIED_ONLY:
            return float(pick(self.rng, [1, 1, 1, 1, 0.9, 0.6]))
        return float(pick(self.rng, [0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75]))

    def _draw_privacy(self) -> dict[str, Any]:
        privacy: dict[str, Any] = {"k": self.k, "t": self._draw_t()}
        named = [n for n, a in self.attributes.items() if isinstance(a, dict)]
        names = [n for n in named if self.attributes[n]["role"] == CONFIDENTIAL]
        is_nominal = "pay" in self.columns and self.columns["pay"].keys.get("type") == "nominal"
        if self.makes_buckets and (is_nominal or self.chance(0.2)) and self.chance(0.9):
            del privacy["t"]  # of buckets without an order there is none
        if self.method == "dp-confidential":
            del privacy["t"]
            if self.chance(0.3):
                privacy["models"] = [{"name": "stochastic-t-closeness", "t": 14}]
            return privacy
        few = [n for n in names if self.columns[n].n_distinct <= 4]
        if self.method in WITH_JOINT and len(few) > 1 and self.chance(0.6):
            privacy["joint"] = [{"attributes": few[:2], "t": pick(self.rng, [0.6, 0.8])}]
        if names and self.chance(0.12 if self.method in VERIFIED_ONLY else 0.5):
            privacy["models"] = [
                self._draw_model(str(pick(self.rng, names)))
                for _ in range(int(pick(self.rng, [1, 1, 2])))
            ]
            privacy["models"] = list({m["name"]: m for m in privacy["models"]}.values())
            if (
                "t" in privacy
                and self.chance(0.2)
                and all("attributes" not in m for m in privacy["models"])
            ):
                del privacy["t"]
        return privacy

    def _draw_model(self, name: str) -> dict[str, Any]:
        n_values, keys = self.columns[name].n_distinct, self.columns[name].keys
        has_order = "taxonomy" not in keys and keys.get("type") != "nominal"
        has_order &= self.attributes[name].get("distance") != "equal"
        few = min(self.columns[n].n_distinct for n in ("pay", "ill", "stage") if n in self.columns)
        least = max(2, min(3, few))
        model: dict[str, Any] = pick(
            self.rng,
            [
                {"name": "distinct-l-diversity", "l": least},
                {"name": "entropy-l-diversity", "l": pick(self.rng, [1.2, 1.5, 2])},
                {"name": "recursive-cl-diversity", "c": pick(self.rng, [3, 7.5]), "l": 2},
                {"name": "p-sensitive-k-anonymity", "p": 2},
                {"name": "n-t-closeness", "n": self.n // 3 + 2, "t": 0.4},
                {"name": "ratio-closeness", "t": pick(self.rng, [4, 9.5])},
            ],
        )
        if model["name"] == "ratio-closeness" and has_order and n_values > 2:
            model |= {"buckets": 2, "attributes": [name]}
        return model | ({"attributes": [name]} if self.chance(0.3) else {})

    def _draw_method(self) -> dict[str, Any]:
        keys: dict[str, list[dict[str, Any]]] = {
            "t-closeness-first": [
                *({}, {"scope": "table"}, {"refine": "off"}, {"refine": "full"}),
                *({"class_size": "paper"}, {"block_clusters": 3}, {"refine": 2}),
            ],
            "mdav": [{}, {"refine": 1}, {"scope": "table"}],
            "v-mdav": [{}, {"gamma": 1.5}, {"gamma": 0}],
            "microaggregate-and-merge": [{}, {"start": "v-mdav", "gamma": 0.5}, {"refine": 2}],
            "k-anonymity-first": [{}, {"refine": 1}],
            "bucketization": [
                *({"ratio": 2}, {"ratio": 4}, {"ratio": 3.5, "buckets": 2}),
                *({"ratio": 3, "release": "value"}, {"ratio": 5, "buckets": 3}),
            ],
            "dp-confidential": [{}, {"start": "v-mdav"}, {"start": "v-mdav", "gamma": 1}],
            "mondrian": [{}, {"scope": "table"}],
        }
        return dict(pick(self.rng, keys.get(self.method, [{}])))

    def _draw_output(self) -> dict[str, Any]:
        output: dict[str, Any] = {}
        if self.chance(0.3):
            output["rows_per_file"] = int(pick(self.rng, [1, 7, 50] if self.n < 70 else [50, 90]))
        if self.method in WHOLE_TABLE or self.n < 90 or not self.chance(0.3):
            return output
        few = [n for n in self.attributes if self._can_be_folder(n)]
        if few and self.chance(0.6):
            output["partition_by"] = [pick(self.rng, few)]
        else:
            sites = ["a", "b=c/d", "50%"][: int(pick(self.rng, [2, 2, 3]))]
            values = pa.array([sites[c] for c in columns.draw_codes(self.rng, self.n, len(sites))])
            keys = {"role": PASSTHROUGH, "type": "nominal"} if self.in_csv else PASSTHROUGH
            self._add("site", Drawn(values), keys)
            output["partition_by"] = ["site"]
        return output

    def _can_be_folder(self, name: str) -> bool:
        keys, drawn = self.attributes[name], self.columns[name]
        if not isinstance(keys, dict) or keys["role"] != QUASI or drawn.n_distinct > 3:
            return False
        is_last = sum(isinstance(a, dict) and a["role"] == QUASI for a in self.attributes.values())
        return is_last > 1 and not {"aggregate", "round", "intervals", "missing"} & keys.keys()

    def _with_gaps(self, table: pa.Table) -> tuple[pa.Table, dict[str, Any]]:
        """Missing values in what classes are made of; those records are dropped."""
        hard = self._partition_names(table)
        for place, name in enumerate(table.column_names):
            if name in (TIE, "person", *hard) or not self.chance(0.4):
                continue
            gaps = columns.with_gaps(self.rng, table[name].combine_chunks(), 0.05)
            table = table.set_column(place, name, gaps)
        return table, {"missing": "drop"}

    def _partition_names(self, table: pa.Table) -> list[str]:
        return [name for name in ("site",) if name in table.column_names]
