"""Registers of a window's releases, read into working files."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.errors import OutputError
from tclose.model.array_types import UInt64
from tclose.releases.repository.contents import find_broken_seals
from tclose.releases.series.register_file import NOBODY, ReleasedPersons, load_register
from tclose.releases.series.series_history import SeriesRelease
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, Workspace
from tclose.runtime.free_memory import free_memory
from tclose.runtime.pipeline import PassContext

# Of each release of the window by its rows, and then of who was forgotten, uint64 (2, n): both
# words of the hash.
REGISTERED_HASHES = FileArtifact("summarise/registered-hashes", ArrayFile)
# Of each release of the window, int32 (1 + attributes, n): class and values, by position; and for
# how long rows were held, where some are.
REGISTERED_ROWS = FileArtifact("summarise/registered-rows", ArrayFile)
# Of each attribute the arrays of its distribution, one after the other: int64.
REGISTERED_TABLES = FileArtifact("summarise/registered-tables", ArrayFile)
# What its register says besides.
REGISTERED = Artifact("registered", tuple[ReleasedPersons, ...], version=2)


def read_registers(
    context: PassContext, releases: Sequence[SeriesRelease]
) -> tuple[ReleasedPersons, ...]:
    """Read the registers of a window into working files; what they say besides their rows.

    Raises
    ------
    OutputError
        One is missing, or it or what is sealed beside it is not as it was published.
    """
    workspace, registered = context.workspace, []
    forgotten = [NOBODY]
    for index, release in enumerate(releases):
        _check_seals(release)
        persons = load_register(release)
        workspace.new_file(REGISTERED_HASHES, index).write(persons.hashes.T)
        rows = np.empty((1 + len(persons.codes), persons.classes.size), dtype=np.int32)
        rows[0], rows[1:] = persons.classes, persons.codes
        if persons.stale.size:
            rows = np.vstack([rows, persons.stale.astype(np.int32)])
        workspace.new_file(REGISTERED_ROWS, index).write(rows)
        counted = [array for table in persons.tables for array in (table.cumulative, table.prefix)]
        nothing = np.empty(0, dtype=np.int64)
        workspace.new_file(REGISTERED_TABLES, index).write(np.concatenate([nothing, *counted]))
        forgotten.append(persons.forgotten)
        registered.append(_without_rows(persons))
        del persons
        free_memory()
    workspace.new_file(REGISTERED_HASHES, len(releases)).write(np.concatenate(forgotten).T)
    context.write(REGISTERED, tuple(registered))
    return tuple(registered)


def _check_seals(release: SeriesRelease) -> None:
    """See that what says which register is the release's is as it was published."""
    if broken := find_broken_seals(release.place):
        raise OutputError(
            f"release {release.name}: is not as it was published ({broken[0]}), and the new one "
            "would be held to what its register says of persons; put it back"
        )


def _without_rows(persons: ReleasedPersons) -> ReleasedPersons:
    nothing = np.empty(0, dtype=np.int64)
    codes = np.empty((len(persons.codes), 0), dtype=np.int64)
    return replace(persons, hashes=NOBODY, classes=nothing, codes=codes, stale=nothing)


def find_hashes(workspace: Workspace, release: int, rows: NDArray[np.int64]) -> UInt64:
    """The hashes of some rows of a release of the window: uint64 (n, 2)."""
    return np.ascontiguousarray(workspace.file(REGISTERED_HASHES, release).read()[:, rows].T)
