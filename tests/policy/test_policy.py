"""Policies: what is said is what is meant, and what is wrong is named with its remedy."""

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import jsonschema
import pytest
import yaml

from support.short_policy import document
from tclose.errors import PolicyError, UsageError
from tclose.methods.microaggregation.t_closeness_first import TClosenessFirst
from tclose.model.column_terms import Distance, Kind, Role
from tclose.passes.plan.search_budget import choose_search_budget
from tclose.policy.policy import Policy, load_policy, parse_policy, policy_schema
from tclose.policy.yaml_values import quote_yaml

CONFIG = Path(__file__).parents[2] / "config"


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

    @pytest.mark.parametrize("text", ["dir #1/a.csv", "#1.csv", "[a] #1", "'a' #b"])
    def test_no_comment(self, text, tmp_path):
        with pytest.raises(UsageError, match=r"--set input\.path: what follows a # is a comment"):
            self.load(tmp_path, f"input.path={text}")

    @pytest.mark.parametrize("text", ["dir #1/a.csv", "a#b.csv", "#1: [x]\u2028\U0001f600\x7f"])
    def test_quoted_values(self, text, tmp_path):
        assert self.load(tmp_path, f"input.path={quote_yaml(text)}").input.path == text
        if " " not in text:
            assert self.load(tmp_path, f"input.path={text}").input.path == text


class TestAncestors:
    FRUIT: ClassVar = {
        "role": "quasi-identifier",
        "taxonomy": {"any": {"fruit": ["apple", "pear"]}},
    }

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
