"""Frontiers: the policy's point is what a run publishes, and nothing else is left behind."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import pvariance
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.far_partitions import far_partition, far_policy
from support.cases.people import (
    CONFIDENTIAL,
    QUASI,
    people,
    people_policy,
    policy_for,
    release,
    tree,
    write_csv,
    write_parquet,
)
from tclose.assess import frontier as frontiers
from tclose.assess import sample as samples
from tclose.assess.frontier import ComputedFrontier, compute_frontier
from tclose.assess.frontier_grid import FrontierGrid
from tclose.errors import DataError, VerificationError
from tclose.passes.release import TRIAL
from tclose.policy.policy import parse_policy
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import PassContext, Pipeline

pytestmark = pytest.mark.usefixtures("scratch", "small_regions")

N_RECORDS = 240
NUMBERS = ("age", "weight")
GRID = FrontierGrid((3, 8), (0.1, 0.3), 3, 0.3)
ALL = 20_000


def compute(
    document: dict[str, Any], grid: FrontierGrid = GRID, *, size: int = ALL, seed: int = 1
) -> ComputedFrontier:
    return compute_frontier(parse_policy(document), grid, size, seed, Progress("none"))


def many_columns(n_records: int = N_RECORDS) -> pa.Table:
    """Columns of every role, some values missing, and a number that tells records apart."""
    rng = np.random.default_rng(5)
    ages = rng.integers(18, 90, n_records).astype(object)
    ages[::17] = None
    return people(
        n_records,
        name=[f"p{i}" for i in range(n_records)],
        age=pa.array(ages, pa.int64()),
        weight=rng.normal(70, 12, n_records).round(1),
        grade=rng.choice(["low", "middle", "high"], n_records),
        site=rng.choice(["north", "south"], n_records),
        note=[None if i % 5 else "seen" for i in range(n_records)],
        ref=rng.permutation(n_records),
    )


def many_columns_policy(path: Path, **changes: Any) -> dict[str, Any]:
    grade = {"role": QUASI, "type": "ordinal", "order": ["low", "middle", "high"]}
    attributes = {
        "name": "identifier",
        "age": QUASI,
        "sex": QUASI,
        "weight": {"role": QUASI, "aggregate": "median"},
        "grade": grade,
        "pay": CONFIDENTIAL,
        "site": "non-confidential",
        "note": "non-confidential",
        "ref": "non-confidential",
    }
    given = {"attributes": attributes, "missing": "drop", "seed": 7}
    return policy_for(path, **(given | changes))


@pytest.mark.parametrize(
    ("write", "changes"),
    [
        (write_csv, {}),
        (write_parquet, {"output": {"partition_by": ["site"]}}),
        (write_parquet, {"method": {"scope": "table"}}),
        (write_parquet, {"method": {"losses": "absolute"}}),
    ],
)
def test_the_policys_point_is_what_a_run_publishes(write, changes, tmp_path):
    path = write(tmp_path / "people.data", many_columns())
    document = many_columns_policy(path, **changes)
    document["output"] = {"path": str(tmp_path / "releases")} | document["output"]
    computed = compute(document)
    published = release(document)
    assert computed.is_whole
    assert computed.n_table == published.manifest["records"] < N_RECORDS
    [point] = [point for point in computed.points if point.is_policy]
    assert (point.k, point.t) == (3, 0.3)
    assert point.figures is not None
    classes, manifest = point.figures.classes, published.manifest
    assert vars(classes) == manifest["classes"]
    assert point.figures.loss == manifest["information_loss"]["total"]
    shares = published.internal["exact_information_loss"]["of_one_class"]
    if "losses" in changes.get("method", {}):
        assert (point.figures.of_one_class, shares) == (None, {})
    else:
        mean = np.mean(list(shares.values()))
        assert point.figures.of_one_class == pytest.approx(mean, rel=0.005)  # three digits
    found = {a.name: a.largest_emd for a in point.figures.attributes}
    assert found == {n: t["largest_emd"] for n, t in manifest["privacy"]["t"].items()}


def naive_risk(originals: list[dict], released: dict[int, dict]) -> float:
    """All distances of numbers, grades and letters; ``ref`` says which row is whose.

    In shares of what one class loses, as records are compared by default.
    """
    grades = ["low", "middle", "high"]
    spreads = {name: pvariance([float(row[name]) for row in originals]) for name in NUMBERS}
    spread = pvariance([float(grades.index(row["grade"])) for row in originals])
    others = 1 - max(Counter(row["sex"] for row in originals).values()) / len(originals)

    def distance(a: dict, b: dict) -> float:
        square = sum((a[name] - b[name]) ** 2 / spreads[name] for name in NUMBERS)
        square += (grades.index(a["grade"]) - grades.index(b["grade"])) ** 2 / spread
        return (square + (a["sex"] != b["sex"]) / others) ** 0.5

    risk = 0.0
    for row in originals:
        distances = {ref: distance(row, other) for ref, other in released.items()}
        nearest = [d for d in distances.values() if d <= min(distances.values()) + 1e-12]
        if distances[row["ref"]] in nearest:
            risk += 1 / len(nearest)
    return risk / len(originals)


def test_risk_is_that_of_the_published_rows(tmp_path):
    table = many_columns()
    document = many_columns_policy(write_parquet(tmp_path / "people.parquet", table))
    computed = compute(document, FrontierGrid((3,), (0.3,), 3, 0.3)).points[0].figures
    rows = {row["ref"]: row for row in release(document).table.to_pylist()}
    originals = [row for row in table.to_pylist() if row["age"] is not None]
    assert computed is not None
    assert computed.risk == float(f"{naive_risk(originals, rows):.3g}")
    assert 0 < computed.risk <= 1 / 3


def test_every_point_keeps_what_it_asks(tmp_path):
    """k and t hold, and so the risk is at most 1/k. What a smaller t costs is not assumed."""
    document = policy_for(write_csv(tmp_path / "people.csv", people(N_RECORDS)))
    computed = compute(document, FrontierGrid((2, 5, 9), (0.05, 0.2, 0.5), 5, 0.2))
    assert [(p.k, p.t) for p in computed.points if p.is_policy] == [(5, 0.2)]
    assert len(computed.points) == 9
    for point in computed.points:
        figures = point.figures
        assert figures is not None
        assert figures.classes.smallest >= point.k
        largest = figures.attributes[0].largest_emd
        assert largest is not None
        assert point.t is not None
        assert largest <= point.t
        assert 0 <= figures.risk <= 1 / figures.classes.smallest
        assert figures.loss > 0


def test_attributes_with_a_t_of_their_own_keep_it(tmp_path):
    table = people(N_RECORDS, bonus=np.random.default_rng(3).permutation(N_RECORDS))
    document = policy_for(write_csv(tmp_path / "people.csv", table))
    document["attributes"] = {"age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL}
    document["attributes"]["bonus"] = {"role": CONFIDENTIAL, "t": 0.25}
    for point in compute(document, FrontierGrid((3,), (0.1, 0.3), 3, 0.3)).points:
        assert point.figures is not None
        limits = {a.name: float(a.max_emd) for a in point.figures.attributes}
        assert limits == {"pay": point.t, "bonus": 0.25}


class TestSample:
    @pytest.mark.nightly
    def test_is_drawn_by_its_seed(self, tmp_path):
        path = write_csv(tmp_path / "people.csv", many_columns())
        first, again, other = (
            compute(many_columns_policy(path), size=100, seed=seed) for seed in (1, 1, 2)
        )
        assert first == again
        assert first.points != other.points
        assert (first.n_records, first.is_whole) == (100, False)
        assert first.n_table == N_RECORDS - len(range(0, N_RECORDS, 17))

    @pytest.mark.nightly
    def test_does_not_depend_on_how_the_input_is_cut(self, tmp_path):
        table = many_columns()
        whole = write_parquet(tmp_path / "a.parquet", table)
        pieces = write_parquet(tmp_path / "b.parquet", table, row_group_size=31)
        first, other = (compute(many_columns_policy(p), size=100) for p in (whole, pieces))
        assert first == other

    def test_has_complete_records_of_the_input_once_each(self, tmp_path):
        path = write_parquet(tmp_path / "p.parquet", many_columns(), row_group_size=50)
        policy = parse_policy(many_columns_policy(path))
        drawn = samples.take_sample(policy, tmp_path, InProcess(), 90, 4, Progress("none"))
        kept = pa.parquet.read_table(drawn.path)
        assert kept.column_names == ["age", "sex", "pay", "weight", "grade", "record"]
        numbers = kept["record"].to_pylist()
        assert len(set(numbers)) == 90
        assert numbers == sorted(numbers) == drawn.attackers.tolist()
        complete = many_columns().filter(many_columns()["age"].is_valid())
        columns = kept.column_names[:-1]
        assert kept.select(columns).equals(complete.select(columns).take(pa.array(numbers)))
        assert drawn.originals.equals(kept.select(drawn.originals.column_names))

    def test_fewer_attack_than_there_are(self, tmp_path, monkeypatch):
        monkeypatch.setattr(samples, "MAX_ATTACKERS", 50)
        document = many_columns_policy(write_csv(tmp_path / "people.csv", many_columns()))
        computed = compute(document)
        assert computed.is_whole
        assert computed.n_attackers == 50
        assert all(p.figures and p.figures.risk <= 1 / p.k for p in computed.points)

    def test_names_its_numbers_as_no_column_is_named(self, tmp_path):
        path = write_csv(tmp_path / "people.csv", people(60).rename_columns(["record", "sex", "p"]))
        document = policy_for(path, attributes={"record": QUASI, "sex": QUASI, "p": CONFIDENTIAL})
        assert all(point.figures for point in compute(document).points)


def test_infeasible_points_say_why(tmp_path):
    path = write_parquet(tmp_path / "people.parquet", far_partition())
    computed = compute(far_policy(path), FrontierGrid((3, N_RECORDS + 1), (0.1, 0.3), 3, 0.3))
    points = {(p.k, p.t): p for p in computed.points}
    assert points[3, 0.3].figures is not None
    assert points[3, 0.1].figures is None
    assert "smallest t that could work" in points[3, 0.1].reason
    assert points[N_RECORDS + 1, 0.3].figures is None
    assert "more than the 240 records" in points[N_RECORDS + 1, 0.3].reason


@pytest.mark.parametrize(
    "error", [VerificationError("no"), RuntimeError("no"), KeyboardInterrupt()]
)
def test_no_working_file_stays(error, tmp_path, scratch, monkeypatch):
    document = people_policy(tmp_path)
    before = tree(tmp_path)
    compute(document)
    assert tree(tmp_path) == before
    seen = []

    def fail(context: PassContext) -> None:
        folder = context.run.root.parent
        seen.append((folder.stat().st_mode & 0o777, [p.name for p in scratch.iterdir()]))
        raise error

    verify = replace(TRIAL.passes[-1], work=fail)
    trial = Pipeline(TRIAL.given, (*TRIAL.passes[:-1], verify))
    monkeypatch.setattr(frontiers, "TRIAL", trial)
    if isinstance(error, VerificationError):  # what cannot be verified is no point of the curve
        assert {(p.figures, p.reason) for p in compute(document).points} == {(None, "no")}
    else:
        with pytest.raises(type(error)):
            compute(document)
    assert seen[0][0] == 0o700
    assert len(seen[0][1]) == 1
    assert tree(tmp_path) == before


def test_errors_name_the_input_and_not_the_scratch_file(tmp_path):
    table = people(60, age=np.array([0.0, 1e308] * 30) * np.array([1, -1] * 30))
    path = write_parquet(
        tmp_path / "people.parquet", table.set_column(0, "age", [[-1e308, 1e308] * 30])
    )
    with pytest.raises(DataError, match="too wide to compute with") as caught:
        compute(policy_for(path))
    assert str(path) in str(caught.value)
    assert "scratch" not in str(caught.value)
