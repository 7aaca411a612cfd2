"""Microdata that losses are compared on: generated from fixed seeds, or real data beside the tree.

All become Parquet files of the columns that are used, without records that lack a value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.microdata.correlated import generate_correlated

REAL_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
GENERATED_ROWS = 23_435
SEED = 1


@dataclass(frozen=True)
class Source:
    """A table and what its columns are; ``nominal`` are quasi-identifiers without an order.

    ``read`` raises FileNotFoundError where the data are not at hand.
    """

    describes: str
    read: Callable[[], pa.Table]
    quasi_identifiers: tuple[str, ...]
    confidential: tuple[str, ...]
    nominal: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[str, ...]:
        """The other quasi-identifiers."""
        return tuple(name for name in self.quasi_identifiers if name not in self.nominal)

    @property
    def columns(self) -> list[str]:
        """All columns that are used."""
        return [*self.quasi_identifiers, *self.confidential]


@dataclass(frozen=True)
class Stored:
    """A source on disk: its file, its records, and what its numeric quasi-identifiers hold.

    ``numeric_spread``: sum over them of the variance divided by the range squared, which is what a
    release with one class would lose.
    """

    source: Source
    path: Path
    n_records: int
    numeric_spread: float


def store(source: Source, folder: Path, name: str) -> Stored:
    """Write a source to a Parquet file."""
    table = source.read().select(source.columns)
    path = folder / f"{name}.parquet"
    pq.write_table(table, path)
    return Stored(source, path, table.num_rows, measure_spread(table, source.numeric))


def measure_spread(table: pa.Table, columns: tuple[str, ...]) -> float:
    """Sum over columns of the variance divided by the range squared; constant ones add nothing."""
    spread = 0.0
    for name in columns:
        values = table[name].to_numpy().astype(np.float64)
        span = float(np.ptp(values))
        spread += float(values.var()) / span**2 if span else 0.0
    return spread


def generated(n_quasi_identifiers: int, correlation: float, n_confidential: int = 1) -> Source:
    """Numeric data of a chosen correlation."""
    read = partial(
        generate_correlated,
        GENERATED_ROWS,
        n_quasi_identifiers,
        correlation,
        SEED,
        n_confidential=n_confidential,
    )
    return Source(
        f"generated, multiple correlation {correlation:g}, seed {SEED}",
        read,
        tuple(f"q{i}" for i in range(1, n_quasi_identifiers + 1)),
        ("confidential", *(f"confidential{i}" for i in range(2, n_confidential + 1))),
    )


def census(confidential: str) -> Source:
    """The 1,080 records that the method's paper is evaluated on."""
    read = partial(read_real, "casc_census.csv", "", None)
    return Source("casc_census.csv", read, ("TAXINC", "POTHVAL"), (confidential,))


def adult(confidential: str) -> Source:
    """UCI Adult, the records without a missing value in any column."""
    return Source(
        "adult.csv, records that are complete in all columns",
        partial(read_real, "adult.csv", "?", None),
        ("age", "education-num", "marital-status", "sex", "native-country"),
        (confidential,),
        nominal=("marital-status", "sex", "native-country"),
    )


def fars() -> Source:
    """Road accident fatalities, the records that are complete in the columns used."""
    columns = ("age", "year", "modelyr", "sex", "Restraint")
    return Source(
        "fars_gamclass.csv, records that are complete in these columns",
        partial(read_real, "fars_gamclass.csv", "NA", (*columns, "injury")),
        columns,
        ("injury",),
        nominal=("sex", "Restraint"),
    )


def read_real(name: str, missing: str, columns: tuple[str, ...] | None) -> pa.Table:
    """A CSV file of the real data; without records that lack a value in ``columns`` (None: any)."""
    path = REAL_DATA / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there")
    options = pa_csv.ConvertOptions(null_values=["", missing], strings_can_be_null=True)
    table = pa_csv.read_csv(path, convert_options=options)
    return table.select(list(columns or table.column_names)).drop_null()
