"""The recipe of a release: inspect, summarise, plan, microaggregate, verify, publish.

Each stage takes the run and leaves what the next one needs in the run's workspace, so that a stage
can be called by the command line, by a Prefect task, or again after a crash. Between stages travel
paths and small values only, never a table.
"""

import contextlib
import socket
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from pipeline.errors import DataError, InfeasibleError, OutputError, VerificationError
from pipeline.execution import planning
from pipeline.execution.engine import Engine, connect, local_address, merge_in_tree
from pipeline.execution.passes import run_pass
from pipeline.execution.progress import Progress
from pipeline.execution.publish import publish
from pipeline.execution.run import (
    Outcome,
    Run,
    inspect_input,
    outcome_of,
    read_schema,
    shelf_of,
    timed_stage,
)
from pipeline.execution.run import open_run as open_frame
from pipeline.execution.units.encoding import EncodeItem, encode_unit
from pipeline.execution.units.reading import infer_unit, summarise_unit
from pipeline.execution.units.regions import RegionItem, RegionResult, microaggregate_unit
from pipeline.execution.units.shared import Source, load_distributions
from pipeline.execution.units.stretches import StretchItem, StretchResult, verify_unit
from pipeline.model import Attribute, Column, Partition, Role, Verdict
from pipeline.settings import Policy
from pipeline.stages.places import locate_region
from pipeline.stages.plan import Plan, Region
from pipeline.stages.subsets import choose_class_size
from pipeline.stages.summarise import (
    TableSummary,
    check_summary,
    find_problems,
    resolve_column,
)
from pipeline.stages.tree import sample_size
from pipeline.stages.verify import ClassChecks, decide
from pipeline.storage import csv_files, inputs
from pipeline.storage.inputs import FileContent, Reading
from pipeline.storage.lineage import Lineage
from pipeline.storage.releases import KEY_FILE
from pipeline.storage.tables import read_array
from pipeline.storage.workspace import Workspace

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


@contextlib.contextmanager
def open_run(policy: Policy, progress: Progress) -> Iterator[Run]:
    """A run in its frame; one that cannot begin is refused at once, a refused one leaves no key."""
    _check_scheduler(policy.engine.scheduler)
    shelf = shelf_of(policy)
    inputs.check_apart(policy.input, shelf.output)
    key = shelf.output / KEY_FILE
    had_key = key.exists()
    try:
        with open_frame(policy, progress) as run:
            yield run
    finally:
        if not had_key and key.exists() and not any(shelf.output.glob("*/.lock")):
            key.unlink()


def _check_scheduler(address: str) -> None:
    """Refuse an address at which nothing listens: Dask would try it for long."""
    if address == "local":
        return
    place = urlsplit(address)
    try:
        socket.create_connection((place.hostname or "", place.port or 0), timeout=5).close()
    except (OSError, ValueError):
        raise DataError(
            f"engine.scheduler {address}: no Dask scheduler answers there; start it, or use local"
        ) from None


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
        _naming_input(run.policy),
    ):
        workspace, policy = run.workspace, run.policy
        contents: list[FileContent] = workspace.load("inspection")
        schema = contents[0].schema
        attributes = _released_attributes(policy, schema)
        if not engine.sees(workspace.root):
            raise OutputError(
                f"output {run.shelf.output}: not every worker sees it; put it, and the input, on "
                "storage that all of them share"
            )
        if workspace.load("lineage") is None:
            lineage = Lineage(policy)
            lineage.start(read_schema(policy, schema))
            workspace.save("lineage", lineage)
        partitions, types = _type_columns(run, engine, contents, attributes, progress)
        columns = tuple(resolve_column(a, types[a.name]) for a in attributes)
        source = _make_source(policy, schema, columns, partitions)
        items = [(partition, source) for partition in partitions]
        pieces = run_pass(
            engine, workspace, "summarise", summarise_unit, items, progress
        )
        findings = planning.merge_summaries(source, pieces)
        _check_findings(findings, partitions, policy.missing)
        workspace.save("partitions", partitions)
        workspace.save("source", source)
        workspace.save("findings", findings)


@contextlib.contextmanager
def _naming_input(policy: Policy) -> Iterator[None]:
    """Say of which input it is where a message speaks of a column."""
    try:
        yield
    except DataError as error:
        if not str(error).startswith(("input ", "file ", "files ")):
            raise DataError(f"input {policy.input.path}: {error}") from None
        raise


def _check_findings(
    findings: planning.Findings, partitions: Sequence[Partition], missing: str
) -> None:
    columns = findings.source.columns
    try:
        check_summary(findings.table, columns, missing)
    except DataError as error:
        pairs = zip(partitions, findings.pieces, strict=True)
        bad = [p for p, piece in pairs if find_problems(piece.table, columns, missing)]
        raise DataError(f"{error}{inputs.name_files(bad, partitions)}") from None


def _released_attributes(policy: Policy, schema: pa.Schema) -> tuple[Attribute, ...]:
    """The attributes that are read: all but identifiers, in the order of the data's columns."""
    known = {attribute.name: attribute for attribute in policy.resolve_attributes()}
    absent = [name for name in known if name not in schema.names]
    if absent:
        named = ", ".join(f"{name!r}{_close_to(name, schema.names)}" for name in absent)
        raise DataError(
            f"input {policy.input.path}: has no column {named}, which the policy names; mend the "
            "name, or take it out"
        )
    unlisted = [name for name in schema.names if name not in known]
    if unlisted and policy.unlisted == "error":
        named = ", ".join(repr(name) for name in unlisted)
        raise DataError(
            f"input {policy.input.path}: column {named} is not in the policy; give it a role, or "
            "say unlisted: drop"
        )
    kept = [known[name] for name in schema.names if name in known]
    return tuple(a for a in kept if a.role is not Role.IDENTIFIER)


def _close_to(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _type_columns(
    run: Run, engine: Engine, contents: list[FileContent], attributes: Sequence[Attribute],
    progress: Progress,
) -> tuple[tuple[Partition, ...], dict[str, pa.DataType]]:  # fmt: skip
    """Partitions with their positions, and the type of each column."""
    schema = contents[0].schema
    if contents[0].file.format == "parquet":
        return inputs.cut_parquet(contents), {a.name: schema.field(a.name).type for a in attributes}
    partitions = inputs.csv_partitions(contents)
    if not partitions:
        raise DataError(f"input {run.policy.input.path}: has no records")
    names = tuple(a.name for a in attributes)
    reading = _reading(run.policy, schema, names, (pa.string(),) * len(names))
    items = [(partition, reading) for partition in partitions]
    found = run_pass(engine, run.workspace, "infer", infer_unit, items, progress)
    types = {
        attribute.name: _infer_type(attribute, partitions, [counts for _, counts in found])
        for attribute in attributes
    }
    return inputs.place_partitions(partitions, [n for n, _ in found]), types


def _infer_type(
    attribute: Attribute,
    partitions: Sequence[Partition],
    found: Sequence[dict[str, csv_files.TextCounts]],
) -> pa.DataType:
    of_chunks = [counts[attribute.name] for counts in found]
    try:
        return csv_files.infer_type(merge_in_tree(csv_files.TextCounts.merge, of_chunks), attribute)
    except DataError as error:
        pairs = zip(partitions, of_chunks, strict=True)
        bad = [p for p, counts in pairs if csv_files.has_texts(counts, attribute)]
        raise DataError(f"{error}{inputs.name_files(bad, partitions)}") from None


def _reading(
    policy: Policy, schema: pa.Schema, names: tuple[str, ...], types: tuple[pa.DataType, ...]
) -> Reading:
    given = policy.input
    return Reading(names, types, tuple(schema.names), given.missing_values, given.delimiter)


def _make_source(
    policy: Policy, schema: pa.Schema, columns: tuple[Column, ...], partitions: tuple[Partition, ...]
) -> Source:
    names = tuple(c.name for c in columns)
    n_read = sum(partition.n_records for partition in partitions)
    if not n_read:
        raise DataError(f"input {policy.input.path}: has no records")
    limits = [c.attribute.max_emd for c in columns if c.attribute.max_emd is not None]
    size = choose_class_size(n_read, policy.privacy.k, limits).adjusted if n_read > 1 else 1
    roles = {c.name: c.role for c in columns}
    hard = tuple(n for n in policy.output.partition_by if roles[n] is Role.NON_CONFIDENTIAL)
    return Source(
        reading=_reading(policy, schema, names, tuple(c.type for c in columns)),
        columns=columns,
        hard=hard,
        sample_share=min(1.0, sample_size(n_read, size) / n_read),
        seed=policy.seed,
    )


def plan(run: Run, progress: Progress) -> None:
    """The global distributions and subsets, class size, regions; then every record's place."""
    with timed_stage(run, progress, "plan"), connect(run.address) as engine:
        workspace = run.workspace
        made = decide_plan(run, engine, progress)
        items = [EncodeItem(i, p) for i, p in enumerate(workspace.load("partitions"))]
        counts = run_pass(engine, workspace, "encode", encode_unit, items, progress)
        histogram = np.array(counts, dtype=np.int64)
        if int(histogram.sum()) != made.n_records:
            raise VerificationError("records were lost between two passes; run again")
        workspace.save("histogram", histogram)


def decide_plan(run: Run, engine: Engine, progress: Progress) -> Plan:
    """The plan itself, from the summaries."""
    workspace = run.workspace
    findings = workspace.load("findings")
    planning.distribute(engine, workspace, findings, progress)
    with _naming_input(run.policy):
        made = planning.make_plan(run.policy, workspace, findings)
    workspace.save("plan", made)
    return made


def microaggregate(run: Run, progress: Progress) -> None:
    """Pass 2: classes of every region. Regions that cannot mend all of theirs are joined."""
    with timed_stage(run, progress, "microaggregate"), connect(run.address) as engine:
        workspace = run.workspace
        made: Plan = workspace.load("plan")
        histogram = workspace.load("histogram")
        regions = list(made.regions())
        while True:
            items = [
                RegionItem(region, *locate_region(made, region, histogram))
                for region in regions
            ]
            results = run_pass(
                engine,
                workspace,
                "microaggregate",
                microaggregate_unit,
                items,
                progress,
                names=[region_name(region) for region in regions],
            )
            joined = _join_failing(regions, [r.n_above for r in results])
            if joined == regions:
                break
            regions = joined
        workspace.save("regions", regions)
        workspace.save("made", results)


def region_name(region: Region) -> str:
    """A region as its files are named."""
    return f"{region.domain:05d}-{region.first_cluster:012d}-{region.last_cluster:012d}"


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
            raise InfeasibleError("a partition cannot be brought within t as one class")
        joined.append(region)
        waiting = above > 0
    if waiting:
        raise InfeasibleError("a partition cannot be brought within t as one class")
    return joined


def verify(run: Run, progress: Progress) -> Verdict:
    """Pass 3: the release's rows in canonical order, every class checked as it is released."""
    with timed_stage(run, progress, "verify"), connect(run.address) as engine:
        workspace = run.workspace
        made: Plan = workspace.load("plan")
        regions: list[Region] = workspace.load("regions")
        results: list[RegionResult] = workspace.load("made")
        items = _cut_stretches(regions, results)
        stretches = run_pass(engine, workspace, "verify", verify_unit, items, progress)
        _check_stretch_order(stretches)
        checks = [s.checks for s in stretches if s.checks is not None]
        merged = checks[0]
        for other in checks[1:]:
            merged = ClassChecks.merge(merged, other)
        verdict = decide(
            merged,
            k=made.k,
            names=tuple(e.column.name for e in made.confidential),
            max_emds=made.max_emds,
            n_expected=workspace.load("findings").table.n_complete,
            n_changed=_count_changes(workspace, made, len(items)),
        )
        workspace.save("stretches", stretches)
        workspace.save("verdict", verdict)
    if not verdict.passed:
        raise VerificationError(explain_failures(verdict))
    return verdict


def explain_failures(verdict: Verdict) -> str:
    """Why a table may not be published."""
    lines = [f"  {f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    return "verification failed; nothing was published\n" + "\n".join(lines)


def _cut_stretches(
    regions: list[Region], results: list[RegionResult]
) -> list[StretchItem]:
    names = tuple(region_name(region) for region in regions)
    picked = sorted(key for result in results for key in result.splitters)
    n_stretches = len(regions)
    cuts = sorted({picked[len(picked) * i // n_stretches] for i in range(1, n_stretches)})
    ends = [None, *cuts, None]
    return [
        StretchItem(low, high, names) for low, high in pairwise(ends)
    ]


def _check_stretch_order(stretches: list[StretchResult]) -> None:
    """No class may lie in two stretches, or its records were counted apart."""
    ends = [(s.first, s.last) for s in stretches if s.first is not None and s.last is not None]
    for (_, last), (first, _) in pairwise(ends):
        if not last < first:
            raise VerificationError("classes are not in order across stretches; nothing published")


def _count_changes(workspace: Workspace, made: Plan, n_stretches: int) -> dict[str, int]:
    """Per confidential attribute, values that more or fewer rows have than the table."""
    changes = {}
    distributions = load_distributions(workspace, made)
    for a, (encoding, table) in enumerate(zip(made.confidential, distributions, strict=True)):
        released = np.zeros(table.values.size, dtype=np.int64)
        for index in range(n_stretches):
            path = workspace.unit("verify", index).path(f"counts{a}")
            if path.exists():
                rows = read_array(path)
                released[rows["value"]] += rows["count"]
        changes[encoding.column.name] = int(np.count_nonzero(released != table.counts))
    return changes


def decide_only(policy: Policy, scratch: Path, progress: Progress) -> tuple[Plan, TableSummary]:
    """The plan and pass 1's findings, made in a scratch folder; nothing is published."""
    paths = inputs.find_files(policy.input)
    with local_address(policy.engine, inputs.total_bytes(paths), scratch / "dask") as address:
        contents = inspect_input(policy, paths, address, progress)
        run = Run(policy, "plan", scratch / "work", address)
        run.workspace.create()
        run.workspace.save("inspection", contents)
        summarise(run, progress)
        with connect(address) as engine:
            made = decide_plan(run, engine, progress)
        return made, run.workspace.load("findings").table


