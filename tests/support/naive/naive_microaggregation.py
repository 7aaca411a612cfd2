"""Slow, obvious twins of the algorithms that Algorithm 3 is compared with: as they are listed.

Sources: Soria-Comas et al., *t-Closeness through
Microaggregation*; its references [9] and [24] are MDAV and V-MDAV. Distances to the table are
fractions, so that nothing is decided by rounding.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from support.naive import naive_kernels as naive

Rows = list[int]


class Places:
    """The records' quasi-identifiers: numeric (d, n), nominal (q, n)."""

    def __init__(self, numeric: np.ndarray, nominal: np.ndarray) -> None:
        self.numeric, self.nominal = numeric, nominal
        self.of: list[naive.Point] = [
            (numeric[:, i].tolist(), nominal[:, i].tolist()) for i in range(numeric.shape[1])
        ]

    @property
    def rows(self) -> Rows:
        return list(range(len(self.of)))

    def average(self, rows: Rows) -> tuple[list[float], list[int]]:
        return naive.average(self.numeric, self.nominal, rows)

    def apart(self, a: int, b: int) -> float:
        return naive.distance(*self.of[a], *self.of[b])

    def farthest(self, point: naive.Point, rows: Rows) -> int:
        """Of equally far records the first."""
        return min(rows, key=lambda i: (-naive.distance(*self.of[i], *point), i))

    def by_distance(self, seed: int, rows: Rows) -> Rows:
        return sorted(rows, key=lambda i: (self.apart(i, seed), i))


def as_labels(clusters: Sequence[Rows]) -> list[int]:
    """Cluster of each record."""
    labels = [-1] * sum(map(len, clusters))
    for label, rows in enumerate(clusters):
        for i in rows:
            labels[i] = label
    return labels


def mdav(numeric: np.ndarray, nominal: np.ndarray, k: int) -> list[int]:
    """MDAV: two clusters a turn while 3k are left, then one while 2k are, then what is left."""
    places = Places(numeric, nominal)
    left, clusters = places.rows, []

    def take_around(seed: int) -> None:
        clusters.append(places.by_distance(seed, left)[:k])
        left[:] = [i for i in left if i not in clusters[-1]]

    while len(left) >= 3 * k:
        seed = places.farthest(places.average(left), left)
        take_around(seed)
        take_around(places.farthest(places.of[seed], left))
    if len(left) >= 2 * k:
        take_around(places.farthest(places.average(left), left))
    return as_labels([*clusters, left])


def v_mdav(numeric: np.ndarray, nominal: np.ndarray, k: int, gamma: Fraction) -> list[int]:
    """V-MDAV, with clusters of 2k-1 at most: see the kernel on what is done for that."""
    places = Places(numeric, nominal)
    left = places.rows
    if len(left) < k:
        return [0] * len(left)
    centre, clusters = places.average(left), []

    def to_cluster(i: int, rows: Rows) -> float:
        return min(places.apart(i, j) for j in rows)

    while len(left) >= k:
        cluster = places.by_distance(places.farthest(centre, left), left)[:k]
        left = [i for i in left if i not in cluster]
        while len(cluster) < 2 * k - 1 and left and len(left) != k:
            nearest = min(left, key=lambda i: (to_cluster(i, cluster), i))
            others = [i for i in left if i != nearest]
            inward = Fraction(to_cluster(nearest, cluster))
            if others:
                if inward >= gamma**2 * Fraction(to_cluster(nearest, others)):
                    break
            elif gamma == 0:
                break
            cluster.append(nearest)
            left = others
        clusters.append(cluster)
    made = [list(rows) for rows in clusters]
    for i in left:
        open_ones = [c for c, rows in enumerate(clusters) if len(rows) < 2 * k - 1]
        _, _, c = min((places.apart(i, j), j, c) for c in open_ones for j in made[c])
        clusters[c].append(i)
    return as_labels(clusters)


class Excess:
    """Return the excess of classes above their limits, in the largest confidential attribute."""

    def __init__(self, values: Sequence[Sequence[float]], limits: Sequence[Fraction]) -> None:
        self.attributes = list(zip(values, limits, strict=True))

    def of(self, rows: Rows) -> Fraction:
        return max(
            naive.ordered_emd([values[i] for i in rows], values) - limit
            for values, limit in self.attributes
        )


def merge_farthest(
    numeric: np.ndarray, nominal: np.ndarray, labels: Sequence[int], excess: Excess
) -> list[int]:
    """While a class is above t, unite the farthest from t with its nearest.

    Soria-Comas et al. 2015, Algorithm 1.
    """
    places, classes = Places(numeric, nominal), naive.groups(labels)
    while True:
        farthest = max(classes, key=excess.of)  # of equals the first
        if len(classes) == 1 or excess.of(farthest) <= 0:
            return as_labels(classes)
        centre = places.average(farthest)
        others = [rows for rows in classes if rows is not farthest]
        nearest = min(others, key=lambda rows: naive.distance(*places.average(rows), *centre))
        united = farthest + nearest
        first = min(classes.index(farthest), classes.index(nearest))
        classes = [rows for rows in classes if rows is not farthest and rows is not nearest]
        classes.insert(first, united)


def k_anonymity_first(
    numeric: np.ndarray, nominal: np.ndarray, k: int, excess: Excess
) -> list[int]:
    """Soria-Comas et al. 2015, Algorithm 2 as it is listed."""
    places = Places(numeric, nominal)
    left, clusters = places.rows, []

    def generate_cluster(seed: int) -> None:
        cluster = list(left)
        if len(left) >= 2 * k:
            nearest_first = places.by_distance(seed, left)
            cluster, untried = nearest_first[:k], nearest_first[k:]
            while excess.of(cluster) > 0 and untried:
                new = untried.pop(0)
                options = [
                    (excess.of(without := [i for i in cluster if i != old] + [new]), old, without)
                    for old in sorted(cluster)
                ]
                achieved, _, exchanged = min(options)
                if achieved < excess.of(cluster):
                    cluster = exchanged
        clusters.append(cluster)
        left[:] = [i for i in left if i not in cluster]

    while left:
        seed = places.farthest(places.average(left), left)
        generate_cluster(seed)
        if left:
            generate_cluster(places.farthest(places.of[seed], left))
    return as_labels(clusters)
