"""The recipe of a release: inspect, summarise, plan, microaggregate, verify, publish.

Each stage takes the run and leaves what the next one needs in the run's workspace, so that a stage
can be called by the command line, by a Prefect task, or again after a crash. Between stages travel
paths and small values only, never a table.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.errors import DataError, InfeasibleError, TcloseError, VerificationError
from pipeline.execution import planning, units
from pipeline.execution.engine import connect, describe_failure, local_address
from pipeline.execution.passes import run_pass
from pipeline.execution.progress import Progress
from pipeline.model import Attribute, Column, Partition, Role, Verdict
from pipeline.settings import Policy
from pipeline.stages.plan import Plan, Region, choose_class_size, locate_region, sample_size
from pipeline.stages.summarise import TableSummary, check_summary, resolve_column
from pipeline.stages.verify import ClassChecks, decide
from pipeline.storage import csv_files, inputs
from pipeline.storage.inputs import FileContent, Reading
from pipeline.storage.lineage import Lineage
from pipeline.storage.manifest import Account, Loss, describe_plan, full_manifest, public_manifest
from pipeline.storage.provenance import code_version
from pipeline.storage.releases import (
    Shelf,
    dump_json,
    find_damage,
    make_release_id,
    read_manifest,
    sync_folder,
)
from pipeline.storage.tables import read_array
from pipeline.storage.workspace import Workspace, write_atomically

STAGES = ("inspect", "summarise", "plan", "microaggregate", "verify", "publish")


@dataclass(frozen=True)
class Run:
    """One run: what is asked, where it works, and on what."""

    policy: Policy
    release_id: str
    root: Path
    address: str

    @property
    def shelf(self) -> Shelf:
        """Where the release goes."""
        return Shelf(Path(self.policy.output.path), self.policy.name)

    @property
    def workspace(self) -> Workspace:
        """The run's working files."""
        return Workspace(self.root)

    @property
    def is_published(self) -> bool:
        """Whether the release stands, whole, and nothing is left to do."""
        return bool(self.release_id) and not self.root.exists()


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    release: Path
    manifest: dict[str, Any]
    was_there: bool
    seconds: dict[str, float]


def run_release(policy: Policy, progress: Progress) -> Outcome:
    """Make and publish the release that a policy asks for, or raise and publish nothing."""
    with open_run(policy, progress) as run:
        was_there = run.is_published
        if not was_there:
            for stage in (summarise, plan, microaggregate, verify, publish):
                stage(run, progress)
        return outcome_of(run, was_there=was_there)


@contextlib.contextmanager
def open_run(policy: Policy, progress: Progress) -> Iterator[Run]:
    """Claim the release, start what it runs on, look at the input; clean up as the end demands.

    After a refusal (bad policy or data, infeasible, failed verification) nothing is left but, for
    failed runs that had begun, their lineage. After a crash the working files stay, so that the
    next run goes on from there.
    """
    shelf = Shelf(Path(policy.output.path), policy.name)
    paths = inputs.find_files(policy.input)
    n_bytes = inputs.total_bytes(paths)
    with shelf.claim():
        scratch = shelf.scratch
        shelf.open_work()
        try:
            with local_address(policy.engine, n_bytes, scratch) as address:
                with progress.timing("inspect"):
                    contents = _inspect(policy, paths, address, progress)
                run = _begin(policy, shelf, contents, address)
                try:
                    yield run
                except Exception as error:
                    _abandon(run, error)
                    raise
                if not run.is_published:
                    raise VerificationError("the run ended before its release was published")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            with contextlib.suppress(OSError):
                (shelf.root / ".work").rmdir()


def _inspect(
    policy: Policy, paths: tuple[str, ...], address: str, progress: Progress
) -> list[FileContent]:
    """Digest and columns of every file. Nothing is kept: the run is not named yet."""
    found: dict[int, FileContent] = {}
    items = [(path, policy.input) for path in paths]
    with connect(address) as engine, progress.following("inspect", len(items)) as step:
        for position, content in engine.run(_inspect_item, items):
            found[position] = content
            step()
    contents = [found[position] for position in range(len(items))]
    inputs.check_same_schema(contents)
    return contents


def _inspect_item(item: tuple[str, Any]) -> FileContent:
    try:
        return inputs.inspect_file(*item)
    except Exception as error:
        raise describe_failure(error, f"file {Path(item[0]).name}") from None


def _begin(policy: Policy, shelf: Shelf, contents: list[FileContent], address: str) -> Run:
    """Name the release by its content; find it published, go on with it, or start it."""
    asked = policy.model_dump(mode="json", exclude={"engine": True, "output": {"path"}})
    asked["input"].pop("path")
    content = {
        "inputs": [[c.file.sha256, c.file.n_bytes, c.file.format] for c in contents],
        "policy": asked,
        "code": code_version(),
    }
    release_id = make_release_id(shelf.release_key(), content)
    workspace = shelf.workspace(release_id)
    run = Run(policy, release_id, workspace.root, address)
    release = shelf.release(release_id)
    manifest = read_manifest(release)
    if manifest is not None and not find_damage(release, manifest):
        if workspace.root.exists():  # stopped between the two last steps: finish
            shelf.set_current(release_id)
            shelf.clear_work()
        return run
    shelf.clear_work(keep=release_id)
    workspace.create()
    workspace.save("inspection", contents)
    return run


def _abandon(run: Run, error: Exception) -> None:
    """Leave a failed run as its kind of failure demands."""
    if not isinstance(error, TcloseError) or error.exit_code == 1:
        return
    if error.exit_code == 3:
        lineage: Lineage = run.workspace.load("lineage") or Lineage(run.policy)
        lineage.fail(str(error))
        folder = run.shelf.root / ".failed"
        folder.mkdir(mode=0o700, exist_ok=True)
        write_atomically(folder / f"{lineage.run_id}.jsonl", lineage.as_bytes())
    run.workspace.remove()


@contextlib.contextmanager
def _stage(run: Run, progress: Progress, name: str) -> Iterator[None]:
    """Time a stage, and keep the time with the run."""
    start = time.perf_counter()
    with progress.timing(name):
        yield
    if run.root.exists():
        run.workspace.save(f"seconds-{name}", time.perf_counter() - start)


def summarise(run: Run, progress: Progress) -> None:
    """Pass 1: summaries of all partitions; refuses data that cannot be used."""
    with _stage(run, progress, "summarise"), connect(run.address) as engine:
        workspace, policy = run.workspace, run.policy
        contents: list[FileContent] = workspace.load("inspection")
        schema = contents[0].schema
        attributes = _released_attributes(policy, schema)
        if workspace.load("lineage") is None:
            lineage = Lineage(policy)
            lineage.start(_read_schema(policy, schema))
            workspace.save("lineage", lineage)
        partitions, types = _type_columns(run, engine, contents, attributes, progress)
        columns = tuple(resolve_column(a, types[a.name]) for a in attributes)
        source = _make_source(policy, schema, columns, partitions)
        items = [(partition, source) for partition in partitions]
        pieces = run_pass(
            engine, workspace, "summarise", units.summarise_unit, items, progress
        )
        findings = planning.merge_summaries(source, pieces)
        check_summary(findings.table, columns, policy.missing)
        workspace.save("partitions", partitions)
        workspace.save("source", source)
        workspace.save("findings", findings)


def _released_attributes(policy: Policy, schema: pa.Schema) -> tuple[Attribute, ...]:
    """The attributes that are read: all but identifiers, in the order of the data's columns."""
    known = {attribute.name: attribute for attribute in policy.resolve_attributes()}
    absent = [name for name in known if name not in schema.names]
    if absent:
        raise DataError(
            f"input {policy.input.path}: has no column {absent[0]!r}, which the policy names"
            f"{_close_to(absent[0], schema.names)}"
        )
    unlisted = [name for name in schema.names if name not in known]
    if unlisted and policy.unlisted == "error":
        raise DataError(
            f"input {policy.input.path}: column {unlisted[0]!r} is not in the policy "
            f"({len(unlisted)} such columns); give it a role, or say unlisted: drop"
        )
    kept = [known[name] for name in schema.names if name in known]
    return tuple(a for a in kept if a.role is not Role.IDENTIFIER)


def _close_to(name: str, names: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _type_columns(
    run: Run, engine: Any, contents: list[FileContent], attributes: Sequence[Attribute],
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
    found = run_pass(engine, run.workspace, "infer", units.infer_unit, items, progress)
    types = {}
    for attribute in attributes:
        counts = csv_files.TextCounts()
        for _, of_chunk in found:
            counts = counts.merge(of_chunk[attribute.name])
        types[attribute.name] = csv_files.infer_type(counts, attribute.kind, attribute.name)
    return inputs.place_partitions(partitions, [n for n, _ in found]), types


def _reading(
    policy: Policy, schema: pa.Schema, names: tuple[str, ...], types: tuple[pa.DataType, ...]
) -> Reading:
    given = policy.input
    return Reading(names, types, tuple(schema.names), given.missing_values, given.delimiter)


def _make_source(
    policy: Policy, schema: pa.Schema, columns: tuple[Column, ...], partitions: tuple[Partition, ...]
) -> units.Source:
    names = tuple(c.name for c in columns)
    n_read = sum(partition.n_records for partition in partitions)
    if not n_read:
        raise DataError(f"input {policy.input.path}: has no records")
    limits = [c.attribute.max_emd for c in columns if c.attribute.max_emd is not None]
    size = choose_class_size(n_read, policy.privacy.k, limits).adjusted if n_read > 1 else 1
    roles = {c.name: c.role for c in columns}
    hard = tuple(n for n in policy.output.partition_by if roles[n] is Role.NON_CONFIDENTIAL)
    return units.Source(
        reading=_reading(policy, schema, names, tuple(c.type for c in columns)),
        columns=columns,
        hard=hard,
        sample_share=min(1.0, sample_size(n_read, size) / n_read),
        seed=policy.seed,
    )


def plan(run: Run, progress: Progress) -> None:
    """The global distributions and subsets, class size, regions; then every record's place."""
    with _stage(run, progress, "plan"), connect(run.address) as engine:
        workspace = run.workspace
        made = decide_plan(run, engine, progress)
        items = [units.EncodeItem(i, p) for i, p in enumerate(workspace.load("partitions"))]
        counts = run_pass(engine, workspace, "encode", units.encode_unit, items, progress)
        histogram = np.array(counts, dtype=np.int64)
        if int(histogram.sum()) != made.n_records:
            raise VerificationError("records were lost between two passes; run again")
        workspace.save("histogram", histogram)


def decide_plan(run: Run, engine: Any, progress: Progress) -> Plan:
    """The plan itself, from the summaries."""
    workspace = run.workspace
    findings = workspace.load("findings")
    planning.distribute(engine, workspace, findings, progress)
    made = planning.make_plan(run.policy, workspace, findings)
    workspace.save("plan", made)
    return made


def microaggregate(run: Run, progress: Progress) -> None:
    """Pass 2: classes of every region. Regions that cannot mend all of theirs are joined."""
    with _stage(run, progress, "microaggregate"), connect(run.address) as engine:
        workspace = run.workspace
        made: Plan = workspace.load("plan")
        histogram = workspace.load("histogram")
        regions = list(made.regions())
        while True:
            items = [
                units.RegionItem(region, *locate_region(made, region, histogram))
                for region in regions
            ]
            results = run_pass(
                engine,
                workspace,
                "microaggregate",
                units.microaggregate_unit,
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
    with _stage(run, progress, "verify"), connect(run.address) as engine:
        workspace = run.workspace
        made: Plan = workspace.load("plan")
        regions: list[Region] = workspace.load("regions")
        results: list[units.RegionResult] = workspace.load("made")
        items = _cut_stretches(regions, results)
        stretches = run_pass(engine, workspace, "verify", units.verify_unit, items, progress)
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
    regions: list[Region], results: list[units.RegionResult]
) -> list[units.StretchItem]:
    names = tuple(region_name(region) for region in regions)
    picked = sorted(key for result in results for key in result.splitters)
    n_stretches = len(regions)
    cuts = sorted({picked[len(picked) * i // n_stretches] for i in range(1, n_stretches)})
    ends = [None, *cuts, None]
    return [
        units.StretchItem(low, high, names) for low, high in zip(ends, ends[1:], strict=False)
    ]


def _check_stretch_order(stretches: list[units.StretchResult]) -> None:
    """No class may lie in two stretches, or its records were counted apart."""
    ends = [(s.first, s.last) for s in stretches if s.first is not None and s.last is not None]
    for (_, last), (first, _) in zip(ends, ends[1:], strict=False):
        if not last < first:
            raise VerificationError("classes are not in order across stretches; nothing published")


def _count_changes(workspace: Workspace, made: Plan, n_stretches: int) -> dict[str, int]:
    """Per confidential attribute, values that more or fewer rows have than the table."""
    changes = {}
    distributions = units.load_distributions(workspace, made)
    for a, (encoding, table) in enumerate(zip(made.confidential, distributions, strict=True)):
        released = np.zeros(table.values.size, dtype=np.int64)
        for index in range(n_stretches):
            path = workspace.unit("verify", index).path(f"counts{a}")
            if path.exists():
                rows = read_array(path)
                released[rows["value"]] += rows["count"]
        changes[encoding.column.name] = int(np.count_nonzero(released != table.counts))
    return changes


def publish(run: Run, progress: Progress) -> None:
    """Write the files, stage them with manifest and lineage, then switch: all or nothing."""
    with _stage(run, progress, "publish"), connect(run.address) as engine:
        workspace = run.workspace
        verdict: Verdict | None = workspace.load("verdict")
        if verdict is None or not verdict.passed:
            raise VerificationError("no verdict, no release: the run was not verified")
        made: Plan = workspace.load("plan")
        items = _cut_files(made, workspace.load("stretches"))
        files = run_pass(engine, workspace, "publish", units.write_unit, items, progress)
        if sum(file.rows for file in files) != verdict.n_records:
            raise VerificationError("the files hold another number of rows; nothing was published")
    account = _give_account(run, made, verdict, files)
    staging = _stage_release(run, account, files)
    run.shelf.commit(staging, run.release_id)
    run.shelf.set_current(run.release_id)
    run.shelf.clear_work()


def _cut_files(made: Plan, stretches: list[units.StretchResult]) -> list[units.FileItem]:
    """The release's files: for each folder its rows in order, ``rows_per_file`` at a time."""
    rows_of: dict[tuple[Any, ...], list[tuple[int, int, int]]] = {}
    for index, stretch in enumerate(stretches):
        start = 0
        for prefix, n_rows in stretch.segments:
            rows_of.setdefault(prefix, []).append((index, start, start + n_rows))
            start += n_rows
    columns = tuple(name for name in made.released if name not in made.partition_by)
    items = []
    for prefix, pieces in rows_of.items():
        folder = "/".join(("data", *_folder_names(made, prefix)))
        for number, part in enumerate(_split_pieces(pieces, made.rows_per_file)):
            items.append(units.FileItem(f"{folder}/part-{number:05d}.parquet", part, columns))
    return items


def _folder_names(made: Plan, prefix: tuple[Any, ...]) -> list[str]:
    from urllib.parse import quote

    encodings = units.key_encodings(made)[: len(prefix)]
    names = []
    for encoding, key in zip(encodings, prefix, strict=True):
        value = encoding.decode(np.array([key]))[0].as_py()
        text = str(value).lower() if isinstance(value, bool) else str(value)
        names.append(f"{quote(encoding.column.name, safe=' ')}={quote(text, safe=' ')}")
    return names


def _split_pieces(
    pieces: list[tuple[int, int, int]], rows_per_file: int
) -> list[tuple[tuple[int, int, int], ...]]:
    files: list[list[tuple[int, int, int]]] = [[]]
    room = rows_per_file
    for index, start, stop in pieces:
        while start < stop:
            if room == 0:
                files.append([])
                room = rows_per_file
            taken = min(room, stop - start)
            files[-1].append((index, start, start + taken))
            start += taken
            room -= taken
    return [tuple(file) for file in files]


def _give_account(
    run: Run, made: Plan, verdict: Verdict, files: list[units.FileResult]
) -> Account:
    workspace = run.workspace
    results: list[units.RegionResult] = workspace.load("made")
    sums = np.sum([result.losses for result in results], axis=0)
    losses = (sums / verdict.n_records).tolist()
    names = [e.column.name for e in made.encodings]
    seconds = {stage: workspace.load(f"seconds-{stage}") for stage in STAGES}
    return Account(
        release_id=run.release_id,
        policy=run.policy,
        plan=made,
        verdict=verdict,
        loss=Loss(sum(losses) / len(losses), dict(zip(names, losses, strict=True))),
        files=tuple(
            {"path": f.path, "rows": f.rows, "bytes": f.bytes, "sha256": f.sha256} for f in files
        ),
        inputs=tuple(content.file for content in workspace.load("inspection")),
        n_read=workspace.load("findings").table.n_read,
        n_repaired=sum(result.n_repaired for result in results),
        seconds={stage: value for stage, value in seconds.items() if value is not None},
        published_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _stage_release(run: Run, account: Account, files: list[units.FileResult]) -> Path:
    """The whole release in a folder beside its place, forced to disk."""
    staging = run.root / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    for index, file in enumerate(files):
        place = staging / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        _place_file(run.workspace.unit("publish", index).path("parquet"), place)
    lineage = _complete_lineage(run, account)
    internal = staging / "internal"
    internal.mkdir(mode=0o700)
    details = describe_plan(account.plan, account.n_repaired)
    write_atomically(internal / "plan.json", dump_json(details))
    write_atomically(internal / "lineage.jsonl", lineage.as_bytes())
    full = full_manifest(account, {"lineage_run": lineage.run_id})
    write_atomically(internal / "manifest.json", dump_json(full))
    write_atomically(staging / "manifest.json", dump_json(public_manifest(account)), mode=0o644)
    for folder, _, _ in os.walk(staging, topdown=False):
        sync_folder(Path(folder))
    return staging


def _place_file(written: Path, place: Path) -> None:
    """Give a written file its place and its permissions, and force it to disk."""
    shutil.copyfile(written, place) if not _link(written, place) else None
    place.chmod(0o644)
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _link(written: Path, place: Path) -> bool:
    try:
        os.link(written, place)
    except OSError:
        return False
    return True


def _complete_lineage(run: Run, account: Account) -> Lineage:
    lineage: Lineage = run.workspace.load("lineage")
    columns = public_manifest(account)["columns"]
    lineage.complete(
        _read_schema(run.policy, run.workspace.load("inspection")[0].schema),
        account.release_id,
        account.verdict,
        {column["name"]: column["type"] for column in columns},
        sum(file["bytes"] for file in account.files),
        len(account.files),
    )
    return lineage


def _read_schema(policy: Policy, schema: pa.Schema) -> pa.Schema:
    """The columns that the policy names."""
    return pa.schema([field for field in schema if field.name in policy.attributes])


def outcome_of(run: Run, *, was_there: bool) -> Outcome:
    """What a finished run, or an earlier one, has published."""
    release = run.shelf.release(run.release_id)
    manifest = read_manifest(release)
    full = read_manifest(release / "internal")
    if manifest is None or full is None:
        raise VerificationError(f"release {run.release_id}: has no manifest")
    return Outcome(release, manifest, was_there, full["seconds"])


def decide_only(policy: Policy, scratch: Path, progress: Progress) -> tuple[Plan, TableSummary]:
    """The plan and pass 1's findings, made in a scratch folder; nothing is published."""
    paths = inputs.find_files(policy.input)
    with local_address(policy.engine, inputs.total_bytes(paths), scratch / "dask") as address:
        contents = _inspect(policy, paths, address, progress)
        run = Run(policy, "plan", scratch / "work", address)
        run.workspace.create()
        run.workspace.save("inspection", contents)
        summarise(run, progress)
        with connect(address) as engine:
            made = decide_plan(run, engine, progress)
        return made, run.workspace.load("findings").table


