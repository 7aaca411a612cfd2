"""Patients who come back: some cases become further ones of others', after chronic illness mostly.

What is a patient's own stays the same: sex, place, insurance, and the day she was born.
"""

import numpy as np
from numpy.typing import NDArray

from tclose.data.synthetic import probabilities
from tclose.data.synthetic.cases import (
    Cases,
    draw_day,
    draw_diagnosis,
    draw_severity,
    draw_status,
)
from tclose.data.synthetic.diagnoses import DIAGNOSES
from tclose.model.array_types import Int64

DAYS_OF_YEAR = 365.25
# The share of discharges that are further ones, where nothing else is asked.
DEFAULT_RETURNING = 0.35
# Of further cases of a chronic illness, how many are of the same group.
SAME_GROUP = 0.7
# Patients are unlike in how often they come back: the shape of a gamma distribution.
FRAILTY = 0.7
DAYS_OF_PREGNANCY = 280

OF_PATIENT = ("sex", "region", "zip_code", "insurance")

_AGAIN = np.array([group.again for group in DIAGNOSES])
_YOUNGEST = np.array([group.youngest for group in DIAGNOSES])
_OLDEST = np.array([group.oldest for group in DIAGNOSES])
_NAMES = [group.name for group in DIAGNOSES]
_PERINATAL = _NAMES.index("perinatal")
_PREGNANCY = _NAMES.index("pregnancy and childbirth")
_DIED = probabilities.STATUSES.index("died")


def send_back(cases: Cases, returning: float, rng: np.random.Generator) -> tuple[Cases, Int64]:
    """Make about that share of the cases further ones of patients of cases before them.

    Returns
    -------
    cases, and of each int64 (n,) the case that its patient's own values are of
    """
    further, first = _draw_firsts(cases, returning, rng)
    diagnosis, day = _draw_further(cases, first, rng)
    born = cases.day - (cases.age + rng.random(cases.age.size)) * DAYS_OF_YEAR
    age = np.floor((day - born[first]) / DAYS_OF_YEAR).astype(np.int64)
    fits = (age >= _YOUNGEST[diagnosis]) & (age <= _OLDEST[diagnosis]) & (diagnosis != _PERINATAL)
    further, first = further[fits], first[fits]
    age, diagnosis, day = age[fits], diagnosis[fits], day[fits]
    severity = draw_severity(age, diagnosis, rng)
    whose = np.arange(cases.age.size)
    whose[further] = first
    own = {name: getattr(cases, name)[whose] for name in OF_PATIENT}
    others = {
        "age": age,
        "day": day,
        "diagnosis": diagnosis,
        "severity": severity,
        "status": draw_status(age, diagnosis, severity, rng),
    }
    for name, values in others.items():
        column = getattr(cases, name).copy()
        column[further] = values
        others[name] = column
    return Cases(**own, **others), whose


def _draw_firsts(cases: Cases, returning: float, rng: np.random.Generator) -> tuple[Int64, Int64]:
    """The cases that are further ones, and of each one before it that is of the same patient.

    Cases before, so that whatever part of a table is taken has patients who come back.
    """
    comes_back = rng.random(cases.age.size) < returning
    frailty = rng.gamma(FRAILTY, size=cases.age.size)
    so_far = np.cumsum(np.where(comes_back, 0.0, _AGAIN[cases.diagnosis] * frailty))
    further = np.flatnonzero(comes_back & (so_far > 0))
    drawn = so_far[further] * rng.random(further.size)
    return further, np.searchsorted(so_far, drawn, side="right")


def _draw_further(cases: Cases, first: Int64, rng: np.random.Generator) -> tuple[Int64, Int64]:
    """The group of diagnoses and the day of cases of patients who had those ones."""
    group = cases.diagnosis[first]
    is_same = rng.random(first.size) < SAME_GROUP * _AGAIN[group]
    another = draw_diagnosis(cases.age[first], cases.sex[first], rng)
    diagnosis = np.where(is_same, group, another)
    return diagnosis, draw_day(diagnosis, rng)


def number_patients(whose: Int64, cases: Cases, stay: NDArray[np.int16]) -> Int64:
    """A number of each case's patient, int64 (n,): the first of her cases.

    A case that begins before the patient's last one ended, or cannot follow it, is of another
    patient who is like her, and so are those after it.

    Parameters
    ----------
    whose : int64 (n,): the case that the patient's own values are of
    stay : (n,): days
    """
    order = np.lexsort((cases.day, whose))
    before, after = order[:-1], order[1:]
    goes_on = whose[before] == whose[after]
    goes_on &= cases.day[before] + stay[before] <= cases.day[after]
    goes_on &= (cases.status[before] != _DIED) & (cases.diagnosis[after] != _PERINATAL)
    births = cases.diagnosis == _PREGNANCY
    is_soon = cases.day[after] - cases.day[before] < DAYS_OF_PREGNANCY
    goes_on &= ~(births[before] & births[after] & is_soon)
    begins = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(~goes_on) + 1])
    numbers = np.empty(order.size, dtype=np.int64)
    numbers[order] = np.repeat(order[begins], np.diff(begins, append=order.size))
    return numbers
