"""Invented hospital discharges of any size: reproducible, written in parts, in bounded memory.

A seed names an endless table. It is made in chunks of 65,536 rows, each from a random stream of
its own, so row i of a seed is the same however many rows are asked for and however they are cut
into files (under one minor version of numpy, which may change its streams).
"""

import contextlib
import functools
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from pipeline.errors import DataError

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Column = NDArray[np.int32] | Floats

CHUNK_ROWS = 65_536
ROW_GROUP_ROWS = 2 * CHUNK_ROWS
MAX_ROWS = 2**36

SEXES = ("female", "male")
SEVERITIES = ("minor", "moderate", "major", "extreme")
STATUSES = ("home", "transfer", "nursing", "died")
INSURANCES = ("public", "private", "supplementary", "self-pay", "none")
FIRST_DAY = np.datetime64("2022-01-01", "D")
N_DAYS = 1096

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
_REPETITIVE = [name for name in SCHEMA.names if name not in ("patient_id", "charge")]


class _Diagnosis(NamedTuple):
    """What sets the cases of one diagnosis group apart.

    ``cases``: weight at each of ``_CASE_AGES``; ``women``, ``men``: factor on it; ``youngest`` to
    ``oldest``: ages it occurs at; ``severity``: shift in logits; ``stay``: median days of a
    moderate case; ``spread``: standard deviation of the log stay; ``price``: charge of a minor
    case of median stay, in dollars; ``deaths``: factor on mortality; ``winter``: seasonal
    amplitude; ``weekend``: admissions on a weekend day against a weekday.
    """

    name: str
    cases: tuple[int, ...]
    women: float
    men: float
    youngest: int
    oldest: int
    severity: float
    stay: float
    spread: float
    price: int
    deaths: float
    winter: float
    weekend: float


class _Region(NamedTuple):
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
_CASE_AGES = (0, 1, 8, 16, 28, 38, 46, 58, 70, 84, 104)
_DIAGNOSES = tuple(_Diagnosis(*row) for row in (
    ("nervous system", (8, 70, 90, 70, 50, 65, 75, 80, 80, 85, 75),
     1.0, 1.0, 0, 104, 0.3, 2.6, 0.75, 31_000, 1.2, 0.02, 0.80),
    ("eye and ear", (2, 60, 60, 20, 10, 10, 10, 8, 7, 6, 5),
     1.0, 1.0, 0, 104, -0.7, 1.5, 0.60, 17_500, 0.1, 0.05, 0.65),
    ("respiratory", (45, 300, 180, 50, 35, 45, 65, 95, 115, 125, 135),
     1.0, 1.0, 0, 104, 0.5, 3.1, 0.65, 26_500, 2.0, 0.35, 0.95),
    ("circulatory", (3, 8, 10, 15, 30, 65, 120, 190, 220, 230, 220),
     0.8, 1.2, 0, 104, 0.1, 2.7, 0.75, 38_000, 1.4, 0.07, 0.72),
    ("digestive", (8, 90, 150, 120, 80, 100, 110, 105, 95, 95, 90),
     1.0, 1.0, 0, 104, 0.0, 2.6, 0.65, 27_000, 0.8, 0.0, 0.88),
    ("liver and pancreas", (1, 4, 8, 15, 30, 40, 45, 40, 25, 18, 12),
     0.85, 1.15, 0, 104, 0.4, 3.2, 0.70, 33_500, 1.6, 0.0, 0.90),
    ("musculoskeletal", (1, 20, 40, 45, 30, 45, 75, 115, 115, 75, 45),
     1.05, 0.95, 0, 104, -0.8, 2.2, 0.60, 54_000, 0.2, -0.03, 0.30),
    ("skin", (4, 35, 30, 20, 20, 22, 25, 20, 17, 18, 18),
     0.95, 1.05, 0, 104, -0.2, 2.9, 0.60, 19_500, 0.3, -0.15, 0.90),
    ("endocrine and metabolic", (6, 60, 70, 50, 35, 45, 45, 40, 35, 32, 30),
     1.1, 0.9, 0, 104, 0.1, 2.4, 0.70, 22_500, 0.5, 0.0, 0.78),
    ("kidney and urinary", (6, 40, 35, 30, 25, 30, 35, 45, 60, 80, 95),
     1.0, 1.0, 0, 104, 0.3, 2.8, 0.65, 24_000, 0.8, -0.05, 0.90),
    ("male reproductive", (1, 5, 5, 3, 3, 4, 6, 14, 16, 8, 4),
     0.0, 2.0, 0, 104, -0.9, 1.4, 0.50, 36_500, 0.2, 0.0, 0.25),
    ("female reproductive", (0, 0, 1, 10, 25, 40, 45, 25, 15, 8, 4),
     1.5, 0.0, 12, 104, -0.9, 1.6, 0.50, 29_000, 0.1, 0.0, 0.30),
    ("pregnancy and childbirth", (0, 0, 0, 150, 1500, 550, 12, 0, 0, 0, 0),
     1.0, 0.0, 15, 50, -0.5, 2.2, 0.38, 16_000, 0.01, -0.04, 0.75),
    ("perinatal", (880, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
     1.0, 1.0, 0, 0, -0.6, 2.6, 0.45, 5_200, 4.0, -0.04, 0.78),
    ("blood and immune", (3, 35, 45, 25, 15, 14, 14, 14, 16, 18, 18),
     1.05, 0.95, 0, 104, 0.3, 2.9, 0.65, 25_500, 0.8, 0.0, 0.82),
    ("neoplasms", (2, 40, 50, 25, 18, 30, 50, 80, 75, 45, 20),
     0.95, 1.05, 0, 104, 0.4, 3.6, 0.75, 49_000, 2.5, 0.0, 0.40),
    ("infections", (14, 80, 50, 30, 35, 45, 60, 75, 85, 100, 120),
     1.0, 1.0, 0, 104, 1.2, 4.2, 0.70, 40_000, 2.6, 0.15, 1.00),
    ("mental health", (0, 0, 25, 170, 95, 80, 65, 40, 22, 18, 12),
     0.95, 1.05, 5, 104, -0.6, 5.4, 0.85, 17_000, 0.05, -0.03, 0.80),
    ("substance use", (0, 0, 0, 30, 60, 65, 60, 35, 10, 3, 1),
     0.6, 1.4, 13, 104, -0.2, 3.3, 0.60, 15_500, 0.3, 0.0, 0.95),
    ("injury and poisoning", (6, 70, 90, 110, 70, 55, 50, 45, 50, 80, 95),
     0.85, 1.15, 0, 104, -0.1, 2.6, 0.80, 35_000, 1.0, -0.10, 1.10),
    ("rehabilitation", (0, 2, 3, 5, 6, 8, 12, 22, 32, 30, 15),
     1.0, 1.0, 1, 104, 0.2, 10.5, 0.45, 32_000, 0.2, 0.0, 0.35),
))
_REGIONS = (
    _Region(90_000, 34, -0.25, 0.08, (1.1, 0.95, 0.9, 1.1, 1.3)),
    _Region(91_300, 22, -0.10, 0.00, (0.8, 1.25, 1.1, 0.9, 0.8)),
    _Region(92_000, 12, 0.90, 0.15, (0.7, 1.40, 1.6, 1.5, 0.5)),
    _Region(93_200, 14, -0.40, -0.20, (1.4, 0.65, 0.5, 0.8, 1.5)),
    _Region(94_900, 11, 0.05, 0.22, (0.8, 1.35, 1.2, 1.0, 0.6)),
    _Region(95_900, 7, 0.35, -0.12, (1.2, 0.80, 0.8, 1.0, 1.2)),
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
_STAY_BY_SEVERITY = np.array((-0.25, 0.0, 0.4, 0.9))
_CHARGE_BY_SEVERITY = np.array((0.0, 0.15, 0.4, 0.8))
_DEATHS_BY_SEVERITY = np.array((0.0005, 0.003, 0.015, 0.1))
_NURSING_BY_SEVERITY = np.array((0.5, 0.9, 1.3, 1.6))
_TRANSFER_BY_SEVERITY = np.array((0.012, 0.022, 0.04, 0.06))
_TARIFF_SHARE = np.array((0.45, 0.2, 0.4, 0.1, 0.05))
_TARIFF_LEVEL = np.array((0.8, 1.1, 0.85, 1.0, 1.0))

_SEVERITY = np.array([group.severity for group in _DIAGNOSES])
_STAY = np.array([group.stay for group in _DIAGNOSES])
_SPREAD = np.array([group.spread for group in _DIAGNOSES])
_PRICE = np.array([group.price for group in _DIAGNOSES], dtype=np.float64)
_DEATHS = np.array([group.deaths for group in _DIAGNOSES])
_AGES = np.arange(105)
_REGION_PRICE = np.array([region.price for region in _REGIONS])


def generate_rows(first: int, n_rows: int, seed: int) -> pa.Table:
    """Rows ``first`` to ``first + n_rows - 1`` of the endless table of ``seed``, as SCHEMA.

    Raises DataError unless first >= 0, n_rows >= 1, seed >= 0 and the rows lie below MAX_ROWS.
    """
    _refuse_request(first, n_rows, seed)
    last = first + n_rows
    slices = []
    for chunk in range(first // CHUNK_ROWS, (last - 1) // CHUNK_ROWS + 1):
        start = max(first - chunk * CHUNK_ROWS, 0)
        stop = min(last - chunk * CHUNK_ROWS, CHUNK_ROWS)
        slices.append(_generate_chunk(chunk, seed).slice(start, stop - start))
    return pa.concat_tables(slices)


def write_microdata(
    path: Path,
    n_rows: int,
    seed: int,
    *,
    rows_per_file: int = 1_000_000,
    progress: Callable[[int], None] | None = None,
) -> list[Path]:
    """Write the first ``n_rows`` rows of ``seed`` and return the files written, in row order.

    A ``path`` ending in ``.parquet`` or ``.csv`` becomes one file; any other becomes a folder of
    ``part-00000.parquet``, ... of ``rows_per_file`` rows. Nothing bears the name ``path`` until all
    is written. ``progress`` gets the number of rows written so far.

    Raises DataError, and leaves nothing behind, where a number is out of range, or where ``path``
    holds something already or cannot be written.
    """
    _refuse_request(0, n_rows, seed)
    if rows_per_file < 1:
        raise DataError(f"rows per file is {rows_per_file}; it must be at least 1")
    _refuse_taken(path)
    target = path.resolve()
    working = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    suffix = path.suffix.lower()
    n_per_file = n_rows if suffix in (".csv", ".parquet") else rows_per_file
    try:
        names = _write_files(working, suffix, _cut(0, n_rows, n_per_file), seed, progress)
        _refuse_taken(path)
        working.rename(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"cannot write {path}: {reason}; name a place that can be") from error
    finally:
        _discard(working)
    return [path / name for name in names]


def generate_correlated(
    n_rows: int, n_quasi_identifiers: int, correlation: float, seed: int
) -> pa.Table:
    """Benchmark data: ``q1`` ... numeric quasi-identifiers and ``confidential``, a skewed float64.

    The multiple correlation of ``confidential`` with the quasi-identifiers is ``correlation``, in
    [0, 1], in the sample itself. Quasi-identifiers are in turn skewed counts (int32), bell-shaped
    and log-normal (float64), weakly correlated with one another.

    Raises DataError for numbers out of range; n_rows must be at least n_quasi_identifiers + 2.
    """
    _refuse_request(0, n_rows, seed)
    if n_quasi_identifiers < 1 or n_rows < n_quasi_identifiers + 2:
        raise DataError(
            f"{n_quasi_identifiers} quasi-identifiers of {n_rows} rows; "
            "at least 1 is needed, and 2 rows more than quasi-identifiers"
        )
    if not 0 <= correlation <= 1:
        raise DataError(f"the multiple correlation is {correlation}; it must lie within [0, 1]")
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    columns = _draw_quasi_identifiers(n_rows, n_quasi_identifiers, rng)
    confidential = _correlate(columns, correlation, rng.standard_exponential(n_rows))
    named = {f"q{position}": column for position, column in enumerate(columns, start=1)}
    return pa.table(named | {"confidential": np.round(30_000 + 8_000 * confidential, 2)})


def _refuse_request(first: int, n_rows: int, seed: int) -> None:
    if n_rows < 1:
        raise DataError(f"the number of rows is {n_rows}; it must be at least 1")
    if first < 0 or first + n_rows > MAX_ROWS:
        raise DataError(f"rows {first} to {first + n_rows - 1} asked; 0 to {MAX_ROWS - 1} exist")
    if seed < 0:
        raise DataError(f"the seed is {seed}; it must be 0 or more")


def _refuse_taken(path: Path) -> None:
    is_file_name = path.suffix.lower() in (".csv", ".parquet")
    try:
        is_taken = path.exists() and (is_file_name or not path.is_dir() or any(path.iterdir()))
        is_mount = path.is_mount()
    except OSError as error:
        raise DataError(f"cannot look into {path}: {error.strerror}; name another place") from error
    if is_taken:
        raise DataError(f"{path} exists already; remove it or name another place")
    if is_mount:
        raise DataError(f"{path} is a mount point; name a folder inside it")


def _write_files(
    working: Path,
    suffix: str,
    spans: Iterator[tuple[int, int]],
    seed: int,
    progress: Callable[[int], None] | None,
) -> list[str]:
    """Write each span of rows to a file; names of the files within ``working``, "" for itself."""
    if suffix in (".csv", ".parquet"):
        _write_span(working, suffix, *next(spans), seed, progress)
        return [""]
    working.mkdir()
    names: list[str] = []
    for start, stop in spans:
        names.append(f"part-{len(names):05d}.parquet")
        _write_span(working / names[-1], ".parquet", start, stop, seed, progress)
    return names


def _write_span(
    file: Path,
    suffix: str,
    first: int,
    last: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> None:
    with _open_writer(file, suffix) as writer:
        for start, stop in _cut(first, last, ROW_GROUP_ROWS):
            writer.write_table(generate_rows(start, stop - start, seed))
            if progress is not None:
                progress(stop)


def _open_writer(file: Path, suffix: str) -> pa_csv.CSVWriter | pq.ParquetWriter:
    if suffix == ".csv":
        plain = pa_csv.WriteOptions(quoting_style="none", quoting_header="none")
        return pa_csv.CSVWriter(file, SCHEMA, write_options=plain)
    return pq.ParquetWriter(file, SCHEMA, compression="zstd", use_dictionary=_REPETITIVE)


def _discard(working: Path) -> None:
    with contextlib.suppress(OSError):
        if working.is_dir():
            shutil.rmtree(working)
        else:
            working.unlink()


def _cut(first: int, last: int, length: int) -> Iterator[tuple[int, int]]:
    """Spans (start, stop) of at most ``length`` rows that cover first .. last - 1 in order."""
    for start in range(first, last, length):
        yield start, min(start + length, last)


@functools.lru_cache(maxsize=1)
def _generate_chunk(chunk: int, seed: int) -> pa.Table:
    """Rows ``chunk * CHUNK_ROWS`` onwards, CHUNK_ROWS of them, from a stream of their own.

    The last one is kept, so that files which meet inside a chunk do not make it twice.
    """
    stream = np.random.SeedSequence(seed, spawn_key=(chunk,))
    rng = np.random.Generator(np.random.Philox(stream))
    age = _draw(_age_odds(), np.zeros(CHUNK_ROWS, dtype=np.int64), rng)
    sex = _draw(_sex_odds(), age, rng)
    diagnosis = _draw(_diagnosis_odds(), age * len(SEXES) + sex, rng)
    severity = _draw(_severity_odds(), age * len(_DIAGNOSES) + diagnosis, rng)
    region = _draw(_region_odds(), age, rng)
    zip_code = _list_zips()[region, _draw(_zip_odds(), np.zeros_like(age), rng)]
    insurance = _draw(_insurance_odds(), age * len(_REGIONS) + region, rng)
    day = _draw(_day_odds(), diagnosis, rng)
    case = (age * len(_DIAGNOSES) + diagnosis) * len(SEVERITIES) + severity
    status = _draw(_status_odds(), case, rng)
    stay = _draw_stay(age, diagnosis, severity, rng)
    charge = _draw_charge(diagnosis, severity, stay, region, insurance, rng)
    columns = [
        _name_patients(chunk * CHUNK_ROWS + np.arange(CHUNK_ROWS), seed),
        pa.array(age.astype(np.int16)),
        _spell(sex, SEXES),
        pa.array(zip_code),
        pa.array(FIRST_DAY + day),
        pa.array(stay),
        _spell(diagnosis, tuple(group.name for group in _DIAGNOSES)),
        _spell(insurance, INSURANCES),
        _spell(severity, SEVERITIES),
        pa.array(charge),
        _spell(status, STATUSES),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _name_patients(rows: Codes, seed: int) -> pa.Array:
    """An identifier per row: its number under a keyed permutation of 0 .. 2**36 - 1.

    Four Feistel rounds on two halves of 18 bits: unique, and silent about the order of rows.
    """
    half = np.uint64(2**18 - 1)
    number = rows.astype(np.uint64)
    left, right = number >> np.uint64(18), number & half
    for key in np.random.SeedSequence(seed).generate_state(4, np.uint64):
        mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        left, right = right, left ^ ((mixed >> np.uint64(40)) & half)
    number = (left << np.uint64(18)) | right
    digits = pc.utf8_lpad(pa.array(number).cast(pa.string()), 11, "0")
    return pc.binary_join_element_wise("P", digits, "")


def _spell(codes: Codes, names: tuple[str, ...]) -> pa.Array:
    indices = pa.array(codes.astype(np.int8))
    return pa.DictionaryArray.from_arrays(indices, list(names)).cast(pa.string())


def _draw(odds: Floats, states: Codes, rng: np.random.Generator) -> Codes:
    """One category per row, given its state; ``odds`` as made by ``_accumulate``.

    Uniforms of 24 bits keep state + uniform exact, so that no row slips into the next state.
    """
    uniforms = rng.random(len(states), dtype=np.float32)
    places = np.searchsorted(odds.ravel(), states + uniforms, side="right")
    categories: Codes = places - states * odds.shape[1]
    return categories


def _accumulate(weights: ArrayLike) -> Floats:
    """Weights (n_states, n_categories) to cumulative shares, s to s + 1 in the row of state s."""
    cumulative = np.cumsum(weights, axis=1)
    shares: Floats = cumulative / cumulative[:, -1:]
    return shares + np.arange(len(shares))[:, None]


@functools.cache
def _age_odds() -> Floats:
    return _accumulate(np.interp(_AGES, *_AGE_WEIGHTS)[None, :])


@functools.cache
def _sex_odds() -> Floats:
    """State: age."""
    women = np.interp(_AGES, *_SHARE_OF_WOMEN)
    return _accumulate(np.stack((women, 1 - women), axis=1))


@functools.cache
def _diagnosis_odds() -> Floats:
    """State: age, sex."""
    cases = np.stack([np.interp(_AGES, _CASE_AGES, group.cases) for group in _DIAGNOSES], axis=1)
    oldest = [group.oldest for group in _DIAGNOSES]
    youngest = [group.youngest for group in _DIAGNOSES]
    cases *= (_AGES[:, None] >= youngest) & (_AGES[:, None] <= oldest)
    sexes = np.array([[group.women, group.men] for group in _DIAGNOSES]).T
    return _accumulate((cases[:, None, :] * sexes).reshape(-1, len(_DIAGNOSES)))


@functools.cache
def _severity_odds() -> Floats:
    """State: age, diagnosis group. An ordered logit."""
    shift = (_SEVERITY + 0.022 * (_AGES[:, None] - 50)).reshape(-1, 1)
    below = 1 / (1 + np.exp(shift - _SEVERITY_CUTS))
    return _accumulate(np.diff(below, prepend=0, append=1))


@functools.cache
def _region_odds() -> Floats:
    """State: age."""
    weights = np.array([region.weight for region in _REGIONS])
    slopes = np.array([region.slope for region in _REGIONS])
    return _accumulate(weights * np.exp(slopes * (_AGES[:, None] - 45) / 50))


@functools.cache
def _zip_odds() -> Floats:
    """Zipf-like populations by rank within any region."""
    return _accumulate((np.arange(_ZIPS_PER_REGION)[None, :] + 4.0) ** -0.9)


@functools.cache
def _list_zips() -> NDArray[np.int32]:
    """Codes (n_regions, _ZIPS_PER_REGION) by rank: ranks scattered, every fourth code unused."""
    place = np.arange(_ZIPS_PER_REGION) * 37 % _ZIPS_PER_REGION
    first = np.array([region.first_zip for region in _REGIONS])[:, None]
    return (first + 1 + place + place // 3).astype(np.int32)


@functools.cache
def _insurance_odds() -> Floats:
    """State: age, region."""
    by_age = [np.interp(_AGES, _INSURANCE_AGES, weights) for weights in _INSURANCE_WEIGHTS]
    by_region = np.array([region.insurances for region in _REGIONS])
    weights = np.stack(by_age, axis=1)[:, None, :] * by_region
    return _accumulate(weights.reshape(-1, len(INSURANCES)))


@functools.cache
def _day_odds() -> Floats:
    """State: diagnosis group. Fewer admissions at weekends, a season with its peak in January."""
    day = np.arange(N_DAYS)
    weekday = (day + FIRST_DAY.astype(int) + 3) % 7
    working = np.array((1.08, 1.06, 1.0, 0.97, 0.92, 0.0, 0.0))[weekday]
    weekend = np.array([group.weekend for group in _DIAGNOSES])[:, None] * (weekday >= 5)
    winter = np.array([group.winter for group in _DIAGNOSES])[:, None]
    season = 1 + winter * np.cos(2 * np.pi * (day - 20) / 365.25)
    return _accumulate((working + weekend) * season)


@functools.cache
def _status_odds() -> Floats:
    """State: age, diagnosis group, severity."""
    age = _AGES[:, None, None]
    died = _DEATHS[:, None] * _DEATHS_BY_SEVERITY * np.exp(0.04 * (age - 60))
    nursing = (age >= 18) * _NURSING_BY_SEVERITY * np.exp((age - 88) / 11)
    against_home = np.broadcast_arrays(1.0, _TRANSFER_BY_SEVERITY, nursing, died)
    return _accumulate(np.stack(against_home, axis=-1).reshape(-1, len(STATUSES)))


def _draw_stay(
    age: Codes, diagnosis: Codes, severity: Codes, rng: np.random.Generator
) -> NDArray[np.int16]:
    """Whole days, 0 to 365: log-normal about the median of the group, longer for the severe."""
    log_stay = np.log(_STAY)[diagnosis] + _STAY_BY_SEVERITY[severity]
    log_stay += 0.004 * np.clip(age - 50, -30, 40)
    log_stay += _SPREAD[diagnosis] * rng.standard_normal(len(age))
    days: NDArray[np.int16] = np.minimum(np.rint(np.exp(log_stay)), 365).astype(np.int16)
    return days


def _draw_charge(
    diagnosis: Codes,
    severity: Codes,
    stay: NDArray[np.int16],
    region: Codes,
    insurance: Codes,
    rng: np.random.Generator,
) -> Floats:
    """Charges in dollars, to the cent: itemised (log-normal), or by tariff, repeated exactly.

    A tariff is a flat rate of group, severity and insurance, and a daily rate far beyond the
    median stay.
    """
    price = _PRICE[diagnosis] * np.exp(_CHARGE_BY_SEVERITY)[severity]
    median_stay = _STAY[diagnosis]
    log_factor = 0.8 * np.log((stay + 1) / (median_stay + 1)) + _REGION_PRICE[region]
    itemised = price * np.exp(log_factor + 0.45 * rng.standard_normal(len(stay)))
    extra_days = np.maximum(stay - np.ceil(3 * median_stay), 0)
    flat_rate = 50 * np.rint(price * _TARIFF_LEVEL[insurance] / 50)
    tariff = flat_rate + extra_days * 10 * np.rint(price / median_stay / 40)
    is_tariff = rng.random(len(stay), dtype=np.float32) < _TARIFF_SHARE[insurance]
    charge: Floats = np.round(np.where(is_tariff, tariff, itemised), 2)
    return charge


def _draw_quasi_identifiers(n_rows: int, n_columns: int, rng: np.random.Generator) -> list[Column]:
    shared = rng.standard_normal(n_rows)
    columns = []
    for position in range(n_columns):
        latent = np.sqrt(0.8) * rng.standard_normal(n_rows) + np.sqrt(0.2) * shared
        columns.append(_shape(latent, position % 3))
    return columns


def _shape(latent: Floats, kind: int) -> Column:
    """Standard normal values as skewed counts (kind 0), bell-shaped (1) or log-normal (2)."""
    if kind == 0:
        return np.rint(np.exp(1.2 + 0.8 * latent)).astype(np.int32)
    return 50 + 15 * latent if kind == 1 else 1_000 * np.exp(0.6 * latent)


def _correlate(columns: list[Column], correlation: float, noise: Floats) -> Floats:
    """A standard column (n,) whose multiple correlation with ``columns`` is ``correlation``.

    The noise is first cleared of what the columns explain of it, so that this holds in the sample.
    """
    standard = np.stack([_standardise(column) for column in columns], axis=1)
    noise = noise - noise.mean()
    noise -= standard @ np.linalg.lstsq(standard, noise)[0]
    explained = _standardise(standard.sum(axis=1))
    unexplained: Floats = np.sqrt(1 - correlation**2) * _standardise(noise)
    return unexplained + correlation * explained


def _standardise(column: Column) -> Floats:
    """The column (n,) at mean 0 and standard deviation 1; zeros if it is constant."""
    centred: Floats = column - column.mean()
    return centred / float(centred.std() or 1.0)
