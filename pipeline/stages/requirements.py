"""Privacy models that classes are held to beside k and t: what is asked of an attribute, the check.

All but (n, t)-closeness are decided class by class, and monotone: a union of two classes that meet
one meets it, so merging can bring it about. (n, t)-closeness needs the whole table, and is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

from pipeline.errors import PolicyError
from pipeline.model import Column, Distribution, Int64, Reached
from pipeline.stages.grouping import Grouping, cut_at_ranks, cut_stretches, find_groups
from pipeline.stages.models.counts import ClassCounts, ClassMeasures, count_values, group_table
from pipeline.stages.models.diversity import (
    check_distinct,
    check_entropy,
    check_recursive,
    check_sensitivity,
)
from pipeline.stages.models.ratio import check_ratio


class Model(StrEnum):
    """The models by the names that policies and manifests give them."""

    DISTINCT = "distinct-l-diversity"
    ENTROPY = "entropy-l-diversity"
    RECURSIVE = "recursive-cl-diversity"
    SENSITIVITY = "p-sensitive-k-anonymity"
    SUPERSETS = "n-t-closeness"
    RATIO = "ratio-closeness"

    @property
    def is_least(self) -> bool:
        """Whether the measure of a class has to be large rather than small."""
        return self in (Model.DISTINCT, Model.ENTROPY, Model.SENSITIVITY)


@dataclass(frozen=True, eq=False)
class Requirement:
    """One model, asked of one confidential attribute.

    ``limit``: l, c, p or t; ``count``: l of recursive diversity, k of p-sensitivity, n of (n, t)-
    closeness. ``buckets``: of ratio closeness, how many stretches of the table's values, or groups
    of values; none where each value is its own. ``of_values``: the buckets are bucketization's, and
    the values are released. ``attribute``: its place among the confidential
    attributes, and ``grouping``: the buckets of its values, once `bind` has found them.
    """

    model: Model
    name: str
    limit: Fraction
    count: int = 0
    buckets: int | tuple[tuple[str, ...], ...] = ()
    of_values: bool = False
    attribute: int = -1
    grouping: Grouping | None = None

    @property
    def needs_table(self) -> bool:
        """Whether the classes of the whole table have to be checked together."""
        return self.model is Model.SUPERSETS

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters as a policy has them."""
        limit = float(self.limit)
        of_model: dict[Model, dict[str, Any]] = {
            Model.DISTINCT: {"l": int(limit)},
            Model.ENTROPY: {"l": limit},
            Model.RECURSIVE: {"c": limit, "l": self.count},
            Model.SENSITIVITY: {"p": int(limit), "k": self.count},
            Model.SUPERSETS: {"n": self.count, "t": limit},
            Model.RATIO: {"t": limit},
        }
        asked = of_model[self.model]
        if self.buckets:
            given = self.buckets
            asked["buckets"] = given if isinstance(given, int) else [list(g) for g in given]
        return asked | ({"release": "value"} if self.of_values else {})


@dataclass(frozen=True, eq=False)
class Further:
    """What classes are held to and measured by, beside k and t.

    ``requirements``: bound; ``groupings``: of each confidential attribute the groups of values that
    attacks of similarity and skewness are measured with, empty where they are not.
    """

    requirements: tuple[Requirement, ...] = ()
    groupings: tuple[Grouping, ...] = ()

    @property
    def by_class(self) -> tuple[Requirement, ...]:
        """Those that are decided class by class; all of them are monotone."""
        return tuple(r for r in self.requirements if not r.needs_table)

    @property
    def by_table(self) -> tuple[Requirement, ...]:
        """Those that need all classes of the table."""
        return tuple(r for r in self.requirements if r.needs_table)


NOTHING = Further()


def requirement_of(model: str, name: str, asked: dict[str, Any]) -> Requirement:
    """The requirement that has these parameters: the inverse of `Requirement.asked`.

    Raises
    ------
    ValueError, KeyError, TypeError
        There is no such model, or it has other parameters.
    """
    limits = {Model.RECURSIVE: "c", Model.SENSITIVITY: "p"}
    limits |= {Model.SUPERSETS: "t", Model.RATIO: "t"}
    counts = {Model.RECURSIVE: "l", Model.SENSITIVITY: "k", Model.SUPERSETS: "n"}
    known = Model(model)
    limit = Fraction(str(asked[limits.get(known, "l")]))
    count = int(asked[counts[known]]) if known in counts else 0
    given = asked.get("buckets", ())
    buckets = given if isinstance(given, int) else tuple(tuple(map(str, g)) for g in given)
    made = Requirement(known, name, limit, count, buckets, "release" in asked)
    if made.asked != asked:
        raise ValueError
    return made


def bind(
    requirement: Requirement,
    attribute: int,
    column: Column,
    distribution: Distribution,
    texts: Sequence[str],
) -> Requirement:
    """The requirement for an attribute whose values are known.

    Parameters
    ----------
    attribute : place of the column among the confidential attributes
    texts : the values of a nominal column in the order of their codes

    Raises
    ------
    PolicyError
        Its buckets cannot be made of the values that there are.
    """
    grouping = None
    if requirement.buckets:
        where = f"privacy.models: {requirement.model} of {column.name!r}"
        if isinstance(requirement.buckets, int):
            cut = cut_at_ranks if requirement.of_values else cut_stretches
            grouping = cut(requirement.buckets, distribution, where)
        else:
            grouping = find_groups(requirement.buckets, column, distribution, texts, where)
    return replace(requirement, attribute=attribute, grouping=grouping)


def check_counts(requirement: Requirement, counts: ClassCounts, table: Int64) -> ClassMeasures:
    """Check classes against a requirement that is decided class by class.

    Parameters
    ----------
    counts : of the attribute's values in the classes
    table : int64 (m,): records of each value in the whole table
    """
    model, limit = requirement.model, requirement.limit
    if model is Model.DISTINCT:
        return check_distinct(counts, int(limit))
    if model is Model.ENTROPY:
        return check_entropy(counts, limit)
    if model is Model.RECURSIVE:
        return check_recursive(counts, limit, requirement.count)
    if model is Model.SENSITIVITY:
        return check_sensitivity(counts, requirement.count, int(limit))
    if model is not Model.RATIO:
        raise PolicyError(f"{model} is not decided class by class")
    if requirement.grouping is not None:
        groups = requirement.grouping.of_values(table.size)
        counts, table = counts.grouped(groups), group_table(table, groups)
    return check_ratio(counts, table, limit)


def check(
    requirement: Requirement, starts: Int64, codes: Int64, distribution: Distribution
) -> ClassMeasures:
    """The same from records: ``starts`` int64 (c + 1,), ``codes`` int64 (n,) of the attribute."""
    return check_counts(requirement, count_values(starts, codes), distribution.counts)


def meet_all(
    requirements: Sequence[Requirement],
    starts: Int64,
    codes: Int64,
    distributions: Sequence[Distribution],
) -> np.ndarray:
    """Whether each class meets every requirement that is decided class by class: bool (c,).

    Parameters
    ----------
    codes : int64 (p, n): of all confidential attributes, records of a class adjacent
    """
    meets = np.ones(starts.size - 1, dtype=np.bool_)
    for a in sorted({requirement.attribute for requirement in requirements}):
        counts, table = count_values(starts, codes[a]), distributions[a].counts
        for requirement in requirements:
            if requirement.attribute == a:
                meets &= check_counts(requirement, counts, table).meets
    return meets


def summarise_measures(measures: ClassMeasures) -> Reached:
    """The extremes of the classes' measures, and how many classes there are and fail."""
    values = measures.values
    return Reached(
        values.size,
        measures.n_failing,
        float(values.min(initial=np.inf)),
        float(values.max(initial=-np.inf)),
    )
