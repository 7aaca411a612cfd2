"""Privacy models bound to attributes whose values are known, and classes checked against them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from pydantic import ValidationError

from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.model.verification import Achieved
from tclose.privacy.class_counts import ClassCounts, ClassMeasures, count_by_class
from tclose.privacy.privacy_model import PrivacyModel
from tclose.privacy.value_groups import Grouping, cut_at_ranks, cut_value_ranges, find_groups


@dataclass(frozen=True, eq=False)
class PrivacyModels:
    """The models besides k and t that classes are held to, and the groups they are measured by.

    ``requirements``: bound; ``groupings``: of each confidential attribute the groups of values that
    attacks of similarity and skewness are measured with, empty where they are not.
    """

    requirements: tuple[PrivacyModel, ...] = ()
    groupings: tuple[Grouping, ...] = ()

    @property
    def by_class(self) -> tuple[PrivacyModel, ...]:
        """The models that are decided class by class; all of them are monotone."""
        return tuple(r for r in self.requirements if not r.needs_table)

    @property
    def by_table(self) -> tuple[PrivacyModel, ...]:
        """The models that need all classes of the table."""
        return tuple(r for r in self.requirements if r.needs_table)


NO_MODELS = PrivacyModels()


def privacy_model_of(
    model: str, name: str, parameters: Mapping[str, Any], k: int
) -> PrivacyModel | None:
    """The requirement that has these parameters: the inverse of `PrivacyModel.parameters`.

    None where the model has others, or they are out of the ranges that a policy is held to. What
    the model's own code raises is let through.

    Parameters
    ----------
    k : of the policy that the parameters are of

    Raises
    ------
    ValueError
        There is no such model.
    """
    kind = PrivacyModel(model, name, Fraction(0)).kind
    needed = [kind.limit_key, *filter(None, [kind.count_key])]
    if kind.of_noise or not all(type(parameters.get(key)) in (int, float) for key in needed):
        return None
    raw_buckets = parameters.get("buckets", ())
    if not isinstance(raw_buckets, int | Sequence):
        return None
    buckets = (
        raw_buckets
        if isinstance(raw_buckets, int)
        else tuple(tuple(map(str, g)) for g in raw_buckets)
    )
    limit = Fraction(str(parameters[kind.limit_key]))
    count = int(parameters[kind.count_key]) if kind.count_key else 0
    requirement = PrivacyModel(model, name, limit, count, buckets, "release" in parameters)
    if not _can_be_asked(requirement, parameters, k) or requirement.parameters != parameters:
        return None
    return requirement


def _can_be_asked(requirement: PrivacyModel, parameters: Mapping[str, Any], k: int) -> bool:
    """Return whether a policy can have these parameters, as far as they are its keys."""
    kind = requirement.kind
    named = {key: parameters[key] for key in parameters.keys() & kind.model_fields.keys()}
    named.pop("buckets", None)  # those of bucketization are as many as its records allow
    needed = {key for key, field in kind.model_fields.items() if field.is_required()}
    if not needed <= {"name", *named}:
        return True  # it makes its limit of other keys
    try:
        settings = kind.model_validate({"name": requirement.model, **named})
    except ValidationError:
        return False
    derived = settings.require(requirement.name, k)
    return (derived.limit, derived.count) == (requirement.limit, requirement.count)


def bind(
    requirement: PrivacyModel,
    attribute: int,
    column: Column,
    distribution: Distribution,
    texts: Sequence[str],
) -> PrivacyModel:
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
            is_ranked = requirement.of_values and column.kind is not Kind.NOMINAL
            cut = cut_at_ranks if is_ranked else cut_value_ranges
            grouping = cut(requirement.buckets, distribution, where)
        else:
            grouping = find_groups(requirement.buckets, column, distribution, texts, where)
    return replace(requirement, attribute=attribute, grouping=grouping)


def check_counts(requirement: PrivacyModel, counts: ClassCounts, table: Int64) -> ClassMeasures:
    """Check classes against a requirement that is decided class by class.

    Parameters
    ----------
    counts : of the attribute's values in the classes
    table : int64 (m,): records of each value in the whole table
    """
    return requirement.kind.measure(requirement, counts, table)


def meet_all(
    requirements: Sequence[PrivacyModel],
    starts: Int64,
    codes: Int64,
    distributions: Sequence[Distribution],
) -> np.ndarray:
    """Return whether each class meets every requirement that is decided class by class: bool (c,).

    Parameters
    ----------
    codes : int64 (p, n): of all confidential attributes, records of a class adjacent
    """
    meets = np.ones(starts.size - 1, dtype=np.bool_)
    for a in sorted({requirement.attribute for requirement in requirements}):
        counts, table = count_by_class(starts, codes[a]), distributions[a].counts
        for requirement in requirements:
            if requirement.attribute == a:
                meets &= check_counts(requirement, counts, table).meets
    return meets


def summarise_measures(measures: ClassMeasures) -> Achieved:
    """The extremes of the classes' measures, and how many classes there are and fail."""
    values = measures.values
    return Achieved(
        values.size,
        measures.n_failing,
        float(values.min(initial=np.inf)),
        float(values.max(initial=-np.inf)),
    )
