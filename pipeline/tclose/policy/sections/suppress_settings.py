"""The ``suppress`` section of a policy: how many records without near ones may be left out."""

from collections.abc import Collection
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from tclose.model.column_terms import Role
from tclose.model.setting_fields import Settings, refuse_truth

MOST_SUPPRESSED = 0.05  # more would be another table


def read_share(value: object) -> object:
    """A share as a number; of a text as ``1%`` its hundredth."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            return float(Fraction(value.strip()[:-1].strip()) / 100)
        except (ValueError, ArithmeticError):  # of no size, or beyond what a number holds
            return value
    return refuse_truth(value)


def describe_share(most: float) -> dict[str, Any]:
    """The JSON schema of a share of at most so much, for editors."""
    return {
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": most},
            {"type": "string", "pattern": r"^ *[0-9]+(\.[0-9]+)? *% *$"},
        ]
    }


class SuppressSettings(Settings):
    """Records that may be left out, as no others are near them by their quasi-identifiers."""

    at_most: Annotated[
        float,
        Field(gt=0, le=MOST_SUPPRESSED),
        BeforeValidator(read_share),
        WithJsonSchema(describe_share(MOST_SUPPRESSED)),
    ] = Field(
        description="Share of the complete records that may be left out because no others are near "
        "them, 5% at most; only those whose distance is far above the others' are.",
        examples=["1%", 0.01],
    )

    @property
    def share(self) -> Fraction:
        """The share, exactly as it is written."""
        return Fraction(str(self.at_most))


def check_suppression(
    roles: Collection[Role], *, is_held: bool, draws_noise: bool, is_cut: bool
) -> None:
    """Refuse to leave records out where it would break what else is asked.

    Parameters
    ----------
    is_held : whether releases of a series are held together
    draws_noise : whether confidential values get noise
    is_cut : whether classes are cut by partitions

    Raises
    ------
    ValueError
    """
    reasons = {
        "privacy.over_time, which has its own rule for who is left out": is_held,
        "a column of role person: leaving out a record would tell of its person": Role.PERSON
        in roles,
        "noise, whose guarantee is about a table that does not choose its records": draws_noise,
        "output.partition_by, as records are compared with those of all partitions": is_cut,
    }
    for reason, is_there in reasons.items():
        if is_there:
            raise ValueError(f"suppress: does not go with {reason}; take either out")
