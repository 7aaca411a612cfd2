"""Publication: files, manifest and lineage are staged whole; one step makes a release of them."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import VerificationError
from pipeline.execution import events
from pipeline.execution.engine import connect
from pipeline.execution.passes import run_pass
from pipeline.execution.progress import Progress
from pipeline.execution.run import Run, read_schema, timed_stage
from pipeline.execution.units.files import FileItem, FileResult, write_unit
from pipeline.execution.units.regions import RegionResult
from pipeline.execution.units.shared import key_encodings
from pipeline.execution.units.stretches import StretchResult
from pipeline.model import Verdict
from pipeline.stages.keys import folder_name
from pipeline.stages.losses import compared_columns, merge_losses
from pipeline.stages.plan import Plan
from pipeline.stages.refine import merge_rounds
from pipeline.storage.accounts import describe_utility
from pipeline.storage.documents import make_documents
from pipeline.storage.folder_store import sync_folder
from pipeline.storage.lineage import Lineage
from pipeline.storage.manifest import Account, Loss, describe_plan, full_manifest, public_manifest
from pipeline.storage.places import INTERNAL
from pipeline.storage.provenance import who
from pipeline.storage.releases import dump_json
from pipeline.storage.seals import SEAL_FILE, seal_files
from pipeline.storage.workspace import write_atomically

STAGES = ("inspect", "summarise", "plan", "microaggregate", "verify", "publish")


def publish(run: Run, progress: Progress) -> None:
    """Write the files, stage them with manifest and lineage, then switch: all or nothing."""
    with timed_stage(run, progress, "publish"), connect(run.address) as engine:
        workspace = run.workspace
        verdict: Verdict | None = workspace.load("verdict")
        if verdict is None or not verdict.passed:
            raise VerificationError("no verdict, no release: the run was not verified")
        made: Plan = workspace.load("plan")
        items = _cut_files(made, workspace.load("stretches"))
        sizes = [sum(stop - start for _, start, stop in item.pieces) for item in items]
        files = run_pass(engine, workspace, "publish", write_unit, items, progress, sizes=sizes)
        if sum(file.rows for file in files) != verdict.n_records:
            raise VerificationError("the files hold another number of rows; nothing was published")
    account = _give_account(run, made, verdict, files)
    lineage = _complete_lineage(run, account)
    staging = _stage_release(run, account, files, lineage)
    run.shelf.commit(staging, run.release_id)
    run.shelf.set_current(run.release_id)
    run.shelf.clear_work()
    events.tell(lineage, progress)


def _cut_files(made: Plan, stretches: list[StretchResult]) -> list[FileItem]:
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
            items.append(FileItem(f"{folder}/part-{number:05d}.parquet", part, columns))
    return items


def _folder_names(made: Plan, prefix: tuple[Any, ...]) -> list[str]:
    encodings = key_encodings(made)[: len(prefix)]
    return [
        folder_name(encoding.column.name, encoding.decode(np.array([key]))[0].as_py())
        for encoding, key in zip(encodings, prefix, strict=True)
    ]


def _split_pieces(
    pieces: list[tuple[int, int, int]], rows_per_file: int
) -> list[tuple[tuple[int, int, int], ...]]:
    files: list[list[tuple[int, int, int]]] = [[]]
    room = rows_per_file
    for index, start, stop in pieces:
        at = start
        while at < stop:
            if room == 0:
                files.append([])
                room = rows_per_file
            taken = min(room, stop - at)
            files[-1].append((index, at, at + taken))
            at += taken
            room -= taken
    return [tuple(file) for file in files]


def _give_account(run: Run, made: Plan, verdict: Verdict, files: list[FileResult]) -> Account:
    workspace = run.workspace
    results: list[RegionResult] = workspace.load("made")
    lost = merge_losses([result.losses for result in results])
    losses = (lost.squares / verdict.n_records).tolist()
    names = [e.column.name for e in made.encodings]
    seconds = {stage: workspace.load(f"seconds-{stage}") for stage in STAGES}
    return Account(
        release_id=run.release_id,
        policy=run.policy,
        plan=made,
        verdict=verdict,
        loss=Loss(sum(losses) / len(losses), dict(zip(names, losses, strict=True))),
        utility=describe_utility(lost.comparison, compared_columns(made)),
        files=tuple(
            {"path": f.path, "rows": f.rows, "bytes": f.bytes, "sha256": f.sha256} for f in files
        ),
        inputs=tuple(content.file for content in workspace.load("inspection")),
        n_read=workspace.load("findings").table.n_read,
        n_clusters=sum(result.n_clusters for result in results),
        n_repaired=sum(result.n_repaired for result in results),
        rounds=merge_rounds([result.rounds for result in results]),
        seconds={stage: value for stage, value in seconds.items() if value is not None},
        published_at=datetime.now(UTC).isoformat(timespec="seconds"),
        draws=workspace.load("draws") or (),
        levels=tuple(result.levels for result in results if result.levels is not None),
    )


def _stage_release(run: Run, account: Account, files: list[FileResult], lineage: Lineage) -> Path:
    """The whole release in a folder beside its place, forced to disk."""
    staging = run.shelf.staging(run.release_id)
    shutil.rmtree(staging, ignore_errors=True)
    for index, file in enumerate(files):
        place = staging / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        _place_file(run.workspace.unit("publish", index).path("parquet"), place)
    internal = staging / INTERNAL
    internal.mkdir(mode=0o700)
    made_by = who() | {"flow_run": run.flow_run, "lineage_run": lineage.run_id}
    inside = {
        "plan.json": dump_json(describe_plan(account.plan, account.n_repaired)),
        "lineage.jsonl": lineage.as_bytes(),
        "manifest.json": dump_json(full_manifest(account, made_by)),
    }
    public = public_manifest(account)
    manifest = dump_json(public)
    seals = seal_files(run.shelf.release_key(), run.release_id, manifest, inside)
    for name, content in (inside | {SEAL_FILE: seals}).items():
        write_atomically(internal / name, content)
    for name, content in make_documents(public).items():
        write_atomically(staging / name, content, mode=0o644)
    write_atomically(staging / "manifest.json", manifest, mode=0o644)
    for folder, _, _ in os.walk(staging, topdown=False):
        sync_folder(Path(folder))
    return staging


def _place_file(written: Path, place: Path) -> None:
    """Give a written file its place, and force it to disk."""
    if not _link(written, place):
        shutil.copyfile(written, place)
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
    lineage.complete(
        read_schema(run.policy, run.workspace.load("inspection")[0].schema),
        account.release_id,
        account.verdict,
        public_manifest(account)["columns"],
        sum(file["bytes"] for file in account.files),
        len(account.files),
    )
    return lineage
