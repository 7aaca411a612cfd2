"""Keys of a policy by which a taxonomy is made of the values: what goes together."""

import jsonschema
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for
from tclose.errors import PolicyError
from tclose.model.attributes import ANCESTOR
from tclose.model.column_terms import Kind
from tclose.model.grouping import GroupRule
from tclose.model.preparation import MISSING
from tclose.policy.policy import parse_policy, policy_schema


def policy_of(sex, pay=CONFIDENTIAL, **keys):
    return policy_for("a.csv", attributes={"age": QUASI, "sex": sex, "pay": pay}, **keys)


@pytest.mark.parametrize(
    ("keys", "grouping", "kind"),
    [
        ({"prefixes": [3, 1]}, GroupRule(prefixes=(1, 3)), Kind.NOMINAL),
        ({"prefixes": [2], "missing": "category"}, GroupRule(prefixes=(2,)), Kind.NOMINAL),
        ({"calendar": ["year", "month"]}, GroupRule(calendar=("month", "year")), Kind.DATE),
        ({"calendar": ["quarter"], "type": "date", "date_format": "%d.%m.%Y"},
         GroupRule(calendar=("quarter",)), Kind.DATE),
    ],
)  # fmt: skip
def test_accepted(keys, grouping, kind):
    document = policy_of({"role": QUASI} | keys)
    jsonschema.validate(document, policy_schema())
    sex = parse_policy(document).resolve_attributes()[1]
    assert (sex.grouping, sex.kind, sex.aggregate) == (grouping, kind, ANCESTOR)
    document = policy_of({"role": QUASI, "aggregate": "mode"} | keys)
    assert parse_policy(document).resolve_attributes()[1].aggregate == "mode"
    document = policy_of({"role": QUASI} | keys, method={"name": "mondrian"})
    assert parse_policy(document).resolve_attributes()[1].aggregate is None


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"prefixes": [0]}, "attributes.sex.prefixes: has to be at least 1"),
        ({"prefixes": [2, 2]}, "prefixes names a group twice"),
        ({"prefixes": [2], "type": "numeric"}, "prefixes goes with type: nominal"),
        ({"prefixes": [2], "decimal": ","}, "prefixes goes with type: nominal"),
        ({"prefixes": [2], "taxonomy": {"any": ["m", "f"]}}, "makes a taxonomy of its own"),
        ({"prefixes": [2], "calendar": ["year"]}, "prefixes goes with type: nominal"),
        ({"prefixes": [2], "aggregate": "median"}, "aggregate can be ancestor, mode or"),
        ({"prefixes": [2], "scale": "rank"}, "scale goes with values that have an order"),
        ({"calendar": ["week"]}, "attributes.sex.calendar: "),
        ({"calendar": ["year"], "type": "nominal"}, "calendar goes with type: date"),
        ({"calendar": ["year"], "missing": "category"}, "goes with type: nominal or ordinal"),
    ],
)
def test_refused(keys, reason):
    with pytest.raises(PolicyError) as error:
        parse_policy(policy_of({"role": QUASI} | keys))
    assert reason in str(error.value)


@pytest.mark.parametrize("keys", [{"prefixes": [2]}, {"calendar": ["year"]}])
def test_confidential_values_have_no_such_groups(keys):
    with pytest.raises(PolicyError, match="belongs to quasi-identifiers only"):
        parse_policy(policy_of(QUASI, {"role": CONFIDENTIAL} | keys))


def test_unset_they_are_no_part_of_what_names_a_release():
    shown = parse_policy(policy_of(QUASI)).model_dump(mode="json")["attributes"]["sex"]
    assert not {"prefixes", "calendar"} & set(shown)


@pytest.mark.parametrize(
    ("grouping", "text", "chain"),
    [
        (GroupRule(prefixes=(2, 3)), "04897", ("04897", "048*", "04*", "*")),
        (GroupRule(prefixes=(2, 3)), "04", ("04", "04*", "*")),
        (GroupRule(prefixes=(2, 3)), "4", ("4", "*")),
        (GroupRule(prefixes=(2, 3)), MISSING, (MISSING, "*")),
        (GroupRule(calendar=("month", "quarter", "year")), "2026-11-23",
         ("2026-11-23", "2026-11", "2026-Q4", "2026", "*")),
        (GroupRule(calendar=("quarter",)), "2026-03-31 10:05:00",
         ("2026-03-31 10:05:00", "2026-Q1", "*")),
        (GroupRule(calendar=("quarter",)), "2026-04-01", ("2026-04-01", "2026-Q2", "*")),
    ],
)  # fmt: skip
def test_chains(grouping, text, chain):
    assert grouping.chain(text) == chain


def test_the_rule_in_words():
    assert GroupRule(prefixes=(1,)).describe() == "grouped by the first 1 character"
    assert GroupRule(prefixes=(2, 3)).describe() == "grouped by the first 3 and 2 characters"
    assert GroupRule(calendar=("month", "quarter", "year")).describe() == (
        "grouped by month, quarter and year"
    )
