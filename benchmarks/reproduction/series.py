"""Runs of the three algorithms on one table at several k and t, and figures over them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, geometric_mean

from benchmarks.reproduction.algorithms import ALGORITHMS, Run, run_algorithm
from benchmarks.reproduction.records import Records

Read = Callable[[Run], float]


def read_seconds(run: Run) -> float:
    """Run time."""
    return run.seconds


def read_loss(run: Run) -> float:
    """Loss, Soria-Comas et al. 2015, eq. (5)."""
    return run.partition.loss


@dataclass(frozen=True)
class Series:
    """All runs on one table."""

    name: str
    runs: tuple[Run, ...]

    def find(self, number: int, k: int, t: str) -> Run:
        """One run."""
        return next(r for r in self.runs if (r.number, r.k, r.t) == (number, k, t))

    @property
    def ks(self) -> list[int]:
        """All k."""
        return sorted({run.k for run in self.runs})

    @property
    def ts(self) -> list[str]:
        """All t, ascending."""
        return sorted({run.t for run in self.runs}, key=float)

    def count(self, read: Read, lower: int, upper: int, ts: Sequence[str] = ()) -> tuple[int, int]:
        """At how many k and t one algorithm is below another, and of how many."""
        pairs = [(k, t) for k in self.ks for t in self.ts if not ts or t in ts]
        held = [read(self.find(lower, *p)) < read(self.find(upper, *p)) for p in pairs]
        return sum(held), len(held)

    def find_order(self, read: Read, numbers: Sequence[int]) -> list[str]:
        """The t at which, for all k, algorithms are in this order from the lowest figure."""
        found = []
        for t in self.ts:
            figures = [[read(self.find(n, k, t)) for n in numbers] for k in self.ks]
            if all(a < b for of_k in figures for a, b in pairwise(of_k)):
                found.append(t)
        return found


def run_series(name: str, records: Records, ks: Sequence[int], ts: Sequence[str]) -> Series:
    """All algorithms at all k and t, one after the other."""
    cases = [(number, k, t) for k in ks for t in ts for number in ALGORITHMS]
    return Series(name, tuple(run_algorithm(n, records, k, t) for n, k, t in cases))


def measure_growth(grid: Series, number: int) -> float:
    """Loss at the largest k in times of that at the smallest, mean over t."""
    first, last = grid.ks[0], grid.ks[-1]
    pairs = [(grid.find(number, first, t), grid.find(number, last, t)) for t in grid.ts]
    return fmean(read_loss(b) / read_loss(a) for a, b in pairs)


def measure_spikes(grid: Series, number: int) -> float:
    """Loss at k that do not divide n, in times of the mean loss at the divisors around it."""
    n_records = grid.runs[0].partition.n_records
    divisors = [k for k in grid.ks if n_records % k == 0]
    ratios = []
    for k in set(grid.ks) - set(divisors):
        below = max((d for d in divisors if d < k), default=k)
        above = min((d for d in divisors if d > k), default=k)
        for t in grid.ts:
            around = fmean(read_loss(grid.find(number, d, t)) for d in (below, above))
            ratios.append(read_loss(grid.find(number, k, t)) / around)
    return fmean(ratios) if ratios else 1.0


def measure_improvement(series: Series) -> float:
    """Loss of Algorithms 1 and 2 in times of that of Algorithm 3: geometric mean over k and t."""
    return geometric_mean(
        read_loss(series.find(number, k, t)) / read_loss(series.find(3, k, t))
        for number in (1, 2)
        for k in series.ks
        for t in series.ts
    )
