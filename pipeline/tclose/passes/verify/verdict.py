"""Pass 3: the rows of a release in its order, every class checked as it is released; a verdict."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

from tclose.errors import VerificationError
from tclose.methods.method import Method
from tclose.model.counted_words import count_words
from tclose.model.verification import PersonTraces, Verdict
from tclose.passes.encode.wide_columns import WIDE, WIDE_ENDS, WIDE_SIZES
from tclose.passes.microaggregate.aggregate_task import (
    CLASS_TYPES,
    REGION_RESULTS,
    REGIONS,
    RegionResult,
)
from tclose.passes.microaggregate.class_files import CLASS_CODES, CLASS_PASSTHROUGH, CLASSES
from tclose.passes.persons.person_keys import DRAWN_KEY
from tclose.passes.persons.person_numbers import NUMBERED
from tclose.passes.persons.person_values import (
    MERGED_PERSON_VALUES,
    PERSON_DIGEST,
    PERSON_SHARES,
    load_person_demand,
    sum_digests,
)
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.series.link_persons import SERIES
from tclose.passes.series.register_release import (
    JUDGE_TASK,
    SERIES_VERDICT,
    judge_release,
)
from tclose.passes.series.series_units import OWN_PERSONS
from tclose.passes.series.window.earlier_registers import (
    REGISTERED,
    REGISTERED_ROWS,
    REGISTERED_TABLES,
)
from tclose.passes.series.window.window_persons import WINDOW_PERSONS
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS
from tclose.passes.summarise.records import DISTRIBUTIONS, JOINTS
from tclose.passes.verify.class_checks import ClassChecks, add_whole_table, decide
from tclose.passes.verify.class_profiles import CLASS_PROFILE, ClassProfile
from tclose.passes.verify.class_rows import read_class_rows
from tclose.passes.verify.compare_task import COMPARE_TASK, CompareInput
from tclose.passes.verify.key_range_task import (
    KEY_RANGES,
    VERIFY_TASK,
    KeyRangeInput,
    KeyRangeResult,
)
from tclose.passes.verify.person_checks import ExpectedPersons
from tclose.passes.verify.person_traces import JOINED_RANGES, TRACE_TASK, trace_persons
from tclose.privacy.whole_table import check_table
from tclose.releases.manifest.inside_sections import describe_found
from tclose.runtime.artifacts.artifacts import Artifact
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Pass, PassContext
from tclose.runtime.tasks import share_evenly

VERDICT = Artifact("verdict", Verdict)

COMPARED_VALUES = 1_000_000  # by a task
# Where partitions make many small regions, a task takes the classes of several.
FEW_RANGES = 64
RANGE_RECORDS = 10_000


def verify(context: PassContext) -> None:
    """Check every class as it is released, rows in canonical order; keep the verdict.

    Raises
    ------
    VerificationError
        It is not passed.
    """
    workspace, plan = context.workspace, context.read(PLAN)
    items = _cut_key_ranges(context.read(REGION_RESULTS))
    sizes = share_evenly(plan.n_records, len(items))  # ranges are cut to be about equal
    ranges = context.map(VERIFY_TASK, items, sizes=sizes)
    _check_range_order(ranges)
    merged = reduce(ClassChecks.merge, [s.checks for s in ranges if s.checks is not None])
    class_rows = read_class_rows(workspace, plan.privacy_models, len(items))
    table_measures = check_table(
        class_rows, plan.privacy_models, load_distributions(workspace, plan)
    )
    verdict = decide(
        add_whole_table(merged, table_measures),
        k=plan.k,
        names=tuple(e.column.name for e in plan.confidential),
        max_emds=plan.verification_limits,
        n_expected=context.read(INPUT_SUMMARY).table.n_complete,
        n_changed=_count_changes(context, plan, len(items)),
        privacy_models=plan.privacy_models,
    )
    expected = _expect_persons(context, plan)
    if expected is None:
        context.write(SERIES_VERDICT, ())
    else:
        n_classes = [0 if s.checks is None else s.checks.n_classes for s in ranges]
        traces = trace_persons(context, plan, n_classes)
        verdict = expected.judge(verdict, merged.persons, traces)
        _report_traces(traces, context.progress)
        verdict = _judge_series(context, verdict, n_classes)
    context.write(KEY_RANGES, ranges)
    context.write(CLASS_PROFILE, ClassProfile(merged.size_counts, merged.profiles))
    context.write(VERDICT, verdict)
    if not verdict.passed:
        raise VerificationError(explain_failures(verdict, plan.method))


def _judge_series(context: PassContext, verdict: Verdict, n_classes: Sequence[int]) -> Verdict:
    """The verdict with that on the releases of the window together; the register is kept."""
    series = context.read(SERIES)
    if not series:
        context.write(SERIES_VERDICT, ())
        return verdict
    judged = judge_release(context, series[0], n_classes)
    context.write(SERIES_VERDICT, (judged,))
    settings = context.run.policy.privacy.over_time
    assert settings is not None  # or there would be no series
    context.progress.info(
        f"  cells over {count_words(len(series[0].window.releases) + 1, 'release')}: "
        f"{judged.n_cells:,}, the smallest of {judged.smallest:,} persons; "
        f"records left out: {series[0].n_left_out:,}; persons who left: {judged.n_leavers:,}, "
        f"{describe_found(settings.departures)}: {judged.n_exposed:,}"
        + (f"; records held of others who left: {judged.n_stale:,}" if judged.n_stale else "")
    )
    return replace(verdict, failures=(*verdict.failures, *judged.failures))


def _expect_persons(context: PassContext, plan: Plan) -> ExpectedPersons | None:
    """Findings that are due over persons, where k counts them."""
    demand = load_person_demand(context.workspace)
    if demand is None or plan.persons is None:
        return None
    digest = sum_digests(context.workspace, len(context.read(PARTITIONS)))
    return ExpectedPersons(demand, plan.persons.n_persons, digest, are_together=plan.keeps_persons)


def _report_traces(traces: PersonTraces | None, progress: Progress) -> None:
    """Say how many persons all of their records together single out: no class tells it."""
    if traces is None:
        return
    progress.info(
        f"  persons in several classes: {traces.n_several:,}; by these alone: {traces.n_alone:,}, "
        f"among fewer than k: {traces.n_below_k:,}"
    )
    for value in traces.lasting:
        progress.info(f"  persons with one {value.name} left, if it lasts: {value.n_told:,}")
    if (cells := traces.by_classes) is None:
        return
    progress.info(
        "  to whoever does not know how many records each has: alone "
        f"{cells.n_alone:,}, among fewer than k {cells.n_below_k:,}; with one value left "
        + ", ".join(f"{value.name} {value.n_told:,}" for value in cells.lasting)
    )


def explain_failures(verdict: Verdict, method: Method) -> str:
    """Explain why a table may not be published."""
    lines = [f"  {f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    is_above = any(f.what.startswith("t of ") for f in verdict.failures)
    if is_above and not method.holds_t:
        lines.append(
            f"  {method.name} knows nothing of t: take method.name: "
            f"{' or '.join(method.alternatives)}, or a larger t"
        )
    return "verification failed; nothing was published\n" + "\n".join(lines)


def _cut_key_ranges(results: list[RegionResult]) -> list[KeyRangeInput]:
    """Key ranges of about as many classes each: as many as regions, but of small regions fewer."""
    ends = sorted((r.splitters[0], r.splitters[-1], number) for number, r in enumerate(results))
    picked = sorted(key for result in results for key in result.splitters)
    n_records = sum(result.n_records for result in results)
    n_ranges = min(len(results), max(FEW_RANGES, n_records // RANGE_RECORDS))
    cuts = sorted({picked[len(picked) * i // n_ranges] for i in range(1, n_ranges)})
    return [
        KeyRangeInput(low, high, tuple(_find_overlapping(ends, low, high)))
        for low, high in pairwise([None, *cuts, None])
    ]


def _find_overlapping(ends: list[tuple[Any, Any, int]], low: Any, high: Any) -> list[int]:
    """Numbers of the regions that may have classes in a key range: the others are not opened."""
    n_begun = len(ends) if high is None else bisect_left(ends, high, key=lambda end: end[0])
    return sorted(number for _, last, number in ends[:n_begun] if low is None or last >= low)


def _check_range_order(key_ranges: list[KeyRangeResult]) -> None:
    """No class may lie in two key ranges, or its records were counted apart."""
    ends = [(s.first, s.last) for s in key_ranges if s.first is not None and s.last is not None]
    for (_, last), (first, _) in pairwise(ends):
        if not last < first:
            raise VerificationError("classes are not in order across key ranges; nothing published")


def _count_changes(context: PassContext, plan: Plan, n_ranges: int) -> dict[str, int]:
    """Per confidential attribute, values that more or fewer rows have than the table."""
    items = [
        CompareInput(a, first, last, n_ranges)
        for a, table in enumerate(load_distributions(context.workspace, plan))
        for first, last in pairwise([*range(0, max(1, table.values.size), COMPARED_VALUES), None])
    ]
    counted = context.map(COMPARE_TASK, items)
    changes = dict.fromkeys((e.column.name for e in plan.confidential), 0)
    for item, n_changed in zip(items, counted, strict=True):
        changes[plan.confidential[item.attribute].column.name] += n_changed
    return changes


VERIFY = Pass(
    "verify",
    "Check every class as it is to be released.",
    reads=(
        PARTITIONS,
        INPUT_SUMMARY,
        PLAN,
        JOINTS,
        DISTRIBUTIONS,
        REGIONS,
        REGION_RESULTS,
        CLASS_TYPES,
        CLASSES,
        CLASS_CODES,
        CLASS_PASSTHROUGH,
        MERGED_PERSON_VALUES,
        PERSON_SHARES,
        PERSON_DIGEST,
        DRAWN_KEY,
        SERIES,
        REGISTERED,
        REGISTERED_ROWS,
        REGISTERED_TABLES,
        WINDOW_PERSONS,
        OWN_PERSONS,
        NUMBERED,
        WIDE,
        WIDE_ENDS,
        WIDE_SIZES,
    ),
    writes=(KEY_RANGES, CLASS_PROFILE, VERDICT, SERIES_VERDICT),
    tasks=(VERIFY_TASK, COMPARE_TASK, TRACE_TASK, JUDGE_TASK),
    own=JOINED_RANGES,
    work=verify,
)
