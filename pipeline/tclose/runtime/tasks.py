"""Tasks: a function over many items, each done once wherever it runs, and gone on with."""

import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from tclose.data.places.process_limits import add_place
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.engines.engine import Engine
from tclose.runtime.free_memory import free_memory
from tclose.runtime.monitoring import lineage_events
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.monitoring.task_shares import SUFFIX, TaskShares, telling
from tclose.runtime.monitoring.work import Work
from tclose.runtime.safe_errors import to_safe_error

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Task(Generic[Item, Result]):
    """A function that is applied to each of many items, on any worker, possibly more than once.

    Attributes
    ----------
    name : str
        Names the folder of its files, and its part of a profile.
    label : str
        What a user reads while it runs.
    function : callable
        Takes the workspace as its pass has it, an item and the files to write; its annotated
        result is kept.
    files : tuple of FileArtifact
        Those that it may write.
    version : int
        Of its result: checkpoints of another version, or of files of another, are not gone on with.
    is_large : bool
        It takes more than others do, which its worker gives back to the system after it.

    Raises
    ------
    ValueError
        A file is named after another task.
    """

    name: str
    label: str
    function: Callable[[Workspace, Item, PendingFiles], Result]
    files: tuple[FileArtifact[Any], ...] = ()
    version: int = 1
    is_large: bool = False

    def __post_init__(self) -> None:
        """Check that its files are its own."""
        if any(file.writer != self.name for file in self.files):
            raise ValueError(f"task {self.name} writes files that are named after another")

    @cached_property
    def result(self) -> Artifact[Result]:
        """The artifact of each item's result."""
        declared = typing.get_type_hints(self.function)["return"]
        forms = (f"{file.name} {file.version}" for file in self.files)
        return Artifact(self.name, declared, ", ".join([str(self.version), *forms]))


@dataclass(frozen=True)
class _Call(Generic[Item]):
    """One item as it travels to a worker."""

    workspace: Workspace
    name: int | str
    item: Item


@dataclass(frozen=True)
class _Runner(Generic[Item, Result]):
    """Runs a task on a worker: its files, then its checkpoint."""

    task: Task[Item, Result]

    def __call__(self, call: _Call[Item]) -> Result:
        files = call.workspace.task_files(self.task.name, call.name)
        try:
            with (
                telling(files.path(SUFFIX)),
                files.pending_files(self.task.files) as pending,
            ):
                result = self.task.function(call.workspace, call.item, pending)
            files.finish(result, tuple(pending.suffixes), self.task.result)
        except Exception as error:
            add_place(error, call.workspace.root)
            raise to_safe_error(error, f"{self.task.name}, task {call.name}") from None
        finally:
            if self.task.is_large:
                free_memory()
        return result


def run_tasks(
    engine: Engine,
    workspace: Workspace,
    task: Task[Item, Result],
    items: Sequence[Item],
    progress: Progress,
    *,
    names: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
) -> list[Result]:
    """Do a task with all items; returns the results in the order of the items.

    What an earlier run finished, and whose files are intact, is not done again. An item is known by
    its number, or by its name where ``names`` are given. ``sizes``: records of each item, by which
    progress is measured; it is measured by items where they are not given.
    """
    known_as: Sequence[int | str] = names or range(len(items))
    results = _find_results(workspace, task, known_as)
    work = _measure_work(len(items), sizes, results)
    waiting = [index for index in range(len(items)) if index not in results]
    calls = [_Call(workspace, known_as[i], items[i]) for i in waiting]
    work.look = _look_at(workspace, task, known_as, sizes, (work, results))
    with (
        progress.tracing(engine, task.name),
        progress.following(task.name, work, label=task.label) as step,
        closing(engine.run(_Runner(task), calls, name=task.name)) as found,
    ):
        for position, result in found:
            results[waiting[position]] = result
            work.records_done += sizes[waiting[position]] if sizes is not None else 0
            step()
            lineage_events.heartbeat(Workspace(workspace.root), progress)
    return [results[index] for index in range(len(items))]


def forget_results(
    workspace: Workspace, task: Task[Any, Any], known_as: Sequence[int | str]
) -> None:
    """Forget that a task was done with some items."""
    for name in known_as:
        workspace.task_files(task.name, name).forget()


def _look_at(
    workspace: Workspace,
    task: Task[Any, Any],
    known_as: Sequence[int | str],
    sizes: Sequence[int] | None,
    begun: tuple[Work, Mapping[int, Any]],
) -> Callable[[], None]:
    """A function that counts the records of tasks that run as far as these have come."""
    work, results = begun
    files = [workspace.task_files(task.name, name) for name in known_as]
    shares = (
        TaskShares(files[0].folder, {one.name: i for i, one in enumerate(files)}) if files else None
    )

    def look() -> None:
        if sizes is not None and shares is not None:
            told = shares.look(results).items()
            work.records_running = sum(int(sizes[position] * share) for position, share in told)

    return look


def _find_results(
    workspace: Workspace, task: Task[Any, Result], known_as: Sequence[int | str]
) -> dict[int, Result]:
    """Results of the items that an earlier run finished, by their position."""
    results: dict[int, Result] = {}
    for index, name in enumerate(known_as):
        checkpoint = workspace.task_files(task.name, name).load_if_valid(task.result)
        if checkpoint is not None:
            results[index] = checkpoint.result
    return results


def _measure_work(n_items: int, sizes: Sequence[int] | None, done_indices: Collection[int]) -> Work:
    if sizes is None:
        return Work(n_items, tasks_before=len(done_indices))
    return Work(
        n_items,
        n_records=sum(sizes),
        tasks_before=len(done_indices),
        records_before=sum(sizes[index] for index in done_indices),
    )


def share_evenly(n_records: int, n_items: int) -> list[int]:
    """Sizes of items that are known to be about equal, but not how large each is: the sum is."""
    return [n_records * (i + 1) // n_items - n_records * i // n_items for i in range(n_items)]


def merge_in_tree(merge: Callable[[Result, Result], Result], values: Iterable[Result]) -> Result:
    """Merge neighbours pair by pair until one is left: an associative merge, in a fixed order."""
    level = list(values)
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [merge(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]
