"""Passes: a function over many items, each a unit of work that is done once and can be resumed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.execution.engine import Engine, describe_failure
from pipeline.execution.progress import Progress
from pipeline.storage.workspace import Drafts, Workspace

UnitFunction = Callable[[Workspace, Any, Drafts], Any]


@dataclass(frozen=True)
class _Unit:
    """A unit as it travels to a worker."""

    root: Path
    pass_name: str
    name: int | str
    item: Any


def run_pass(
    engine: Engine,
    workspace: Workspace,
    pass_name: str,
    function: UnitFunction,
    items: Sequence[Any],
    progress: Progress,
    *,
    names: Sequence[str] | None = None,
) -> list[Any]:
    """Results of ``function(workspace, item, drafts)`` for all items, in their order.

    Units that an earlier run finished, and whose files are intact, are not run again. A unit is
    known by its item's number, or by its name where ``names`` are given.
    """
    known_as: Sequence[int | str] = names or range(len(items))
    results: dict[int, Any] = {}
    for index, name in enumerate(known_as):
        record = workspace.unit(pass_name, name).find_finished()
        if record is not None:
            results[index] = record.result
    waiting = [index for index in range(len(items)) if index not in results]
    units = [_Unit(workspace.root, pass_name, known_as[i], items[i]) for i in waiting]
    with progress.following(pass_name, len(items), done=len(results)) as step:
        for position, result in engine.run(partial(_run_unit, function), units):
            results[waiting[position]] = result
            step()
    return [results[index] for index in range(len(items))]


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
