"""The cases of discharges: the drawing of each value, given those that were drawn before."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.data.synthetic import probabilities
from tclose.data.synthetic.diagnoses import DIAGNOSES
from tclose.model.array_types import Float64, Int64

_STAY_BY_SEVERITY = np.array((-0.25, 0.0, 0.4, 0.9))
_CHARGE_BY_SEVERITY = np.array((0.0, 0.15, 0.4, 0.8))
_TARIFF_SHARE = np.array((0.45, 0.2, 0.4, 0.1, 0.05))
_TARIFF_LEVEL = np.array((0.8, 1.1, 0.85, 1.0, 1.0))

_STAY = np.array([group.stay for group in DIAGNOSES])
_SPREAD = np.array([group.spread for group in DIAGNOSES])
_PRICE = np.array([group.price for group in DIAGNOSES], dtype=np.float64)
_REGION_PRICE = np.array([region.price for region in probabilities.REGIONS])


class Cases(NamedTuple):
    """The drawn values of some cases: age, zip code, day from FIRST_DAY, else categories."""

    age: Int64
    sex: Int64
    region: Int64
    zip_code: NDArray[np.int32]
    day: Int64
    diagnosis: Int64
    severity: Int64
    insurance: Int64
    status: Int64


def draw_cases(n_cases: int, rng: np.random.Generator) -> Cases:
    """Draw all columns but stay and charge. A seed's table depends on the order of the draws."""
    alike = np.zeros(n_cases, dtype=np.int64)
    age = draw_categories(probabilities.age_shares(), alike, rng)
    sex = draw_categories(probabilities.sex_shares(), age, rng)
    diagnosis = draw_diagnosis(age, sex, rng)
    severity = draw_severity(age, diagnosis, rng)
    region = draw_categories(probabilities.region_shares(), age, rng)
    rank = draw_categories(probabilities.zip_shares(), alike, rng)
    zip_code = probabilities.list_zips()[region, rank]
    insurance = draw_categories(
        probabilities.insurance_shares(), age * len(probabilities.REGIONS) + region, rng
    )
    day = draw_day(diagnosis, rng)
    status = draw_status(age, diagnosis, severity, rng)
    return Cases(age, sex, region, zip_code, day, diagnosis, severity, insurance, status)


def draw_diagnosis(age: Int64, sex: Int64, rng: np.random.Generator) -> Int64:
    """Draw the group of diagnoses of each case."""
    state = age * len(probabilities.SEXES) + sex
    return draw_categories(probabilities.diagnosis_shares(), state, rng)


def draw_severity(age: Int64, diagnosis: Int64, rng: np.random.Generator) -> Int64:
    """Draw the severity of each case."""
    state = age * len(DIAGNOSES) + diagnosis
    return draw_categories(probabilities.severity_shares(), state, rng)


def draw_day(diagnosis: Int64, rng: np.random.Generator) -> Int64:
    """Draw the day of admission of each case."""
    return draw_categories(probabilities.day_shares(), diagnosis, rng)


def draw_status(age: Int64, diagnosis: Int64, severity: Int64, rng: np.random.Generator) -> Int64:
    """Draw how each case ends."""
    state = (age * len(DIAGNOSES) + diagnosis) * len(probabilities.SEVERITIES) + severity
    return draw_categories(probabilities.status_shares(), state, rng)


def draw_categories(shares: Float64, states: Int64, rng: np.random.Generator) -> Int64:
    """Draw one category per row, given its state; ``shares`` as from `probabilities`.

    Uniforms of 24 bits keep state + uniform exact, so that no row slips into the next state.
    """
    uniforms = rng.random(len(states), dtype=np.float32)
    places = np.searchsorted(shares.ravel(), states + uniforms, side="right")
    categories: Int64 = places - states * shares.shape[1]
    return categories


def draw_stay(cases: Cases, rng: np.random.Generator) -> NDArray[np.int16]:
    """Whole days, 0 to 365: log-normal about the median of the group, longer for the severe."""
    log_stay = np.log(_STAY)[cases.diagnosis] + _STAY_BY_SEVERITY[cases.severity]
    log_stay += 0.004 * np.clip(cases.age - 50, -30, 40)
    log_stay += _SPREAD[cases.diagnosis] * rng.standard_normal(len(cases.age))
    days: NDArray[np.int16] = np.minimum(np.rint(np.exp(log_stay)), 365).astype(np.int16)
    return days


def draw_charge(cases: Cases, stay: NDArray[np.int16], rng: np.random.Generator) -> Float64:
    """Charges in dollars, to the cent: itemised (log-normal), or by tariff, repeated exactly.

    A tariff is a flat rate of group, severity and insurance, and a daily rate far beyond the
    median stay.
    """
    price = _PRICE[cases.diagnosis] * np.exp(_CHARGE_BY_SEVERITY)[cases.severity]
    median_stay = _STAY[cases.diagnosis]
    log_factor = 0.8 * np.log((stay + 1) / (median_stay + 1)) + _REGION_PRICE[cases.region]
    itemised = price * np.exp(log_factor + 0.45 * rng.standard_normal(len(stay)))
    extra_days = np.maximum(stay - np.ceil(3 * median_stay), 0)
    flat_rate = 50 * np.rint(price * _TARIFF_LEVEL[cases.insurance] / 50)
    tariff = flat_rate + extra_days * 10 * np.rint(price / median_stay / 40)
    is_tariff = rng.random(len(stay), dtype=np.float32) < _TARIFF_SHARE[cases.insurance]
    charge: Float64 = np.round(np.where(is_tariff, tariff, itemised), 2)
    return charge
