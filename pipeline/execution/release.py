"""The recipe of a release: inspect, summarise, plan, microaggregate, verify, publish.

Each stage takes the run and leaves what the next one needs in the run's workspace, so that a stage
can be called by the command line, by a Prefect task, or again after a crash. Between stages travel
paths and small values only, never a table.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.errors import DataError, InfeasibleError, OutputError, VerificationError
from pipeline.execution.columns import make_source, naming_input, released_attributes, type_columns
from pipeline.execution.compiling import tell_compiling
from pipeline.execution.distributing import distribute
from pipeline.execution.draws import tell_of_draws
from pipeline.execution.engine import Engine, connect, local_address
from pipeline.execution.estimate import check_memory, tell_short_memory
from pipeline.execution.findings import Findings, merge_summaries
from pipeline.execution.growing import grow_trees
from pipeline.execution.passes import run_pass
from pipeline.execution.planning import make_plan
from pipeline.execution.progress import Progress
from pipeline.execution.publish import publish
from pipeline.execution.run import (
    Outcome,
    Run,
    inspect_input,
    open_run,
    outcome_of,
    timed_stage,
)
from pipeline.execution.scheduler import check_scheduler
from pipeline.execution.units.encoding import EncodeItem, encode_unit
from pipeline.execution.units.reading import summarise_unit
from pipeline.execution.units.regions import RegionResult, microaggregate_unit, place_regions
from pipeline.execution.verification import verify
from pipeline.model import Partition
from pipeline.settings import Policy
from pipeline.stages.columns import resolve_column
from pipeline.stages.places import locate_regions
from pipeline.stages.plan import Plan, Region
from pipeline.stages.refine import merge_rounds
from pipeline.stages.summarise import TableSummary, check_summary, find_problems
from pipeline.storage import input_files
from pipeline.storage.inspection import FileContent
from pipeline.storage.partitions import name_files

__all__ = [
    "Outcome",
    "Run",
    "microaggregate",
    "open_run",
    "outcome_of",
    "plan",
    "publish",
    "run_release",
    "summarise",
    "verify",
]


def run_release(policy: Policy, progress: Progress) -> Outcome:
    """Make and publish the release that a policy asks for, or raise and publish nothing."""
    with open_run(policy, progress) as run:
        was_there = run.is_published
        if not was_there:
            for stage in (summarise, plan, microaggregate, verify, publish):
                stage(run, progress)
        return outcome_of(run, was_there=was_there)


def summarise(run: Run, progress: Progress) -> None:
    """Pass 1: summaries of all partitions; refuses data that cannot be used."""
    with (
        timed_stage(run, progress, "summarise"),
        connect(run.address) as engine,
        naming_input(run.policy),
    ):
        workspace, policy = run.workspace, run.policy
        contents: list[FileContent] = workspace.load("inspection")
        schema = contents[0].schema
        attributes = released_attributes(policy, schema)
        if not engine.sees(workspace.root):
            raise OutputError(
                f"working files {workspace.root.parent}: not every worker sees them; put them, and "
                "the input, on storage that all share (engine.work_path says where they go)"
            )
        partitions, types = type_columns(run, engine, contents, attributes, progress)
        columns = tuple(resolve_column(a, types[a.name]) for a in attributes)
        source = make_source(policy, schema, columns, partitions)
        items = [(partition, source) for partition in partitions]
        sizes = [partition.n_records for partition in partitions]
        pieces = run_pass(
            engine, workspace, "summarise", summarise_unit, items, progress, sizes=sizes
        )
        findings = merge_summaries(source, pieces)
        _check_findings(findings, partitions, policy.missing)
        workspace.save("partitions", partitions)
        workspace.save("source", source)
        workspace.save("findings", findings)


def _check_findings(findings: Findings, partitions: Sequence[Partition], missing: str) -> None:
    columns = findings.source.columns
    try:
        check_summary(findings.table, columns, missing)
    except DataError as error:
        pairs = zip(partitions, findings.pieces, strict=True)
        bad = [p for p, piece in pairs if find_problems(piece.table, columns, missing)]
        raise DataError(f"{error}{name_files(bad, partitions)}") from None


def plan(run: Run, progress: Progress) -> None:
    """The global distributions and subsets, class size, regions; then every record's place."""
    with timed_stage(run, progress, "plan"), connect(run.address) as engine:
        workspace = run.workspace
        made = decide_plan(run, engine, progress)
        tell_of_draws(run, made, progress)
        tell_short_memory(made, engine, progress)
        items = [EncodeItem(i, p) for i, p in enumerate(workspace.load("partitions"))]
        sizes = [item.partition.n_records for item in items]
        counts = run_pass(engine, workspace, "encode", encode_unit, items, progress, sizes=sizes)
        histogram = np.array(counts, dtype=np.int64)
        if int(histogram.sum()) != made.n_records:
            raise VerificationError("records were lost between two passes; run again")
        workspace.save("histogram", histogram)


def decide_plan(run: Run, engine: Engine, progress: Progress) -> Plan:
    """The plan itself, from the summaries."""
    workspace = run.workspace
    findings = workspace.load("findings")
    distribute(engine, workspace, findings, progress)
    with naming_input(run.policy):
        made = make_plan(run.policy, workspace, findings)
        made = grow_trees(engine, workspace, findings, made, progress)
    n_bytes = sum(content.file.n_bytes for content in workspace.load("inspection"))
    check_memory(made, run.policy.engine, n_bytes)
    workspace.save("plan", made)
    return made


def microaggregate(run: Run, progress: Progress) -> None:
    """Pass 2: classes of every region. Regions that cannot mend all of theirs are joined."""
    with timed_stage(run, progress, "microaggregate"), connect(run.address) as engine:
        workspace = run.workspace
        made: Plan = workspace.load("plan")
        histogram = workspace.load("histogram")
        regions = list(made.regions())
        tell_compiling(made, engine, progress)
        while True:
            items = place_regions(workspace, regions, locate_regions(made, regions, histogram))
            results = run_pass(
                engine,
                workspace,
                "microaggregate",
                microaggregate_unit,
                items,
                progress,
                names=[region.name for region in regions],
                sizes=[item.n_records for item in items],
            )
            joined = _join_failing(regions, [r.n_above for r in results])
            if joined == regions:
                break
            regions = joined
        _tell_rounds(made, results, progress)
        workspace.save("regions", regions)
        workspace.save("class_types", [result.class_type for result in results])
        workspace.save("made", results)


def _tell_rounds(made: Plan, results: list[RegionResult], progress: Progress) -> None:
    """Each round's loss, as a mean like eq. (5), and largest distance."""
    n_terms = made.n_records * len(made.encodings)
    for number, found in enumerate(merge_rounds([result.rounds for result in results])):
        what = f"round {number}" if number else "start"
        progress.say(
            f"  {what}: loss {found.loss / n_terms:.3g}, largest EMD {found.largest_emd:.6f}"
        )


def _join_failing(regions: list[Region], n_above: list[int]) -> list[Region]:
    """Each region with classes still above t together with its neighbour of the same domain.

    Raises
    ------
    InfeasibleError
        It has no neighbour left.
    """
    joined: list[Region] = []
    waiting = False
    for region, above in zip(regions, n_above, strict=True):
        if joined and waiting and joined[-1].domain == region.domain:
            joined[-1] = Region(region.domain, joined[-1].first_cluster, region.last_cluster)
            waiting = False
            continue
        if above and joined and joined[-1].domain == region.domain:
            joined[-1] = Region(region.domain, joined[-1].first_cluster, region.last_cluster)
            waiting = False
            continue
        if waiting:
            raise InfeasibleError("a partition cannot meet the policy as one class")
        joined.append(region)
        waiting = above > 0
    if waiting:
        raise InfeasibleError("a partition cannot meet the policy as one class")
    return joined


def decide_only(policy: Policy, scratch: Path, progress: Progress) -> tuple[Plan, TableSummary]:
    """The plan and pass 1's findings, made in a scratch folder; nothing is published."""
    check_scheduler(policy.engine)
    paths = input_files.find_files(policy.input)
    with local_address(policy.engine, input_files.total_bytes(paths), scratch / "dask") as address:
        contents = inspect_input(policy, paths, address, progress)
        run = Run(policy, "plan", scratch / "work", address)
        run.workspace.create()
        run.workspace.save("inspection", contents)
        summarise(run, progress)
        with connect(address) as engine:
            made = decide_plan(run, engine, progress)
        return made, run.workspace.load("findings").table
