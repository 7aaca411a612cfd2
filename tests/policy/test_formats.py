"""Spellings in a policy: which go together, and that those who say none name the same release."""

import jsonschema
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for
from tclose.data.files.text_formats import TextFormat
from tclose.errors import PolicyError
from tclose.model.column_terms import Kind, Role
from tclose.policy.policy import parse_policy, policy_schema


def policy_of(pay: object = CONFIDENTIAL, **keys: object):
    document = policy_for("a.csv", attributes={"age": QUASI, "pay": pay})
    document["input"] |= keys
    return document


class TestFormats:
    def test_of_the_input_and_of_a_column(self):
        pay = {"role": CONFIDENTIAL, "decimal": "."}
        given = policy_of(
            pay, decimal=",", thousands=" ", date_format="%d.%m.%Y", encoding="latin1"
        )
        jsonschema.validate(given, policy_schema())
        policy = parse_policy(given)
        general = policy.input.text_format
        assert general == TextFormat(",", " ", "%d.%m.%Y")
        assert policy.input.encoding == "iso8859-1"
        assert policy.attributes["age"].text_format(general) == general
        assert policy.attributes["pay"].text_format(general) == TextFormat(".", None, "%d.%m.%Y")

    @pytest.mark.parametrize(
        ("key", "value", "kind"),
        [("date_format", "%Y%m%d", Kind.DATE), ("decimal", ",", Kind.NUMERIC),
         ("thousands", " ", Kind.NUMERIC)],
    )  # fmt: skip
    def test_a_column_is_of_the_type_that_is_spelled(self, key, value, kind):
        policy = parse_policy(policy_of({"role": CONFIDENTIAL, key: value}))
        assert policy.resolve_attributes()[1].kind is kind

    @pytest.mark.parametrize(
        ("keys", "reason"),
        [
            ({"decimal": ";"}, "input.decimal: has to be '.' or ','"),
            ({"thousands": "_"}, "input.thousands: has to be"),
            ({"decimal": ",", "thousands": ","}, "decimal and thousands are both ','"),
            ({"thousands": "."}, "decimal and thousands are both '.'"),
            ({"date_format": "%d. %B %Y"}, "input.date_format: %B is not read"),
            ({"date_format": "%Y%m%d"}, "give it to the columns that hold dates"),
            ({"encoding": "shift_jis"}, "input.encoding: has to be utf-8, utf-16, or"),
        ],
    )
    def test_refused(self, keys, reason):
        with pytest.raises(PolicyError) as error:
            parse_policy(policy_of(**keys))
        assert reason in str(error.value)

    @pytest.mark.parametrize(
        ("keys", "reason"),
        [
            ({"type": "nominal", "date_format": "%Y%m%d"}, "goes with type: date"),
            ({"type": "date", "decimal": ","}, "goes with type: numeric"),
            ({"decimal": ",", "date_format": "%Y%m%d"}, "date_format goes with dates"),
            ({"thousands": ","}, "attributes.pay: decimal and thousands are both ','"),
        ],
    )
    def test_refused_of_a_column(self, keys, reason):
        with pytest.raises(PolicyError) as error:
            parse_policy(policy_of({"role": CONFIDENTIAL} | keys, decimal=","))
        assert reason in str(error.value)

    def test_unset_they_are_no_part_of_what_names_a_release(self):
        shown = parse_policy(policy_of()).model_dump(mode="json")
        assert set(shown["input"]) == {"path", "format", "missing_values", "delimiter"}
        assert not {"decimal", "thousands", "date_format"} & set(shown["attributes"]["pay"])
        assert "unconfirmed" not in shown
        plain = parse_policy(policy_of(decimal=".", encoding="UTF-8", thousands=None))
        assert plain.model_dump(mode="json") == shown

    def test_set_they_are(self):
        shown = parse_policy(policy_of(decimal=",")).model_dump(mode="json")
        assert shown["input"]["decimal"] == ","


class TestUnconfirmed:
    def test_one_message(self):
        waiting = {"identifier": [], QUASI: ["age"], CONFIDENTIAL: ["pay"]}
        policy = parse_policy(policy_for("a.csv", unconfirmed=waiting))
        assert policy.unconfirmed[Role.QUASI_IDENTIFIER] == ("age",)
        with pytest.raises(PolicyError) as error:
            policy.check_confirmed()
        assert str(error.value) == (
            "policy people: unconfirmed: the roles of its columns are suggestions (1 "
            "quasi-identifier, 1 confidential); read them under attributes, correct what is wrong, "
            "take each line that is right out of unconfirmed, and run again"
        )

    @pytest.mark.parametrize("left", [None, {}, {"identifier": []}])
    def test_what_is_left_when_all_lines_are_gone(self, left):
        parse_policy(policy_for("a.csv", unconfirmed=left)).check_confirmed()
