"""What a release changes for analysis and gives away, by pandas and by every pair of rows."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from support.checks.released import HALF_OPEN, attributes_of, class_columns, covers, with_role
from tclose.methods.generalisation.notation import parse_interval


def naive_utility(rows: pd.DataFrame, table: pa.Table, names: list[str], quasi: int) -> Any:
    """IL1s of the first ``quasi`` columns and changes of all: rows are told by their ``id``."""
    own = table.to_pandas(date_as_object=True).set_index("id").loc[rows["id"].astype(int)]
    before = pd.DataFrame({name: [to_number(v) for v in own[name]] for name in names})
    after = pd.DataFrame({n: [middle(v, before[n], own[n]) for v in rows[n]] for n in names})
    scale = np.sqrt(2) * before.std()
    il1s = ((before - after).abs() / scale).iloc[:, :quasi].to_numpy().mean()
    correlations = after.corr() - before.corr()
    return {
        "il1s": il1s,
        "changes_of_means": dict((after.mean() - before.mean()) / before.std()),
        "changes_of_variances": dict(after.var() / before.var() - 1),
        "changes_of_correlations": {
            f"{a} and {b}": known(correlations.loc[a, b])
            for j, b in enumerate(names)
            for a in names[:j]
        },
    }


def known(value: float) -> float | None:
    """A figure; None of an attribute that is released as one value."""
    return None if np.isnan(value) else value


def to_number(value: Any) -> float:
    """A number or a day as a number."""
    return float(value.toordinal()) if isinstance(value, datetime.date) else float(value)


def middle(value: Any, numbers: pd.Series, originals: pd.Series) -> float:
    """Return the number of a released value: itself, or the middle of its interval."""
    if not isinstance(value, str):
        return to_number(value)
    smallest, largest = numbers.min(), numbers.max()
    if value == "*":
        return float((smallest + largest) / 2)
    half_open = HALF_OPEN.fullmatch(value)
    is_day = isinstance(originals.iloc[0], datetime.date)
    ends = [
        to_number(datetime.date.fromisoformat(text)) if is_day else float(text)
        for text in (half_open.groups() if half_open else parse_interval(value))
    ]
    return float((max(ends[0], smallest) + min(ends[1], largest)) / 2)


def naive_covering(rows: pd.DataFrame, table: pa.Table, document: dict[str, Any]) -> float:
    """Mean of 1 / (rows whose released quasi-identifiers cover a record's), over all records."""
    originals, attributes = table.to_pylist(), attributes_of(document)
    quasi = with_role(document, "quasi-identifier")
    assert set(quasi) <= set(class_columns(document))
    fits = np.ones((len(originals), len(rows)), dtype=bool)
    for name in quasi:
        texts, of_row = np.unique(rows[name].astype(str), return_inverse=True)
        values = list(dict.fromkeys(record[name] for record in originals))
        place = {value: i for i, value in enumerate(values)}
        known = np.array([[covers(t, v, attributes[name]) for t in texts] for v in values])
        fits &= known[[place[record[name]] for record in originals]][:, of_row]
    return float(np.mean(1 / fits.sum(axis=1)))
