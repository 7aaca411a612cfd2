"""The release as a value: what goes from pass to pass is declared, once, by what writes it."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tclose
from tclose.passes.release import RELEASE
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, Handed
from tclose.runtime.open_run import PERSON_KEY_ID, SERIES_WINDOW, SOURCES
from tclose.runtime.tasks import Task


def constants(kind: type[Any] | tuple[type[Any], ...]) -> Iterator[tuple[str, Any]]:
    """All values of a kind that modules of the package hold, by where they stand."""
    for module in pkgutil.walk_packages(tclose.__path__, "tclose."):
        if module.name.startswith(("tclose.passes.", "tclose.runtime.", "tclose.assess.")):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, kind):
                    yield f"{module.name}.{name}", value


def written() -> list[Handed]:
    """What the release is given, and what each pass and its tasks write."""
    of_passes = ((*one.writes, *one.files, *one.own) for one in RELEASE.passes)
    return [*RELEASE.given, *(artifact for of_pass in of_passes for artifact in of_pass)]


def test_every_artifact_has_one_writer() -> None:
    found = dict(constants((Artifact, FileArtifact)))
    assert len(set(found.values())) > 30
    # by which the frame knows whose working files there are
    declared = [*written(), SOURCES, SERIES_WINDOW, PERSON_KEY_ID]
    wrong = {name for name, artifact in found.items() if declared.count(artifact) != 1}
    assert wrong == set()
    assert set(declared) == set(found.values())
    assert len({artifact.name for artifact in declared}) == len(declared)


def test_passes_open_no_working_file_beside_what_they_declare() -> None:
    """A workspace of their own would be open to all, and a path would be known to nobody."""
    package = Path(tclose.__file__).parent / "passes"
    beside = re.compile(r"\bWorkspace\(|\.task_files\(|\bTaskFiles\b|\.root /|workspace\.root /")
    found = [path.name for path in package.rglob("*.py") if beside.search(path.read_text())]
    assert found == []


def test_every_task_is_of_one_pass() -> None:
    tasks = [task for one in RELEASE.passes for task in one.tasks]
    assert {task.name for _, task in constants(Task)} == {task.name for task in tasks}
    assert len({task.name for task in tasks}) == len(tasks)


def test_what_is_written_is_read() -> None:
    """By a later pass, or by the tasks of its own; the release's files become the release."""
    read = {artifact for one in RELEASE.passes for artifact in (*one.reads, *one.own)}
    inside = {
        "encode/person-values",  # merged in the same pass
        "distribute/counts",  # joined by the pass that has them counted
        "verify/counts",  # compared in the same pass
        "weigh/value-weights",  # joined there
        "verify/row-persons",  # traced there
        "verify/class-sizes",
        "verify/row-values",
        "verify/person-codes",  # registered there
        "link/persons",  # compared with earlier releases in the same pass
        "link/hashes",
        "rank/ranks",
        "window/table",
        "window/forgotten",
        "choose/left-out",  # left out of the partitions there
        "choose/held",  # made a partition of there
        "near/sample",  # made a tree of there
        "microaggregate/labels",  # made classes of there
        "trace/signatures",
        "trace/class-signatures",
        "verify/whole-classes",
        "verify/whole-rows",
        "publish/written",
        "completed-lineage",  # emitted by what ends a run
    }
    assert {artifact.name for artifact in written() if artifact not in read} == inside
