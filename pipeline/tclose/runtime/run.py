"""The frame of a run: its lease, its working files, and how it is left when it ends.

What a run is named by is content: digests of the input's files, policy, seed, and the versions of
what its bytes depend on. So a second run of the same finds the release, or the pieces of it that
were finished. Pieces are gone on with by the same sources only: a release id is none of a working
file's form.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tclose.data.files import input_files
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import FileContent, check_same_schema, inspect_file
from tclose.data.files.piece_widths import ReadColumns
from tclose.data.places.locations import Location, parse_location
from tclose.errors import PolicyError, TcloseError, VerificationError
from tclose.model import Role
from tclose.policy.policy import Policy
from tclose.redaction import file_name
from tclose.releases.lineage.run_events import Lineage
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.public_signatures import find_signer
from tclose.releases.provenance import byte_versions, library_versions, source_digest
from tclose.releases.repository import (
    ReleaseRepository,
    is_intact,
    make_release_id,
    read_internal,
    read_manifest,
)
from tclose.releases.stores.lease import LeaseToken
from tclose.runtime import lineage_events
from tclose.runtime.artifacts import Access, Artifact, Workspace
from tclose.runtime.engines.engine import (
    connect,
    least_memory,
    local_address,
    to_safe_error,
)
from tclose.runtime.engines.scheduler import check_scheduler
from tclose.runtime.progress import Progress

INSPECTION = Artifact("inspection", list[FileContent])
SOURCES = Artifact("sources", str)  # digest of the code that working files are of
SECONDS = Artifact("seconds", dict[str, float])  # of each pass that has ended, by its name

REFUSED = PolicyError.exit_code
CRASHED = TcloseError.exit_code
# Keys of a policy that decide nothing of what is in a release.
_ASIDE: dict[str, Any] = {"engine": True, "output": {"path", "signing_key"}}


@dataclass(frozen=True)
class Run:
    """One run: what is asked, where it works, on what, and of which orchestrator's run it is."""

    policy: Policy
    release_id: str
    root: Path
    address: str
    flow_run: str | None = None
    lease_token: LeaseToken | None = None
    signed_now: bool = False  # a release that stood, without a signature by the policy's key
    access: Access | None = None  # of the pass that the run was handed to

    @property
    def repository(self) -> ReleaseRepository:
        """Return the repository of the release, writable under the run's lease."""
        return replace(repository_of(self.policy), lease_token=self.lease_token)

    @property
    def workspace(self) -> Workspace:
        """The run's working files."""
        return Workspace(self.root, self.access)

    @property
    def is_published(self) -> bool:
        """True if the release is published and intact, so that nothing is left to do."""
        return bool(self.release_id) and not self.root.exists()


def repository_of(policy: Policy) -> ReleaseRepository:
    """Return the repository of a policy's releases, by an absolute path for all workers."""
    work = policy.engine.work_path
    output = parse_location(policy.output.path).absolute()
    return ReleaseRepository(output, policy.name, None if work is None else Path(work).absolute())


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    ``budget``: epsilon of columns whose noise other releases have drawn too; ``beside``: other
    releases of the same input files.
    """

    release: Location
    manifest: Manifest
    already_published: bool
    seconds: dict[str, float]
    current: str | None
    budget: dict[str, float] = field(default_factory=dict)
    signed_now: bool = False
    beside: tuple[str, ...] = ()


@contextlib.contextmanager
def open_run(
    policy: Policy, progress: Progress, passes: Mapping[str, int], *, flow_run: str | None = None
) -> Iterator[Run]:
    """Take the release's lease, start the engine, inspect the input; clean up as the end demands.

    ``passes``: versions of those that make the release, by their names; its id has them.

    After a refusal (bad policy or data, infeasible, failed verification) nothing is left but, for
    failed runs that had begun, their lineage. After a crash the working files stay, so that the
    next run goes on from there.
    """
    check_scheduler(policy.engine)
    find_signer(policy.output.signing_key)  # one that cannot sign is refused before any work
    repository = repository_of(policy)
    paths = input_files.find_files(policy.input)
    input_files.check_apart(policy.input, repository.output)
    n_bytes = input_files.total_bytes(paths)
    with repository.acquire_lease(policy.engine.lease_seconds, progress.info) as held:
        held.open_work()
        try:
            with contextlib.ExitStack() as cluster:
                with progress.timing("start"):
                    address = cluster.enter_context(local_address(policy.engine, n_bytes))
                with progress.timing("inspect"):
                    contents = inspect_input(policy, paths, address, progress)
                versions = byte_versions(policy, passes)
                run = _begin(policy, held, contents, address, versions)
                run = replace(run, flow_run=flow_run)
                if not run.is_published:
                    lineage = Lineage(policy, _name_input(held, contents), flow_run)
                    schema = read_schema(policy, contents[0].schema)
                    lineage_events.begin(run.workspace, lineage, schema, progress)
                try:
                    yield run
                except Exception as error:
                    _abandon(run, error, progress)
                    raise
                except BaseException:  # an interrupt; what was done is gone on with
                    ended = lineage_events.end(run.workspace, "interrupted", progress, aborted=True)
                    _keep_lineage(run, ended)
                    raise
                if not run.is_published:
                    raise VerificationError("the run ended before its release was published")
        finally:
            held.leave_work()


def inspect_input(
    policy: Policy, paths: tuple[str, ...], address: str, progress: Progress
) -> list[FileContent]:
    """Digest and columns of every file. Nothing is kept: the run is not named yet."""
    content_of: dict[int, FileContent] = {}
    with (
        connect(address) as engine,
        progress.tracing(engine, "inspect"),
        progress.following("inspect", len(paths), label="reading files") as step,
    ):
        limit = least_memory(policy.engine, input_files.total_bytes(paths), engine)
        items = [(path, policy.input, _wanted(policy, limit)) for path in paths]
        for position, content in engine.run(_inspect_item, items, name="inspect"):
            content_of[position] = content
            step()
    contents = [content_of[position] for position in range(len(items))]
    check_same_schema(contents, policy.attributes)
    return contents


def _wanted(policy: Policy, limit: int | None) -> ReadColumns:
    """The columns that will be read; what gets noise goes along with what classes are made by."""
    passthrough = {
        name
        for name, settings in policy.attributes.items()
        if settings.role is Role.NON_CONFIDENTIAL and name not in policy.output.partition_by
    }
    identifiers = {
        n for n, settings in policy.attributes.items() if settings.role is Role.IDENTIFIER
    }
    held = policy.attributes.keys() - passthrough - identifiers
    return ReadColumns(frozenset(held), frozenset(passthrough), limit)


def _inspect_item(item: tuple[str, InputSettings, ReadColumns]) -> FileContent:
    try:
        return inspect_file(*item)
    except Exception as error:
        raise to_safe_error(error, f"file {file_name(item[0])}") from None


def _begin(
    policy: Policy,
    repository: ReleaseRepository,
    contents: list[FileContent],
    address: str,
    versions: Mapping[str, Any],
) -> Run:
    """Name the release by its content; find it published, go on with it, or start it."""
    document = policy.model_dump(mode="json", exclude=_ASIDE)
    document["input"].pop("path")
    content = {
        "inputs": [[c.file.sha256, c.file.n_bytes, c.file.format] for c in contents],
        "policy": document,
        "versions": versions,
        "libraries": library_versions(),
    }
    release_id = make_release_id(repository.release_key(), content)
    workspace = Workspace(repository.work_folder(release_id))
    run = Run(policy, release_id, workspace.root, address, lease_token=repository.lease_token)
    repository.clear_leftovers(keep=release_id)
    if is_intact(repository.release(release_id)):
        # A run that was stopped between its two last steps is finished; so is a lost pointer.
        current = repository.current()
        if workspace.root.exists() or current is None or not repository.release(current).is_dir():
            repository.set_current(release_id)
        repository.clear_work()
        signer = find_signer(policy.output.signing_key)
        return replace(run, signed_now=signer is not None and repository.sign(release_id, signer))
    repository.clear_work(keep=release_id)
    _open_workspace(workspace)
    workspace.save(INSPECTION, contents)
    return run


def _open_workspace(workspace: Workspace) -> None:
    """Make the working files' folder; what other sources left in it is made again."""
    if workspace.root.exists() and workspace.find(SOURCES) != source_digest():
        workspace.remove()
    workspace.create()
    workspace.save(SOURCES, source_digest())


def _abandon(run: Run, error: Exception, progress: Progress) -> None:
    """Leave a failed run as its kind of failure demands.

    A refusal leaves nothing; a failed verification its lineage; a crash that, and what was done.
    Lineage goes to others: it names no partition, which would quote values.
    """
    known = to_safe_error(error, "run")
    lineage = lineage_events.end(run.workspace, str(known.redacted()), progress)
    if known.exit_code != REFUSED:
        _keep_lineage(run, lineage)
    if known.exit_code != CRASHED and not known.retryable:
        with contextlib.suppress(TcloseError):  # of a lost lease: the files are another run's now
            run.repository.check_lease()
            run.workspace.remove()


def _keep_lineage(run: Run, lineage: Lineage | None) -> None:
    """Keep the lineage of a run that made no release."""
    if lineage is not None:
        with contextlib.suppress(TcloseError):  # which would hide why the run failed
            run.repository.store.write(f"failed/{lineage.run_id}.jsonl", lineage.as_bytes())


def begin_trial(run: Run, contents: list[FileContent]) -> None:
    """Make the working files of a run that publishes nothing."""
    run.workspace.create()
    run.workspace.save(INSPECTION, contents)


def outcome_of(run: Run, *, already_published: bool) -> Outcome:
    """Return the outcome of a finished run, or of an earlier one that published the release."""
    release = run.repository.release(run.release_id)
    manifest = read_manifest(release)
    full = read_internal(release)
    if manifest is None or full is None:
        raise VerificationError(f"release {run.release_id}: has no manifest")
    seconds = {} if already_published else full.seconds
    budget = full.epsilon_of_all_draws
    current = run.repository.current()
    beside = tuple(other.release for other in full.same_input)
    return Outcome(
        release, manifest, already_published, seconds, current, budget, run.signed_now, beside
    )


def _name_input(repository: ReleaseRepository, contents: list[FileContent]) -> str:
    """A version of the input: another one for other content; without the key it tells nothing."""
    return make_release_id(repository.release_key(), {"inputs": [c.file.sha256 for c in contents]})


def read_schema(policy: Policy, schema: pa.Schema) -> pa.Schema:
    """The columns that the policy names."""
    return pa.schema([field for field in schema if field.name in policy.attributes])
