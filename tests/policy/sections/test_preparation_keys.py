"""Keys of a policy that prepare values: what goes together, and that unset they name no release."""

from fractions import Fraction

import jsonschema
import pytest

from support.cases.people import CONFIDENTIAL, PASSTHROUGH, QUASI, policy_for
from tclose.errors import PolicyError
from tclose.model.column_terms import Kind
from tclose.model.preparation import MISSING, Preparation
from tclose.policy.policy import parse_policy, policy_schema

NOISE = {"epsilon": 1, "low": 0, "high": 9}


def policy_of(pay, sex=QUASI):
    return policy_for("a.csv", attributes={"age": QUASI, "sex": sex, "pay": pay})


@pytest.mark.parametrize(
    "keys",
    [{"round": 100}, {"round": 0.5, "top": 10, "bottom": -1}, {"bands": [1, 2.5]}, {"round": True}],
)
@pytest.mark.parametrize("role", [CONFIDENTIAL, PASSTHROUGH])
def test_accepted(keys, role):
    document = policy_of({"role": role} | keys)
    jsonschema.validate(document, policy_schema())
    *_, pay = parse_policy(document).resolve_attributes()
    assert pay.kind is (None if keys == {"round": True} else Kind.NUMERIC)


def test_a_number_in_quotes_is_no_truth():
    *_, pay = parse_policy(policy_of({"role": CONFIDENTIAL, "round": "1"})).resolve_attributes()
    assert pay.preparation == Preparation(step=Fraction(1))
    with pytest.raises(PolicyError, match=r"pay\.round: has to be true, false, or a number"):
        parse_policy(policy_of({"role": CONFIDENTIAL, "round": "yes"}))


def test_a_bound_may_be_a_percentile_that_is_declared_as_public():
    public = {"public": True}
    keys = {"bottom": {"percentile": 0.5} | public, "top": {"percentile": 99} | public}
    document = policy_of({"role": CONFIDENTIAL} | keys)
    jsonschema.validate(document, policy_schema())
    *_, pay = parse_policy(document).resolve_attributes()
    assert pay.preparation == Preparation(
        bottom_percentile=Fraction(1, 2), top_percentile=Fraction(99)
    )
    assert pay.preparation.awaits_bounds


@pytest.mark.parametrize(
    "top",
    [
        *({"percentile": 99}, {"percentile": 99, "public": False}, {"public": True}),
        *({"percentile": 100, "public": True}, {"percentile": 0, "public": True}),
        *({"percentile": 9, "public": True, "of": 3}, "99%", [99]),
    ],
)
def test_other_percentiles_are_refused_in_one_line(top):
    document = policy_of({"role": CONFIDENTIAL, "top": top})
    with pytest.raises(PolicyError, match=r"pay\.top: has to be a number, or \{") as error:
        parse_policy(document)
    assert str(error.value).count("attributes.pay") == 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, policy_schema())


def test_a_percentile_is_refused_where_releases_are_held_together():
    document = policy_of(
        {"role": CONFIDENTIAL, "top": {"percentile": 99, "public": True}}, "person"
    )
    assert parse_policy(document).attributes["sex"].role == "person"
    document["privacy"] = {"k": 3, "t": 0.3, "over_time": {"k": 3, "t": 0.3, "window": 2}}
    with pytest.raises(PolicyError, match="a percentile as a bound of 'pay', which is another one"):
        parse_policy(document)
    document["attributes"]["pay"]["top"] = 99
    assert parse_policy(document).privacy.over_time is not None


def test_missing_values_are_a_category():
    sex = {"role": QUASI, "type": "ordinal", "order": ["f", MISSING, "m"], "missing": "category"}
    document = policy_of(CONFIDENTIAL, sex)
    jsonschema.validate(document, policy_schema())
    assert parse_policy(document).resolve_attributes()[1].preparation == Preparation(fills=True)
    document["attributes"]["sex"] = {"role": QUASI, "missing": "category"}
    assert parse_policy(document).resolve_attributes()[1].kind is Kind.NOMINAL


@pytest.mark.parametrize(
    ("keys", "centre", "kind"),
    [
        ({}, "median", None),
        ({}, "mode", None),
        ({"decimal": ","}, "median", Kind.NUMERIC),
        ({"prefixes": [1]}, "mode", Kind.NOMINAL),
        ({}, "class", None),
        ({"prefixes": [1]}, "class", Kind.NOMINAL),
        ({"type": "date"}, "class", Kind.DATE),
    ],
)
def test_missing_values_get_a_centre(keys, centre, kind):
    document = policy_of(CONFIDENTIAL, {"role": QUASI, "missing": centre} | keys)
    jsonschema.validate(document, policy_schema())
    sex = parse_policy(document).resolve_attributes()[1]
    assert sex.preparation == Preparation(imputes=centre)
    assert sex.kind is kind


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"round": 0}, "round has to be above 0"),
        ({"round": -5}, "round has to be above 0"),
        ({"round": False}, "aggregate and round: false belong to quasi-identifiers only"),
        ({"bottom": 5, "top": 5}, "bottom has to be below top"),
        ({"round": 10, "top": 25}, "top has to be a multiple of round"),
        (
            {
                "bottom": {"percentile": 9, "public": True},
                "top": {"percentile": 9, "public": True},
            },
            "the percentile of bottom has to be below that of top",
        ),
        ({"bands": [1], "top": {"percentile": 9, "public": True}}, "bands stand for round"),
        ({"bands": [1, 1]}, "bands have to ascend, each end once"),
        ({"bands": [1], "top": 5}, "bands stand for round, bottom and top"),
        ({"type": "date", "round": 7}, "round, bottom, top and bands go with type: numeric"),
        ({"top": 5, "date_format": "%d.%m.%Y"}, "go with type: numeric"),
        ({"top": 5, "noise": NOISE}, "noise has its own low, high and step"),
        ({"missing": "category"}, "missing: category belongs to quasi-identifiers only"),
        ({"missing": "median"}, "missing: median belongs to quasi-identifiers only"),
        ({"missing": "class"}, "missing: class belongs to quasi-identifiers only"),
        ({"missing": "mean"}, "attributes.pay.missing: "),
    ],
)
def test_refused_of_values(keys, reason):
    with pytest.raises(PolicyError) as error:
        parse_policy(policy_of({"role": CONFIDENTIAL} | keys))
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"round": 10}, "round (a number), bottom, top and bands belong to confidential"),
        ({"bands": [1]}, "round (a number), bottom, top and bands belong to confidential"),
        ({"type": "numeric", "missing": "category"}, "goes with type: nominal or ordinal"),
        ({"date_format": "%d.%m.%y", "missing": "category"}, "goes with type: nominal or ordinal"),
        ({"type": "ordinal", "order": ["f"], "missing": "category"}, "put '(missing)' into it"),
        ({"type": "nominal", "missing": "median"}, "goes with type: numeric, date or ordinal"),
        ({"prefixes": [1], "missing": "median"}, "goes with type: numeric, date or ordinal"),
        ({"type": "boolean", "missing": "median"}, "goes with type: numeric, date or ordinal"),
        ({"date_format": "%d.%m.%y", "missing": "mode"}, "goes with type: nominal or boolean"),
        ({"type": "ordinal", "order": ["f"], "missing": "mode"}, "with type: nominal or boolean"),
        ({"calendar": ["month"], "missing": "mode"}, "mode does not go with a calendar"),
        ({"calendar": ["month"], "missing": "class"}, "class does not go with a calendar"),
    ],
)  # fmt: skip
def test_refused_of_quasi_identifiers(keys, reason):
    with pytest.raises(PolicyError) as error:
        parse_policy(policy_of(CONFIDENTIAL, {"role": QUASI} | keys))
    assert reason in str(error.value)


def test_unset_they_are_no_part_of_what_names_a_release():
    shown = parse_policy(policy_of(CONFIDENTIAL)).model_dump(mode="json")["attributes"]["pay"]
    assert not {"bottom", "top", "bands", "missing"} & set(shown)
    assert shown["round"] is True
