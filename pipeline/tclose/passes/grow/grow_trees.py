"""Coarse trees for the domains of a plan, which order the records of each by place."""

from dataclasses import replace

from tclose.passes.grow.grow_task import GROW_TASK, GrowInput
from tclose.passes.plan.plan import DRAFT_PLAN, Plan
from tclose.passes.plan.release_partitions import place_bins
from tclose.passes.summarise.findings import InputSummary
from tclose.runtime.artifacts import Workspace
from tclose.runtime.engines.engine import Engine
from tclose.runtime.progress import Progress
from tclose.runtime.tasks import run_tasks

MAX_UNITS = 16  # each reads the whole sample


def grow_trees(
    engine: Engine, workspace: Workspace, findings: InputSummary, plan: Plan, progress: Progress
) -> Plan:
    """The plan with trees for its domains of several regions; the others have one leaf."""
    large = [i for i, domain in enumerate(plan.domains) if domain.n_regions > 1]
    if not large or findings.source.sample_share <= 0:
        return plan
    workspace.save(DRAFT_PLAN, plan)
    n_units = min(len(large), MAX_UNITS)
    n_partitions = len(findings.pieces)
    items = [GrowInput(tuple(large[i::n_units]), n_partitions) for i in range(n_units)]
    domains = list(plan.domains)
    grown = run_tasks(engine, workspace, GROW_TASK, items, progress)
    for item, trees in zip(items, grown, strict=True):
        for index, tree in zip(item.domains, trees, strict=True):
            domains[index] = replace(domains[index], tree=tree)
    return replace(plan, domains=place_bins(domains))
