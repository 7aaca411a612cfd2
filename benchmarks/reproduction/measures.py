"""Privacy measures as requirements that Incognito searches with.

Li et al. 2007, section 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.microdata.sources import adult
from benchmarks.reproduction.hierarchies import AGE_WIDTHS, TREES
from tclose.data.taxonomy import build_from_mapping
from tclose.kernels.emd.tree import star_metric, tree_emds, tree_exceeds
from tclose.methods.generalisation.intervals import build_intervals
from tclose.methods.incognito.lattice_search import Node, Predicate
from tclose.model.array_types import Int64
from tclose.model.distribution import TreeMetric
from tclose.privacy.class_counts import count_by_class
from tclose.privacy.models.l_diversity import check_entropy, check_recursive

# Li et al. 2007, section 6: the first seven attributes of Figure 2; occupation is confidential.
QUASI_IDENTIFIERS = (
    "age", "workclass", "education", "native-country", "marital-status", "race", "sex",
)  # fmt: skip
CONFIDENTIAL = "occupation"
RECURSIVE_FACTOR = 4  # c, of the similarity experiment; section 6 names no other


@dataclass(frozen=True, eq=False)
class AdultRecords:
    """Adult as Incognito takes it.

    ``codes`` int64 (q, n) and ``tables``: level-0 codes and, by level, what they become;
    ``n_values``: distinct values of each; ``occupations`` int64 (n,) leaves of the taxonomy,
    ``groups`` int64 (m,) the group of each leaf, ``metric`` its hierarchical distance.
    """

    codes: Int64
    tables: tuple[Int64, ...]
    n_values: dict[str, int]
    occupations: Int64
    groups: Int64
    metric: TreeMetric

    def first(self, size: int) -> tuple[Int64, tuple[Int64, ...]]:
        """Codes and tables of the first quasi-identifiers."""
        return self.codes[:size], self.tables[:size]

    def classes_at(self, node: Node) -> tuple[Int64, Int64]:
        """Records class by class, int64 (n,), and where each class begins, int64 (c + 1,)."""
        zipped = zip(self.tables, node, self.codes, strict=True)
        columns = np.array([table[level][codes] for table, level, codes in zipped])
        _, class_of = np.unique(columns, axis=1, return_inverse=True)
        sizes = np.bincount(class_of.reshape(-1))
        order = np.argsort(class_of.reshape(-1), kind="stable")
        return order, np.concatenate([[0], np.cumsum(sizes)])


def load_adult() -> AdultRecords:
    """The records that are complete in all columns of the file."""
    table = adult(CONFIDENTIAL).read()
    ages, age_codes = np.unique(table["age"].to_numpy(), return_inverse=True)
    codes, tables = [age_codes], [build_intervals(AGE_WIDTHS).tabulate(ages)]
    for name in QUASI_IDENTIFIERS[1:]:
        taxonomy = build_from_mapping(TREES[name])
        codes.append(taxonomy.encode(_texts(table, name), name))
        tables.append(taxonomy.levels)
    taxonomy = build_from_mapping(TREES[CONFIDENTIAL])
    occupations = taxonomy.encode(_texts(table, CONFIDENTIAL), CONFIDENTIAL)
    _, groups = np.unique(taxonomy.levels[1], return_inverse=True)
    metric = taxonomy.metric(np.bincount(occupations, minlength=groups.size))
    n_values = {name: len(table[name].unique()) for name in (*QUASI_IDENTIFIERS, CONFIDENTIAL)}
    return AdultRecords(np.array(codes), tuple(tables), n_values, occupations, groups, metric)


def _texts(table: pa.Table, name: str) -> Sequence[str]:
    found: list[str] = table[name].to_pylist()
    return found


@dataclass(frozen=True)
class Measure:
    """A requirement of all classes, for a k or an l; ``t`` None: without closeness."""

    name: str
    kind: str
    t: Fraction | None = None
    is_equal: bool = False

    def predicate(self, records: AdultRecords, parameter: int) -> Predicate:
        """Return the predicate for `find_generalisations`."""
        if self.kind == "k":
            return lambda order, starts: self._hold_k(records, parameter, order, starts)

        def hold_l(order: Int64, starts: Int64) -> NDArray[np.bool_]:
            counts = count_by_class(starts, records.occupations[order])
            if self.kind == "entropy":
                return check_entropy(counts, parameter).meets
            return check_recursive(counts, RECURSIVE_FACTOR, parameter).meets

        return hold_l

    def _hold_k(
        self, records: AdultRecords, k: int, order: Int64, starts: Int64
    ) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.diff(starts) >= k
        if self.t is None or not found.all():
            return found
        metric = records.metric
        if self.is_equal:
            metric = star_metric(np.bincount(records.occupations, minlength=records.groups.size))
        members = records.occupations[order]
        emds = tree_emds(members, starts, metric.paths, metric.weights, metric.below)
        found[tree_exceeds(emds, self.t, members, starts, metric)] = False
        return found


K_ANONYMITY = Measure("k-anonymity", "k")
ENTROPY = Measure("entropy l-diversity", "entropy")
RECURSIVE = Measure(f"recursive ({RECURSIVE_FACTOR}, l)-diversity", "recursive")
CLOSE_20 = Measure("k-anonymity, t = 0.2", "k", Fraction("0.2"))
CLOSE_15 = Measure("k-anonymity, t = 0.15", "k", Fraction("0.15"))
FIVE = (K_ANONYMITY, ENTROPY, RECURSIVE, CLOSE_20, CLOSE_15)
