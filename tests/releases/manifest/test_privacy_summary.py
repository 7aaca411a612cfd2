"""Figures of a manifest: what is left of a number in three digits."""

import math
import sys

import pytest

from tclose.releases.manifest.privacy_summary import known_digits


@pytest.mark.parametrize(
    ("value", "digits"),
    [
        (0.12345, 0.123),
        (1.79e308, 1.79e308),
        (sys.float_info.max, None),  # 1.80e308 is beyond the largest float
        (-sys.float_info.max, None),
        (math.inf, None),
        (math.nan, None),
    ],
)
def test_three_digits_are_of_a_finite_number(value, digits):
    assert known_digits(value) == digits
