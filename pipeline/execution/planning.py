"""From merged summaries to the plan: what each column is encoded as, and what is asked of it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from pipeline.errors import PolicyError
from pipeline.execution.combining import Combiner
from pipeline.execution.domains import fill_domains
from pipeline.execution.findings import Findings
from pipeline.execution.requirements import require_models
from pipeline.execution.units.shared import load_distributions
from pipeline.model import Column, Role
from pipeline.settings import Policy
from pipeline.stages.effort import choose_effort
from pipeline.stages.encodings import make_encoding
from pipeline.stages.folders import check_folders, check_set_folders
from pipeline.stages.methods.bucketing import bucketize
from pipeline.stages.methods.bucketization import RatioDemand
from pipeline.stages.methods.method import Method
from pipeline.stages.methods.noise import check_closeness
from pipeline.stages.methods.refusals import Ask, check_method
from pipeline.stages.plan import Plan, check_k
from pipeline.storage.tables import make_distribution, read_distribution, write_distribution
from pipeline.storage.workspace import Workspace


def make_plan(policy: Policy, workspace: Workspace, findings: Findings) -> Plan:
    """The plan, or the proof that there is none.

    Raises
    ------
    PolicyError, InfeasibleError
    """
    check_k(policy.privacy.k, findings.table.n_complete)
    plan = _encode_columns(policy, findings)
    check_closeness(plan.carried, findings.table.n_complete, plan.k)
    if plan.method.ratio is not None:
        plan = _bucketize(workspace, plan)
    joint = Combiner(findings.source, findings.pieces, workspace, plan.confidential).write()
    plan = replace(
        plan,
        max_emds=(*plan.max_emds, *(_limit(encoding.column) for encoding in joint)),
        confidential=(*plan.confidential, *joint),
    )
    distributions = load_distributions(workspace, plan)
    plan = require_models(plan, policy, distributions, findings.table.n_complete)
    is_cut = bool(plan.hard)
    check_method(
        Ask(plan.method, plan.encodings, plan.confidential, plan.bucketing, plan.k, is_cut)
    )
    return fill_domains(plan, workspace, findings, policy)


def _encode_columns(policy: Policy, findings: Findings) -> Plan:
    """What each column is encoded as, and what the policy says of the classes; no domains yet."""
    columns, summaries = findings.source.columns, findings.table.columns
    made = {c.name: make_encoding(c, summaries[c.name]) for c in columns if c.name in summaries}
    partition_by = policy.output.partition_by
    check_folders(made, partition_by)
    quasi = [made[c.name] for c in columns if c.role is Role.QUASI_IDENTIFIER]
    quasi.sort(key=lambda e: _place(e.column.name, partition_by))
    method, is_table = _choose_method(policy), policy.method.scope == "table"
    if method.generalises:
        check_set_folders(quasi, partition_by)
        quasi = [replace(encoding, generalised=True) for encoding in quasi]
    return Plan(
        k=policy.privacy.k,
        max_emds=tuple(_limit(c) for c in findings.source.confidential),
        encodings=tuple(quasi),
        confidential=tuple(made[c.name] for c in findings.source.confidential),
        carried=tuple(c for c in columns if _is_carried(c, findings.source.hard)),
        hard=tuple(made[name] for name in findings.source.hard),
        partition_by=partition_by,
        released=tuple(c.name for c in columns),
        primary=0,
        domains=(),
        block_clusters=2**62 if is_table else policy.method.block_clusters,
        rows_per_file=policy.output.rows_per_file,
        effort=choose_effort(policy.method.refine, findings.table.n_complete),
        seed=policy.seed,
        method=method,
    )


def _is_carried(column: Column, hard: tuple[str, ...]) -> bool:
    """Whether a column goes along with its records, and decides nothing of the classes."""
    is_plain = column.role is Role.NON_CONFIDENTIAL and column.name not in hard
    return is_plain or column.attribute.noise is not None


def _choose_method(policy: Policy) -> Method:
    given = policy.method
    ratio = None if given.ratio is None else Fraction(str(given.ratio))
    return Method(given.name, given.start, given.gamma, given.buckets, ratio, given.release)


def _bucketize(workspace: Workspace, plan: Plan) -> Plan:
    """The plan with buckets; where they are released they replace the values (``source0``)."""
    if len(plan.confidential) != 1 or plan.hard:
        raise PolicyError(
            "method.name: bucketization works with one confidential attribute of the whole table; "
            "give one, and no partition columns that are released as they are"
        )
    method = plan.method
    assert method.ratio is not None
    values = workspace.path("values", "distribution0")
    distribution = read_distribution(values)
    demand = RatioDemand(plan.k, method.ratio, method.n_buckets)
    bucketing = bucketize(plan.confidential[0], distribution, demand)
    if not method.releases_buckets:
        return replace(plan, bucketing=bucketing)
    write_distribution(distribution, workspace.path("values", "source0"))
    in_buckets = make_distribution(np.arange(bucketing.sizes.size), bucketing.sizes)
    write_distribution(in_buckets, values)
    return replace(plan, bucketing=bucketing, confidential=(bucketing.released,))


def _place(name: str, partition_by: tuple[str, ...]) -> int:
    return partition_by.index(name) if name in partition_by else len(partition_by)


def _limit(column: Column) -> Fraction:
    assert column.attribute.max_emd is not None
    return column.attribute.max_emd
