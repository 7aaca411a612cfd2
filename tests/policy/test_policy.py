"""Policies: what is said is what is meant, and what is wrong is named with its remedy."""

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest
import yaml

from tclose.errors import PolicyError, UsageError
from tclose.methods.microaggregation.t_closeness_first import TClosenessFirst
from tclose.model.column_terms import Distance, Kind, Role
from tclose.passes.plan.search_budget import choose_search_budget
from tclose.policy.policy import Policy, load_policy, parse_policy, policy_schema

CONFIG = Path(__file__).parents[2] / "config"


def document(**keys: Any) -> dict[str, Any]:
    return {
        "name": "people",
        "input": {"path": "people.csv"},
        "attributes": {"age": "quasi-identifier", "pay": "confidential"},
        "privacy": {"k": 3, "t": 0.1},
    } | keys


class TestReading:
    def test_defaults(self):
        policy = parse_policy(document())
        assert (policy.unlisted, policy.missing, policy.seed) == ("error", "error", 1)
        assert isinstance(policy.method, TClosenessFirst)
        assert policy.method.scope == "blocks"
        assert (policy.method.class_size, policy.method.refine) == ("auto", "fast")
        assert policy.engine.scheduler == "local"
        assert policy.output.path == "releases"

    def test_short_form_of_an_attribute(self):
        long = document(
            attributes={"age": {"role": "quasi-identifier"}, "pay": {"role": "confidential"}}
        )
        assert parse_policy(long) == parse_policy(document())

    def test_earlier_name_of_the_lease_seconds(self):
        assert parse_policy(document(engine={"claim_expiry": 9})).engine.lease_seconds == 9
        both = document(engine={"claim_expiry": 9, "lease_seconds": 9})
        with pytest.raises(PolicyError, match="claim_expiry: unknown key"):
            parse_policy(both)

    def test_resolved_attributes(self):
        attributes = {
            "age": {"role": "quasi-identifier", "aggregate": "median", "round": False},
            "pay": {"role": "confidential", "t": 0.3},
            "grade": {"role": "confidential", "type": "ordinal", "order": [1, "b", True, 2.5]},
        }
        age, pay, grade = parse_policy(document(attributes=attributes)).resolve_attributes()
        assert (age.role, age.aggregate, age.rounded) == (Role.QUASI_IDENTIFIER, "median", False)
        assert (age.max_emd, pay.max_emd, grade.max_emd) == (None, Fraction(3, 10), Fraction(1, 10))
        assert (grade.kind, grade.order) == (Kind.ORDINAL, ("1", "b", "True", "2.5"))

    @pytest.mark.parametrize("t", [1, 1.0, "0.05", "1e-3", 1e-9])
    def test_distances(self, t):
        policy = parse_policy(document(privacy={"k": 2, "t": t}))
        assert policy.resolve_attributes()[1].max_emd == Fraction(str(float(t)))

    @pytest.mark.parametrize(
        "taxonomy",
        [
            {
                "any": {"fruit": ["apple", "pear"]},
            },
            [["apple", "fruit", "any"], ["pear", "fruit", "any"]],
            "t.yaml",
            "t.csv",
        ],
        ids=["mapping", "rows", "yaml", "csv"],
    )
    def test_taxonomies(self, taxonomy, tmp_path, monkeypatch):
        """Nested names, rows, or a file of either, are the same policy."""
        monkeypatch.chdir(tmp_path)
        Path("t.yaml").write_text("any:\n  fruit: [apple, pear]\n")
        Path("t.csv").write_text("apple;fruit;any\npear;fruit;any\n")
        given = document()
        given["attributes"]["taste"] = {"role": "confidential", "taxonomy": taxonomy}
        jsonschema.validate(given, policy_schema())
        policy = parse_policy(given)
        taste = policy.resolve_attributes()[2]
        assert taste.taxonomy == (("apple", "fruit", "any"), ("pear", "fruit", "any"))
        assert not taste.by_frequency
        assert parse_policy(policy.model_dump(mode="json", exclude_unset=True)) == policy

    @pytest.mark.parametrize(
        ("keys", "distance", "by_frequency"),
        [
            ({}, None, False),
            ({"distance": "equal"}, Distance.EQUAL, False),
            ({"distance": "ordered"}, Distance.ORDERED, False),
            (
                {"distance": "hierarchical", "taxonomy": {"any": ["a"]}},
                Distance.HIERARCHICAL,
                False,
            ),
            ({"subsets_by": "frequency"}, None, True),
            ({"subsets_by": "taxonomy", "taxonomy": {"any": ["a"]}}, None, False),
            ({"subsets_by": "frequency", "taxonomy": {"any": ["a"]}}, None, True),
        ],
    )
    def test_distances_of_values(self, keys, distance, by_frequency):
        given = document()
        given["attributes"]["pay"] = {"role": "confidential"} | keys
        jsonschema.validate(given, policy_schema())
        pay = parse_policy(given).resolve_attributes()[1]
        assert pay.distance is distance
        assert pay.by_frequency is by_frequency

    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", ":"])
    def test_delimiters(self, delimiter):
        policy = parse_policy(document(input={"path": "x", "delimiter": delimiter}))
        assert policy.input.delimiter == delimiter

    @pytest.mark.parametrize("delimiter", ["", '"', "\n", "\r", "\0", "ab", "→", 1])
    def test_no_delimiters(self, delimiter):
        with pytest.raises(PolicyError, match=r"input\.delimiter: has to be one ASCII character"):
            parse_policy(document(input={"path": "x", "delimiter": delimiter}))

    @pytest.mark.parametrize(
        "address", ["local", "tcp://10.0.0.1:8786", "tls://host.example:1", "tcp://[::1]:8786"]
    )
    def test_schedulers(self, address):
        assert parse_policy(document(engine={"scheduler": address})).engine.scheduler == address

    @pytest.mark.parametrize("size", ["auto", "paper", 2, 17])
    def test_class_sizes(self, size):
        method = parse_policy(document(method={"class_size": size})).method
        assert isinstance(method, TClosenessFirst)
        assert method.class_size == size

    @pytest.mark.parametrize("size", [1, 0, -3, 2.5, True, False, None, "", "k", "auto ", [3]])
    def test_no_class_sizes(self, size):
        wanted = r"method\.class_size: has to be auto, paper, or a whole number from 2"
        with pytest.raises(PolicyError, match=wanted) as error:
            parse_policy(document(method={"class_size": size}))
        assert str(error.value).count("method.class_size") == 1

    @pytest.mark.parametrize(
        "refine",
        ["off", "lean", "fast", "full", 0, 1, 40, "10min", "10 min", "30s", "1.5h", "0.5 h", "0s"],
    )
    def test_efforts(self, refine):
        policy = parse_policy(document(method={"refine": refine}))
        assert policy.method.refine == refine
        assert isinstance(policy.method.refine, type(refine))
        choose_search_budget(policy.method.refine, 1)

    @pytest.mark.parametrize(
        "refine",
        [True, -1, 1.5, None, "on", "", "10m", "10 minutes", "-1s", "1e3s", "10min ", "s",
         "10  s", "1.s", ".5s", "Fast", "1h 30min", [1]],
    )  # fmt: skip
    def test_no_efforts(self, refine):
        wanted = (
            r"method\.refine: has to be off, lean, fast, full, a number of rounds, or a time as in"
        )
        with pytest.raises(PolicyError, match=wanted) as error:
            parse_policy(document(method={"refine": refine}))
        assert str(error.value).count("method.refine") == 1

    @pytest.mark.parametrize(
        ("text", "refine"),
        [("off", "off"), ("no", "off"), ("false", "off"), ("'off'", "off"), ("fast", "fast"),
         ("12", 12), ("'12'", 12), ("10min", "10min"), ("'10 min'", "10 min")],
    )  # fmt: skip
    def test_efforts_as_yaml_has_them(self, text, refine, tmp_path):
        path = tmp_path / "policy.yaml"
        path.write_text(yaml.safe_dump(document()) + f"method: {{refine: {text}}}\n")
        assert load_policy(path).method.refine == refine
        path.write_text(yaml.safe_dump(document()))
        assert load_policy(path, [f"method.refine={text}"]).method.refine == refine

    def test_file(self, tmp_path):
        path = tmp_path / "policy.yaml"
        path.write_bytes(b"\xef\xbb\xbf" + yaml.safe_dump(document()).encode())
        assert load_policy(path) == parse_policy(document())

    def test_merged_keys_may_be_overridden(self, tmp_path):
        path = tmp_path / "policy.yaml"
        rest = {key: value for key, value in document().items() if key != "attributes"}
        path.write_text(
            yaml.safe_dump(rest)
            + "attributes:\n"
            + "  age: &quasi {role: quasi-identifier, type: numeric}\n"
            + "  height: {<<: *quasi, type: date}\n"
            + "  pay: confidential\n"
        )
        assert load_policy(path).attributes["height"].type is Kind.DATE

    @pytest.mark.parametrize("path", sorted(CONFIG.glob("*.yaml")), ids=lambda path: path.stem)
    def test_policies_of_the_project(self, path):
        day = date(2024, 1, 1) if "{as_of" in path.read_text() else None
        assert load_policy(path, as_of=day).name


class TestOverrides:
    def load(self, tmp_path: Path, *overrides: str) -> Policy:
        path = tmp_path / "policy.yaml"
        path.write_text(yaml.safe_dump(document()))
        return load_policy(path, overrides)

    def test_values(self, tmp_path):
        policy = self.load(
            tmp_path, "privacy.k=7", "privacy.t=1e-2", "engine.workers=2", "input.path=a=b.csv",
            "output.partition_by=[age]", "missing=drop", "attributes.sex=quasi-identifier",
        )  # fmt: skip
        assert (policy.privacy.k, policy.privacy.t) == (7, 0.01)
        assert policy.engine.workers == 2
        assert policy.input.path == "a=b.csv"
        assert policy.output.partition_by == ("age",)
        assert policy.missing == "drop"
        assert policy.attributes["sex"].role is Role.QUASI_IDENTIFIER

    def test_key_below_a_short_form(self, tmp_path):
        pay = self.load(tmp_path, "attributes.pay.t=0.4").attributes["pay"]
        assert (pay.role, pay.t) == (Role.CONFIDENTIAL, 0.4)

    def test_quoted_names(self, tmp_path):
        found = self.load(tmp_path, 'attributes."a.b c".role=identifier').attributes
        assert found["a.b c"].role is Role.IDENTIFIER

    def test_last_one_holds(self, tmp_path):
        assert self.load(tmp_path, "privacy.k=7", "privacy.k=8").privacy.k == 8

    @pytest.mark.parametrize("override", ["privacy.k", "", "=1", ".k=1", "a..b=1", 'a."=1', "a.=1"])
    def test_no_key(self, override, tmp_path):
        with pytest.raises(UsageError, match=r"has to be key=value, as in privacy\.t=0\.05"):
            self.load(tmp_path, override)

    @pytest.mark.parametrize("text", ["[", "010", "{a: 1, a: 2}", "'"])
    def test_no_value(self, text, tmp_path):
        with pytest.raises(UsageError, match=r"--set privacy\.k: "):
            self.load(tmp_path, f"privacy.k={text}")


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


class TestAncestors:
    FRUIT: ClassVar = QUASI | {"taxonomy": {"any": {"fruit": ["apple", "pear"]}}}

    @pytest.mark.parametrize("keys", [{}, {"type": "nominal"}])
    def test_go_with_a_taxonomy(self, keys):
        given = document()
        given["attributes"]["food"] = self.FRUIT | {"aggregate": "ancestor"} | keys
        assert parse_policy(given).resolve_attributes()[2].aggregate == "ancestor"

    @pytest.mark.parametrize("name", ["mondrian", "incognito", "sabre"])
    def test_do_not_go_with_methods_that_release_nodes_anyway(self, name):
        given = document(method={"name": name})
        given["attributes"]["food"] = self.FRUIT
        parse_policy(given)
        given["attributes"]["food"] = self.FRUIT | {"aggregate": "ancestor"}
        with pytest.raises(PolicyError, match=f"attributes.food: {name} releases nodes of a tax"):
            parse_policy(given)


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
        "name", ["int", "str", "bool", "function-after", "[key]", "engine", "order"]
    )
    def test_columns_of_any_name(self, name):
        message = self.refused(attributes={name: {"role": "quasi-identifier", "colour": 1}})
        known = "aggregate, bands, bottom, calendar, date_format, decimal, description"
        assert f"attributes.{name}.colour: unknown key; allowed: {known}" in message

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


class TestSchema:
    def test_is_a_schema_that_policies_meet(self):
        schema = policy_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(document(), schema)
        for path in CONFIG.glob("*.yaml"):
            jsonschema.validate(yaml.safe_load(path.read_text()), schema)

    @pytest.mark.parametrize(
        "wrong", [{"colour": 1}, {"privacy": {"k": 1}}, {"attributes": {"a": "unknown"}}]
    )
    def test_editors_see_what_is_wrong(self, wrong):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document(**wrong), policy_schema())


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
