"""Records without near ones that a policy lets be left out: who, how many, and what is said."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    Released,
    people,
    policy_for,
    release,
    write_parquet,
    write_policy,
)
from support.sizes import Sizes
from tclose.api.calls import plan
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.cli.main import main
from tclose.errors import PolicyError
from tclose.passes.release import RELEASE
from tclose.passes.summarise.input_summary import PARTITIONS
from tclose.policy.policy import parse_policy
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import Run

N_RECORDS, K = 400, 4
ISOLATED = [3, 77, 150, 201, 333, 399]
ATTRIBUTES = {"age": QUASI, "sex": QUASI, "rent": QUASI, "pay": CONFIDENTIAL, "id": PASSTHROUGH}


def records(**columns: Any) -> pa.Table:
    """Rents that are alike, but for a few that are far from all others."""
    rng = np.random.default_rng(3)
    rent = rng.integers(400, 900, N_RECORDS).astype(np.float64)
    rent[ISOLATED] = [5e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4]
    return people(N_RECORDS, **({"rent": rent, "id": np.arange(N_RECORDS)} | columns))


def make_document(path: Path, share: object = "1.5%", **changes: Any) -> dict[str, Any]:
    keys = {"attributes": ATTRIBUTES, "privacy": {"k": K, "t": 0.4}, "suppress": {"at_most": share}}
    return policy_for(path, **(keys | changes))


@dataclass(frozen=True)
class OfThreads(InProcess):
    """This process with so many processors; ``asked``: numbers of tasks that it was told of."""

    n_threads: int = 1
    asked: list[int] = field(default_factory=list)

    def threads_per_task(self, n_tasks: int) -> int:
        self.asked.append(n_tasks)
        return self.n_threads


def find_left_out(
    document: dict[str, Any], place: Path, engine: InProcess | None = None
) -> list[int]:
    """Positions of the records that a run leaves out."""
    run = Run(parse_policy(document), "suppressed", place, engine or InProcess())
    run_pipeline(RELEASE.until(PARTITIONS), run, Progress("none"))
    partitions = run.workspace.load(PARTITIONS)
    return [position for one in partitions for position in one.left_out.tolist()]


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    return write_parquet(tmp_path_factory.mktemp("suppressed") / "in.parquet", records())


@pytest.fixture(scope="module")
def released(path: Path) -> Released:
    return release(make_document(path))


def test_the_isolated_ones_are_left_out_and_all_others_are_there(released: Released) -> None:
    others = sorted(set(range(N_RECORDS)) - set(ISOLATED))
    assert sorted(released.table["id"].to_pylist()) == others
    assert min(released.class_sizes(["age", "sex", "rent"])) >= K
    assert audit_release(released.folder).passed


def test_the_release_is_that_of_a_table_in_which_they_lack_a_value(
    released: Released, tmp_path: Path
) -> None:
    gaps = np.isin(np.arange(N_RECORDS), ISOLATED)
    age = pa.array(records()["age"].to_numpy(), mask=gaps)
    source = write_parquet(tmp_path / "in.parquet", records(age=age))
    document = make_document(source, missing="drop")
    del document["suppress"]
    assert release(document).table.equals(released.table)


def test_it_is_counted_in_percent_and_exactly_inside(released: Released) -> None:
    assert released.manifest["suppressed"] == {"percent": 2}
    assert "left_out" not in released.manifest
    inside = released.internal
    assert inside["records_suppressed"] == len(ISOLATED)
    assert (inside["records_read"], inside["records_dropped"]) == (N_RECORDS - len(ISOLATED), 0)
    for page in ("dictionary.md", "report.html"):
        assert "were left out, at most 2 % of those without" in (released.folder / page).read_text()
    assert "6 more (1.5 %) were left out" in (released.folder / "internal/report.html").read_text()


def test_a_run_tells_who_was_left_out_and_why(path: Path, tmp_path: Path, capsys: Any) -> None:
    """Of an input with a gap, too, and in the same words when it is published already."""
    gaps = pq.read_table(path).to_pandas()
    gaps.loc[gaps.index[-1], "pay"] = None
    source = write_parquet(tmp_path / "gap.parquet", pa.Table.from_pandas(gaps))
    document = make_document(source, missing="drop", unlisted="drop")
    document["output"] = {"path": str(tmp_path / "releases")}
    policy = str(write_policy(tmp_path / "policy.yaml", document))
    for _ in range(2):
        assert main(["run", policy, "--quiet"]) == 0
        said = capsys.readouterr().out
        assert re.search(
            r"  dropped +1 with a missing value\n  left out +\d as isolated ones", said
        )


def test_plan_says_the_price(path: Path) -> None:
    planned = plan(path, make_document(path))
    assert "6 of 400 records as isolated ones, of 6 that may be" in repr(planned)
    assert re.search(r"of a class falls by (9\d|100)%", repr(planned))
    assert planned.dropped == 0
    assert planned.details.suppression is not None
    assert planned.details.suppression.sampled == N_RECORDS


def test_audit_makes_the_rows_again(released: Released, path: Path) -> None:
    beside = add_originals(
        audit_release(released.folder), parse_policy(make_document(path)), Progress("none")
    )
    assert beside.passed
    assert beside.originals is not None
    assert beside.originals.attackers == N_RECORDS - len(ISOLATED)


def test_who_is_left_out_depends_on_quasi_identifiers_alone(path: Path, tmp_path: Path) -> None:
    """Not on how the input is cut, nor on confidential values."""
    assert find_left_out(make_document(path), tmp_path / "whole") == ISOLATED
    others = np.random.default_rng(1).permutation(records()["pay"].to_numpy())
    changed = {"cut": ({}, 37), "confidential": ({"pay": others}, N_RECORDS)}
    for name, (columns, rows) in changed.items():
        source = write_parquet(
            tmp_path / f"{name}.parquet", records(**columns), row_group_size=rows
        )
        assert find_left_out(make_document(source), tmp_path / name) == ISOLATED


@pytest.mark.nightly
def test_a_sample_decides_alike_however_the_input_is_cut(sizes: Sizes, tmp_path: Path) -> None:
    """Records that are not sampled are left out, too, and never more than may be."""
    sizes.near(300)
    rng = np.random.default_rng(4)
    rent = rng.integers(400, 900, 2_000).astype(np.float64)
    rent[::100] = np.arange(20) * 2e3 + 5e3
    table, most = people(2_000, rent=rent, id=np.arange(2_000)), 15
    made = []
    for rows in (2_000, 333):
        source = write_parquet(tmp_path / f"{rows}.parquet", table, row_group_size=rows)
        made.append(release(make_document(source, most / 2_000)))
        planned = json.loads((made[-1].folder / "internal" / "plan.json").read_text())
        assert planned["suppression"]["sampled"] < 400
    assert made[0].data == made[1].data
    left_out = set(range(2_000)) - set(made[0].table["id"].to_pylist())
    assert K <= len(left_out) <= most
    assert left_out <= set(range(0, 2_000, 100))


@pytest.mark.parametrize(
    ("share", "n_left_out"),
    [(0.0125, 5), ("1%", 4), ("0.75 %", 0)],  # of three nobody could be told from few
)
def test_never_more_than_asked_and_never_fewer_than_k(
    share: object, n_left_out: int, path: Path, tmp_path: Path
) -> None:
    found = find_left_out(make_document(path, share), tmp_path / "work")
    assert len(found) == n_left_out
    assert set(found) <= set(ISOLATED)


def test_none_are_left_out_of_records_that_are_alike(tmp_path: Path) -> None:
    table = people(N_RECORDS, age=np.arange(N_RECORDS) % 40, rent=np.arange(N_RECORDS) % 10)
    source = write_parquet(tmp_path / "in.parquet", table)
    attributes = {name: ATTRIBUTES[name] for name in ("age", "rent", "pay", "sex")}
    document = make_document(source, "5%", attributes=attributes | {"sex": PASSTHROUGH})
    assert find_left_out(document, tmp_path / "work") == []
    assert "none are far from the others" in repr(plan(source, document))


def test_with_missing_values_dropped_and_filled(tmp_path: Path) -> None:
    """A record that is left out stays out where the missing values of a column are filled."""
    gaps = np.isin(np.arange(N_RECORDS), [10, 20])
    table = records(
        age=pa.array(records()["age"].to_numpy(), mask=gaps),
        pay=pa.array(records()["pay"].to_numpy(), mask=np.arange(N_RECORDS) == 50),
    )
    source = write_parquet(tmp_path / "in.parquet", table)
    attributes = ATTRIBUTES | {"age": {"role": QUASI, "missing": "median"}}
    found = release(make_document(source, 0.0151, attributes=attributes, missing="drop"))
    others = sorted(set(range(N_RECORDS)) - {*ISOLATED, 50})
    assert sorted(found.table["id"].to_pylist()) == others
    assert found.internal["records_dropped"] == 1
    assert found.internal["values_missing"] == {"pay": 1}


NOISE = {"role": CONFIDENTIAL, "noise": {"epsilon": 1, "low": 0, "high": 9_000}}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attributes": ATTRIBUTES | {"id": "person"}}, "a column of role person"),
        (
            {
                "attributes": ATTRIBUTES | {"id": "person"},
                "privacy": {"k": K, "t": 0.4, "over_time": {"k": 2, "t": 0.5}},
            },
            "privacy.over_time",
        ),
        (
            {
                "attributes": ATTRIBUTES | {"pay": NOISE},
                "privacy": {"k": K},
                "method": {"name": "dp-confidential"},
            },
            "noise",
        ),
        ({"output": {"path": "releases", "partition_by": ["sex"]}}, "output.partition_by"),
    ],
)
def test_refused_with_a_remedy(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(PolicyError, match=f"suppress: does not go with {reason}.*take either out"):
        parse_policy(make_document(Path("in.parquet"), **changes))


@pytest.mark.parametrize("share", [0, 0.06, "6%", "x%", "1/0%", "1e400%", True, -0.01])
def test_shares_out_of_range_are_refused(share: object) -> None:
    with pytest.raises(PolicyError, match=r"suppress\.at_most"):
        parse_policy(make_document(Path("in.parquet"), share))


def test_a_share_and_its_percent_are_the_same_policy() -> None:
    documents = [make_document(Path("in.parquet"), share) for share in ("1%", 0.01)]
    first, second = map(parse_policy, documents)
    assert first == second


def test_where_every_column_is_filled_nobody_can_be_left_out(path: Path, tmp_path: Path) -> None:
    attributes = {"age": {"role": QUASI, "missing": "median"}}
    document = make_document(path, attributes=attributes, unlisted="drop", privacy={"k": K})
    with pytest.raises(PolicyError, match="filled by missing"):
        find_left_out(document, tmp_path / "work")


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_same_ones_are_left_out_by_any_number_of_threads(
    path: Path, tmp_path: Path, n_threads: int
) -> None:
    engine = OfThreads(n_threads)
    assert find_left_out(make_document(path), tmp_path / "work", engine) == ISOLATED
    assert engine.asked == [1, 1]  # the sample's records and the partition's: one task each


def test_the_search_tells_how_far_it_is(path: Path, tmp_path: Path, capsys: Any) -> None:
    run = Run(parse_policy(make_document(path)), "suppressed", tmp_path / "work", InProcess())
    run_pipeline(RELEASE.until(PARTITIONS), run, Progress("lines"))
    lines = capsys.readouterr().err
    assert f"measuring isolation: 1 task, {N_RECORDS} records" in lines
    assert f"finding isolated records: 1 task, {N_RECORDS} records" in lines
