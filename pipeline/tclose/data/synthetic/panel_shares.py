"""Traits of insured persons: cumulative shares of each category, given the state.

Each function returns cumulative shares (n_states, n_categories), as from ``accumulate``.
"""

import functools

import numpy as np

from tclose.data.synthetic.probabilities import REGIONS, accumulate
from tclose.model.array_types import Float64

INSURERS = (
    "Aurora", "Beacon", "Cedar", "Delta Mutual", "Evergreen", "Fidelia", "Granite", "Harbour",
    "Ivory", "Juniper",
)  # fmt: skip
TARIFFS = ("basic", "standard", "plus", "family")
MAX_AGE = 95  # of those who join, or are there at the start

# fmt: off
DIAGNOSES_THAT_LAST = (
    "none", "hypertension", "diabetes", "asthma", "depression", "arthrosis", "coronary disease",
    "cancer", "kidney disease", "dementia", "epilepsy", "migraine",
)
_DIAGNOSIS_AGES = (0, 10, 20, 35, 50, 65, 80, 95)
_DIAGNOSIS_WEIGHTS = (
    (93, 86, 82, 74, 58, 40, 27, 22),
    (0, 0.2, 1, 4, 13, 22, 26, 25),
    (0.2, 0.5, 1, 2.5, 6.5, 11, 12, 10),
    (4, 8.5, 6, 5, 4, 3.5, 3, 3),
    (0.1, 1, 5, 7, 8, 5, 4, 4),
    (0, 0, 0.3, 1.5, 5, 8.5, 9, 8),
    (0.3, 0.2, 0.2, 0.5, 2, 5, 7.5, 8),
    (0.3, 0.2, 0.3, 0.7, 2, 4, 5, 5),
    (0.2, 0.2, 0.3, 0.5, 1, 2, 4, 5),
    (0, 0, 0, 0, 0.1, 0.8, 6, 14),
    (1, 1, 0.9, 0.8, 0.7, 0.7, 0.8, 0.8),
    (0.1, 1.5, 4, 5, 4, 1.5, 0.7, 0.5),
)
_AGE_WEIGHTS = ((0, 10, 20, 30, 40, 50, 60, 70, 80, 95), (9, 9, 10, 12, 12, 13, 12, 9, 6, 1))
_JOINING_WEIGHTS = ((0, 1, 18, 22, 30, 45, 60, 75, 95), (40, 5, 14, 24, 20, 11, 6, 3, 0.5))
_TARIFF_AGES = (0, 18, 30, 45, 65, 95)
_TARIFF_WEIGHTS = ((5, 35, 28, 18, 25, 30), (15, 45, 35, 35, 45, 50), (2, 8, 12, 17, 28, 20),
                   (78, 12, 25, 30, 2, 0))
_INSURER_WEIGHTS = (22, 18, 14, 11, 9, 8, 7, 5, 4, 2)
# fmt: on
_AGES = np.arange(MAX_AGE + 1)


@functools.cache
def insured_ages() -> Float64:
    """State: whether the person joins now (1) or is there at the start (0)."""
    return accumulate([np.interp(_AGES, *of) for of in (_AGE_WEIGHTS, _JOINING_WEIGHTS)])


@functools.cache
def lasting_diagnoses() -> Float64:
    """State: age."""
    by_age = [np.interp(_AGES, _DIAGNOSIS_AGES, weights) for weights in _DIAGNOSIS_WEIGHTS]
    return accumulate(np.stack(by_age, axis=1))


@functools.cache
def tariff_shares() -> Float64:
    """State: age."""
    by_age = [np.interp(_AGES, _TARIFF_AGES, weights) for weights in _TARIFF_WEIGHTS]
    return accumulate(np.stack(by_age, axis=1))


@functools.cache
def home_regions() -> Float64:
    """One state."""
    return accumulate([[region.weight for region in REGIONS]])


@functools.cache
def insurer_shares() -> Float64:
    """State: region. Each region has three insurers that are common there."""
    weights = np.tile(np.array(_INSURER_WEIGHTS, dtype=np.float64), (len(REGIONS), 1))
    for region in range(len(REGIONS)):
        weights[region, (3 * region + np.arange(3)) % len(INSURERS)] *= 3
    return accumulate(weights)
