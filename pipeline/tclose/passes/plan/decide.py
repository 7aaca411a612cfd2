"""The plan pass: global distributions and subsets, class sizes, regions; or why there are none."""

from dataclasses import replace

from tclose.passes.grow.grow_trees import GROW_TASK, grow_trees
from tclose.passes.persons.person_keys import DRAWN_KEY, PERSON_HASHES, load_person_key
from tclose.passes.persons.person_numbers import NUMBER_TASK, PersonCounts, number_persons
from tclose.passes.persons.person_sketch import PERSON_SKETCHES, sketch_persons
from tclose.passes.plan.feasibility import check_k, check_k_over_time
from tclose.passes.plan.notices.costs.calibration import read_calibration
from tclose.passes.plan.notices.costs.run_scope import find_scope
from tclose.passes.plan.notices.costs.step_costs import describe_estimate, estimate_run
from tclose.passes.plan.notices.dates_ahead import warn_of_ahead
from tclose.passes.plan.notices.empty_files import warn_of_empty_files
from tclose.passes.plan.notices.estimate import check_memory, warn_of_short_memory
from tclose.passes.plan.notices.noise_history import NOISE_DRAWS, warn_of_noise_draws
from tclose.passes.plan.notices.person_warnings import (
    warn_of_kept_persons,
    warn_of_shared_persons,
    warn_of_turnover,
)
from tclose.passes.plan.notices.plan_warnings import (
    PLAN_WARNINGS,
    find_warnings,
    report_warnings,
    warn_of_carried,
)
from tclose.passes.plan.notices.same_input_warning import warn_by_policy
from tclose.passes.plan.notices.telling_columns import warn_of_telling_columns
from tclose.passes.plan.notices.weaker_promise import warn_of_weaker_promise
from tclose.passes.plan.plan import DRAFT_PLAN, PLAN, Plan
from tclose.passes.plan.plan_files import BUCKETED_VALUES, load_distributions
from tclose.passes.plan.planner import make_plan
from tclose.passes.series.kept_centres import keep_centres
from tclose.passes.series.link_persons import SERIES, SeriesLink, limits_made_for
from tclose.passes.series.series_units import (
    UNIT_TASK,
    find_units,
    join_regions,
)
from tclose.passes.series.window.earlier_registers import (
    REGISTERED,
    REGISTERED_ROWS,
    REGISTERED_TABLES,
)
from tclose.passes.series.window.window_persons import RANK_NUMBERS, RANKED_HASHES, WINDOW_PERSONS
from tclose.passes.summarise.distributions import distribute
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, InputSummary
from tclose.passes.summarise.records import DISTRIBUTIONS, JOINTS
from tclose.passes.summarise.source import naming_input
from tclose.passes.summarise.summarise_task import (
    DISTRIBUTE_TASK,
    JOINT_COUNTS,
    SAMPLE,
    VALUE_COUNTS,
)
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.runtime.pipeline import Pass, PassContext
from tclose.runtime.run import INSPECTION
from tclose.runtime.strictness import refuse_warnings


def decide_plan(context: PassContext) -> None:
    """Decide what will be done with every release partition.

    Raises
    ------
    InfeasibleError, PolicyError, DataError
        It cannot be done, with what could be.
    StrictError
        It can, but the policy is strict and has warnings.
    """
    run, progress = context.run, context.progress
    summary = context.read(INPUT_SUMMARY)
    distribute(context, summary)
    with naming_input(run.policy):
        series = context.read(SERIES)
        plan = _make_plan(context, summary, series)
        plan = replace(plan, persons=_number_persons(context, summary))
        plan = find_units(context, plan, series)
        plan = grow_trees(context, summary, plan)
    contents = context.read(INSPECTION)
    check_memory(plan, run.policy.engine, sum(content.file.n_bytes for content in contents))
    drawn_again = warn_of_noise_draws(run, plan, progress)
    warn_of_short_memory(plan, context.engine, progress)
    sketches = () if plan.persons is None else (sketch_persons(context.workspace, plan.persons),)
    context.write(PERSON_SKETCHES, sketches)
    warnings = (
        *find_warnings(plan, summary.table, load_distributions(context.workspace, plan)),
        *warn_of_ahead(summary.ahead),
        *warn_of_empty_files(contents),
        *warn_of_telling_columns(plan, summary.sampled),
        *warn_of_carried(plan, summary.carried, summary.source.known_share),
        *warn_of_shared_persons(run, sketches),
        *warn_of_kept_persons(plan),
        *warn_of_turnover(series),
        *warn_of_weaker_promise(run, series),
        *drawn_again,
    )
    _report_warnings(context, warnings)
    if run.lease_token is not None:
        scope = find_scope(plan, context.workspace, contents, run.policy.engine)
        estimate = estimate_run(plan, scope, calibration=read_calibration())
        progress.info(describe_estimate(estimate))
    context.write(PLAN, plan)


def _report_warnings(context: PassContext, warnings: tuple[PlanWarning, ...]) -> None:
    """Keep warnings, and tell those of a run that publishes; a plan's are reported with it."""
    run, engine = context.run, context.run.policy.engine
    context.write(PLAN_WARNINGS, warnings)
    if run.lease_token is not None:
        report_warnings(warnings, engine, context.progress)
        # Whether rows are others is known, and told, when they are there: hours too late here.
        refuse_warnings(warn_by_policy(run), engine)


def _make_plan(context: PassContext, summary: InputSummary, series: tuple[SeriesLink, ...]) -> Plan:
    """The plan; of a release of a series with classes that leave room for persons who leave."""
    policy = context.run.policy
    if not series:
        plan = make_plan(policy, context.workspace, summary)
        if policy.privacy.persons == "apart":
            return plan
        return replace(join_regions(plan), keeps_persons=True)
    check_k(policy.privacy.k, summary.table.n_complete, of_persons=True)
    if policy.privacy.over_time is not None:
        check_k_over_time(policy.privacy.over_time.k, summary.table.n_complete)
    made_k = min(series[0].made_k, summary.table.n_complete)
    privacy = policy.privacy.model_copy(update={"k": made_k})
    roomy = policy.model_copy(update={"privacy": privacy})
    plan = make_plan(roomy, context.workspace, summary, limits_made_for(policy))
    key = load_person_key(context.run)
    encodings = keep_centres(plan.encodings, series[0].centres, policy.attributes, key)
    return replace(plan, k=policy.privacy.k, encodings=encodings)


def _number_persons(context: PassContext, summary: InputSummary) -> PersonCounts | None:
    """Number the persons, where there is a column of them."""
    if summary.source.person is None:
        return None
    k, n_records = context.run.policy.privacy.k, summary.table.n_complete
    return number_persons(context, k, len(summary.pieces), n_records)


DECIDE = Pass(
    "plan",
    "Decide class sizes, subsets and regions.",
    reads=(
        INSPECTION,
        INPUT_SUMMARY,
        SERIES,
        VALUE_COUNTS,
        JOINT_COUNTS,
        SAMPLE,
        PERSON_HASHES,
        DRAWN_KEY,
        REGISTERED,
        REGISTERED_ROWS,
        REGISTERED_TABLES,
        WINDOW_PERSONS,
        RANK_NUMBERS,
        RANKED_HASHES,
    ),
    writes=(
        PLAN,
        JOINTS,
        DISTRIBUTIONS,
        BUCKETED_VALUES,
        NOISE_DRAWS,
        PLAN_WARNINGS,
        PERSON_SKETCHES,
    ),
    tasks=(DISTRIBUTE_TASK, NUMBER_TASK, UNIT_TASK, GROW_TASK),
    own=(DRAFT_PLAN,),
    work=decide_plan,
    version=14,
)
