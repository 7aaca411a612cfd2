"""A run as a value: passes that say what they read and write, checked when they are put together.

As in rechunker, a pipeline is apart from its executor: it knows no engine, and its executor knows
nothing of microdata.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tclose.runtime.artifacts.artifacts import Access, Artifact, Handed, Workspace
from tclose.runtime.engines.engine import Engine
from tclose.runtime.free_memory import free_memory
from tclose.runtime.monitoring import lineage_events
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import SECONDS, Run
from tclose.runtime.tasks import Item, Result, Task, forget_results, run_tasks

T = TypeVar("T")


@dataclass(frozen=True)
class Pass:
    """One pass: the artifacts that it reads and writes, its tasks, and its work.

    ``own``: artifacts that it hands to its own tasks, and nobody else reads. ``version``: of what
    it makes of a release's bytes, raised when they change; part of the release's id.
    """

    name: str
    about: str
    reads: tuple[Handed, ...]
    writes: tuple[Handed, ...]
    work: Callable[["PassContext"], None]
    tasks: tuple[Task[Any, Any], ...] = ()
    own: tuple[Handed, ...] = ()
    version: int = 1

    @property
    def files(self) -> tuple[Handed, ...]:
        """The files that its tasks write."""
        return tuple(file for task in self.tasks for file in task.files)

    @property
    def access(self) -> Access:
        """Artifacts that it and its tasks may read and write."""
        return Access(
            self.name, frozenset(self.reads), frozenset((*self.writes, *self.files, *self.own))
        )


@dataclass(frozen=True)
class Pipeline:
    """Passes in their order, each of which reads what was given or written before it.

    Raises
    ------
    ValueError
        A pass reads what nobody wrote before, or in another form than it was written in, or writes
        what another one wrote.
    """

    given: tuple[Handed, ...]
    passes: tuple[Pass, ...]

    def __post_init__(self) -> None:
        """Check that what is read was written before."""
        written: dict[str, Handed] = {artifact.name: artifact for artifact in self.given}
        taken = set(written)
        for one in self.passes:
            for artifact in one.reads:
                if artifact.name not in written:
                    raise ValueError(f"{one.name} reads {artifact.name}, which is not written yet")
                if artifact != written[artifact.name]:
                    raise ValueError(f"{one.name} reads {artifact.name} as it was not written")
            for artifact in (*one.writes, *one.files, *one.own):
                if artifact.name in taken:
                    raise ValueError(f"{one.name} writes {artifact.name}, which is there already")
                taken.add(artifact.name)
            written |= {artifact.name: artifact for artifact in (*one.writes, *one.files)}

    @property
    def versions(self) -> dict[str, int]:
        """Version of each pass, by its name."""
        return {one.name: one.version for one in self.passes}

    def until(self, artifact: Artifact[Any]) -> "Pipeline":
        """Return the passes up to the one that writes an artifact."""
        for number, one in enumerate(self.passes):
            if artifact in one.writes:
                return Pipeline(self.given, self.passes[: number + 1])
        raise ValueError(f"no pass writes {artifact.name}")

    def after(self, artifact: Artifact[Any]) -> "Pipeline":
        """Return the passes after the one that writes an artifact; what they read is given."""
        before = self.until(artifact)
        written = (w for one in before.passes for w in (*one.writes, *one.files))
        return Pipeline((*self.given, *written), self.passes[len(before.passes) :])


@dataclass(frozen=True)
class PassContext:
    """The context of a pass's work: a run that opens what the pass declares, and progress."""

    of: Pass
    run: Run
    progress: Progress

    @property
    def engine(self) -> Engine:
        """The run's engine."""
        return self.run.engine

    @property
    def workspace(self) -> Workspace:
        """The run's working files."""
        return self.run.workspace

    def read(self, artifact: Artifact[T]) -> T:
        """Return an artifact that the pass reads (see `Workspace.load`)."""
        return self.workspace.load(artifact)

    def find(self, artifact: Artifact[T]) -> T | None:
        """Return an artifact that the pass reads; None where there is none, or it is damaged."""
        return self.workspace.find(artifact)

    def write(self, artifact: Artifact[T], value: T) -> None:
        """Keep an artifact that the pass writes."""
        self.workspace.save(artifact, value)

    def map(
        self,
        task: Task[Item, Result],
        items: Sequence[Item],
        *,
        names: Sequence[str] | None = None,
        sizes: Sequence[int] | None = None,
        is_anew: bool = False,
    ) -> list[Result]:
        """Do a task of the pass with all items on the run's engine (see `run_tasks`).

        ``is_anew``: of items that were done before, too.

        Raises
        ------
        LookupError
            The pass does not declare it.
        """
        if task not in self.of.tasks:
            raise LookupError(f"pass {self.of.name} does not declare task {task.name}")
        if is_anew:
            forget_results(self.workspace, task, names or range(len(items)))
        return run_tasks(
            self.engine, self.workspace, task, items, self.progress, names=names, sizes=sizes
        )


class Runner:
    """Runs passes on a run's engine, and keeps their seconds, lineage and lease in one place.

    Not a dataclass: orchestrators look into those that they are given.
    """

    def __init__(self, run: Run, progress: Progress) -> None:
        self.run, self.progress = run, progress

    def execute(self, one: Pass) -> None:
        """Run a pass; what it finished in an earlier run is not done again."""
        if self.run.lease_token is not None:
            self.run.repository.check_lease()  # a run that has lost it works in vain
        start = time.perf_counter()
        with self.progress.timing(one.name):
            restricted = replace(self.run, access=one.access)
            one.work(PassContext(one, restricted, self.progress))
        free_memory()
        workspace = self.run.workspace
        if workspace.root.exists():
            seconds = workspace.find(SECONDS) or {}
            workspace.save(SECONDS, seconds | {one.name: time.perf_counter() - start})
            lineage_events.heartbeat(workspace, self.progress)


def run_pipeline(pipeline: Pipeline, run: Run, progress: Progress) -> None:
    """Run all passes of a pipeline in this process's thread."""
    run.workspace.create()
    runner = Runner(run, progress)
    for one in pipeline.passes:
        runner.execute(one)
