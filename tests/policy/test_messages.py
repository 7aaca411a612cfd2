"""Policies that are refused: one message names each key, what it has to be and what is given."""

from typing import Any

import pytest

from support.short_policy import document
from tclose.errors import PolicyError
from tclose.policy.policy import parse_policy

CONFIDENTIAL, QUASI = {"role": "confidential", "t": 0.1}, {"role": "quasi-identifier"}
SMALL = {"any": ["x", "y"]}
WRONG_DISTANCES = [
    (CONFIDENTIAL | {"distance": "far"}, ".distance: has to be 'ordered', 'equal' or 'hierarc"),
    (CONFIDENTIAL | {"distance": "hierarchical"}, ": distance: hierarchical needs a taxonomy"),
    (CONFIDENTIAL | {"subsets_by": "taxonomy"}, ": subsets_by: taxonomy needs a taxonomy"),
    (
        CONFIDENTIAL | {"type": "nominal", "distance": "ordered"},
        ": distance: ordered does not go with type: nominal",
    ),
    (CONFIDENTIAL | {"type": "numeric", "taxonomy": SMALL}, ": taxonomy goes with type: nominal"),
    (QUASI | {"aggregate": "ancestor"}, ": aggregate: ancestor needs a taxonomy"),
    (QUASI | {"distance": "equal"}, ": distance and subsets_by belong to confidential attribut"),
    (QUASI | {"subsets_by": "frequency"}, ": distance and subsets_by belong to confidential"),
    (CONFIDENTIAL | {"scale": "std"}, ": scale and weight belong to quasi-identifiers only"),
    (CONFIDENTIAL | {"weight": 2}, ": scale and weight belong to quasi-identifiers only"),
    (QUASI | {"scale": "log"}, ".scale: has to be 'range', 'std', 'iqr', 'trimmed' or 'rank'"),
    (QUASI | {"scale": "std", "type": "nominal"}, ": scale goes with values that have an order"),
    (QUASI | {"scale": "std", "taxonomy": SMALL}, ": scale goes with values that have an order"),
    (QUASI | {"weight": 0}, ".weight: has to be at least 1e-06"),
    (QUASI | {"weight": True}, ".weight: has to be a number"),
    ({"role": "identifier", "taxonomy": SMALL}, ": taxonomy belongs to quasi-identifiers and"),
    (CONFIDENTIAL | {"taxonomy": ["x", "y"]}, ".taxonomy: has to be a file, or nested keys and"),
    (CONFIDENTIAL | {"taxonomy": 5}, ".taxonomy: has to be a file, or nested keys and lists of"),
    (CONFIDENTIAL | {"taxonomy": {}}, ".taxonomy: at the top: an empty branch; list its values"),
    (CONFIDENTIAL | {"taxonomy": []}, ".taxonomy: it has no values; give one row for each"),
    (CONFIDENTIAL | {"taxonomy": {"any": ["x", "x"]}}, ".taxonomy: below 'any': a value that app"),
    (CONFIDENTIAL | {"taxonomy": {"a": ["x"], "b": ["y"]}}, ".taxonomy: it has 2 roots; put one"),
    (CONFIDENTIAL | {"taxonomy": {"any": [False]}}, ".taxonomy: below 'any': a name that YAML d"),
    (CONFIDENTIAL | {"taxonomy": [["x"]]}, ".taxonomy: row 1: a value with nothing above it"),
    (CONFIDENTIAL | {"taxonomy": [["x", "any"], [False, "any"]]}, ".taxonomy: row 2: a name that"),
    (CONFIDENTIAL | {"taxonomy": "t.txt"}, ".taxonomy: taxonomy t.txt: has to be a file .yaml,"),
    (CONFIDENTIAL | {"taxonomy": "nowhere.csv"}, ".taxonomy: taxonomy nowhere.csv: cannot be re"),
]


class TestMessages:
    def refused(self, **keys: Any) -> str:
        with pytest.raises(PolicyError) as error:
            parse_policy(document(**keys), source="p.yaml")
        return str(error.value)

    def test_every_problem_in_one_message(self):
        assert self.refused(privacy={"k": 1, "t": 7, "l": 2}, missing="keep", seed="x").split(
            "\n"
        ) == [
            "policy p.yaml:",
            "  privacy.k: has to be at least 2 (given: 1)",
            "  privacy.t: has to be at most 1 (given: 7)",
            "  privacy.l: unknown key; allowed: joint, k, models, over_time, persons, t",
            "  missing: has to be 'error' or 'drop' (given: 'keep')",
            "  seed: has to be a whole number (given: 'x')",
        ]

    @pytest.mark.parametrize(
        ("keys", "refusal"),
        [
            ({"seed": False}, "seed: has to be a whole number (given: False)"),
            ({"input": {"path": "a.csv", "sampling_fraction": True}}, "sampling_fraction: has to"),
            ({"output": {"rows_per_file": True}}, "output.rows_per_file: has to be a whole number"),
            ({"engine": {"workers": True}}, "engine.workers: has to be a whole number from 1, or"),
            ({"engine": {"lease_seconds": True}}, "engine.lease_seconds: has to be a number"),
            ({"engine": {"kubernetes": {"port": True}}}, "engine.kubernetes.port: has to be a wh"),
            ({"method": {"block_clusters": True}}, "method.block_clusters: has to be a whole num"),
            ({"method": {"name": "v-mdav", "gamma": True}}, "method.gamma: has to be a number"),
            (
                {"attributes": {"age": {"role": "quasi-identifier", "prefixes": [True]}}},
                "attributes.age.prefixes: has to be a whole number",
            ),
            (
                {"privacy": {"k": 5, "t": 0.1, "over_time": {"k": 3, "t": 0.2, "churn": False}}},
                "privacy.over_time.churn: has to be a number",
            ),
        ],
    )
    def test_a_truth_is_no_number(self, keys, refusal):
        message = self.refused(**keys)
        assert refusal in message
        assert message.count("has to be") == 1

    @pytest.mark.parametrize(
        "name", ["int", "str", "bool", "function-after", "[key]", "engine", "order"]
    )
    def test_columns_of_any_name(self, name):
        message = self.refused(attributes={name: {"role": "quasi-identifier", "colour": 1}})
        known = "aggregate, bands, bottom, calendar, date_format, decimal, description"
        assert f"attributes.{name}.colour: unknown key; allowed: {known}" in message

    def test_allowed_keys_are_listed_once(self):
        wrong = {"role": "quasi-identifier", "agregate": "mode"}
        attributes = {f"c{i}": wrong | {"colour": 1} for i in range(12)}
        lines = self.refused(attributes=attributes, privacy={"k": 5, "t": 1, "l": 1}).split("\n")
        assert sum("aggregate, bands, bottom" in line for line in lines) == 1
        again = "unknown key; allowed: as for attributes.c0.agregate"
        assert lines[3:5] == [
            f"  attributes.c1.agregate: {again}; did you mean aggregate?",
            f"  attributes.c1.colour: {again}",
        ]
        assert "  privacy.l: unknown key; allowed: joint, k, " in "\n".join(lines)

    @pytest.mark.parametrize(
        ("keys", "lines"),
        [
            ({"noise": {"low": 0}}, ["noise.epsilon: is missing"]),
            (
                {"noise": {"epsilon": 1, "low": "2020-01-01"}},
                ["noise.low: has to be a number (giv"],
            ),
            (
                {"noise": {"epsilon": 1, "values": [True]}},
                ["noise.values: has to be text; put it "],
            ),
            (
                {"noise": {"epsilon": 1, "high": 9, "lowest": 0}},
                ["noise.lowest: unknown key; allowed: epsilon, high, low, step, values"],
            ),
            (
                {"noise": {"epsilon": "x", "step": 0}},
                ["noise.epsilon: has to be", "noise.step: ha"],
            ),
            ({"intervals": {"widths": ["x"]}}, ["intervals.widths: has to be a number (given: 'x"]),
            (
                {"intervals": {"width": 1}},
                ["intervals.widths: is missing", "intervals.width: unkn"],
            ),
            ({"bands": ["x"]}, ["bands: has to be a number (given: 'x')"]),
            ({"prefixes": ["x"]}, ["prefixes: has to be a whole number (given: 'x')"]),
            (
                {"calendar": ["week"]},
                ["calendar: has to be 'month', 'quarter' or 'year' (given: 'w"],
            ),
            (
                {"round": "x"},
                ["round: has to be true, false, or a number whose multiples are rele"],
            ),
        ],
    )
    def test_of_an_attribute_name_the_key_once(self, keys, lines):
        message = self.refused(attributes={"noise": {"role": "confidential"} | keys})
        found = message.split("\n")[1:]
        assert len(found) == len(lines), message
        for line, start in zip(found, lines, strict=True):
            assert line.startswith(f"  attributes.noise.{start}")

    @pytest.mark.parametrize(
        ("keys", "line"),
        [
            ({"input": "a.csv"}, "input: has to be keys and their values (given: 'a.csv')"),
            ({"input": {}}, "input.path: is missing"),
            ({"input": {"path": ""}}, "input.path: is empty (given: '')"),
            ({"input": {"path": "a\0"}}, "input.path: has to be text without NUL characters"),
            (
                {"input": {"path": "x", "missing_values": [-9]}},
                "input.missing_values.0: has to be text; put it in quotes (given: -9)",
            ),
            ({"name": 7}, "name: has to be letters, digits,"),
            ({"attributes": {False: "identifier"}}, "YAML reads a column name as False; put it"),
            ({"attributes": {"a": None}}, "attributes.a: has to be keys and their values"),
            (
                {
                    "attributes": {
                        "a": {"role": "identifier", "type": "ordinal", "order": ["a", []]}
                    }
                },
                "attributes.a.order: has to be a list of texts and numbers, lowest first",
            ),
            *(
                ({"attributes": {"a": given}}, f"attributes.a{line}")
                for given, line in WRONG_DISTANCES
            ),
            ({"output": {"rows_per_file": 0}}, "rows_per_file: has to be at least 1 (given: 0)"),
            ({"seed": 2**63}, f"seed: has to be below {2**63} (given: {2**63})"),
            (
                {"attributes": {"a": "quasi-identifier"}, "output": {"partition_by": ["a"]}},
                "output.partition_by names every column; none is left for the files",
            ),
        ],
    )
    def test_lines(self, keys, line):
        assert line in self.refused(**keys)

    def test_twice_in_a_list_of_problems(self):
        message = self.refused(engine={"workers": "many"})
        assert message.count("engine.workers") == 1


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"output": {"rows_per_file": 2**70}}, "output.rows_per_file"),
        (
            {
                "attributes": {
                    "age": {"role": "quasi-identifier", "type": "ordinal", "order": [10**23, 2]},
                    "pay": "confidential",
                }
            },
            "attributes.age.order",
        ),
    ],
)
def test_integers_that_no_manifest_holds(keys: dict[str, Any], place: str) -> None:
    with pytest.raises(PolicyError, match=rf"{place}: has an integer beyond 64 bits"):
        parse_policy(document(**keys))
