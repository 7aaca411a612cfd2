"""The frame of a run: its claim, its working files, and how it is left when it ends.

What a run is named by is content: digests of the input's files, policy, code and seed. So a second
run of the same finds the release, or the pieces of it that were finished.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import PolicyError, TcloseError, VerificationError
from pipeline.execution import events
from pipeline.execution.engine import connect, describe_failure, local_address
from pipeline.execution.progress import Progress
from pipeline.execution.scheduler import check_scheduler
from pipeline.settings import Policy
from pipeline.storage import input_files
from pipeline.storage.claims import Ticket
from pipeline.storage.inspection import FileContent, check_same_schema, inspect_file
from pipeline.storage.lineage import Lineage
from pipeline.storage.places import Place, parse_place
from pipeline.storage.provenance import code_version
from pipeline.storage.releases import (
    Shelf,
    is_whole,
    make_release_id,
    read_internal,
    read_manifest,
)
from pipeline.storage.workspace import Workspace

REFUSED = PolicyError.exit_code
CRASHED = TcloseError.exit_code


@dataclass(frozen=True)
class Run:
    """One run: what is asked, where it works, on what, and of which orchestrator's run it is."""

    policy: Policy
    release_id: str
    root: Path
    address: str
    flow_run: str | None = None
    ticket: Ticket | None = None

    @property
    def shelf(self) -> Shelf:
        """Where the release goes, to be written to under the run's claim."""
        return replace(shelf_of(self.policy), ticket=self.ticket)

    @property
    def workspace(self) -> Workspace:
        """The run's working files."""
        return Workspace(self.root)

    @property
    def is_published(self) -> bool:
        """Whether the release stands, whole, and nothing is left to do."""
        return bool(self.release_id) and not self.root.exists()


def shelf_of(policy: Policy) -> Shelf:
    """Where the releases of a policy go: an absolute path, as workers may stand elsewhere."""
    work = policy.engine.work_path
    output = parse_place(policy.output.path).absolute()
    return Shelf(output, policy.name, None if work is None else Path(work).absolute())


@dataclass(frozen=True)
class Outcome:
    """How a run ended; ``budget``: epsilon of columns whose noise other releases have drawn too."""

    release: Place
    manifest: dict[str, Any]
    was_there: bool
    seconds: dict[str, float]
    current: str | None
    budget: dict[str, float] = field(default_factory=dict)


@contextlib.contextmanager
def open_run(policy: Policy, progress: Progress, *, flow_run: str | None = None) -> Iterator[Run]:
    """Claim the release, start what it runs on, look at the input; clean up as the end demands.

    After a refusal (bad policy or data, infeasible, failed verification) nothing is left but, for
    failed runs that had begun, their lineage. After a crash the working files stay, so that the
    next run goes on from there.
    """
    check_scheduler(policy.engine)
    shelf = shelf_of(policy)
    input_files.check_apart(policy.input, shelf.output)
    paths = input_files.find_files(policy.input)
    n_bytes = input_files.total_bytes(paths)
    with shelf.claim(policy.engine.claim_expiry, progress.say) as held:
        held.open_work()
        try:
            with contextlib.ExitStack() as cluster:
                with progress.timing("start"):
                    address = cluster.enter_context(
                        local_address(policy.engine, n_bytes, held.scratch)
                    )
                with progress.timing("inspect"):
                    contents = inspect_input(policy, paths, address, progress)
                run = replace(_begin(policy, held, contents, address), flow_run=flow_run)
                if not run.is_published:
                    lineage = Lineage(policy, _name_input(held, contents), flow_run)
                    schema = read_schema(policy, contents[0].schema)
                    events.begin(run.workspace, lineage, schema, progress)
                try:
                    yield run
                except Exception as error:
                    _abandon(run, error, progress)
                    raise
                except BaseException:  # an interrupt; what was done is gone on with
                    ended = events.end(run.workspace, "interrupted", progress, aborted=True)
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
    found: dict[int, FileContent] = {}
    items = [(path, policy.input) for path in paths]
    with (
        connect(address) as engine,
        progress.tracing(engine, "inspect"),
        progress.following("inspect", len(items)) as step,
    ):
        for position, content in engine.run(_inspect_item, items, name="inspect"):
            found[position] = content
            step()
    contents = [found[position] for position in range(len(items))]
    check_same_schema(contents)
    return contents


def _inspect_item(item: tuple[str, Any]) -> FileContent:
    try:
        return inspect_file(*item)
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
    run = Run(policy, release_id, workspace.root, address, ticket=shelf.ticket)
    shelf.clear_leftovers(keep=release_id)
    if is_whole(shelf.release(release_id)):
        # A run that was stopped between its two last steps is finished; so is a lost pointer.
        current = shelf.current()
        if workspace.root.exists() or current is None or not shelf.release(current).is_dir():
            shelf.set_current(release_id)
        shelf.clear_work()
        return run
    shelf.clear_work(keep=release_id)
    workspace.create()
    workspace.save("inspection", contents)
    return run


def _abandon(run: Run, error: Exception, progress: Progress) -> None:
    """Leave a failed run as its kind of failure demands.

    A refusal leaves nothing; a failed verification its lineage; a crash that, and what was done.
    Lineage goes to others: it names no partition, which would quote values.
    """
    known = describe_failure(error, "run")
    lineage = events.end(run.workspace, str(known.without_values()), progress)
    if known.exit_code != REFUSED:
        _keep_lineage(run, lineage)
    if known.exit_code != CRASHED and not known.may_pass:
        with contextlib.suppress(TcloseError):  # of a lost claim: the files are another run's now
            run.shelf.check_claim()
            run.workspace.remove()


def _keep_lineage(run: Run, lineage: Lineage | None) -> None:
    """Keep the lineage of a run that made no release."""
    if lineage is not None:
        with contextlib.suppress(TcloseError):  # which would hide why the run failed
            run.shelf.store.write(f"failed/{lineage.run_id}.jsonl", lineage.as_bytes())


@contextlib.contextmanager
def timed_stage(run: Run, progress: Progress, name: str) -> Iterator[None]:
    """Time a stage, and keep the time with the run."""
    if run.ticket is not None:
        run.shelf.check_claim()  # a run that has lost it works in vain
    start = time.perf_counter()
    with progress.timing(name):
        yield
    if run.root.exists():
        run.workspace.save(f"seconds-{name}", time.perf_counter() - start)
        events.go_on(run.workspace, progress)


def outcome_of(run: Run, *, was_there: bool) -> Outcome:
    """What a finished run, or an earlier one, has published."""
    release = run.shelf.release(run.release_id)
    manifest = read_manifest(release)
    full = read_internal(release)
    if manifest is None or full is None:
        raise VerificationError(f"release {run.release_id}: has no manifest")
    seconds = {} if was_there else full["seconds"]
    budget = full.get("epsilon_of_all_draws", {})
    return Outcome(release, manifest, was_there, seconds, run.shelf.current(), budget)


def _name_input(shelf: Shelf, contents: list[FileContent]) -> str:
    """A version of the input: another one for other content; without the key it tells nothing."""
    return make_release_id(shelf.release_key(), {"inputs": [c.file.sha256 for c in contents]})


def read_schema(policy: Policy, schema: pa.Schema) -> pa.Schema:
    """The columns that the policy names."""
    return pa.schema([field for field in schema if field.name in policy.attributes])
