"""Further models in a policy: what is said is what is meant, and what is wrong is named."""

from fractions import Fraction
from typing import Any

import jsonschema
import pytest

from tclose.errors import PolicyError
from tclose.model.column_terms import Distance, Kind
from tclose.policy.policy import Policy, parse_policy, policy_schema
from tclose.privacy.model_registry import MODELS


def document(*models: Any, **keys: Any) -> dict[str, Any]:
    return {
        "name": "people",
        "input": {"path": "people.csv"},
        "attributes": {"age": "quasi-identifier", "pay": "confidential", "job": "confidential"},
        "privacy": {"k": 3, "models": list(models)},
    } | keys


def parse(*models: Any, **keys: Any) -> Policy:
    return parse_policy(document(*models, **keys))


EXAMPLES: dict[str, Any] = {
    "distinct-l-diversity": ({"l": 3}, Fraction(3), 0),
    "entropy-l-diversity": ({"l": 2.5}, Fraction(5, 2), 0),
    "recursive-cl-diversity": ({"c": 0.1, "l": 2}, Fraction(1, 10), 2),
    "p-sensitive-k-anonymity": ({"p": 2}, Fraction(2), 3),
    "n-t-closeness": ({"n": 1000, "t": 0.1}, Fraction(1, 10), 1000),
    "ratio-closeness": ({"t": 2.1, "buckets": 3}, Fraction(21, 10), 0),
}


def test_every_model_has_settings():
    of_noise = {name for name, model in MODELS.classes().items() if model.of_noise}
    assert of_noise == {"stochastic-t-closeness"}
    assert set(MODELS.classes()) == set(EXAMPLES) | of_noise


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_asked(name):
    given, limit, count = EXAMPLES[name]
    found = parse({"name": name} | given).require_models()
    assert [(r.model, r.name) for r in found] == [(name, "pay"), (name, "job")]
    assert {(r.limit, r.count) for r in found} == {(limit, count)}
    assert found[0].parameters.items() >= given.items()


def test_attributes_and_short_form():
    models = {"name": "distinct-l-diversity", "l": 3, "attributes": ["job"]}
    policy = parse(models, privacy={"k": 3, "t": 0.2, "models": [models]})
    assert [r.name for r in policy.require_models()] == ["job"]
    assert [a.max_emd for a in policy.resolve_attributes()] == [
        None,
        Fraction(1, 5),
        Fraction(1, 5),
    ]


def test_an_attribute_that_a_model_covers_needs_no_t():
    model = {"name": "distinct-l-diversity", "l": 3}
    assert [a.max_emd for a in parse(model).resolve_attributes()] == [None, 1, 1]
    with pytest.raises(PolicyError, match=r"'pay' is confidential and has no t; give either, or a"):
        parse(model | {"attributes": ["job"]})


def test_groups_of_values_are_texts():
    model = {"name": "ratio-closeness", "t": 2, "buckets": [[1, "b"], [2.5]]}
    assert parse(model).require_models()[0].buckets == (("1", "b"), ("2.5",))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "distinct-l-diversity"}, "privacy.models.distinct-l-diversity.l: is missing"),
        (
            {"name": "distinct-l-diversity", "l": 1},
            "privacy.models.distinct-l-diversity.l: has to be at least 2 (given: 1)",
        ),
        (
            {"name": "distinct-l-diversity", "l": True},
            "privacy.models.distinct-l-diversity.l: has to be a whole number (given: 'True')",
        ),
        (
            {"name": "entropy-l-diversity", "l": 2, "k": 3},
            "privacy.models.entropy-l-diversity.k: unknown key; allowed: attributes, l, name",
        ),
        (
            {"name": "entropy-l-diversity", "l": float("inf")},
            "privacy.models.entropy-l-diversity.l: has to be a number (given: inf)",
        ),
        (
            {"name": "recursive-cl-diversity", "c": 0, "l": 2},
            "privacy.models.recursive-cl-diversity.c: has to be above 0 (given: 0)",
        ),
        (
            {"name": "n-t-closeness", "n": 100, "t": 1.5},
            "privacy.models.n-t-closeness.t: has to be at most 1 (given: 1.5)",
        ),
        (
            {"name": "ratio-closeness", "t": 2, "buckets": "many"},
            "ratio-closeness.buckets: has to be a number of ranges from 2 to 1000, or groups",
        ),
        (
            {"name": "ratio-closeness", "t": 2, "buckets": [["a"], ["b", "a"]]},
            "privacy.models.ratio-closeness: buckets name a value twice",
        ),
        ({"l": 3}, "privacy.models: each needs a name: distinct-l-diversity, entropy-l-diversity"),
        ({"name": "l-diversity"}, "privacy.models: a name has to be one of distinct-l-diversity"),
        ("l-diversity", "privacy.models: has to be keys and their values, as in {name: ..., l: 3}"),
        (
            {"name": "distinct-l-diversity", "l": 2, "attributes": ["age"]},
            "privacy.models: distinct-l-diversity of 'age', which is not a confidential attribute",
        ),
        (
            {"name": "distinct-l-diversity", "l": 2, "attributes": []},
            "privacy.models.distinct-l-diversity.attributes: is empty",
        ),
        (
            {"name": "p-sensitive-k-anonymity", "p": 4},
            "is above k = 3; a class of k records has no more values: raise k, or lower p to 3",
        ),
    ],
)
def test_what_is_wrong_is_named(model, message):
    with pytest.raises(PolicyError) as refused:
        parse(model)
    assert message in str(refused.value)


def test_models_need_a_confidential_attribute():
    with pytest.raises(PolicyError, match="distinct-l-diversity needs a confidential attribute"):
        parse({"name": "distinct-l-diversity", "l": 2}, attributes={"age": "quasi-identifier"})


def test_models_of_rows_do_not_go_with_noise():
    noised = {"role": "confidential", "noise": {"epsilon": 1, "low": 0, "high": 9}}
    keys: dict[str, Any] = {
        "attributes": {"age": "quasi-identifier", "pay": noised},
        "method": {"name": "dp-confidential"},
    }
    with pytest.raises(PolicyError, match="confidential attribute without noise; take the model"):
        parse({"name": "distinct-l-diversity", "l": 2}, **keys)


def test_schema_knows_the_models():
    check = jsonschema.Draft202012Validator(policy_schema())
    for name, (given, _, _) in EXAMPLES.items():
        check.validate(document({"name": name} | given))
    for wrong in ({"name": "l-diversity", "l": 2}, {"name": "distinct-l-diversity", "l": 1}):
        assert not check.is_valid(document(wrong))


def test_policy_reads_back_from_its_own_document():
    policy = parse(*({"name": name} | given for name, (given, _, _) in EXAMPLES.items()))
    assert parse_policy(policy.model_dump(mode="json", exclude_unset=True)) == policy


class TestStochastic:
    NOISE = {"role": "confidential", "noise": {"epsilon": 1, "low": 0, "high": 9}}  # noqa: RUF012
    MODEL = {"name": "stochastic-t-closeness", "t": 2.5}  # noqa: RUF012

    def noised(self, *models: Any) -> Policy:
        roles = {"age": "quasi-identifier", "pay": self.NOISE, "job": self.NOISE}
        return parse(*models, attributes=roles, method={"name": "dp-confidential"})

    def test_what_is_asked(self):
        policy = self.noised(self.MODEL, self.MODEL | {"t": 1.1, "attributes": ["job"]})
        noises = [attribute.noise for attribute in policy.resolve_attributes()]
        assert [n and n.max_t for n in noises] == [None, Fraction(5, 2), Fraction(11, 10)]
        assert policy.require_models() == ()

    @pytest.mark.parametrize("attributes", [{}, {"attributes": ["pay"]}])
    def test_without_noise(self, attributes):
        with pytest.raises(PolicyError, match=r"it goes with method.name: dp-confidential"):
            parse(privacy={"k": 3, "t": 1, "models": [self.MODEL | attributes]})

    def test_of_what_has_no_noise(self):
        with pytest.raises(PolicyError, match="stochastic-t-closeness of 'age', which has none"):
            self.noised(self.MODEL | {"attributes": ["age"]})

    def test_t_of_nothing_learned(self):
        with pytest.raises(PolicyError, match=r"stochastic-t-closeness.t: has to be above 1"):
            self.noised(self.MODEL | {"t": 1})


class TestJoint:
    def joint(self, *given: Any, **keys: Any) -> Policy:
        return parse(privacy={"k": 3, "t": 0.2, "joint": list(given)}, **keys)

    def test_what_is_asked(self):
        policy = self.joint({"attributes": ["job", "pay"], "t": 0.3})
        (found,) = policy.combine_attributes()
        assert (found.name, found.combines) == ("job with pay", ("job", "pay"))
        assert found.max_emd == Fraction(3, 10)
        assert (found.distance, found.kind) == (Distance.EQUAL, Kind.NOMINAL)

    def test_all_attributes_if_not_given(self):
        (found,) = self.joint({"t": 0.3}).combine_attributes()
        assert found.combines == ("pay", "job")

    def test_none_is_asked_by_default(self):
        assert parse(privacy={"k": 3, "t": 0.2}).combine_attributes() == ()

    def test_attributes_without_a_t_have_that_of_the_nearest_combination(self):
        privacy = {"k": 3, "joint": [{"t": 0.4}, {"attributes": ["pay", "job"], "t": 0.3}]}
        roles = document()["attributes"] | {"ill": "confidential"}
        policy = parse(privacy=privacy, attributes=roles)
        limits = {a.name: a.max_emd for a in policy.resolve_attributes() if a.max_emd}
        assert limits == {"pay": Fraction(3, 10), "job": Fraction(3, 10), "ill": Fraction(2, 5)}
        roles["pay"] = {"role": "confidential", "t": 0.1}
        policy = parse(privacy=privacy, attributes=roles)
        assert policy.resolve_attributes()[1].max_emd == Fraction(1, 10)

    def test_an_attribute_that_none_covers_needs_a_t(self):
        roles = document()["attributes"] | {"ill": "confidential"}
        privacy = {"k": 3, "joint": [{"attributes": ["pay", "job"], "t": 0.3}]}
        with pytest.raises(PolicyError, match=r"'ill' is confidential and has no t; .*joint"):
            parse(privacy=privacy, attributes=roles)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"attributes": ["pay", "job"]}, "privacy.joint.0.t: is missing"),
            ({"t": 0}, "privacy.joint.0.t: has to be above 0"),
            ({"t": True}, "privacy.joint.0.t: has to be a number"),
            ({"t": 0.3, "atributes": []}, "privacy.joint.0.atributes: unknown key; allowed: attri"),
            ({"t": 0.3, "attributes": ["pay"]}, "privacy.joint.0.attributes: "),
            ({"t": 0.3, "attributes": ["pay", "pay"]}, "names an attribute twice"),
            ({"t": 0.3, "attributes": ["pay", "age"]}, "'age' is not a confidential attribute"),
            ({"t": 0.3, "attributes": ["pay", "none"]}, "'none' is not a confidential attribute"),
            ("all", "privacy.joint.0: has to be keys and their values"),
        ],
        ids=str,
    )
    def test_what_is_wrong_is_named(self, given, message):
        with pytest.raises(PolicyError) as refused:
            self.joint(given)
        assert message in str(refused.value)

    def test_one_attribute_is_not_several(self):
        roles = {"age": "quasi-identifier", "pay": "confidential"}
        with pytest.raises(PolicyError, match="needs two confidential attributes or more"):
            self.joint({"t": 0.3}, attributes=roles)

    def test_twice_the_same_is_refused(self):
        with pytest.raises(PolicyError, match="'pay with job' appears twice"):
            self.joint({"t": 0.3}, {"attributes": ["pay", "job"], "t": 0.4})

    def test_a_column_of_the_same_name_is_refused(self):
        roles = document()["attributes"] | {"pay with job": "quasi-identifier"}
        with pytest.raises(PolicyError, match="'pay with job' appears twice"):
            self.joint({"t": 0.3}, attributes=roles)

    @pytest.mark.parametrize(
        ("method", "reason"),
        [
            ({"name": "sabre"}, "works with one confidential attribute"),
            ({"name": "bucketization", "ratio": 2}, "works with one confidential attribute"),
            ({"name": "k-anonymity-first"}, "works with the ordered distance"),
        ],
        ids=str,
    )
    def test_methods_that_cannot_hold_it_are_refused(self, method, reason):
        with pytest.raises(PolicyError, match=f"{method['name']}, which {reason}; take "):
            self.joint({"t": 0.3}, method=method)

    def test_attributes_with_noise_are_refused(self):
        noise = {"role": "confidential", "noise": {"epsilon": 1, "low": 0, "high": 9}}
        roles = {"age": "quasi-identifier", "pay": noise, "job": noise}
        with pytest.raises(PolicyError, match="needs two confidential attributes or more"):
            self.joint({"t": 0.3}, attributes=roles, method={"name": "dp-confidential"})

    def test_schema_has_it(self):
        given = document() | {"privacy": {"k": 3, "joint": [{"t": 0.3}]}}
        jsonschema.validate(given, policy_schema())
        given["privacy"]["joint"] = [{"attributes": ["pay", "job"]}]
        with pytest.raises(jsonschema.ValidationError, match="'t' is a required property"):
            jsonschema.validate(given, policy_schema())
