"""The records of discharges, chunk by chunk, and the spelling of each value."""

import functools

import numpy as np
import pyarrow as pa

from tclose.data.synthetic import probabilities
from tclose.data.synthetic.cases import draw_cases, draw_charge, draw_stay
from tclose.data.synthetic.diagnoses import DIAGNOSES
from tclose.data.synthetic.identifiers import MAX_NUMBERS, name_numbers
from tclose.data.synthetic.patients import number_patients, send_back
from tclose.errors import UsageError
from tclose.model.array_types import Int64

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


def generate_rows(first: int, n_rows: int, seed: int, returning: float = 0.0) -> pa.Table:
    """Rows ``first`` to ``first + n_rows - 1`` of the endless table of ``seed``, as SCHEMA.

    ``returning``: about this share of them is of patients who were there before; without, each row
    is of another patient.

    Raises UsageError unless first >= 0, n_rows >= 1, seed >= 0, 0 <= returning < 1 and the rows
    lie below MAX_ROWS.
    """
    refuse_request(first, n_rows, seed, returning)
    last = first + n_rows
    slices = []
    for chunk in range(first // CHUNK_ROWS, (last - 1) // CHUNK_ROWS + 1):
        start = max(first - chunk * CHUNK_ROWS, 0)
        stop = min(last - chunk * CHUNK_ROWS, CHUNK_ROWS)
        slices.append(_generate_chunk(chunk, seed, returning).slice(start, stop - start))
    return pa.concat_tables(slices)


def refuse_request(first: int, n_rows: int, seed: int, returning: float) -> None:
    """Refuse rows that no table has, a seed that names none, and what is no share."""
    if n_rows < 1:
        raise UsageError(f"the number of rows is {n_rows}; it must be at least 1")
    if first < 0 or first + n_rows > MAX_ROWS:
        raise UsageError(f"rows {first} to {first + n_rows - 1} asked; 0 to {MAX_ROWS - 1} exist")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; it must be 0 or more")
    if not 0 <= returning < 1:
        raise UsageError(f"the share returning is {returning}; it must be at least 0 and below 1")


@functools.lru_cache(maxsize=1)
def _generate_chunk(chunk: int, seed: int, returning: float) -> pa.Table:
    """Rows ``chunk * CHUNK_ROWS`` onwards, CHUNK_ROWS of them, from a stream of their own.

    The last one is kept, so that files which meet inside a chunk do not make it twice.
    """
    stream = np.random.SeedSequence(seed, spawn_key=(chunk,))
    rng = np.random.Generator(np.random.Philox(stream))
    cases = draw_cases(CHUNK_ROWS, rng)
    patients = np.arange(CHUNK_ROWS)
    if returning:
        cases, patients = send_back(cases, returning, rng)
    stay = draw_stay(cases, rng)
    charge = draw_charge(cases, stay, rng)
    patients = number_patients(patients, cases, stay)
    columns = [
        name_numbers(chunk * CHUNK_ROWS + patients, seed, "P"),
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


def _spell(codes: Int64, names: tuple[str, ...]) -> pa.Array:
    indices = pa.array(codes.astype(np.int8))
    return pa.DictionaryArray.from_arrays(indices, list(names)).cast(pa.string())
