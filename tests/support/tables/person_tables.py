"""Small tables of persons with several rows, and the metrics that their values may have."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from support.naive.naive_persons import Rows, ordered_work
from tclose.kernels.emd.tree import star_metric
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64
from tclose.model.distribution import TreeMetric, make_distribution
from tclose.passes.microaggregate.search.make_refiners import make_refiner
from tclose.passes.microaggregate.search.refine_units import (
    UnitRefiner,
    make_unit_refiner,
    number_units,
)
from tclose.passes.persons.person_values import count_person_values
from tclose.privacy.person_closeness import (
    PersonDemand,
    PersonDistribution,
    weigh_persons,
    weigh_values,
)


def _tree_of_pairs(counts: Int64) -> TreeMetric:
    """Values two by two below a node each, these below the root."""
    m = counts.size
    n_pairs = -(-m // 2)
    paths = np.array([[v, m + v // 2, m + n_pairs] for v in range(m)])
    numerators = np.array([1] * m + [1] * n_pairs + [0])
    below = np.zeros(m + n_pairs + 1, dtype=np.int64)
    for column in paths.T:
        np.add.at(below, column, counts)
    return TreeMetric(paths, numerators, 4, below)


METRICS: dict[str, Callable[[Int64], TreeMetric | None]] = {
    "ordered": lambda _: None,
    "equal": star_metric,
    "tree": _tree_of_pairs,
}


def work_of(metric: TreeMetric | None, n_values: int) -> list[list[Fraction]]:
    """Nodes of a distance, as the naive twin takes them."""
    if metric is None:
        return ordered_work(n_values)
    nodes = [[Fraction(0)] * n_values for _ in metric.numerators]
    for value, path in enumerate(metric.paths.tolist()):
        for node in path:
            nodes[node][value] = Fraction(int(metric.numerators[node]), metric.denominator)
    return nodes


def arrays_of(classes: list[Rows]) -> tuple[Int64, Int64, Int64]:
    """Starts, persons and codes of rows class by class."""
    starts = np.cumsum([0, *map(len, classes)])
    rows = np.array([row for rows in classes for row in rows], dtype=np.int64)
    return starts, rows[:, 0], rows[:, 1]


def weigh_table(persons: Int64, codes: Int64, metric: str) -> PersonDistribution:
    """The table of some rows, over persons, which has the one over rows."""
    counts = np.bincount(codes)
    rows = replace(
        make_distribution(np.arange(counts.size), counts), metric=METRICS[metric](counts)
    )
    _, index, n_rows = np.unique(persons, return_inverse=True, return_counts=True)
    [entries] = count_person_values(codes[np.newaxis], n_rows[index])
    weights = weigh_values(entries, n_rows.size, 0, counts.size)
    return weigh_persons(rows, n_rows.size, (entries,), weights)


@dataclass(frozen=True, eq=False)
class KeptPersons:
    """Rows of persons who are kept together, and classes of the persons.

    ``persons`` int64 (n,), ``codes`` int64 (p, n), ``scaled``: of the rows; ``classes`` int64
    (persons,); ``tables``: of each attribute; ``limits``: theirs; ``k``: persons of a class.
    """

    persons: Int64
    codes: Int64
    scaled: Scaled
    classes: Int64
    tables: tuple[PersonDistribution, ...]
    limits: tuple[Fraction, ...]
    k: int

    @property
    def demand(self) -> PersonDemand:
        """What classes are held to over persons."""
        return PersonDemand(self.k, self.limits, self.tables)

    @property
    def labels(self) -> Int64:
        """The class of each row."""
        labels: Int64 = self.classes[self.persons]
        return labels

    def refiner(self, n_threads: int = 1) -> UnitRefiner:
        """The refiner of the persons."""
        tables = tuple(table.rows for table in self.tables)
        limits = tuple(map(float, self.limits))
        rows = make_refiner(self.scaled, self.codes, tables, limits, self.k, (1,), n_threads)
        return make_unit_refiner(rows, self.persons, self.demand, self.limits)


def make_kept_persons(
    seed: int, n_persons: int, k: int, metrics: list[str], n_nominal: int, size: int,
    limits: list[Fraction],
) -> KeptPersons:  # fmt: skip
    """Persons with one row or several, in classes of about ``size``."""
    rng = np.random.default_rng(seed)
    n_rows = rng.choice([1, 1, 2, 3, 9], n_persons)
    persons = number_units(rng.permutation(np.repeat(np.arange(n_persons), n_rows)))
    drawn = [rng.integers(0, rng.integers(2, 8), persons.size) for _ in metrics]
    codes = np.array([np.unique(column, return_inverse=True)[1].reshape(-1) for column in drawn])
    middle = rng.integers(0, 48, (2, n_persons))[:, persons]
    scaled = Scaled(
        (middle + rng.integers(0, 16, middle.shape)) / 64,
        rng.integers(0, 3, (n_nominal, persons.size)).astype(np.int32),
        3,
        np.array([1.0, 0.5])[:n_nominal],
        np.ones(n_nominal, np.int64),
    )
    n_classes = max(1, n_persons // size)
    classes = rng.permutation(np.arange(n_persons) % n_classes)
    tables = tuple(
        weigh_table(persons, column, metric) for column, metric in zip(codes, metrics, strict=True)
    )
    return KeptPersons(persons, codes, scaled, classes, tables, tuple(limits), k)


@st.composite
def kept_persons(draw: st.DrawFn, *, most: int = 30) -> KeptPersons:
    """Persons with one row or several, in classes of k or more; any metrics and limits."""
    seed = draw(st.integers(0, 2**32 - 1))
    n_persons, k = draw(st.integers(6, most)), draw(st.integers(2, 3))
    metrics = draw(st.lists(st.sampled_from(sorted(METRICS)), min_size=1, max_size=2))
    n_nominal, size = draw(st.integers(0, 2)), draw(st.integers(k, k + 3))
    limits = [draw(st.sampled_from([Fraction(1, 5), Fraction(2, 5), Fraction(1)])) for _ in metrics]
    return make_kept_persons(seed, n_persons, k, metrics, n_nominal, size, limits)
