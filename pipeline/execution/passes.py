"""Passes: a function over many items, each a unit of work that is done once and can be resumed."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.execution import events
from pipeline.execution.engine import Engine, describe_failure
from pipeline.execution.progress import Progress, Work
from pipeline.storage.workspace import Drafts, Workspace

UnitFunction = Callable[[Workspace, Any, Drafts], Any]


@dataclass(frozen=True)
class _Unit:
    """A unit as it travels to a worker."""

    root: Path
    pass_name: str
    name: int | str
    item: Any


def run_pass(  # noqa: PLR0913 (names and sizes say more of the items)
    engine: Engine,
    workspace: Workspace,
    pass_name: str,
    function: UnitFunction,
    items: Sequence[Any],
    progress: Progress,
    *,
    names: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
) -> list[Any]:
    """Results of ``function(workspace, item, drafts)`` for all items, in their order.

    Units that an earlier run finished, and whose files are intact, are not run again. A unit is
    known by its item's number, or by its name where ``names`` are given. ``sizes``: records of each
    item, by which progress is told; it is told by units where they are not given.
    """
    known_as: Sequence[int | str] = names or range(len(items))
    results = _find_results(workspace, pass_name, known_as)
    work = _measure_work(len(items), sizes, results)
    waiting = [index for index in range(len(items)) if index not in results]
    units = [_Unit(workspace.root, pass_name, known_as[i], items[i]) for i in waiting]
    runner = partial(_run_unit, function)
    with progress.tracing(engine, pass_name), progress.following(pass_name, work) as step:
        for position, result in engine.run(runner, units, name=pass_name):
            results[waiting[position]] = result
            work.records_done += sizes[waiting[position]] if sizes is not None else 0
            step()
            events.go_on(workspace, progress)
    return [results[index] for index in range(len(items))]


def _find_results(
    workspace: Workspace, pass_name: str, known_as: Sequence[int | str]
) -> dict[int, Any]:
    """Results of the units that an earlier run finished, by their position."""
    results: dict[int, Any] = {}
    for index, name in enumerate(known_as):
        record = workspace.unit(pass_name, name).find_finished()
        if record is not None:
            results[index] = record.result
    return results


def _measure_work(n_units: int, sizes: Sequence[int] | None, done: Collection[int]) -> Work:
    if sizes is None:
        return Work(n_units, units_before=len(done))
    return Work(
        n_units,
        n_records=sum(sizes),
        units_before=len(done),
        records_before=sum(sizes[index] for index in done),
    )


def share_evenly(n_records: int, n_items: int) -> list[int]:
    """Sizes of items that are known to be about equal, but not how large each is: the sum is."""
    return [n_records * (i + 1) // n_items - n_records * i // n_items for i in range(n_items)]


def _run_unit(function: UnitFunction, unit: _Unit) -> Any:
    workspace = Workspace(unit.root)
    files = workspace.unit(unit.pass_name, unit.name)
    try:
        with files.drafting() as drafts:
            result = function(workspace, unit.item, drafts)
        files.finish(result, tuple(drafts.suffixes))
    except Exception as error:
        raise describe_failure(error, f"{unit.pass_name}, unit {unit.name}") from None
    return result
