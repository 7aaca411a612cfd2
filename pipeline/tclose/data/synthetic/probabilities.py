"""Cumulative probabilities of each category, given the state: the categories drawn before.

Each function returns cumulative shares (n_states, n_categories), as from ``accumulate``.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tclose.data.synthetic.diagnoses import CASE_AGES, DIAGNOSES
from tclose.model.array_types import Float64

SEXES = ("female", "male")
SEVERITIES = ("minor", "moderate", "major", "extreme")
STATUSES = ("home", "transfer", "nursing", "died")
INSURANCES = ("public", "private", "supplementary", "self-pay", "none")
FIRST_DAY = np.datetime64("2022-01-01", "D")
N_DAYS = 1096


class HospitalRegion(NamedTuple):
    """A group of 150 neighbouring zip codes.

    ``first_zip``: below all of its codes; ``weight``: share of cases; ``slope``: how the share
    grows with age; ``price``: shift of the log charge; ``insurances``: factor on each.
    """

    first_zip: int
    weight: float
    slope: float
    price: float
    insurances: tuple[float, ...]


# fmt: off
_AGE_WEIGHTS = (
    (0, 1, 5, 12, 15, 20, 28, 34, 42, 50, 60, 70, 76, 85, 92, 100, 104),
    (110, 7, 3, 2.5, 5, 9, 13, 11.5, 8, 9, 14, 15.5, 15, 10.5, 4, 0.5, 0.1),
)
_SHARE_OF_WOMEN = (
    (0, 14, 16, 20, 28, 38, 46, 58, 70, 84, 94, 104),
    (0.488, 0.5, 0.6, 0.72, 0.78, 0.64, 0.5, 0.46, 0.47, 0.56, 0.68, 0.8),
)
REGIONS = (
    HospitalRegion(90_000, 34, -0.25, 0.08, (1.1, 0.95, 0.9, 1.1, 1.3)),
    HospitalRegion(91_300, 22, -0.10, 0.00, (0.8, 1.25, 1.1, 0.9, 0.8)),
    HospitalRegion(92_000, 12, 0.90, 0.15, (0.7, 1.40, 1.6, 1.5, 0.5)),
    HospitalRegion(93_200, 14, -0.40, -0.20, (1.4, 0.65, 0.5, 0.8, 1.5)),
    HospitalRegion(94_900, 11, 0.05, 0.22, (0.8, 1.35, 1.2, 1.0, 0.6)),
    HospitalRegion(95_900, 7, 0.35, -0.12, (1.2, 0.80, 0.8, 1.0, 1.2)),
)
_INSURANCE_AGES = (0, 18, 26, 45, 64, 66, 85, 104)
_INSURANCE_WEIGHTS = (
    (46, 40, 34, 29, 33, 58, 56, 60),
    (47, 46, 46, 54, 52, 8, 5, 4),
    (1, 1, 1, 1.5, 3, 31, 36, 33),
    (3.5, 5, 7, 6, 5, 2, 1.5, 2),
    (2.5, 8, 12, 9.5, 7, 1, 0.5, 0.5),
)
# fmt: on
_ZIPS_PER_REGION = 150
_SEVERITY_CUTS = (-0.85, 0.75, 2.4)
_DEATHS_BY_SEVERITY = np.array((0.0005, 0.003, 0.015, 0.1))
_NURSING_BY_SEVERITY = np.array((0.5, 0.9, 1.3, 1.6))
_TRANSFER_BY_SEVERITY = np.array((0.012, 0.022, 0.04, 0.06))

_SEVERITY = np.array([group.severity for group in DIAGNOSES])
_DEATHS = np.array([group.deaths for group in DIAGNOSES])
_AGES = np.arange(105)


@functools.cache
def age_shares() -> Float64:
    """One state."""
    return accumulate(np.interp(_AGES, *_AGE_WEIGHTS)[None, :])


@functools.cache
def sex_shares() -> Float64:
    """State: age."""
    women = np.interp(_AGES, *_SHARE_OF_WOMEN)
    return accumulate(np.stack((women, 1 - women), axis=1))


@functools.cache
def diagnosis_shares() -> Float64:
    """State: age, sex."""
    cases = np.stack([np.interp(_AGES, CASE_AGES, group.cases) for group in DIAGNOSES], axis=1)
    oldest = [group.oldest for group in DIAGNOSES]
    youngest = [group.youngest for group in DIAGNOSES]
    cases *= (_AGES[:, None] >= youngest) & (_AGES[:, None] <= oldest)
    sexes = np.array([[group.women, group.men] for group in DIAGNOSES]).T
    return accumulate((cases[:, None, :] * sexes).reshape(-1, len(DIAGNOSES)))


@functools.cache
def severity_shares() -> Float64:
    """State: age, diagnosis group. An ordered logit."""
    shift = (_SEVERITY + 0.022 * (_AGES[:, None] - 50)).reshape(-1, 1)
    below = 1 / (1 + np.exp(shift - _SEVERITY_CUTS))
    return accumulate(np.diff(below, prepend=0, append=1))


@functools.cache
def region_shares() -> Float64:
    """State: age."""
    weights = np.array([region.weight for region in REGIONS])
    slopes = np.array([region.slope for region in REGIONS])
    return accumulate(weights * np.exp(slopes * (_AGES[:, None] - 45) / 50))


@functools.cache
def zip_shares() -> Float64:
    """One state. Zipf-like populations by rank within any region."""
    return accumulate((np.arange(_ZIPS_PER_REGION)[None, :] + 4.0) ** -0.9)


@functools.cache
def list_zips() -> NDArray[np.int32]:
    """Codes (n_regions, _ZIPS_PER_REGION) by rank: ranks scattered, every fourth code unused."""
    place = np.arange(_ZIPS_PER_REGION) * 37 % _ZIPS_PER_REGION
    first = np.array([region.first_zip for region in REGIONS])[:, None]
    return (first + 1 + place + place // 3).astype(np.int32)


@functools.cache
def insurance_shares() -> Float64:
    """State: age, region."""
    by_age = [np.interp(_AGES, _INSURANCE_AGES, weights) for weights in _INSURANCE_WEIGHTS]
    by_region = np.array([region.insurances for region in REGIONS])
    weights = np.stack(by_age, axis=1)[:, None, :] * by_region
    return accumulate(weights.reshape(-1, len(INSURANCES)))


@functools.cache
def day_shares() -> Float64:
    """State: diagnosis group. Fewer admissions at weekends, a season with its peak in January."""
    day = np.arange(N_DAYS)
    weekday = (day + FIRST_DAY.astype(int) + 3) % 7
    working = np.array((1.08, 1.06, 1.0, 0.97, 0.92, 0.0, 0.0))[weekday]
    weekend = np.array([group.weekend for group in DIAGNOSES])[:, None] * (weekday >= 5)
    winter = np.array([group.winter for group in DIAGNOSES])[:, None]
    season = 1 + winter * np.cos(2 * np.pi * (day - 20) / 365.25)
    return accumulate((working + weekend) * season)


@functools.cache
def status_shares() -> Float64:
    """State: age, diagnosis group, severity."""
    age = _AGES[:, None, None]
    died = _DEATHS[:, None] * _DEATHS_BY_SEVERITY * np.exp(0.04 * (age - 60))
    nursing = (age >= 18) * _NURSING_BY_SEVERITY * np.exp((age - 88) / 11)
    against_home = np.broadcast_arrays(1.0, _TRANSFER_BY_SEVERITY, nursing, died)
    return accumulate(np.stack(against_home, axis=-1).reshape(-1, len(STATUSES)))


def accumulate(weights: ArrayLike) -> Float64:
    """Weights (n_states, n_categories) to cumulative shares, s to s + 1 in the row of state s."""
    cumulative = np.cumsum(weights, axis=1)
    shares: Float64 = cumulative / cumulative[:, -1:]
    return shares + np.arange(len(shares))[:, None]
