"""Tables that rows are only added to: who was there before is released as before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release
from support.cases.series_months import SeriesMonths
from support.naive.naive_holding import distance
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.data.synthetic.panel_files import write_panel
from tclose.passes.microaggregate import region_clusters
from tclose.passes.microaggregate.unions import cluster_series

pytestmark = pytest.mark.usefixtures("small_regions")
N_OLD, N_ADDED, LIMIT = 600, 40, 0.1
MARKS = ["insurer", "sex", "tariff"]
COLUMNS = ["age", "zip", *MARKS, "weight", "income"]


def put(table: pa.Table, **columns: Any) -> pa.Table:
    """The table with some columns replaced, in their types."""
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(values, table[name].type))
    return table


def write_added(folder: Path, n_added: int, change: Callable[[pa.Table], pa.Table]) -> SeriesMonths:
    """A table, and the same in another order with so many changed rows more.

    Of the old rows a few more have A than B, which all others have; weights are floats without
    heavy tails.
    """
    [whole] = write_panel(folder / "panel", N_OLD + n_added, 3, range(1))
    table = pq.read_table(whole)
    draw = np.random.default_rng(5)
    few_more = np.where(np.arange(N_OLD) < N_OLD // 2 + 2, "A", "B")
    marks = {name: [*draw.permutation(few_more), *["B"] * n_added] for name in MARKS}
    table = put(table, income=table["income"].to_numpy() // 200 * 200, **marks)
    table = table.append_column("tag", table["person_id"])
    table = table.append_column("weight", pa.array(draw.normal(70, 12, len(table))))
    old, added = table.slice(0, N_OLD), change(table.slice(N_OLD))
    files = (folder / "before.parquet", folder / "after.parquet")
    both = pa.concat_tables([old, added])
    pq.write_table(old, files[0])
    pq.write_table(both.take(pa.array(draw.permutation(len(both)))), files[1])
    return SeriesMonths(folder, files)


def policy_of(months: SeriesMonths, month: int, **over_time: Any) -> dict[str, Any]:
    document = months.policy(month, **over_time)
    document["attributes"] |= dict.fromkeys([*MARKS, "weight"], "quasi-identifier")
    document["privacy"]["t"] = LIMIT
    return document


def rows_of(made: Released) -> dict[str, tuple[Any, ...]]:
    """Of each person the released row."""
    rows = made.table.select(["tag", *COLUMNS]).to_pylist()
    return {row["tag"]: tuple(row[name] for name in COLUMNS) for row in rows}


def group(rows: dict[str, tuple[Any, ...]]) -> dict[tuple[Any, ...], set[str]]:
    """The persons of each class."""
    classes: dict[tuple[Any, ...], set[str]] = {}
    for person, row in rows.items():
        classes.setdefault(row[:-1], set()).add(person)
    return classes


def count_ties(rows: dict[str, tuple[Any, ...]], table: pa.Table) -> int:
    """Classes with as many A as B of a mark, of all marks together."""
    own = {row["tag"]: row for row in table.to_pylist()}
    return sum(
        sum(own[person][mark] == "A" for person in of_class) * 2 == len(of_class)
        for of_class in group(rows).values()
        for mark in MARKS
    )


def unusual(added: pa.Table) -> pa.Table:
    """Weights that have heavy tails."""
    weights = np.where(np.arange(len(added)) < 4, 5000.0, 60.0)
    return put(added, weight=weights)


@pytest.mark.every_case
@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_old_rows_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weight: float
) -> None:
    """Though the table now decides ties, tails and the order of sums in another way.

    ``weight``: of the marks. Of much weight classes have one each, and sums that order decides; of
    little they have both, and ties.
    """
    months = write_added(tmp_path, N_ADDED, unusual)
    policies = [policy_of(months, month, t=LIMIT, departures="refuse", churn=0) for month in (0, 1)]
    for policy in policies:
        policy["attributes"] |= {
            mark: {"role": "quasi-identifier", "weight": weight} for mark in MARKS
        }
    before = release(policies[0])
    clustered = []
    cluster = region_clusters.cluster_region

    def counted(records: Any, *others: Any) -> Any:
        clustered.append(records.keys[0].size)
        return cluster(records, *others)

    monkeypatch.setattr(cluster_series, "cluster_region", counted)
    after = release(policies[1])
    old, new = rows_of(before), rows_of(after)
    assert count_ties(old, pq.read_table(months.files[0])) > 0 or weight == 1
    assert {person: new[person] for person in old} == old
    assert clustered == [N_ADDED]
    said = after.internal["over_time"]
    assert (said["newcomers"], said["leavers"], said["left_out"]) == (N_ADDED, 0, 0)
    assert after.manifest["records"] == N_OLD + N_ADDED
    assert add_series(audit_release(after.folder)).findings == []


def test_one_new_person_waits(tmp_path: Path) -> None:
    """She is left out, and has left no class."""
    months = write_added(tmp_path, 1, lambda added: added)
    made = [release(policy_of(months, n, t=LIMIT, departures="refuse")) for n in (0, 1)]
    assert rows_of(made[1]) == rows_of(made[0])
    said = made[1].internal["over_time"]
    assert (said["newcomers"], said["leavers"], said["left_out"]) == (0, 0, 1)
    assert add_series(audit_release(made[1].folder)).findings == []


@pytest.mark.parametrize(("over_time_t", "n_added"), [(0.15, 150), (0.1, 400)])
def test_what_no_longer_holds_is_united_or_left_out(
    tmp_path: Path, over_time_t: float, n_added: int
) -> None:
    """By exact distances to the new table: above t to be united, above the t over time left out."""

    def richer(added: pa.Table) -> pa.Table:
        incomes = np.sort(added["income"].to_numpy())
        return put(added, income=np.repeat(incomes[len(incomes) // 2 :], 2))

    months = write_added(tmp_path, n_added, richer)
    before = release(policy_of(months, 0, t=over_time_t))
    after = release(policy_of(months, 1, t=over_time_t))
    old, new = rows_of(before), rows_of(after)
    classes, table = group(old), [row[-1] for row in new.values()]
    now = {frozenset(people) for people in group(new).values()}
    far = {
        key for key, people in classes.items()
        if distance([old[p][-1] for p in people], table) > LIMIT
    }  # fmt: skip
    assert far
    for key, people in classes.items():
        stays = people & new.keys()
        of_class = {one for one in now if one & stays}
        assert len(of_class) <= 1  # what is left of a class stays together
        if key not in far:
            assert stays == people
        if stays == people and people in now:
            assert key not in far
            assert all(new[p] == old[p] for p in people)
        elif over_time_t > LIMIT:
            assert stays == people
    if over_time_t == LIMIT:  # newcomers by themselves are within it, and far from 0.7 times it
        assert len(group({p: new[p] for p in new.keys() - old.keys()})) > n_added // 20
    said = after.internal["over_time"]
    n_gone = len(old.keys() - new.keys())
    assert said["leavers"] == n_gone
    assert (n_gone > 0) is (over_time_t == LIMIT)
    assert said["left_out"] == N_OLD + n_added - len(new)
    assert add_series(audit_release(after.folder)).findings == []


def test_files_that_are_added_to_a_folder(tmp_path: Path) -> None:
    """The release before has some of the same files, and is held together with this one."""
    [whole] = write_panel(tmp_path / "panel", N_OLD + N_ADDED, 3, range(1))
    table, folder = pq.read_table(whole), tmp_path / "rows"
    folder.mkdir()
    document = SeriesMonths(tmp_path, (folder,)).policy(0)
    internal = []
    for name, rows in (("old", table.slice(0, N_OLD)), ("added", table.slice(N_OLD))):
        pq.write_table(rows.append_column("tag", rows["person_id"]), folder / f"{name}.parquet")
        strict = {"strict": True, "accepted_warnings": ["TC-W017"]}  # the tag
        internal.append(release(document | {"engine": strict}).internal)
    assert [len(one["inputs"]) for one in internal] == [1, 2]
    assert not any("same_input" in one for one in internal)
    # Of another series, or of none, it is not held together with either.
    alone = release(document | {"name": "alone", "series": "alone"})
    assert [one["release"].split("/")[0] for one in alone.internal["same_input"]] == ["panel-0"] * 2
