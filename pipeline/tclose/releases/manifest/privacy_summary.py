"""The manifest's sections on further models and on attacks, measured on the released rows alone."""

from collections.abc import Collection
from math import isfinite
from typing import Any

from tclose.model import ModelResult, RiskResult, Verdict
from tclose.privacy.model_registry import MODELS
from tclose.releases.manifest.sections import (
    Attacks,
    Exposed,
    PrivacyModelResult,
    Risk,
    Section,
    Skewness,
)

# Figures that are sums of floats, made again in another order of their terms.
SAME_FIGURE = 1e-9


def describe_models(verdict: Verdict, bucketed: Collection[str] = ()) -> list[PrivacyModelResult]:
    """Describe each further model's parameters for each confidential attribute, and its measures.

    ``bucketed``: attributes that are released as buckets.
    """
    return [_describe_model(result, result.name in bucketed) for result in verdict.models]


def _describe_model(result: ModelResult, is_bucketed: bool) -> PrivacyModelResult:
    kind = MODELS.classes()[result.model]
    return PrivacyModelResult(
        name=result.model,
        attribute=result.name,
        asked=result.parameters,
        reached=result.achieved if isfinite(result.achieved) else None,
        failing_classes=result.n_failing,
        **kind.describe(result.parameters, is_bucketed=is_bucketed),
    )


def describe_risk(verdict: Verdict, k: int) -> Risk:
    """Discernibility, average class size over k, and attacks on each confidential attribute."""
    return Risk(
        discernibility=verdict.discernibility,
        average_class_size=verdict.sizes.mean / k,
        attributes={risk.name: _describe_attacks(risk) for risk in verdict.risks},
    )


def _describe_attacks(risk: RiskResult) -> Attacks:
    return Attacks(
        homogeneity=Exposed(records=risk.homogeneous_records, classes=risk.homogeneous_classes),
        groups=risk.groups,
        similarity=Exposed(records=risk.similar_records, classes=risk.similar_classes),
        skewness=Skewness(
            factor=risk.factor,
            records=risk.skewed_records,
            classes=risk.skewed_classes,
            largest=risk.largest_factor,
            mean=risk.mean_factor,
        ),
    )


def three_digits(value: float) -> float:
    """All of them would tell what the rounding of a mean hides."""
    return float(f"{value:.3g}")


def find_differences(said: Any, found: Any, place: str) -> list[str]:
    """Places in which a manifest says something else than was found; rounding is no difference.

    A key that this version does not know is none: what it says is found nowhere.
    """
    if isinstance(said, Section) and type(said) is type(found):
        keys = (*type(said).model_fields, *(found.model_extra or ()))
        pairs = [(getattr(said, k, None), getattr(found, k), f"{place}.{k}") for k in keys]
        return [line for pair in pairs for line in find_differences(*pair)]
    if isinstance(said, dict) and isinstance(found, dict) and said.keys() == found.keys():
        pairs = [(said[key], found[key], f"{place}.{key}") for key in said]
        return [line for pair in pairs for line in find_differences(*pair)]
    if isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        items = enumerate(zip(said, found, strict=True))
        return [line for i, pair in items for line in find_differences(*pair, f"{place}[{i}]")]
    if isinstance(said, float) and isinstance(found, float):
        return [] if abs(said - found) <= SAME_FIGURE * max(1.0, abs(found)) else [place]
    return [] if said == found and type(said) is type(found) else [place]
