"""The plan made of merged summaries: what columns are encoded as, and what is asked of them."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tclose.data.encodings import make_encoding
from tclose.errors import PolicyError
from tclose.methods.dp.noise import check_closeness
from tclose.methods.method import MethodContext
from tclose.model.attributes import Column
from tclose.model.column_terms import Distance, Role
from tclose.model.distribution import make_distribution
from tclose.passes.plan.feasibility import check_k, require_models
from tclose.passes.plan.folder_names import check_folders, check_set_folders
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import BUCKETED_VALUES, load_distributions
from tclose.passes.plan.release_partitions import fill_release_partitions
from tclose.passes.plan.search_budget import choose_search_budget
from tclose.passes.summarise.input_summary import InputSummary
from tclose.passes.summarise.joint_counts import Combiner
from tclose.passes.summarise.records import DISTRIBUTIONS
from tclose.policy.policy import Policy
from tclose.runtime.artifacts.artifacts import Workspace


def make_plan(
    policy: Policy,
    workspace: Workspace,
    summary: InputSummary,
    made_for: Mapping[str, Fraction] | None = None,
) -> Plan:
    """The plan, or the proof that there is none.

    Parameters
    ----------
    made_for : the t that classes are made for, of attributes where that is less than they are held
        to

    Raises
    ------
    PolicyError, InfeasibleError
    """
    of_persons = summary.source.person is not None
    check_k(policy.privacy.k, summary.table.n_complete, of_persons=of_persons)
    plan = _encode_columns(policy, summary)
    if made_for:
        pairs = zip(plan.confidential, plan.max_emds, strict=True)
        limits = tuple(min(t, made_for.get(e.column.name, t)) for e, t in pairs)
        plan = replace(plan, max_emds=limits)
    check_closeness(plan.passthrough, summary.table.n_complete, plan.k)
    if plan.method.cuts_buckets:
        plan = _cut_buckets(workspace, plan, policy)
    joint = Combiner(summary.source, summary.pieces, workspace, plan.confidential).write()
    plan = replace(
        plan,
        max_emds=(*plan.max_emds, *(encoding.column.limit for encoding in joint)),
        confidential=(*plan.confidential, *joint),
    )
    distributions = load_distributions(workspace, plan)
    plan = require_models(plan, policy, distributions, summary.table.n_complete)
    is_cut = bool(plan.partition_columns)
    plan.method.check(
        MethodContext(plan.encodings, plan.confidential, plan.bucketing, plan.k, is_cut)
    )
    return fill_release_partitions(plan, workspace, summary, policy)


def _encode_columns(policy: Policy, summary: InputSummary) -> Plan:
    """Plan each column's encoding and the demands on classes, without release partitions yet."""
    columns, summaries = summary.source.columns, summary.table.columns
    # Of what is generalised no scale is measured.
    sampled = {} if policy.method.generalises else summary.scale_keys
    is_relative = policy.method.has_relative_losses
    encodings = {
        c.name: make_encoding(
            c, summaries[c.name], sampled.get(c.name), has_relative_loss=is_relative
        )
        for c in columns
        if c.name in summaries
    }
    partition_by = policy.output.partition_by
    check_folders(encodings, partition_by)
    quasi = [encodings[c.name] for c in columns if c.role is Role.QUASI_IDENTIFIER]
    quasi.sort(key=lambda e: _place(e.column.name, partition_by))
    if policy.method.generalises:
        check_set_folders(quasi, partition_by)
        quasi = [replace(encoding, generalised=True) for encoding in quasi]
    return Plan(
        k=policy.privacy.k,
        max_emds=tuple(c.limit for c in summary.source.confidential),
        encodings=tuple(quasi),
        confidential=tuple(encodings[c.name] for c in summary.source.confidential),
        passthrough=tuple(
            c for c in columns if _is_passthrough(c, summary.source.partition_columns)
        ),
        partition_columns=tuple(encodings[name] for name in summary.source.partition_columns),
        partition_by=partition_by,
        released=tuple(c.name for c in columns if c.role is not Role.PERSON),
        subset_attribute=0,
        release_partitions=(),
        block_clusters=2**62 if policy.method.is_one_block else policy.method.clusters_per_block,
        rows_per_file=policy.output.rows_per_file,
        output_format=policy.output.format,
        search_budget=choose_search_budget(policy.method.refine, summary.table.n_complete),
        seed=policy.seed,
        method=policy.method,
        widths=summary.passthrough,
    )


def _is_passthrough(column: Column, partition_columns: tuple[str, ...]) -> bool:
    """Return whether a column is passed through, without a part in deciding the classes."""
    is_plain = column.role is Role.NON_CONFIDENTIAL and column.name not in partition_columns
    return is_plain or column.attribute.noise is not None


def _cut_buckets(workspace: Workspace, plan: Plan, policy: Policy) -> Plan:
    """The plan with buckets; where they are released they replace the values, which are kept."""
    values = workspace.new_file(DISTRIBUTIONS)
    bucketing = plan.method.cut_buckets(
        plan.confidential,
        values.read,
        plan.k,
        is_cut=bool(plan.partition_columns),
    )
    if not plan.method.releases_buckets:
        return replace(plan, bucketing=bucketing)
    _check_ordered(plan.confidential[0].column, policy)
    workspace.new_file(BUCKETED_VALUES).write(values.read())
    values.write(make_distribution(np.arange(bucketing.sizes.size), bucketing.sizes))
    return replace(plan, bucketing=bucketing, confidential=(bucketing.released,))


def _check_ordered(column: Column, policy: Policy) -> None:
    """Refuse a t of released buckets whose values have no order: theirs is the ordered distance."""
    is_held = column.limit < 1 or any(
        r.kind.limit_distance(r) is not None for r in policy.require_models()
    )
    if is_held and column.distance is not Distance.ORDERED:
        raise PolicyError(
            f"column {column.name!r}: its values have no order, and a t of released buckets is one "
            "of ordered values; take t out, or take release: value, or give it type: ordinal and "
            "an order"
        )


def _place(name: str, partition_by: tuple[str, ...]) -> int:
    return partition_by.index(name) if name in partition_by else len(partition_by)
