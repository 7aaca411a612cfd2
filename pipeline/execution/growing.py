"""Coarse trees for the domains of a plan, which order the records of each by place."""

from dataclasses import replace

from pipeline.execution.domains import place_bins
from pipeline.execution.engine import Engine
from pipeline.execution.findings import Findings
from pipeline.execution.passes import run_pass
from pipeline.execution.progress import Progress
from pipeline.execution.units.growing import DRAFT, GrowItem, grow_unit
from pipeline.stages.plan import Plan
from pipeline.storage.workspace import Workspace

MAX_UNITS = 16  # each reads the whole sample


def grow_trees(
    engine: Engine, workspace: Workspace, findings: Findings, plan: Plan, progress: Progress
) -> Plan:
    """The plan with trees for its domains of several regions; the others have one leaf."""
    large = [i for i, domain in enumerate(plan.domains) if domain.n_regions > 1]
    if not large or findings.source.sample_share <= 0:
        return plan
    workspace.save(DRAFT, plan)
    n_units = min(len(large), MAX_UNITS)
    n_partitions = len(findings.pieces)
    items = [GrowItem(tuple(large[i::n_units]), n_partitions) for i in range(n_units)]
    domains = list(plan.domains)
    grown = run_pass(engine, workspace, "grow", grow_unit, items, progress)
    for item, trees in zip(items, grown, strict=True):
        for index, tree in zip(item.domains, trees, strict=True):
            domains[index] = replace(domains[index], tree=tree)
    return replace(plan, domains=place_bins(domains))
