"""The frame of a run that publishes: its lease, its name, and how it is left when it ends.

What a run is named by is content: digests of the input's files, policy, seed, and the versions of
what its bytes depend on. So a second run of the same finds the release, or the pieces of it that
were finished. Pieces are gone on with by the same sources only: a release id is none of a working
file's form.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tclose.data.files import input_files
from tclose.data.files.inspection import FileContent
from tclose.data.places.process_limits import add_place
from tclose.errors import PolicyError, TcloseError, VerificationError
from tclose.policy.policy import Policy
from tclose.releases.lineage.run_events import Lineage, import_client
from tclose.releases.provenance import byte_versions, library_versions, source_digest
from tclose.releases.repository.repository import (
    ReleaseRepository,
    is_intact,
    make_release_id,
    read_internal,
)
from tclose.releases.series.rewriting import finish_rewriting
from tclose.releases.series.series_history import SeriesWindow, check_number, find_window
from tclose.releases.signatures.manifest_signature import find_signer
from tclose.runtime.artifacts.artifacts import Artifact, Workspace
from tclose.runtime.engines.engine import Engine, open_engine
from tclose.runtime.engines.scheduler import check_scheduler
from tclose.runtime.engines.versions import check_registered
from tclose.runtime.monitoring import lineage_events
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Pipeline, run_pipeline
from tclose.runtime.run import INSPECTION, Run, read_schema, repository_of
from tclose.runtime.safe_errors import to_safe_error
from tclose.runtime.strictness import refuse_warnings

SOURCES = Artifact("sources", str)  # digest of the code that working files are of
SERIES_WINDOW = Artifact("series-window", SeriesWindow)  # that working files were made for
PERSON_KEY_ID = Artifact("person-key-id", str)  # of the key that their hashes are of

FindKeyId = Callable[[Policy, bytes], str]  # of the key of a policy's persons, by the release key

REFUSED = PolicyError.exit_code
CRASHED = TcloseError.exit_code
# Keys of a policy that decide nothing of what is in a release.
_ASIDE: dict[str, Any] = {"engine": True, "output": {"path", "signing_key"}}


@contextlib.contextmanager
def open_run(
    policy: Policy,
    progress: Progress,
    pipeline: Pipeline,
    find_key_id: FindKeyId,
    *,
    flow_run: str | None = None,
) -> Iterator[Run]:
    """Take the release's lease, start the engine, inspect the input; clean up as the end demands.

    ``pipeline``: what makes a release. Its beginning, which inspects the input, is run here, in a
    folder of its own, as the release is named by it; what follows is left to the caller's block,
    and its versions are part of the name. ``find_key_id``: working files of another key of persons
    are made again.

    After a refusal (bad policy or data, infeasible, failed verification) nothing is left but, for
    failed runs that had begun, their lineage. After a crash the working files stay, so that the
    next run goes on from there.
    """
    policy.check_confirmed()
    check_scheduler(policy.engine)
    find_signer(policy.output.signing_key)  # one that cannot sign is refused before any work
    repository = repository_of(policy)
    n_bytes = input_files.total_bytes(input_files.find_files(policy.input))
    input_files.check_apart(policy.input, repository.output)
    with _acquire_leases(policy, repository, progress) as held:
        held.open_work()
        try:
            with contextlib.ExitStack() as cluster:
                with progress.timing("start"):
                    import_client()  # while the process that workers are forked from starts
                    engine = cluster.enter_context(open_engine(policy.engine, n_bytes))
                check_registered(policy, engine.ask)
                unnamed = Run(policy, "", held.work_folder("inspect"), engine)
                contents = _inspect(pipeline, unnamed, progress)
                versions = byte_versions(policy, pipeline.after(INSPECTION).versions)
                run = _begin(policy, held, contents, engine, versions, find_key_id, progress)
                run = replace(run, flow_run=flow_run, versions=versions)
                if not run.is_published:
                    lineage = Lineage(policy, _name_input(held, contents), flow_run)
                    schema = read_schema(policy, contents[0].schema)
                    lineage_events.begin(run.workspace, lineage, schema, progress)
                try:
                    yield run
                except Exception as error:
                    add_place(error, run.root)
                    _abandon(run, error, progress)
                    raise
                except BaseException:  # an interrupt; what was done is gone on with
                    _interrupt(run, progress)
                    raise
                if not run.is_published:
                    raise VerificationError("the run ended before its release was published")
        finally:
            held.leave_work()


@contextlib.contextmanager
def _acquire_leases(
    policy: Policy, repository: ReleaseRepository, progress: Progress
) -> Iterator[ReleaseRepository]:
    """Take the lease of the name, and that of the series where it has another one.

    A series is claimed by the lease of its name, so that one run at a time adds a release to it.
    """
    seconds = policy.engine.lease_seconds
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(repository.acquire_lease(seconds, progress.info))
        if policy.privacy.over_time is not None and policy.series_name != policy.name:
            of_series = replace(repository, name=policy.series_name)
            claimed = stack.enter_context(of_series.acquire_lease(seconds, progress.info))
            held = replace(held, beside=claimed)
        if policy.privacy.over_time is not None:
            series = held.beside or held
            series.fence_beside(held, seconds, progress.info)
            finish_rewriting(series, held, seconds)
        yield held


def _inspect(pipeline: Pipeline, run: Run, progress: Progress) -> list[FileContent]:
    """Run a pipeline's beginning in a folder that is not kept: the run is not named yet."""
    try:
        run_pipeline(pipeline.until(INSPECTION), run, progress)
        return run.workspace.load(INSPECTION)
    finally:
        run.workspace.remove()


def _begin(
    policy: Policy,
    repository: ReleaseRepository,
    contents: list[FileContent],
    engine: Engine,
    versions: Mapping[str, dict[str, int]],
    find_key_id: FindKeyId,
    progress: Progress,
) -> Run:
    """Name the release by its content; find it published, go on with it, or start it."""
    release_id = identify_release(policy, contents, versions, repository.release_key())
    workspace = Workspace(repository.work_folder(release_id))
    beside = repository.beside
    run = Run(
        policy,
        release_id,
        workspace.root,
        engine,
        lease_token=repository.lease_token,
        series_token=None if beside is None else beside.lease_token,
    )
    repository.clear_leftovers(keep=release_id)
    is_published = is_intact(repository.release(release_id))
    _end_stopped(repository, None if is_published else release_id, progress)
    if is_published:
        return _finish_published(run, repository)
    key_id = find_key_id(policy, repository.release_key())
    made_for: dict[Artifact[object], object] = {SOURCES: source_digest(), PERSON_KEY_ID: key_id}
    settings = policy.privacy.over_time
    if settings is not None:
        own = repository.release(release_id)
        made_for[SERIES_WINDOW], _ = find_window(
            repository.output, policy.series_name, settings.window, own=own
        )
    _open_workspace(workspace, made_for)
    workspace.save(INSPECTION, contents)
    return run


def identify_release(
    policy: Policy,
    contents: Sequence[FileContent],
    versions: Mapping[str, dict[str, int]],
    key: bytes,
) -> str:
    """The id of the release that a policy asks for of an input.

    Parameters
    ----------
    versions : of the code that its bytes depend on, by kind and name
    key : the release key
    """
    document = policy.model_dump(mode="json", exclude=_ASIDE)
    document["input"].pop("path")
    content = {
        "inputs": [[c.file.sha256, c.file.n_bytes, c.file.format] for c in contents],
        "policy": document,
        "versions": versions,
        "libraries": library_versions(),
    }
    return make_release_id(key, content)


def _end_stopped(repository: ReleaseRepository, keep: str | None, progress: Progress) -> None:
    """Remove the working files of stopped runs, but of one that is gone on with; say their ends."""
    for root in sorted(repository.work.iterdir()):
        if root.name != keep:
            is_published = is_intact(repository.release(root.name))
            lineage_events.end_stopped(Workspace(root), is_published, progress)
    repository.clear_work(keep=keep)


def _finish_published(run: Run, repository: ReleaseRepository) -> Run:
    """Do what is left of a release that is published: see to a lost pointer, sign it.

    One whose number in its series another release has is refused: they do not hold together.
    """
    policy, release_id = run.policy, run.release_id
    check_number(repository.release(release_id))
    current = repository.current()
    if current is None or not repository.release(current).is_dir():
        repository.set_current(release_id)
    full = read_internal(repository.release(release_id))
    refuse_warnings([] if full is None else full.warnings, policy.engine)
    signer = find_signer(policy.output.signing_key)
    return replace(run, signed_now=signer is not None and repository.sign(release_id, signer))


def _open_workspace(workspace: Workspace, made_for: Mapping[Artifact[object], object]) -> None:
    """Make the working files' folder; what was made for other values in it is made again.

    They are what a release id says nothing of: the sources, the key by which persons are hashed,
    and which other releases of the series there are.
    """
    is_other = any(workspace.find(artifact) != value for artifact, value in made_for.items())
    if workspace.root.exists() and is_other:
        workspace.remove()
    workspace.create()
    for artifact, value in made_for.items():
        workspace.save(artifact, value)


def _abandon(run: Run, error: Exception, progress: Progress) -> None:
    """Leave a failed run as its kind of failure demands.

    A refusal leaves nothing; a failed verification its lineage; a crash that, and what was done.
    Lineage goes to others: it names no partition, which would quote values.
    """
    known = to_safe_error(error, "run")
    lineage = _end_lineage(run, str(known.redacted()), progress)
    if known.exit_code != REFUSED:
        _keep_lineage(run, lineage)
    with contextlib.suppress(TcloseError):  # of a lost lease: the files are another run's now
        run.repository.check_lease()
        run.repository.abandon()
        if known.exit_code != CRASHED and not known.retryable:
            run.workspace.remove()


def _interrupt(run: Run, progress: Progress) -> None:
    """Leave an interrupted run so that it can be gone on with."""
    _keep_lineage(run, _end_lineage(run, "interrupted", progress, aborted=True))
    with contextlib.suppress(TcloseError, OSError):
        run.repository.abandon()


def _end_lineage(
    run: Run, message: str, progress: Progress, *, aborted: bool = False
) -> Lineage | None:
    """Emit how a run has ended; its lineage if that was without a release.

    One that stops after its release was published has made it.
    """
    is_published = is_intact(run.repository.release(run.release_id))
    if is_published and lineage_events.complete(run.workspace, progress):
        return None
    return lineage_events.end(run.workspace, message, progress, aborted=aborted)


def _keep_lineage(run: Run, lineage: Lineage | None) -> None:
    """Keep the lineage of a run that made no release."""
    if lineage is not None:
        with contextlib.suppress(TcloseError):  # which would hide why the run failed
            run.repository.store.write(f"failed/{lineage.run_id}.jsonl", lineage.as_bytes())


def _name_input(repository: ReleaseRepository, contents: list[FileContent]) -> str:
    """A version of the input: another one for other content; without the key it tells nothing."""
    return make_release_id(repository.release_key(), {"inputs": [c.file.sha256 for c in contents]})
