"""The records: the drawing of each value, and its spelling."""

import functools
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.synthetic import probabilities
from tclose.data.synthetic.diagnoses import DIAGNOSES
from tclose.data.synthetic.identifiers import MAX_NUMBERS, name_numbers
from tclose.errors import UsageError
from tclose.model.array_types import Float64, Int64

CHUNK_ROWS = 65_536
MAX_ROWS = MAX_NUMBERS

SCHEMA = pa.schema(
    [
        pa.field("patient_id", pa.string(), nullable=False),
        pa.field("age", pa.int16(), nullable=False),
        pa.field("sex", pa.string(), nullable=False),
        pa.field("zip", pa.int32(), nullable=False),
        pa.field("admission_date", pa.date32(), nullable=False),
        pa.field("length_of_stay", pa.int16(), nullable=False),
        pa.field("diagnosis_group", pa.string(), nullable=False),
        pa.field("insurance_type", pa.string(), nullable=False),
        pa.field("severity", pa.string(), nullable=False),
        pa.field("charge", pa.float64(), nullable=False),
        pa.field("discharge_status", pa.string(), nullable=False),
    ]
)

_STAY_BY_SEVERITY = np.array((-0.25, 0.0, 0.4, 0.9))
_CHARGE_BY_SEVERITY = np.array((0.0, 0.15, 0.4, 0.8))
_TARIFF_SHARE = np.array((0.45, 0.2, 0.4, 0.1, 0.05))
_TARIFF_LEVEL = np.array((0.8, 1.1, 0.85, 1.0, 1.0))

_STAY = np.array([group.stay for group in DIAGNOSES])
_SPREAD = np.array([group.spread for group in DIAGNOSES])
_PRICE = np.array([group.price for group in DIAGNOSES], dtype=np.float64)
_REGION_PRICE = np.array([region.price for region in probabilities.REGIONS])


class _Cases(NamedTuple):
    """The drawn values of CHUNK_ROWS cases: age, zip code, day from FIRST_DAY, else categories."""

    age: Int64
    sex: Int64
    region: Int64
    zip_code: NDArray[np.int32]
    day: Int64
    diagnosis: Int64
    severity: Int64
    insurance: Int64
    status: Int64


def generate_rows(first: int, n_rows: int, seed: int) -> pa.Table:
    """Rows ``first`` to ``first + n_rows - 1`` of the endless table of ``seed``, as SCHEMA.

    Raises UsageError unless first >= 0, n_rows >= 1, seed >= 0 and the rows lie below MAX_ROWS.
    """
    refuse_request(first, n_rows, seed)
    last = first + n_rows
    slices = []
    for chunk in range(first // CHUNK_ROWS, (last - 1) // CHUNK_ROWS + 1):
        start = max(first - chunk * CHUNK_ROWS, 0)
        stop = min(last - chunk * CHUNK_ROWS, CHUNK_ROWS)
        slices.append(_generate_chunk(chunk, seed).slice(start, stop - start))
    return pa.concat_tables(slices)


def refuse_request(first: int, n_rows: int, seed: int) -> None:
    """Refuse rows that no table has, and a seed that names none."""
    if n_rows < 1:
        raise UsageError(f"the number of rows is {n_rows}; it must be at least 1")
    if first < 0 or first + n_rows > MAX_ROWS:
        raise UsageError(f"rows {first} to {first + n_rows - 1} asked; 0 to {MAX_ROWS - 1} exist")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; it must be 0 or more")


@functools.lru_cache(maxsize=1)
def _generate_chunk(chunk: int, seed: int) -> pa.Table:
    """Rows ``chunk * CHUNK_ROWS`` onwards, CHUNK_ROWS of them, from a stream of their own.

    The last one is kept, so that files which meet inside a chunk do not make it twice.
    """
    stream = np.random.SeedSequence(seed, spawn_key=(chunk,))
    rng = np.random.Generator(np.random.Philox(stream))
    cases = _draw_cases(rng)
    stay = _draw_stay(cases, rng)
    charge = _draw_charge(cases, stay, rng)
    columns = [
        name_numbers(chunk * CHUNK_ROWS + np.arange(CHUNK_ROWS), seed, "P"),
        pa.array(cases.age.astype(np.int16)),
        _spell(cases.sex, probabilities.SEXES),
        pa.array(cases.zip_code),
        pa.array(probabilities.FIRST_DAY + cases.day),
        pa.array(stay),
        _spell(cases.diagnosis, tuple(group.name for group in DIAGNOSES)),
        _spell(cases.insurance, probabilities.INSURANCES),
        _spell(cases.severity, probabilities.SEVERITIES),
        pa.array(charge),
        _spell(cases.status, probabilities.STATUSES),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _draw_cases(rng: np.random.Generator) -> _Cases:
    """Draw all columns but stay and charge. A seed's table depends on the order of the draws."""
    alike = np.zeros(CHUNK_ROWS, dtype=np.int64)
    age = _draw(probabilities.age_shares(), alike, rng)
    sex = _draw(probabilities.sex_shares(), age, rng)
    diagnosis = _draw(probabilities.diagnosis_shares(), age * len(probabilities.SEXES) + sex, rng)
    group = age * len(DIAGNOSES) + diagnosis
    severity = _draw(probabilities.severity_shares(), group, rng)
    region = _draw(probabilities.region_shares(), age, rng)
    zip_code = probabilities.list_zips()[region, _draw(probabilities.zip_shares(), alike, rng)]
    insurance = _draw(
        probabilities.insurance_shares(), age * len(probabilities.REGIONS) + region, rng
    )
    day = _draw(probabilities.day_shares(), diagnosis, rng)
    status = _draw(
        probabilities.status_shares(), group * len(probabilities.SEVERITIES) + severity, rng
    )
    return _Cases(age, sex, region, zip_code, day, diagnosis, severity, insurance, status)


def _draw(shares: Float64, states: Int64, rng: np.random.Generator) -> Int64:
    """Draw one category per row, given its state; ``shares`` as from `probabilities`.

    Uniforms of 24 bits keep state + uniform exact, so that no row slips into the next state.
    """
    uniforms = rng.random(len(states), dtype=np.float32)
    places = np.searchsorted(shares.ravel(), states + uniforms, side="right")
    categories: Int64 = places - states * shares.shape[1]
    return categories


def _draw_stay(cases: _Cases, rng: np.random.Generator) -> NDArray[np.int16]:
    """Whole days, 0 to 365: log-normal about the median of the group, longer for the severe."""
    log_stay = np.log(_STAY)[cases.diagnosis] + _STAY_BY_SEVERITY[cases.severity]
    log_stay += 0.004 * np.clip(cases.age - 50, -30, 40)
    log_stay += _SPREAD[cases.diagnosis] * rng.standard_normal(len(cases.age))
    days: NDArray[np.int16] = np.minimum(np.rint(np.exp(log_stay)), 365).astype(np.int16)
    return days


def _draw_charge(cases: _Cases, stay: NDArray[np.int16], rng: np.random.Generator) -> Float64:
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


def _spell(codes: Int64, names: tuple[str, ...]) -> pa.Array:
    indices = pa.array(codes.astype(np.int8))
    return pa.DictionaryArray.from_arrays(indices, list(names)).cast(pa.string())
