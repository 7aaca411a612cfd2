"""Shares of records that are left out or held: as they are written, and within their limits."""

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from tclose.model.column_terms import Role
from tclose.policy.sections.hold_settings import MOST_HELD, HoldSettings
from tclose.policy.sections.suppress_settings import (
    MOST_SUPPRESSED,
    SuppressSettings,
    check_suppression,
    read_share,
)

NO_REASON = {"is_held": False, "draws_noise": False, "is_cut": False}


@pytest.mark.parametrize(
    ("written", "read"),
    [("1%", 0.01), (" 0.5 % ", 0.005), ("100%", 1.0), (0.01, 0.01), ("0.01", "0.01"), (1, 1)],
)
def test_a_text_in_per_cent_is_a_hundredth(written: object, read: object) -> None:
    assert read_share(written) == read


@pytest.mark.parametrize("written", ["%", "one %", "1/0 %", "nan%", "1e999999%"])
def test_what_is_no_number_stays_and_is_refused(written: str) -> None:
    assert read_share(written) == written
    with pytest.raises(ValidationError, match="valid number"):
        SuppressSettings.model_validate({"at_most": written})


def test_truth_is_not_one() -> None:
    with pytest.raises(ValidationError, match="valid number"):
        SuppressSettings.model_validate({"at_most": True})


@pytest.mark.parametrize(
    ("section", "most"), [(SuppressSettings, MOST_SUPPRESSED), (HoldSettings, MOST_HELD)]
)
def test_limits_of_shares(section: type[Any], most: float) -> None:
    assert section.model_validate({"at_most": most}).at_most == most
    for refused in (0, -0.01, most + 0.001, float("nan"), f"{100 * most + 1}%"):
        with pytest.raises(ValidationError, match="at_most"):
            section.model_validate({"at_most": refused})


def test_shares_are_exact() -> None:
    assert SuppressSettings.model_validate({"at_most": "0.1%"}).share == Fraction(1, 1000)
    assert HoldSettings.model_validate({"at_most": 0.3}).share == Fraction(3, 10)


def test_a_tenth_is_held_unless_another_share_is_given() -> None:
    assert HoldSettings().share == Fraction(1, 10)
    with pytest.raises(ValidationError, match="at_most"):
        SuppressSettings.model_validate({})


@pytest.mark.parametrize(
    ("roles", "reason", "message"),
    [
        ((), "is_held", r"privacy\.over_time, which has its own rule for who is left out; take"),
        ((), "draws_noise", "does not go with noise"),
        ((), "is_cut", r"does not go with output\.partition_by"),
        ((Role.PERSON,), "", "does not go with a column of role person"),
    ],
)
def test_suppression_is_refused_beside(roles: tuple[Role, ...], reason: str, message: str) -> None:
    keys = NO_REASON | ({reason: True} if reason else {})
    with pytest.raises(ValueError, match=message):
        check_suppression(roles, **keys)


def test_suppression_goes_with_all_other_roles() -> None:
    check_suppression(set(Role) - {Role.PERSON}, **NO_REASON)
