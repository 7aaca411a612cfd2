"""The minimality attack of an intruder who knows the algorithm, by trying arrangements.

Wong, Fu, Wang and Pei, *Minimality attack in privacy preserving data publishing* (VLDB 2007). The
intruder knows everybody's quasi-identifiers, the algorithm, the policy and the seed, and which
confidential values a class holds. Without the algorithm every arrangement of these over the class's
records is as likely as any other, so a value is as likely as it is common in the class. With it
only those remain from which the algorithm makes the very release that was published. The share of
them in which a record has a value is what the paper calls credibility.

All arrangements are tried where they are few (the answer is then exact), else some are drawn at
random (rejection sampling from the uniform prior). A record's belief then changes only where the
kept ones differ from its class by more than chance explains: gains are rather too small.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, prod
from typing import cast

import numpy as np

from tclose.model.array_types import Float64, Int64

# With fewer that are kept of those drawn, shares would say little.
LEAST_KEPT = 30
# Probability that a value of a record is taken for more or less likely than it is, by chance.
MISTAKE = 1e-4

Release = Callable[[Int64], Hashable]


@dataclass(frozen=True)
class SearchBudget:
    """The number of arrangements tried.

    All, where there are at most ``all_of``. Else ``drawn`` are drawn, and more until `LEAST_KEPT`
    are kept, up to ``most``; no more where so few are kept that this is out of sight.
    """

    all_of: int
    drawn: int
    most: int

    def goes_on(self, n_tried: int, n_kept: int) -> bool:
        """Return whether one more arrangement is drawn."""
        if n_tried < self.drawn:
            return True
        in_sight = n_kept * self.most >= LEAST_KEPT * n_tried
        return n_tried < self.most and n_kept < LEAST_KEPT and in_sight


@dataclass(frozen=True, eq=False)
class Inference:
    """Beliefs on some records: ``before`` by their classes, ``after`` with the algorithm.

    ``rows`` int64 (s,); ``before``, ``after`` float64 (s, m): probability of each value;
    ``n_kept`` of ``n_tried`` arrangements give the release; ``is_exact``: those were all there are.
    """

    rows: Int64
    before: Float64
    after: Float64
    n_tried: int
    n_kept: int
    is_exact: bool

    @property
    def is_resolved(self) -> bool:
        """True if enough arrangements were kept; otherwise ``after`` is as ``before``."""
        return self.is_exact or self.n_kept >= LEAST_KEPT

    @property
    def acceptance(self) -> float:
        """Share of the arrangements that give the release."""
        return self.n_kept / self.n_tried


def infer(
    release: Release,
    values: Int64,
    groups: Sequence[Int64],
    effort: SearchBudget,
    rng: np.random.Generator,
) -> Inference:
    """Beliefs about the records of some classes, by an intruder who knows all other records.

    With all classes of a table in ``groups`` the intruder knows no record's value.

    Parameters
    ----------
    release : what is published of values int64 (n,); equal only where releases are
    values : int64 (n,), from 0: the true ones
    groups : records of each class that values are arranged in
    """
    truth, n_values = release(values), int(values.max()) + 1
    rows = np.concatenate(groups)
    n_all = prod(count_arrangements(values[group]) for group in groups)
    is_exact = n_all <= effort.all_of
    chosen = _list_all(values, groups) if is_exact else _draw(values, groups, rng)
    n_tried, n_kept, altered = 0, 0, values.copy()
    counts = np.zeros((rows.size, n_values))
    for arrangement in chosen:
        if not is_exact and not effort.goes_on(n_tried, n_kept):
            break
        altered[rows] = arrangement
        n_tried += 1
        if release(altered) == truth:
            n_kept += 1
            counts[np.arange(rows.size), arrangement] += 1
    before = np.concatenate([_frequencies(values[group], n_values) for group in groups])
    after = counts / n_kept if is_exact else _believe(before, counts, n_kept)
    return Inference(rows, before, after, n_tried, n_kept, is_exact)


def _believe(before: Float64, counts: Float64, n_kept: int) -> Float64:
    """Shares among the kept, for records in which they are no chance of the draw (Bernstein)."""
    if n_kept < LEAST_KEPT:
        return before
    log = np.log(2 / MISTAKE)
    bound = log / 3 + np.sqrt((log / 3) ** 2 + 2 * log * n_kept * before * (1 - before))
    is_told = (np.abs(counts - n_kept * before) > bound).any(axis=1)
    return np.where(is_told[:, None], counts / n_kept, before)


def count_arrangements(values: Int64) -> int:
    """In how many ways values can be dealt to as many records."""
    left, n = values.size, 1
    for count in Counter(values.tolist()).values():
        n *= comb(left, count)
        left -= count
    return n


def list_arrangements(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every different order of some values, each once."""
    if not values:
        yield ()
        return
    for first in sorted(set(values)):
        rest = list(values)
        rest.remove(first)
        for others in list_arrangements(rest):
            yield (first, *others)


def _list_all(values: Int64, groups: Sequence[Int64]) -> Iterator[Int64]:
    lists = [list(list_arrangements(values[group].tolist())) for group in groups]
    for pieces in product(*lists):
        yield np.concatenate([np.array(piece, dtype=np.int64) for piece in pieces])


def _draw(values: Int64, groups: Sequence[Int64], rng: np.random.Generator) -> Iterator[Int64]:
    """One arrangement at random after the other, without an end."""
    while True:
        yield np.concatenate([rng.permutation(values[group]) for group in groups])


def _frequencies(held: Int64, n_values: int) -> Float64:
    """Shares of the values in a class, once for each of its records."""
    shares = np.bincount(held, minlength=n_values) / held.size
    return np.tile(shares, (held.size, 1))


def ordered_distances(beliefs: Float64, counts: Int64) -> Float64:
    """Earth mover's distance of each belief to the table, ordered (Li et al. 2007, section 5)."""
    if counts.size < 2:
        return np.zeros(len(beliefs))
    table = np.cumsum(counts) / counts.sum()
    return cast(Float64, np.abs(np.cumsum(beliefs, axis=1) - table).sum(axis=1) / (counts.size - 1))
