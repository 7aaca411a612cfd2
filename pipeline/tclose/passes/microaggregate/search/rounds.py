"""Rounds of refinement: how each left a region, and what ends them."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tclose.kernels.refinement.search import LEAST_GAIN
from tclose.model.array_types import Float64
from tclose.passes.plan.search_budget import SearchBudget

# Share of the usual loss that so many passes of perturbations have to save on average.
MANY_PASSES, NEXT_TO_NOTHING = 32, 0.000003
# The same, above which more of them are worth their time than every table has.
MUCH = 0.0003
# Share of the usual loss that rounds save by exchanges alone, above which no pools are cut.
GAIN_WITHOUT_POOLS = 0.05
# Share of the classes that lose anything of which the loss is not usual: those that lose most.
UNUSUAL = 0.1


@dataclass(frozen=True)
class Round:
    """The state of a region after a round.

    ``loss``: sum over its records; ``largest_emd``: the largest distance; ``usual_loss``: the sum
    if all classes that lose anything lost what is usual for them, see `sum_usual`.
    """

    loss: float
    largest_emd: float
    usual_loss: float

    @classmethod
    def measured(cls, losses: Float64, largest_emd: float) -> "Round":
        """The state of classes that lose so much, float64 (c,)."""
        return cls(float(losses.sum()), largest_emd, sum_usual(losses))

    def merge(self, other: "Round") -> "Round":
        """Both regions together."""
        return Round(
            self.loss + other.loss,
            max(self.largest_emd, other.largest_emd),
            self.usual_loss + other.usual_loss,
        )


@dataclass
class SearchState:
    """The state of a search, by which it can go on.

    ``rounds``: how each left the region, the start first; ``n_done``: rounds and passes that were
    run; ``n_barred``: rounds in a row whose pools t barred; ``n_passes``: of perturbations;
    ``n_perturbed``: as in `SearchBudget`; ``most_lost``: what it has to come to, see `is_hopeless`.
    """

    rounds: list[Round] = field(default_factory=list)
    n_done: int = 0
    n_barred: int = 0
    n_passes: int = 0
    n_perturbed: int = 0
    most_lost: float = math.inf
    _begin: int = 0

    @property
    def since_begin(self) -> list[Round]:
        """The rounds of the budget that is being spent, and what they began with."""
        return self.rounds[self._begin :]

    def begin_anew(self) -> None:
        """Begin another budget: rounds until now count no more for the end of the search."""
        self.n_barred, self.n_perturbed, self._begin = 0, 0, len(self.rounds) - 1


@dataclass(frozen=True)
class Clock:
    """The seconds that a search of a region may take, if there is a number of them."""

    began: float
    seconds: float | None

    @classmethod
    def start(cls, seconds: float | None, share: float) -> "Clock":
        """Begin to count; the region has a share of the seconds for the table."""
        return cls(time.monotonic(), None if seconds is None else seconds * share)

    @property
    def spent(self) -> float:
        """The part of the seconds that is spent; 0 where they are not counted."""
        if self.seconds is None:
            return 0.0
        return (time.monotonic() - self.began) / self.seconds if self.seconds > 0 else 1.0


def sum_usual(losses: Float64) -> float:
    """The loss of classes if all that lose anything lost what those do that do not lose most.

    What a search has to gain to be worth its time is a share of it. Where tails are heavy a few
    classes with outliers hold nearly all of the loss, which no search can lower: as a share of
    that no gain in any other class would be seen. What is rounding is no loss: equal records have
    a mean that is hardly ever quite the same.

    Parameters
    ----------
    losses : float64 (c,): of each class
    """
    losing = np.sort(losses[losses > LEAST_GAIN])
    usual = losing[: losing.size - int(UNUSUAL * losing.size)]
    return float(usual.mean()) * losing.size if usual.size else 0.0


def merge_rounds(of_regions: list[tuple[Round, ...]]) -> tuple[Round, ...]:
    """Rounds of the whole table; a region that stopped early stays as it was."""
    n_rounds = max((len(rounds) for rounds in of_regions), default=0)
    merged = []
    for r in range(n_rounds):
        there = [rounds[min(r, len(rounds) - 1)] for rounds in of_regions if rounds]
        total = there[0]
        for other in there[1:]:
            total = total.merge(other)
        merged.append(total)
    return tuple(merged)


def is_little(rounds: list[Round], search_budget: SearchBudget) -> bool:
    """Return whether the last rounds saved little: of two, which group by different axes."""
    return _save_little(rounds, 2, search_budget.least_gain)


def is_exhausted(rounds: list[Round]) -> bool:
    """Return whether many passes of perturbations saved next to nothing."""
    return len(rounds) > MANY_PASSES and _save_little(rounds, MANY_PASSES, NEXT_TO_NOTHING)


def is_worth_more(rounds: list[Round]) -> bool:
    """Return whether many passes of perturbations saved much."""
    return len(rounds) > MANY_PASSES and not _save_little(rounds, MANY_PASSES, MUCH)


def still_saves(rounds: Sequence[Round]) -> float:
    """The loss that two more rounds save, if it is the share of it that the last two did.

    Of two, which group by different axes. What was lost when classes were merged is not lost again.
    """
    losses = [one.loss for one in rounds[-3:]]
    return losses[-1] * (1 - min(losses[-1] / losses[0], 1.0)) if losses and losses[0] else 0.0


def is_hopeless(rounds: Sequence[Round], most_lost: float) -> bool:
    """Return whether two more rounds that save as the last two did would leave more loss."""
    return rounds[-1].loss - still_saves(rounds) > most_lost


def estimate_share(rounds: list[Round], search_budget: SearchBudget, n_done: int) -> float:
    """Estimate how much of the rounds is done, 0 to 1: what they save falls from one to the next.

    ``n_done``: rounds that were run.
    """
    by_number = n_done / search_budget.n_rounds
    if not search_budget.least_gain or n_done == 0:
        return by_number
    gains = [
        (before.loss - after.loss) / before.usual_loss if before.usual_loss else 0.0
        for before, after in (rounds[:2], rounds[-2:])
    ]
    least = search_budget.least_gain
    if min(gains) <= least:
        return 1.0
    if not gains[1] < gains[0] < math.inf:
        return by_number
    return max(by_number, min(math.log(gains[0] / gains[1]) / math.log(gains[0] / least), 1.0))


def is_worth_pools(rounds: list[Round]) -> bool:
    """Return whether exchanges save so little that it is time to cut pools, too.

    Before, an exchange saves as much for a fraction of the time.
    """
    return len(rounds) > 1 and _save_little(rounds, 2, GAIN_WITHOUT_POOLS)


def _save_little(rounds: list[Round], n_rounds: int, gain: float) -> bool:
    """Return whether each of the last rounds saved no more than a share of the usual loss.

    On average, and of the loss before them.
    """
    n_rounds = min(n_rounds, len(rounds) - 1)
    before = rounds[len(rounds) - 1 - n_rounds]
    return before.loss - rounds[-1].loss <= n_rounds * gain * before.usual_loss
