"""Results of the attack on several releases, in numbers."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ReadValue:
    """Persons of whom one value is left, and of how many of these it is theirs."""

    attribute: str
    persons: int
    right: int


@dataclass(frozen=True)
class PersonExposure:
    """Privacy that is left of some persons.

    ``alone``: persons with no other candidate; ``below_k``: with fewer than k, themselves among
    them; ``found``: the mean of 1 / candidates, the share that a guess finds; ``values``: of each
    attribute that persists.
    """

    persons: int
    alone: int
    below_k: int
    found: float
    values: tuple[ReadValue, ...]


@dataclass(frozen=True)
class Knowledge:
    """Exposure of persons to an intruder of some knowledge.

    ``stayed``: persons who are in every release; ``changed``: all others; ``linked``: for each
    release the share of its persons of whom the intruder considers the right class, or None where
    the right ones are not known; ``one_class``: of whom he considers one class only;
    ``below_k_in_one``: for each release by itself, persons with fewer than k candidates.
    """

    stayed: PersonExposure
    changed: PersonExposure
    linked: tuple[float | None, ...]
    one_class: tuple[float, ...]
    below_k_in_one: tuple[int, ...]


@dataclass(frozen=True)
class CellDistance:
    """Distances of cells to the releases they are in, in one attribute.

    ``t``: the smallest that was asked; ``cells_above``: in all releases together, decided without
    rounding.
    """

    attribute: str
    t: float
    largest_emd: float
    cells_above: int


@dataclass(frozen=True)
class LeftPersons:
    """Persons who are not in the newest release of a series, where nothing is promised of them.

    ``found``: those in cells of fewer than k persons or above a t, of which there are
    ``failing_cells``.
    """

    persons: int
    cells: int
    failing_cells: int
    found: int


@dataclass(frozen=True)
class RefinementCheck:
    """True if the common refinement of the releases has k persons and t in every cell.

    Of releases of one window of a series, ``series``, every cell is one of what these promise:
    ``left`` are persons of whom that is nothing, because ``departures`` are reported or united.
    """

    k: int
    cells: int
    smallest: int
    below_k: int
    distances: tuple[CellDistance, ...]
    series: str | None = None
    departures: str | None = None
    left: LeftPersons | None = None

    @property
    def passed(self) -> bool:
        """True if the releases hold k and t together."""
        return not self.below_k and not any(one.cells_above for one in self.distances)


@dataclass(frozen=True)
class AttackResult:
    """The attack on several releases.

    ``persons``: of each release; ``k``: what cells are held to; ``persists``: of each
    confidential attribute the share of persons of two releases in a row whose value is the same,
    and ``persistent`` those that are intersected; ``classes_known``, ``refinement``: None where the
    classes are not known.
    """

    releases: tuple[str, ...]
    persons: tuple[int, ...]
    k: int
    persists: dict[str, float]
    persistent: tuple[str, ...]
    classes_known: Knowledge | None
    by_linking: Knowledge
    refinement: RefinementCheck | None
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All figures."""
        check = self.refinement
        more = {} if check is None else {"refinement": asdict(check) | {"passed": check.passed}}
        return asdict(self) | more
