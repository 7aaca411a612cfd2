"""A series whose missing quasi-identifiers get a centre, or the aggregate of their class."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release
from support.cases.series_months import QUASI, K, SeriesMonths, read_classes, write_months
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.errors import PolicyError
from tclose.policy.policy import parse_policy

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


def publish(months: SeriesMonths, missing: dict[str, str]) -> list[Released]:
    made = []
    for month in range(len(months.files)):
        document = months.policy(month)
        document["attributes"] |= {
            name: {"role": "quasi-identifier", "missing": what} for name, what in missing.items()
        }
        made.append(release(document))
    return made


def check_cells(made: list[Released]) -> None:
    """Persons who are in the same classes of both releases are K, and the series passes."""
    first, second = map(read_classes, made)
    cells = Counter((first[p][0], second[p][0]) for p in first.keys() & second.keys())
    assert min(cells.values()) >= K
    assert add_series(audit_release(made[-1].folder)).passed


@pytest.mark.nightly
def test_it_is_the_series_of_tables_without_gaps(tmp_path: Path) -> None:
    """With a centre byte for byte: its cells hold, and nothing tells whose value was missing."""
    made = {}
    for filled in (False, True):
        folder = tmp_path / f"filled-{filled}"
        months = write_months(folder, 2, 300)
        make_gaps(months, filled=filled)
        made[filled] = publish(months, {} if filled else CENTRES)
    for mine, theirs in zip(made[False], made[True], strict=True):
        assert mine.data == theirs.data
        assert mine.internal["values_imputed"].keys() == CENTRES.keys()
    check_cells(made[False])


@pytest.mark.nightly
def test_classes_give_the_values_of_their_own_month(tmp_path: Path) -> None:
    """Of those who have one: the cells of a series decide who is in a class, not what it has."""
    months = write_months(tmp_path, 2, 300)
    make_gaps(months, filled=False)
    made = publish(months, dict.fromkeys(CENTRES, "class"))
    for path, one in zip(months.files, made, strict=True):
        table = pq.read_table(path)
        values = {row["person_id"]: row for row in table.to_pylist()}
        classes: dict[Any, list[Any]] = defaultdict(list)
        for person, (released, _) in read_classes(one).items():
            classes[released].append(values[person])
        for released, members in classes.items():
            ages = [row["age"] for row in members if row["age"] is not None]
            ages = ages or [find_centre(table["age"].drop_null().to_pylist(), "median")]
            assert released[QUASI.index("age")] == int(np.floor(np.mean(ages) + 0.5))
        assert one.internal["values_imputed"] == {n: table[n].null_count for n in CENTRES}
    check_cells(made)


def test_it_is_refused_where_records_are_held(tmp_path: Path) -> None:
    document = SeriesMonths(tmp_path, (tmp_path / "a",)).policy(0, departures="hold")
    document["attributes"]["age"] = {"role": "quasi-identifier", "missing": "class"}
    del document["attributes"]["tag"]
    with pytest.raises(PolicyError, match="hold does not go with 'age', which is prepared"):
        parse_policy(document)
