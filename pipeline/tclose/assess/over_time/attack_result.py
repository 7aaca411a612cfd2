"""What the attack on several releases found, in numbers."""

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
    """What is left of the privacy of some persons.

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
    """How exposed persons are to an intruder of some knowledge.

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
class AttackResult:
    """The attack on several releases.

    ``persons``: of each release; ``k``: the smallest that a policy asks for; ``persists``: of each
    confidential attribute the share of persons of two releases in a row whose value is the same,
    and whether it is intersected; ``classes_known``: None where the classes are not known.
    """

    releases: tuple[str, ...]
    persons: tuple[int, ...]
    k: int
    persists: dict[str, float]
    persistent: tuple[str, ...]
    classes_known: Knowledge | None
    by_linking: Knowledge
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All figures."""
        return asdict(self)
