"""Discharges and many correlated columns, of any size and seed; and real tables, enlarged too."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.microdata.correlated import generate_correlated
from benchmarks.microdata.sources import Source, adult, fars, read_real
from benchmarks.performance.run import QUASI_IDENTIFIERS
from tclose.data.synthetic import generate_rows

CORRELATION = 0.5
MIXED = 0.2  # of the values of an enlarged table, from another record of the same confidential one
CATEGORIES = 8
TARRAGONA = ("FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "SALES", "LABOR.COSTS", "DEPRECIATION")
CENSUS = ("AGI", "EMCONTRB", "PTOTVAL", "TAXINC", "POTHVAL", "INTVAL", "WSALVAL")
NOMINAL = ("sex", "diagnosis_group", "insurance_type")


def discharges(n_rows: int, seed: int) -> Source:
    """Generated discharges, as those that times are measured on."""
    describes = f"generated discharges, seed {seed}"
    read = partial(generate_rows, 0, n_rows, seed)
    return Source(describes, read, QUASI_IDENTIFIERS, ("charge",), NOMINAL)


def many_columns(n_rows: int, n_columns: int, seed: int) -> Source:
    """Correlated quasi-identifiers, of which every third is nominal."""
    names = tuple(f"q{i}" for i in range(1, n_columns + 1))
    describes = f"generated, multiple correlation {CORRELATION:g}, seed {seed}"
    read = partial(generate_mixed, n_rows, n_columns, seed)
    return Source(describes, read, names, ("confidential",), names[1::3])


def generate_mixed(n_rows: int, n_columns: int, seed: int) -> pa.Table:
    """Columns as `generate_correlated` has them; bell-shaped ones are cut into categories.

    A third of the records that are left have each next category, so that there are rare ones.
    """
    table = generate_correlated(n_rows, n_columns, CORRELATION, seed)
    for place in range(1, n_columns, 3):
        values = table.column(place).to_numpy()
        cuts = np.quantile(values, 1 - (2 / 3) ** np.arange(1, CATEGORIES))
        names = np.array([f"c{i}" for i in range(CATEGORIES)])
        categories = pa.array(names[np.searchsorted(cuts, values)])
        table = table.set_column(place, table.column_names[place], categories)
    return table


def enlarge(source: Source, n_rows: int, seed: int) -> Source:
    """A table with so many records that are like those of another, with few the same."""
    read = partial(_draw_records, source, n_rows, seed)
    return replace(source, describes=f"{source.describes}, enlarged, seed {seed}", read=read)


def _draw_records(source: Source, n_rows: int, seed: int) -> pa.Table:
    """Records drawn from a table, whose values are of others with the same confidential one."""
    rng = np.random.default_rng(seed)
    table = source.read().select(source.columns).sort_by(source.confidential[0])
    values = table[source.confidential[0]].to_numpy(zero_copy_only=False)
    first, stop = (np.searchsorted(values, values, side) for side in ("left", "right"))
    drawn = rng.integers(0, table.num_rows, n_rows)
    columns = {}
    for name in source.columns:
        others = rng.integers(first[drawn], stop[drawn])
        columns[name] = table[name].take(np.where(rng.random(n_rows) < MIXED, others, drawn))
    return pa.table(columns)


def _numbers(name: str, columns: tuple[str, ...], confidential: str) -> Source:
    """A file of numbers alone."""
    read = partial(read_real, name, "", (*columns, confidential))
    return Source(name, read, columns, (confidential,))


REAL = {
    "Adult": adult("hours-per-week"),
    "FARS": fars(),
    "Census": _numbers("casc_census.csv", CENSUS, "FEDTAX"),
    "Tarragona": _numbers("tarragona.csv", TARRAGONA, "NET.PROFIT"),
}
