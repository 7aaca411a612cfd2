"""Publication: files, manifest and lineage are staged whole; one step makes a release of them."""

import os
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tclose.data.places.atomic_files import force_to_disk, write_atomically
from tclose.data.places.locations import INTERNAL
from tclose.data.places.untrusted_files import dump_json
from tclose.errors import ConflictError, LostLeaseError, VerificationError
from tclose.passes.compare.comparison import compare_with_input
from tclose.passes.compare.digest_task import DIGEST_KEY, DIGEST_TASK
from tclose.passes.microaggregate.aggregate_task import REGION_RESULTS
from tclose.passes.microaggregate.analyses.workload import WORKLOAD
from tclose.passes.persons.person_sketch import PERSON_SKETCHES
from tclose.passes.plan.describe_plan import describe_plan
from tclose.passes.plan.notices.lost_columns import warn_of_lost
from tclose.passes.plan.notices.noise_history import NOISE_DRAWS, find_late_draws
from tclose.passes.plan.notices.plan_warnings import (
    PLAN_WARNINGS,
    report_warnings,
    warn_of_one_class,
)
from tclose.passes.plan.notices.same_input_warning import warn_of_siblings
from tclose.passes.plan.plan import PLAN
from tclose.passes.publish.analyses_summary import warn_of_unmeasured
from tclose.passes.publish.analysis import describe_clock
from tclose.passes.publish.build_manifest import full_manifest, public_manifest
from tclose.passes.publish.describe_series import plan_series
from tclose.passes.publish.release_record import ReleaseRecord, gather_record, map_register
from tclose.passes.publish.write_task import WRITE_TASK, WRITTEN, FileResult, cut_files
from tclose.passes.series.link_persons import SERIES, SeriesLink, look_up_window
from tclose.passes.series.register_release import REGISTER, SERIES_VERDICT
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS
from tclose.passes.summarise.records import DISTRIBUTIONS, SOURCE
from tclose.passes.suppress.suppress_records import SUPPRESSION, plan_suppression
from tclose.passes.verify.class_profiles import CLASS_PROFILE
from tclose.passes.verify.key_range_task import KEY_RANGES, RELEASED
from tclose.passes.verify.verdict import VERDICT
from tclose.releases.lineage.run_events import Lineage
from tclose.releases.manifest.internal_manifest import MadeBy
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.provenance import who
from tclose.releases.report.internal_report import write_internal_report
from tclose.releases.signatures.manifest_signature import SIGNATURE_FILE, find_signer
from tclose.releases.signatures.seals import REGISTER_FILE, REPORT, SEAL_FILE, seal_files
from tclose.runtime.monitoring import lineage_events
from tclose.runtime.monitoring.lineage_events import COMPLETED, LINEAGE
from tclose.runtime.pipeline import Pass, PassContext
from tclose.runtime.run import INSPECTION, SECONDS, Run, read_schema
from tclose.runtime.safe_errors import to_safe_error

# File systems force what several threads ask for to disk in one go.
SYNC_THREADS = 16
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH


def publish(context: PassContext) -> None:
    """Write the files, stage them with manifest and lineage, then switch: all or nothing.

    Raises
    ------
    VerificationError
        There is no passed verdict, or the files are not what was verified.
    """
    run, verdict, plan = context.run, context.find(VERDICT), context.read(PLAN)
    if verdict is None or not verdict.passed:
        raise VerificationError("no verdict, no release: the run was not verified")
    unplanned = warn_of_one_class(plan, verdict)
    report_warnings(unplanned, run.policy.engine, context.progress)
    items = cut_files(plan, context.read(KEY_RANGES))
    sizes = [sum(stop - start for _, start, stop in item.pieces) for item in items]
    files = context.map(WRITE_TASK, items, sizes=sizes)
    if sum(file.rows for file in files) != verdict.n_records:
        raise VerificationError("the files hold another number of rows; nothing was published")
    compared = compare_with_input(context, plan, [file.digest for file in files])
    draws, drawn_meanwhile = find_late_draws(run, plan)
    record = gather_record(run, plan, verdict, files, compared, draws)
    late_warnings = (
        *drawn_meanwhile,
        *warn_of_unmeasured(record.utility),
        *_warn_of_lost(record),
        *warn_of_siblings(record.siblings),
    )
    report_warnings(late_warnings, run.policy.engine, context.progress)
    if wrong_clock := describe_clock(record.previous, record.published_at):
        context.progress.warn(wrong_clock)
    record = replace(record, warnings=(*context.read(PLAN_WARNINGS), *unplanned, *late_warnings))
    public, documents = public_manifest(record)
    lineage = _complete_lineage(run, record, public)
    staging = _stage_files(run, files)
    _write_internal(run, record, public, lineage, staging / INTERNAL)
    _write_public(run, public, documents, staging)
    _force_folders(staging)
    _check_series(run, context.read(SERIES))
    context.write(COMPLETED, lineage)
    run.repository.commit(staging, run.release_id)
    _make_current(run)
    lineage_events.report(lineage, context.progress)
    run.repository.clear_work()


def _warn_of_lost(record: ReleaseRecord) -> Iterator[PlanWarning]:
    """Find columns of which next to nothing is left; where all are lost, that has been told."""
    plan = record.plan
    if record.verdict.sizes.n_classes > len(plan.release_partitions):
        losses = list(record.loss.per_attribute.values())  # in the plan's order
        yield from warn_of_lost(plan.encodings, losses)


def _check_series(run: Run, series: tuple[SeriesLink, ...]) -> None:
    """See that no other release of the series was published since this one was made.

    Raises
    ------
    ConflictError
        One was: what was verified is not what would be published.
    """
    if series and look_up_window(run)[0] != series[0].window:
        raise ConflictError(
            f"commit conflict: another release of series {series[0].window.series!r} was published "
            "meanwhile; nothing was published; run again"
        )


def _make_current(run: Run) -> None:
    """Move CURRENT to the release, which is published by now."""
    try:
        run.repository.set_current(run.release_id)
    except LostLeaseError:
        raise LostLeaseError(
            f"release {run.policy.name!r}: was published, but another run has taken the lease over "
            "before CURRENT was moved to it; run again when the other has ended"
        ) from None
    except Exception as error:
        known = to_safe_error(error, "CURRENT")
        raise type(known)(
            f"release {run.policy.name!r}: was published, but CURRENT was not moved to it; run "
            f"again ({known})"
        ) from None


def _stage_files(run: Run, files: list[FileResult]) -> Path:
    """The release's data in a folder beside its place, forced to disk."""
    staging = run.repository.staging(run.release_id)
    shutil.rmtree(staging, ignore_errors=True)
    for file in files:
        (staging / file.path).parent.mkdir(parents=True, exist_ok=True)
    written = [run.workspace.file(WRITTEN, i) for i in range(len(files))]
    with ThreadPoolExecutor(SYNC_THREADS) as pool:
        list(pool.map(_place_file, written, [staging / file.path for file in files]))
    return staging


def _write_internal(
    run: Run, record: ReleaseRecord, public: Manifest, lineage: Lineage, internal: Path
) -> None:
    """Write what stays in the house, and the seals of it and of the public manifest."""
    internal.mkdir(mode=0o700)
    made_by = MadeBy(**who(), flow_run=run.flow_run, lineage_run=lineage.run_id)
    full = full_manifest(record, public, made_by)
    inside = {
        "plan.json": dump_json(
            describe_plan(
                record.plan,
                record.warnings,
                plan_series(run.policy, run.workspace.load(SERIES)),
                plan_suppression(run.workspace.load(SUPPRESSION)),
                record.n_repaired,
            ).to_json()
        ),
        "lineage.jsonl": lineage.as_bytes(),
        "manifest.json": dump_json(full.to_json()),
        REPORT: write_internal_report(full).encode(),
    }
    if register := map_register(run):
        write_atomically(internal / REGISTER_FILE, register)
    manifest = dump_json(public.to_json())
    seals = seal_files(run.repository.release_key(), run.release_id, manifest, inside)
    for name, content in (inside | {SEAL_FILE: seals}).items():
        write_atomically(internal / name, content)


def _write_public(run: Run, public: Manifest, documents: dict[str, bytes], staging: Path) -> None:
    """The manifest, its documents, and its signature where there is a key for one."""
    manifest = dump_json(public.to_json())
    for name, content in documents.items():
        write_atomically(staging / name, content, mode=0o644)
    write_atomically(staging / "manifest.json", manifest, mode=0o644)
    if (signer := find_signer(run.policy.output.signing_key)) is not None:
        write_atomically(staging / SIGNATURE_FILE, signer.sign(manifest), mode=0o644)


def _force_folders(staging: Path) -> None:
    """Close the folders to others and force them to disk; their files are there already."""
    folders = [Path(folder) for folder, _, _ in os.walk(staging, topdown=False)]
    for folder in folders:
        _close_to_writers(folder)
    with ThreadPoolExecutor(SYNC_THREADS) as pool:
        list(pool.map(force_to_disk, folders))


def _place_file(written: Path, place: Path) -> None:
    """Give a written file its place, and force it to disk."""
    if not _link(written, place):
        shutil.copyfile(written, place)
    _close_to_writers(place)
    force_to_disk(place)


def _close_to_writers(place: Path) -> None:
    """See that others cannot write, whatever the umask of a flow, a worker or a notebook is."""
    mode = stat.S_IMODE(place.stat().st_mode)
    if mode & _WRITABLE:
        place.chmod(mode & ~_WRITABLE)


def _link(written: Path, place: Path) -> bool:
    try:
        os.link(written, place)
    except OSError:
        return False
    return True


def _complete_lineage(run: Run, record: ReleaseRecord, public: Manifest) -> Lineage:
    lineage = run.workspace.load(LINEAGE)
    lineage.complete(
        read_schema(run.policy, run.workspace.load(INSPECTION)[0].schema),
        record.release_id,
        record.verdict,
        public.columns,
        sum(file.bytes for file in record.files),
        len(record.files),
    )
    return lineage


PUBLISH = Pass(
    "publish",
    "Write the files, then switch: all or nothing.",
    reads=(
        INSPECTION,
        PARTITIONS,
        SOURCE,
        DIGEST_KEY,
        INPUT_SUMMARY,
        PLAN,
        DISTRIBUTIONS,
        NOISE_DRAWS,
        PLAN_WARNINGS,
        PERSON_SKETCHES,
        SERIES,
        SUPPRESSION,
        SERIES_VERDICT,
        REGISTER,
        WORKLOAD,
        REGION_RESULTS,
        KEY_RANGES,
        RELEASED,
        CLASS_PROFILE,
        VERDICT,
        LINEAGE,
        SECONDS,
    ),
    writes=(COMPLETED,),
    tasks=(WRITE_TASK, DIGEST_TASK),
    work=publish,
)
