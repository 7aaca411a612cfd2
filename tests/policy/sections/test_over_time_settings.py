"""What releases are held to together, and what covers an attribute: exact limits, as written."""

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from tclose.policy.sections.method_settings import default_method
from tclose.policy.sections.privacy_settings import (
    JointSettings,
    OverTimeSettings,
    PrivacySettings,
)

DIVERSITY = {"name": "distinct-l-diversity", "l": 2}


def over_time(**keys: Any) -> OverTimeSettings:
    return OverTimeSettings.model_validate({"k": 3, "t": 0.1} | keys)


def privacy(**keys: Any) -> PrivacySettings:
    return PrivacySettings.model_validate({"k": 5} | keys)


@pytest.mark.parametrize(
    ("own", "limit"),
    [
        (None, (1, 10)),
        (Fraction(1, 20), (1, 10)),
        (Fraction(1, 10), (1, 10)),
        (Fraction(1), (1, 1)),
    ],
)
def test_an_attribute_is_held_to_the_larger_t(own: Fraction | None, limit: tuple[int, int]) -> None:
    assert over_time().limit(own) == Fraction(*limit)


@pytest.mark.parametrize("departures", ["report", "unite", "drop", "refuse"])
def test_records_are_held_only_where_departures_are(departures: str) -> None:
    assert over_time(departures=departures).most_held is None
    assert over_time(departures="hold").most_held == Fraction(1, 10)
    assert over_time(departures="hold", hold={"at_most": "25%"}).most_held == Fraction(1, 4)
    with pytest.raises(ValidationError, match=r"over_time\.hold: goes with departures: hold"):
        over_time(departures=departures, hold={})


@pytest.mark.parametrize(
    "keys",
    [
        *({"k": 1}, {"t": 0}, {"t": 1.01}, {"window": 1}, {"window": 1001}),
        *({"churn": -0.1}, {"churn": 0.51}, {"departures": "ignore"}),
        *({"made_within": 0}, {"made_within": 1.1}),
    ],
)
def test_values_that_are_none(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(keys))):
        over_time(**keys)


def test_a_combination_names_an_attribute_once_and_two_of_them() -> None:
    for names, message in ((["a", "a"], "names an attribute twice"), (["a"], "at least 2")):
        with pytest.raises(ValidationError, match=message):
            JointSettings.model_validate({"t": 0.5, "attributes": names})


def test_a_combination_is_of_all_attributes_unless_it_names_some() -> None:
    columns = ["pay", "job", "town"]
    assert JointSettings(t=0.3).combine(columns).combines == ("pay", "job", "town")
    some = JointSettings(t=0.3, attributes=("town", "pay")).combine(columns)
    assert (some.name, some.combines, some.max_emd) == (
        "town with pay",
        ("town", "pay"),
        Fraction(3, 10),
    )


@pytest.mark.parametrize(
    ("keys", "covered"),
    [
        ({}, []),
        ({"models": [DIVERSITY]}, ["pay", "job"]),
        ({"models": [DIVERSITY | {"attributes": ["job"]}]}, ["job"]),
        ({"joint": [{"t": 0.5}]}, ["pay", "job"]),
        ({"joint": [{"t": 0.5, "attributes": ["job", "town"]}]}, ["job"]),
    ],
)
def test_what_covers_an_attribute(keys: dict[str, Any], covered: list[str]) -> None:
    assert [name for name in ("pay", "job") if privacy(**keys).covers(name)] == covered


@pytest.mark.parametrize(
    ("keys", "limit"),
    [
        ({}, Fraction(1)),
        ({"t": 0.1}, Fraction(1, 10)),
        ({"joint": [{"t": 0.5}, {"t": 0.3, "attributes": ["pay", "job"]}]}, Fraction(3, 10)),
        ({"joint": [{"t": 0.5}, {"t": 0.3, "attributes": ["job", "town"]}]}, Fraction(1, 2)),
        ({"t": 0.2, "joint": [{"t": 0.1}]}, Fraction(1, 5)),
    ],
)
def test_the_t_of_an_attribute_without_its_own(keys: dict[str, Any], limit: Fraction) -> None:
    assert privacy(**keys).limit("pay") == limit


def test_models_need_attributes_to_hold() -> None:
    settings = privacy(models=[DIVERSITY | {"attributes": ["job"]}])
    settings.check_attributes(["pay", "job"], [])
    with pytest.raises(ValueError, match="distinct-l-diversity of 'job', which is not a conf"):
        settings.check_attributes(["pay"], [])
    with pytest.raises(ValueError, match="distinct-l-diversity needs a confidential attribute"):
        settings.check_attributes([], ["job"])


def test_the_smallest_t_of_noise_holds() -> None:
    models = [
        {"name": "stochastic-t-closeness", "t": 2},
        {"name": "stochastic-t-closeness", "t": 1.5, "attributes": ["job"]},
    ]
    settings = privacy(models=models)
    assert settings.limit_noise("pay") == 2
    assert settings.limit_noise("job") == Fraction(3, 2)
    assert privacy().limit_noise("pay") is None


def test_a_policy_that_names_no_method_has_the_default_one() -> None:
    assert default_method().name == "t-closeness-first"
