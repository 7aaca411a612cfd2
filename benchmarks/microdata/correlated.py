"""Data of which the multiple correlation of the confidential attributes is chosen."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.errors import UsageError
from tclose.model.array_types import Float64

Column = NDArray[np.int32] | Float64

FURTHER_CORRELATION = 0.5  # of each confidential attribute after the first


def generate_correlated(
    n_rows: int,
    n_quasi_identifiers: int,
    correlation: float,
    seed: int,
    *,
    n_confidential: int = 1,
) -> pa.Table:
    """``q1`` ... numeric quasi-identifiers and ``confidential``, a skewed float64.

    The multiple correlation of ``confidential`` with the quasi-identifiers is ``correlation``, in
    [0, 1], in the sample itself. Quasi-identifiers are in turn skewed counts (int32), bell-shaped
    and log-normal (float64), weakly correlated with one another. More confidential attributes,
    ``confidential2`` ..., have noise of their own and a multiple correlation of 0.5; the columns
    before them do not depend on how many there are.

    Raises UsageError for numbers out of range; n_rows must be at least n_quasi_identifiers + 2.
    """
    _refuse_request(n_rows, n_quasi_identifiers, correlation, seed, n_confidential)
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    columns = _draw_quasi_identifiers(n_rows, n_quasi_identifiers, rng)
    named = {f"q{position}": column for position, column in enumerate(columns, start=1)}
    for position in range(n_confidential):
        wanted = FURTHER_CORRELATION if position else correlation
        values = _correlate(columns, wanted, rng.standard_exponential(n_rows))
        name = f"confidential{position + 1}" if position else "confidential"
        named[name] = np.round(30_000 + 8_000 * values, 2)
    return pa.table(named)


def _refuse_request(
    n_rows: int, n_quasi_identifiers: int, correlation: float, seed: int, n_confidential: int
) -> None:
    if n_quasi_identifiers < 1 or n_rows < n_quasi_identifiers + 2:
        raise UsageError(
            f"{n_quasi_identifiers} quasi-identifiers of {n_rows} rows; "
            "at least 1 is needed, and 2 rows more than quasi-identifiers"
        )
    if not 0 <= correlation <= 1:
        raise UsageError(f"the multiple correlation is {correlation}; it must lie within [0, 1]")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; it must be 0 or more")
    if n_confidential < 1:
        raise UsageError(f"{n_confidential} confidential attributes; at least 1 is needed")


def _draw_quasi_identifiers(n_rows: int, n_columns: int, rng: np.random.Generator) -> list[Column]:
    shared = rng.standard_normal(n_rows)
    columns = []
    for position in range(n_columns):
        latent = np.sqrt(0.8) * rng.standard_normal(n_rows) + np.sqrt(0.2) * shared
        columns.append(_shape(latent, position % 3))
    return columns


def _shape(latent: Float64, kind: int) -> Column:
    """Standard normal values as skewed counts (kind 0), bell-shaped (1) or log-normal (2)."""
    if kind == 0:
        return np.rint(np.exp(1.2 + 0.8 * latent)).astype(np.int32)
    return 50 + 15 * latent if kind == 1 else 1_000 * np.exp(0.6 * latent)


def _correlate(columns: list[Column], correlation: float, noise: Float64) -> Float64:
    """A standard column (n,) whose multiple correlation with ``columns`` is ``correlation``.

    The noise is first cleared of what the columns explain of it, so that this holds in the sample.
    """
    standard = np.stack([_standardise(column) for column in columns], axis=1)
    noise = noise - noise.mean()
    noise -= standard @ np.linalg.lstsq(standard, noise)[0]
    explained = _standardise(standard.sum(axis=1))
    unexplained: Float64 = np.sqrt(1 - correlation**2) * _standardise(noise)
    return unexplained + correlation * explained


def _standardise(column: Column) -> Float64:
    """The column (n,) at mean 0 and standard deviation 1; zeros if it is constant."""
    centred: Float64 = column - column.mean()
    return centred / float(centred.std() or 1.0)
