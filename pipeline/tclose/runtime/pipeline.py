"""A run as a value: passes that say what they read and write, checked when they are put together.

After rechunker's stages and executors: a pipeline knows no engine, and what runs it knows nothing
of microdata.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tclose.runtime import lineage_events
from tclose.runtime.artifacts import Artifact, Workspace
from tclose.runtime.engines.engine import Engine, connect
from tclose.runtime.progress import Progress
from tclose.runtime.run import Run, seconds_of
from tclose.runtime.tasks import Item, Result, Task, run_tasks

T = TypeVar("T")


@dataclass(frozen=True)
class Pass:
    """One pass: the artifacts that it reads and writes, and its work.

    ``optional``: artifacts that it writes where there is something to say. ``version``: of what it
    makes of a release's bytes, raised when they change; part of the release's id.
    """

    name: str
    about: str
    reads: tuple[Artifact[Any], ...]
    writes: tuple[Artifact[Any], ...]
    work: Callable[["PassContext"], None]
    optional: tuple[Artifact[Any], ...] = ()
    version: int = 1


@dataclass(frozen=True)
class Pipeline:
    """Passes in their order, each of which reads what was given or written before it.

    Raises
    ------
    ValueError
        A pass reads what nobody wrote before, or writes what another one wrote.
    """

    given: tuple[Artifact[Any], ...]
    passes: tuple[Pass, ...]

    def __post_init__(self) -> None:
        """Check that what is read was written before."""
        known = {artifact.name for artifact in self.given}
        for one in self.passes:
            for artifact in one.reads:
                if artifact.name not in known:
                    raise ValueError(f"{one.name} reads {artifact.name}, which is not written yet")
            for artifact in (*one.writes, *one.optional):
                if artifact.name in known:
                    raise ValueError(f"{one.name} writes {artifact.name}, which is there already")
                known.add(artifact.name)

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


@dataclass(frozen=True)
class PassContext:
    """The context of a pass's work: the artifacts that it declares, an engine, and progress."""

    of: Pass
    run: Run
    engine: Engine
    progress: Progress

    @property
    def workspace(self) -> Workspace:
        """The run's working files."""
        return self.run.workspace

    def read(self, artifact: Artifact[T]) -> T:
        """Return an artifact that the pass reads.

        Raises
        ------
        LookupError
            The pass does not declare it.
        OutputError
            It is missing or damaged.
        """
        self._check(artifact, self.of.reads)
        return self.workspace.load(artifact)

    def find(self, artifact: Artifact[T]) -> T | None:
        """Return an artifact that the pass reads; None where there is none, or it is damaged."""
        self._check(artifact, self.of.reads)
        return self.workspace.find(artifact)

    def write(self, artifact: Artifact[T], value: T) -> None:
        """Keep an artifact that the pass writes."""
        self._check(artifact, (*self.of.writes, *self.of.optional))
        self.workspace.save(artifact, value)

    def map(
        self,
        task: Task[Item, Result],
        items: Sequence[Item],
        *,
        names: Sequence[str] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> list[Result]:
        """Do a task with all items on the run's engine (see `run_tasks`)."""
        return run_tasks(
            self.engine, self.workspace, task, items, self.progress, names=names, sizes=sizes
        )

    def _check(self, artifact: Artifact[Any], declared: Sequence[Artifact[Any]]) -> None:
        if artifact not in declared:
            raise LookupError(f"pass {self.of.name} does not declare {artifact.name}")


class Runner:
    """Runs passes: one engine for all, and their seconds, lineage and lease in one place.

    Not a dataclass: orchestrators look into those that they are given.
    """

    def __init__(self, run: Run, progress: Progress) -> None:
        """Take what is asked; `opened` connects."""
        self.run, self.progress = run, progress
        self._engine: Engine | None = None

    def execute(self, one: Pass) -> None:
        """Run a pass; what it finished in an earlier run is not done again."""
        if self._engine is None:
            raise RuntimeError("a runner runs passes inside its block")
        if self.run.lease_token is not None:
            self.run.repository.check_lease()  # a run that has lost it works in vain
        start = time.perf_counter()
        with self.progress.timing(one.name):
            one.work(PassContext(one, self.run, self._engine, self.progress))
        if self.run.root.exists():
            self.run.workspace.save(seconds_of(one.name), time.perf_counter() - start)
            lineage_events.heartbeat(self.run.workspace, self.progress)

    @contextlib.contextmanager
    def opened(self) -> Iterator["Runner"]:
        """Connect to the run's engine for the block."""
        with connect(self.run.address) as engine:
            self._engine = engine
            try:
                yield self
            finally:
                self._engine = None


def run_pipeline(pipeline: Pipeline, run: Run, progress: Progress) -> None:
    """Run all passes of a pipeline in this process's thread."""
    with Runner(run, progress).opened() as runner:
        for one in pipeline.passes:
            runner.execute(one)
