"""The earlier releases of a window over all persons, as their working files have them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import overload

import numpy as np

from tclose.model.distribution import Distribution
from tclose.passes.series.series_cells import KnownRelease, place_release
from tclose.passes.series.window.earlier_registers import REGISTERED_ROWS, REGISTERED_TABLES
from tclose.passes.series.window.window_persons import WINDOW_PERSONS
from tclose.releases.series.register_file import ReleasedPersons
from tclose.runtime.artifacts.artifacts import Workspace


@dataclass(frozen=True, eq=False)
class PlacedWindow(Sequence[KnownRelease]):
    """The earlier releases over all persons, by their numbers, and perhaps the newest one.

    Each is mapped anew when it is looked at, and let go with it: what is read of a map counts as
    memory as long as there is a map.

    ``registered``: what `read_registers` returned; ``limits``: what attributes are held to now;
    others to what they were.
    """

    workspace: Workspace
    registered: Sequence[ReleasedPersons]
    n_persons: int
    limits: Mapping[str, Fraction] = field(default_factory=dict)
    newest: tuple[KnownRelease, ...] = ()

    def __len__(self) -> int:
        """The releases."""
        return len(self.registered) + len(self.newest)

    @overload
    def __getitem__(self, index: int) -> KnownRelease: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[KnownRelease]: ...

    def __getitem__(self, index: int | slice) -> KnownRelease | Sequence[KnownRelease]:
        """A release, oldest first."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        if place >= len(self.registered):
            return self.newest[place - len(self.registered)]
        persons = self.registered[place]
        rows = self.workspace.file(REGISTERED_ROWS, place).read()
        n_codes = 1 + len(persons.attributes)
        whole = replace(persons, classes=rows[0], codes=rows[1:n_codes])
        if len(rows) > n_codes:
            whole = replace(whole, stale=rows[n_codes])
        numbers = self.workspace.file(WINDOW_PERSONS, 0, place).read()
        tables = tuple(self._read_tables(place))
        return place_release(whole, numbers, self.n_persons, self.limits, tables)

    def _read_tables(self, place: int) -> Iterator[Distribution]:
        counted = self.workspace.file(REGISTERED_TABLES, place).read()
        start = 0
        for space in self.registered[place].spaces:
            middle, end = start + space.n_values, start + 2 * space.n_values + 1
            cumulative, prefix = counted[start:middle], counted[middle:end]
            yield Distribution(np.arange(space.n_values), cumulative, prefix, space.metric)
            start = end
