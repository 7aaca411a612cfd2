"""Coarse trees of release partitions: grown where regions need them, by however many tasks."""

from pathlib import Path

import pytest

from support.cases.discharge_policies import DISCHARGE_ROLES, discharge_policy, write_discharges
from support.passes import decide_only
from support.sizes import Sizes
from tclose.passes.grow import grow_trees
from tclose.passes.plan.plan import Plan
from tclose.policy.policy import Policy
from tclose.runtime.monitoring.progress import Progress

ROWS = 15_000


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """One of so many records that each sex, a release partition, has several regions."""
    folder = tmp_path_factory.mktemp("discharges")
    source = write_discharges(folder / "discharges.parquet", ROWS)
    return discharge_policy(
        source,
        folder,
        attributes=DISCHARGE_ROLES | {"sex": "non-confidential"},
        output={"path": str(folder / "out"), "partition_by": ["sex"]},
        method={"refine": "off"},
    )


def plan_of(policy: Policy, folder: Path) -> Plan:
    return decide_only(policy, folder, Progress("none"))[0]


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("n_tasks", [1, 2])
def test_release_partitions_have_the_same_trees(
    n_tasks: int, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = []
    for most in (16, n_tasks):
        monkeypatch.setattr(grow_trees, "MAX_TASKS", most)
        plans.append(plan_of(policy, tmp_path / str(most)))
    first, second = plans[0].release_partitions
    assert first.n_regions > 1 < second.n_regions
    assert first.tree.n_leaves > 1 < second.tree.n_leaves
    assert second.first_bin == first.n_bins
    assert plans[0].digest() == plans[1].digest()


def test_one_region_has_no_tree(policy: Policy, tmp_path: Path, sizes: Sizes) -> None:
    sizes.regions(ROWS)
    partitions = plan_of(policy, tmp_path).release_partitions
    assert [(one.n_regions, one.tree.n_leaves) for one in partitions] == [(1, 1), (1, 1)]
    assert not list(tmp_path.rglob("grow"))
