"""Verification: exact k and exact distances of every equivalence class, as released.

Rows come in the release's canonical order, in key ranges that no class straddles; results merge.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.model.array_types import Int64
from tclose.model.counted_words import count_words
from tclose.model.distribution import Distribution
from tclose.model.verification import (
    Achieved,
    AttributeResult,
    ClassSizes,
    Failure,
    ModelResult,
    Verdict,
)
from tclose.passes.microaggregate.utility import measure_discernibility
from tclose.passes.verify.class_profiles import DistanceProfile, profile_distances
from tclose.passes.verify.person_checks import PersonChecks
from tclose.passes.verify.size_counts import count_sizes, merge_sizes
from tclose.privacy.bound_models import PrivacyModels, check_counts, summarise_measures
from tclose.privacy.class_counts import ClassMeasures, count_by_class
from tclose.privacy.privacy_model import PrivacyModel
from tclose.privacy.risk import Risk, describe_risks, measure_risk
from tclose.privacy.t_closeness import class_distances, classes_above


@dataclass(frozen=True, eq=False)
class ClassChecks:
    """The measures of the classes of a key range; two of them merge.

    ``size_counts`` int64 (2, s): distinct class sizes and how many classes have each. ``largest``
    and ``n_violating`` are per confidential attribute; the largest distance may be NaN: a class
    without one is never close. ``models``: per requirement; one that needs the whole table has no
    classes before `add_whole_table`. ``risks``: per confidential attribute, or none; ``profiles``:
    per confidential attribute. ``persons``: where they are counted.
    """

    n_records: int
    size_counts: Int64
    largest: tuple[float, ...]
    n_violating: tuple[int, ...]
    models: tuple[Achieved, ...] = ()
    risks: tuple[Risk, ...] = ()
    profiles: tuple[DistanceProfile, ...] = ()
    persons: PersonChecks | None = None

    @property
    def n_classes(self) -> int:
        """Classes of all sizes."""
        return int(self.size_counts[1].sum())

    def merge(self, other: "ClassChecks") -> "ClassChecks":
        """The checks of both key ranges."""
        return ClassChecks(
            self.n_records + other.n_records,
            merge_sizes(self.size_counts, other.size_counts),
            tuple(
                float(np.maximum(a, b)) for a, b in zip(self.largest, other.largest, strict=True)
            ),
            tuple(a + b for a, b in zip(self.n_violating, other.n_violating, strict=True)),
            tuple(a.merge(b) for a, b in zip(self.models, other.models, strict=True)),
            tuple(a.merge(b) for a, b in zip(self.risks, other.risks, strict=True)),
            tuple(a.merge(b) for a, b in zip(self.profiles, other.profiles, strict=True)),
            self._merge_persons(other),
        )

    def _merge_persons(self, other: "ClassChecks") -> PersonChecks | None:
        """Merge the checks of persons, if persons were counted in both."""
        if self.persons is None or other.persons is None:
            return None
        return self.persons.merge(other.persons)


def check_classes(
    starts: Int64,
    codes: Int64,
    distributions: tuple[Distribution, ...],
    max_emds: tuple[Fraction, ...],
    privacy_models: PrivacyModels,
) -> ClassChecks:
    """Check the classes of a key range of rows.

    Parameters
    ----------
    starts : int64 (c + 1,): where each class begins
    codes : int64 (p, n): confidential values as positions in their distribution
    """
    size_counts = count_sizes(np.diff(starts))
    largest, n_violating, profiles = [], [], []
    for members, distribution, limit in zip(codes, distributions, max_emds, strict=True):
        emds = class_distances(members, starts, distribution)
        above = classes_above(emds, limit, members, starts, distribution)
        largest.append(float(emds.max()))
        n_violating.append(int(above.size))
        profiles.append(profile_distances(emds, limit, members, starts))
    n_records = int(starts[-1] - starts[0])
    checks = ClassChecks(
        n_records,
        size_counts,
        tuple(largest),
        tuple(n_violating),
        profiles=tuple(profiles),
    )
    return _check_further(checks, starts, codes, distributions, privacy_models)


def _check_further(
    checks: ClassChecks,
    starts: Int64,
    codes: Int64,
    distributions: tuple[Distribution, ...],
    privacy_models: PrivacyModels,
) -> ClassChecks:
    """The checks with the further models' and with the risks."""
    models = [Achieved()] * len(privacy_models.requirements)
    risks = []
    for a, (members, distribution) in enumerate(zip(codes, distributions, strict=True)):
        indices = [
            i
            for i, r in enumerate(privacy_models.requirements)
            if r.attribute == a and not r.needs_table
        ]
        if not indices and not privacy_models.groupings:
            continue
        counts = count_by_class(starts, members)
        for i in indices:
            measured = check_counts(privacy_models.requirements[i], counts, distribution.counts)
            models[i] = summarise_measures(measured)
        if privacy_models.groupings:
            risks.append(measure_risk(counts, distribution, privacy_models.groupings[a]))
    return replace(checks, models=tuple(models), risks=tuple(risks))


def add_whole_table(checks: ClassChecks, measures: dict[int, ClassMeasures]) -> ClassChecks:
    """The checks of all classes with those that need the whole table, by their place."""
    models = list(checks.models)
    for i, measured in measures.items():
        models[i] = models[i].merge(summarise_measures(measured))
    return replace(checks, models=tuple(models))


def decide(
    checks: ClassChecks,
    *,
    k: int,
    names: tuple[str, ...],
    max_emds: tuple[Fraction, ...],
    n_expected: int,
    n_changed: dict[str, int],
    privacy_models: PrivacyModels,
) -> Verdict:
    """The verdict: passed only if every count says so.

    ``n_expected``: records that have to be there; ``n_changed``: per confidential attribute, values
    whose number of records differs between the table and the release.
    """
    failures = _find_size_failures(checks, k, n_expected)
    for name, limit, n_violating, largest in zip(
        names, max_emds, checks.n_violating, checks.largest, strict=True
    ):
        if n_violating or not largest <= 1:
            measured = (
                f"{count_words(n_violating, 'class', 'classes')} above, the largest {largest:.6f}"
            )
            failures.append(Failure(f"t of {name}", f"at most {float(limit):g}", measured))
        if n_changed.get(name, 0):
            measured = f"{count_words(n_changed[name], 'value')} with another count"
            failures.append(Failure(f"distribution of {name}", "that of the table", measured))
    for requirement, achieved in zip(privacy_models.requirements, checks.models, strict=True):
        failures += _judge(requirement, achieved, checks.n_classes)
    return Verdict(
        k,
        checks.n_records,
        _describe_sizes(checks),
        tuple(map(AttributeResult, names, max_emds, checks.largest, checks.n_violating)),
        tuple(failures),
        tuple(map(_describe, privacy_models.requirements, checks.models)),
        describe_risks(checks.risks, names, privacy_models.groupings),
        measure_discernibility(checks.size_counts),
    )


def _find_size_failures(checks: ClassChecks, k: int, n_expected: int) -> list[Failure]:
    """Records that are missing or too many, and classes that are too small."""
    sizes, counts = checks.size_counts
    too_small = int(counts[sizes < k].sum())
    failures = []
    if checks.n_records != n_expected:
        failures.append(Failure("records", f"{n_expected:,}", f"{checks.n_records:,}"))
    if not sizes.size or too_small:
        failures.append(Failure("k", f"at least {k} records", f"{too_small:,} smaller classes"))
    return failures


def _describe_sizes(checks: ClassChecks) -> ClassSizes:
    sizes, n_classes = checks.size_counts[0], checks.n_classes
    if not sizes.size:
        return ClassSizes()
    mean = checks.n_records / n_classes if n_classes else 0.0
    return ClassSizes(n_classes, int(sizes.min()), int(sizes.max()), mean)


def _judge(requirement: PrivacyModel, achieved: Achieved, n_classes: int) -> list[Failure]:
    """Return why a model is not met, as it is not if some class was not measured."""
    what = f"{requirement.model} of {requirement.name}"
    parameters = ", ".join(f"{name} = {value}" for name, value in requirement.parameters.items())
    if achieved.n_classes != n_classes or not n_classes:
        return [
            Failure(what, parameters, f"{achieved.n_classes:,} of {n_classes:,} classes checked")
        ]
    if not achieved.n_failing:
        return []
    worst = _worst(requirement, achieved)
    failing = count_words(achieved.n_failing, "class fails", "classes fail")
    return [Failure(what, parameters, f"{failing}, the worst has {worst:.6g}")]


def _worst(requirement: PrivacyModel, achieved: Achieved) -> float:
    return achieved.smallest if requirement.kind.larger_is_better else achieved.largest


def _describe(requirement: PrivacyModel, achieved: Achieved) -> ModelResult:
    return ModelResult(
        str(requirement.model),
        requirement.name,
        requirement.parameters,
        _worst(requirement, achieved),
        achieved.n_failing,
    )
