"""Slow, obvious twins of refinement: distances as integrals, exchanges by trying them all.

Records are a `support.tables.classed_records.ClassedRecords`; a class is a list of its rows.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from support.naive import naive_kernels as naive
from support.tables.classed_records import ClassedRecords
from tclose.kernels.emd.least_distance import RangeWorks
from tclose.kernels.refinement.repair import LEAST_COST, N_PARTNERS, NEAR, WAYS

Classes = list[list[int]]
# Rows that go from the first class to the second, and from the second to the first.
Exchange = tuple[list[int], list[int]]


def quantile_sum(codes: Sequence[int], n_values: int, share: Fraction) -> Fraction:
    """Integral up to ``share`` of the table's quantiles, record by record: design note, budget."""
    total, width = Fraction(0), Fraction(1, len(codes))
    for i, code in enumerate(sorted(codes)):
        covered = min(max(share - i * width, Fraction(0)), width)
        total += covered * Fraction(code, max(n_values - 1, 1))
    return total


def rank_work(code: int, rank: int, size: int, codes: Sequence[int], n_values: int) -> Fraction:
    """Integral of |z - Q(u)| from rank/size to (rank + 1)/size, record by record of the table."""
    low, high = Fraction(rank, size), Fraction(rank + 1, size)
    total, width = Fraction(0), Fraction(1, len(codes))
    for i, other in enumerate(sorted(codes)):
        covered = min(high, (i + 1) * width) - max(low, i * width)
        if covered > 0:
            total += covered * Fraction(abs(code - other), max(n_values - 1, 1))
    return total


def class_emds(records: ClassedRecords, rows: Sequence[int]) -> list[Fraction]:
    """Distance of a class to the table, of each confidential attribute."""
    return [records.emd(a, rows) for a in range(len(records.tables))]


def excess(records: ClassedRecords, classes: Classes) -> Fraction:
    """Distance above the limits, of all classes and attributes."""
    return sum(
        (
            max(Fraction(0), emd - Fraction(limit))
            for rows in classes
            for emd, limit in zip(class_emds(records, rows), records.limits, strict=True)
        ),
        Fraction(0),
    )


def searched_loss(records: ClassedRecords, classes: Classes) -> Fraction:
    """Squared differences to the mean; of nominal ones half the mean distance of two records.

    For each class its records times what `naive.spread` has of one.
    """
    loss = Fraction(0)
    for rows in classes:
        for column in records.numeric:
            loss += len(rows) * naive.spread(column, rows, is_nominal=False)
        for column, weight in zip(records.nominal, records.column_weights, strict=True):
            loss += Fraction(weight) * len(rows) * naive.spread(column, rows, is_nominal=True)
    return loss


def released_loss(records: ClassedRecords, classes: Classes) -> Fraction:
    """Squared differences to the mean, and weights of what is not of the commonest category."""
    loss = Fraction(0)
    for rows in classes:
        for column in records.numeric:
            loss += len(rows) * naive.spread(column, rows, is_nominal=False)
        for column, weight in zip(records.nominal, records.column_weights, strict=True):
            codes = [int(column[i]) for i in rows]
            loss += Fraction(weight) * (len(rows) - max(codes.count(code) for code in codes))
    return loss


def exchanged(a: list[int], b: list[int], exchange: Exchange) -> Classes:
    """Both classes after an exchange."""
    leave_a, leave_b = exchange
    return [
        sorted([*(i for i in a if i not in leave_a), *leave_b]),
        sorted([*(i for i in b if i not in leave_b), *leave_a]),
    ]


def exchanges(a: list[int], b: list[int], k: int, cap: int) -> Iterator[Exchange]:
    """All swaps of one for one, and all moves that leave k records and find room."""
    yield from (([x], [y]) for x in a for y in b)
    if len(a) > k and len(b) < cap:
        yield from (([x], []) for x in a)
    if len(b) > k and len(a) < cap:
        yield from (([], [y]) for y in b)


def worth(
    records: ClassedRecords, a: list[int], b: list[int], exchange: Exchange, price: float
) -> tuple[Fraction, Fraction, Fraction]:
    """Loss saved plus the price of the excess that is worked off; excess before and after."""
    after = exchanged(a, b, exchange)
    gain = searched_loss(records, [a, b]) - searched_loss(records, after)
    excess_before, excess_after = excess(records, [a, b]), excess(records, after)
    return gain + Fraction(price) * (excess_before - excess_after), excess_before, excess_after


def best_worth(
    records: ClassedRecords, a: list[int], b: list[int], tried: Iterator[Exchange], price: float
) -> tuple[Fraction, Exchange | None]:
    """The exchange worth most among those after which the two are no farther above; (0, None).

    No farther by more than floats can err: excess that stays may be taken to have grown.
    """
    least = Fraction(1, 10**12)
    best, found = Fraction(0), None
    for exchange in tried:
        value, before, after = worth(records, a, b, exchange, price)
        if value > best and (after == 0 or after <= before - least):
            best, found = value, exchange
    return best, found


def represent_class(
    values: np.ndarray,
    levels: np.ndarray,
    rows: list[int],
    kind: str,
    draw: float,
    weights: naive.Vector | None = None,
) -> tuple[list[float], list[int]]:
    """Mean and commonest levels (of equals the one met first), or the record farthest, or drawn."""
    if kind == "drawn":
        row = rows[int(draw * len(rows))]
        return values[row].tolist(), levels[row].tolist()
    centre = [sum(float(values[i, j]) / len(rows) for i in rows) for j in range(values.shape[1])]
    mode = []
    for j in range(levels.shape[1]):
        codes = [int(levels[i, j]) for i in rows]
        mode.append(max(codes, key=codes.count))
    if kind == "centre":
        return centre, mode
    row = max(rows, key=lambda i: naive.distance(values[i], levels[i], centre, mode, weights))
    return values[row].tolist(), levels[row].tolist()


def find_neighbours(
    centres: np.ndarray, modes: np.ndarray, n_wanted: int, weights: naive.Vector | None = None
) -> list[list[int]]:
    """The others by distance, of equals the first: sorted, and cut."""
    n = centres.shape[0]
    return [
        sorted(
            (o for o in range(n) if o != c),
            key=lambda o: (naive.distance(centres[o], modes[o], centres[c], modes[c], weights), o),
        )[:n_wanted]
        for c in range(n)
    ]


def distance_to_mean(records: ClassedRecords, row: int, rows: Sequence[int]) -> Fraction:
    """Squared distance to a class's mean: the mean one to its records, less what these differ.

    Nominal columns count as the indicators of their levels, half their weight each.
    """
    total = Fraction(0)
    for column in records.numeric:
        apart = [(Fraction(float(column[i])) - Fraction(float(column[row]))) ** 2 for i in rows]
        total += sum(apart, Fraction(0)) / len(rows) - naive.spread(column, rows, is_nominal=False)
    for column, weight in zip(records.nominal, records.column_weights, strict=True):
        share = Fraction(sum(column[i] != column[row] for i in rows).item(), len(rows))
        total += Fraction(weight) * (share - naive.spread(column, rows, is_nominal=True))
    return total


def promise(
    records: ClassedRecords, a: list[int], b: list[int], n_strata: int = 1
) -> Fraction | float:
    """How much nearer two records can be to the means of each other's class, together.

    Both of one of so many parts of their classes, which are in the order of the first confidential
    attribute; minus infinity where no part has records of both.
    """
    promises: list[Fraction | float] = [-math.inf]
    for stratum in range(n_strata):
        pulls = [
            max(
                (
                    distance_to_mean(records, x, own) - distance_to_mean(records, x, other)
                    for x in _part(own, stratum, n_strata)
                ),
                default=-math.inf,
            )
            for own, other in ((a, b), (b, a))
        ]
        promises.append(pulls[0] + pulls[1])
    return max(promises)


def _part(members: list[int], number: int, n_parts: int) -> list[int]:
    size = len(members)
    return members[number * size // n_parts : (number + 1) * size // n_parts]


def mean_cluster_emd(values: Sequence[float], n_subsets: int) -> Fraction:
    """Mean distance over all clusters of one record of each subset: every one of them."""
    ranked = sorted(values)
    size = len(ranked) // n_subsets
    subsets = [ranked[s * size : (s + 1) * size] for s in range(n_subsets)]
    clusters: list[list[float]] = [[]]
    for subset in subsets:
        clusters = [[*cluster, value] for cluster in clusters for value in subset]
    emds = (naive.ordered_emd(cluster, values) for cluster in clusters)
    return sum(emds, Fraction(0)) / len(clusters)


def rank_partners(
    centres: np.ndarray,
    levels: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    c: int,
    most: float = math.inf,
) -> list[tuple[float, int]]:
    """What each other class costs class c (Ward), and its number: the cheapest first.

    ``most``: as how many records a class counts at most.
    """
    ranked = []
    for other in range(len(sizes)):
        if other == c or sizes[other] == 0:
            continue
        distance = 0.0
        for difference in centres[c] - centres[other]:
            distance += float(difference) * float(difference)  # a power may round otherwise
        for weight in weights[levels[c] != levels[other]]:
            distance += float(weight)
        ours, theirs = min(float(sizes[c]), most), min(float(sizes[other]), most)
        ranked.append((distance * ours * theirs / (ours + theirs), other))
    return sorted(ranked)


def merge_above(
    columns: tuple[np.ndarray, np.ndarray, np.ndarray],
    classes: Classes,
    above: Sequence[int],
    is_close: Callable[[list[int]], bool],
    bounds: "Bounds",
) -> Classes:
    """Classes of which those above a limit take in the cheapest partner that makes them close.

    Where none does they take in, on the way, the one with which most is cancelled for what it
    costs. Of all ways to do so the result of the cheapest. ``columns``: as in clustering.
    """
    found = [_merge(columns, classes, above, is_close, bounds.copy(), way) for way in WAYS]
    return min(found, key=lambda of_way: of_way[0])[1]


def _merge(
    columns: tuple[np.ndarray, np.ndarray, np.ndarray],
    classes: Classes,
    above: Sequence[int],
    is_close: Callable[[list[int]], bool],
    bounds: "Bounds",
    way: tuple[bool, float],
) -> tuple[float, Classes]:
    """What all unions of a way cost, and the classes."""
    numeric, nominal, weights = columns
    in_turn, most = way
    classes = [list(rows) for rows in classes]
    sizes = np.array([len(rows) for rows in classes])
    centres = np.zeros((len(classes), len(numeric)))
    levels = np.zeros((len(classes), len(nominal)), dtype=np.int32)
    for c, rows in enumerate(classes):
        for j, i in product(range(len(numeric)), rows):
            centres[c, j] += numeric[j, i] / len(rows)
        for j, codes in enumerate(nominal):
            counts = Counter(codes[rows].tolist())
            levels[c, j] = min(counts, key=lambda code: (-counts[code], code))
    far = {c: 0.0 if in_turn else bounds.sum_excess(c, sizes[c]) for c in above}
    total = 0.0
    while far:
        c = max(far, key=lambda one: (far[one], -one))
        if not sizes[c]:
            del far[c]
            continue
        partners = rank_partners(centres, levels, weights, sizes, c, most)[:N_PARTNERS]
        if not partners:
            break
        close = [found for found in partners if is_close(classes[c] + classes[found[1]])]
        cost, other = close[0] if close else bounds.choose(c, partners, sizes)
        size = sizes[c] + sizes[other]
        ours, theirs = min(float(sizes[c]), most), min(float(sizes[other]), most)
        total += cost * (ours + theirs) / (ours * theirs) * sizes[c] * sizes[other] / size
        centres[c] += sizes[other] / size * (centres[other] - centres[c])
        levels[c] = levels[other if sizes[other] > sizes[c] else c]
        classes[c], classes[other] = classes[c] + classes[other], []
        sizes[c], sizes[other] = size, 0
        bounds.works.of_classes[:, c] += bounds.works.of_classes[:, other]
        far[c] = math.inf if in_turn else bounds.sum_excess(c, size)
        if close:
            del far[c]
    return total, [sorted(rows) for rows in classes if rows]


@dataclass(frozen=True, eq=False)
class Bounds:
    """How far unions are from the table, at least, by the works of ranges of their classes."""

    works: RangeWorks
    limits: Sequence[float]

    def copy(self) -> "Bounds":
        works = self.works._replace(of_classes=self.works.of_classes.copy())
        return Bounds(works, self.limits)

    def choose(
        self, c: int, partners: Sequence[tuple[float, int]], sizes: np.ndarray
    ) -> tuple[float, int]:
        """The partner with which most is cancelled, for its cost; of equal ones the first."""
        best, most = partners[0], 0.0
        for cost, other in partners:
            gained = self.sum_cancelled(c, other, sizes) / max(cost, LEAST_COST)
            if gained > most:
                best, most = (cost, other), gained
        return best

    def sum_cancelled(self, c: int, other: int, sizes: np.ndarray) -> float:
        total = 0.0
        for a, limit in enumerate(self.limits):
            own = self.of(a, (c, c), 2 * sizes[c])
            if own > NEAR * limit:
                size = sizes[c] + sizes[other]
                theirs = self.of(a, (other, other), 2 * sizes[other])
                united = self.of(a, (c, other), size)
                total += sizes[c] * own + sizes[other] * theirs - size * united
        return total

    def sum_excess(self, c: int, size: int) -> float:
        return sum(
            max(0.0, self.of(a, (c, c), 2 * size) - limit) for a, limit in enumerate(self.limits)
        )

    def of(self, attribute: int, pair: tuple[int, int], size: int) -> float:
        least, (ours, theirs) = 0.0, self.works.of_classes[attribute, list(pair)]
        for mine, other, share in zip(ours, theirs, self.works.of_table[attribute], strict=True):
            least += abs((mine + other) / size - share)
        return least
