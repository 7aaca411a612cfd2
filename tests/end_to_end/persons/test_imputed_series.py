"""A series whose missing quasi-identifiers get a centre: that of tables in which it stood."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release
from support.cases.series_months import K, SeriesMonths, read_classes, write_months
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series

pytestmark = pytest.mark.usefixtures("small_regions")
CENTRES = {"age": "median", "insurer": "mode"}


def find_centre(values: list[Any], centre: str) -> Any:
    """The lower median, or the commonest text."""
    if centre == "median":
        return sorted(values)[(len(values) - 1) // 2]
    counted = Counter(values)
    return min(counted, key=lambda text: (-counted[text], text))


def make_gaps(months: SeriesMonths, *, filled: bool) -> None:
    """Take some values out of each month, others in each; or put centres in their place."""
    for month, path in enumerate(months.files):
        table = pq.read_table(path)
        for index, (name, centre) in enumerate(CENTRES.items()):
            gaps = np.random.default_rng([month, index]).random(len(table)) < 0.06
            column = table[name].combine_chunks()
            present = column.filter(pa.array(~gaps)).to_pylist()
            stands = find_centre(present, centre) if filled else None
            column = pc.if_else(pa.array(gaps), pa.scalar(stands, column.type), column)
            table = table.set_column(table.column_names.index(name), name, column)
        pq.write_table(table, path)


def publish(months: SeriesMonths, *, imputes: bool) -> list[Released]:
    made = []
    for month in range(len(months.files)):
        document = months.policy(month)
        if imputes:
            document["attributes"] |= {
                name: {"role": "quasi-identifier", "missing": centre}
                for name, centre in CENTRES.items()
            }
        made.append(release(document))
    return made


@pytest.mark.nightly
def test_it_is_the_series_of_tables_without_gaps(tmp_path: Path) -> None:
    """Byte for byte, so that its cells hold, and nothing tells whose value was missing."""
    made = {}
    for filled in (False, True):
        folder = tmp_path / f"filled-{filled}"
        months = write_months(folder, 2, 300)
        make_gaps(months, filled=filled)
        made[filled] = publish(months, imputes=not filled)
    for mine, theirs in zip(made[False], made[True], strict=True):
        assert mine.data == theirs.data
        assert mine.internal["values_imputed"].keys() == CENTRES.keys()
    first, second = map(read_classes, made[False])
    cells = Counter((first[p][0], second[p][0]) for p in first.keys() & second.keys())
    assert min(cells.values()) >= K
    last = made[False][-1].folder
    audited = add_series(audit_release(last))
    assert audited.passed
