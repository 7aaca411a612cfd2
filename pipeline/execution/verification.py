"""Pass 3: the rows of a release in its order, every class checked as it is released; a verdict."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pipeline.errors import VerificationError
from pipeline.execution.engine import Engine, connect
from pipeline.execution.passes import run_pass, share_evenly
from pipeline.execution.progress import Progress
from pipeline.execution.run import Run, timed_stage
from pipeline.execution.units.comparing import CompareItem, compare_unit
from pipeline.execution.units.regions import RegionResult
from pipeline.execution.units.shared import load_distributions
from pipeline.execution.units.stretches import StretchItem, StretchResult, verify_unit
from pipeline.execution.units.whole import read_stretches
from pipeline.model import Verdict
from pipeline.stages.methods.method import AS_USUAL, WITHOUT_T, Method
from pipeline.stages.plan import Plan
from pipeline.stages.verify import ClassChecks, add_whole, decide
from pipeline.stages.whole_table import check_table
from pipeline.storage.workspace import Workspace

COMPARED_VALUES = 1_000_000  # by a unit


def verify(run: Run, progress: Progress) -> Verdict:
    """Pass 3: the release's rows in canonical order, every class checked as it is released."""
    with timed_stage(run, progress, "verify"), connect(run.address) as engine:
        workspace = run.workspace
        made: Plan = workspace.load("plan")
        results: list[RegionResult] = workspace.load("made")
        items = _cut_stretches(results)
        sizes = share_evenly(made.n_records, len(items))  # stretches are cut to be about equal
        stretches = run_pass(engine, workspace, "verify", verify_unit, items, progress, sizes=sizes)
        _check_stretch_order(stretches)
        checks = [s.checks for s in stretches if s.checks is not None]
        merged = checks[0]
        for other in checks[1:]:
            merged = ClassChecks.merge(merged, other)
        kept = read_stretches(workspace, made.further, len(items))
        whole = check_table(kept, made.further, load_distributions(workspace, made))
        verdict = decide(
            add_whole(merged, whole),
            k=made.k,
            names=tuple(e.column.name for e in made.confidential),
            max_emds=made.judged_emds,
            n_expected=workspace.load("findings").table.n_complete,
            n_changed=_count_changes(engine, workspace, made, len(items), progress),
            further=made.further,
        )
        workspace.save("stretches", stretches)
        workspace.save("verdict", verdict)
    if not verdict.passed:
        raise VerificationError(explain_failures(verdict, made.method))
    return verdict


def explain_failures(verdict: Verdict, method: Method = AS_USUAL) -> str:
    """Why a table may not be published."""
    lines = [f"  {f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    if method.name in WITHOUT_T and any(f.what.startswith("t of ") for f in verdict.failures):
        lines.append(
            f"  {method.name} knows nothing of t: take method.name: microaggregate-and-merge or "
            "t-closeness-first, or a larger t"
        )
    return "verification failed; nothing was published\n" + "\n".join(lines)


def _cut_stretches(results: list[RegionResult]) -> list[StretchItem]:
    """As many stretches as there are regions, of about as many classes each."""
    picked = sorted(key for result in results for key in result.splitters)
    n_stretches = len(results)
    cuts = sorted({picked[len(picked) * i // n_stretches] for i in range(1, n_stretches)})
    return [
        StretchItem(low, high, tuple(_find_overlapping(results, low, high)))
        for low, high in pairwise([None, *cuts, None])
    ]


def _find_overlapping(results: list[RegionResult], low: Any, high: Any) -> Iterator[int]:
    """Numbers of the regions that may have classes in a stretch: the others are not opened."""
    for number, result in enumerate(results):
        first, last = result.splitters[0], result.splitters[-1]
        if (low is None or last >= low) and (high is None or first < high):
            yield number


def _check_stretch_order(stretches: list[StretchResult]) -> None:
    """No class may lie in two stretches, or its records were counted apart."""
    ends = [(s.first, s.last) for s in stretches if s.first is not None and s.last is not None]
    for (_, last), (first, _) in pairwise(ends):
        if not last < first:
            raise VerificationError("classes are not in order across stretches; nothing published")


def _count_changes(
    engine: Engine, workspace: Workspace, made: Plan, n_stretches: int, progress: Progress
) -> dict[str, int]:
    """Per confidential attribute, values that more or fewer rows have than the table."""
    items = [
        CompareItem(a, first, last, n_stretches)
        for a, table in enumerate(load_distributions(workspace, made))
        for first, last in pairwise([*range(0, max(1, table.values.size), COMPARED_VALUES), None])
    ]
    counted = run_pass(engine, workspace, "compare", compare_unit, items, progress)
    changes = dict.fromkeys((e.column.name for e in made.confidential), 0)
    for item, n_changed in zip(items, counted, strict=True):
        changes[made.confidential[item.attribute].column.name] += n_changed
    return changes
