"""The manifest's sections on further models and on attacks, measured on the released rows alone."""

from collections.abc import Collection
from dataclasses import asdict
from math import isfinite
from typing import Any

from tclose.model import ModelResult, RiskResult, Verdict
from tclose.privacy.registry import MODELS

# Figures that are sums of floats, made again in another order of their terms.
SAME_FIGURE = 1e-9


def describe_models(verdict: Verdict, bucketed: Collection[str] = ()) -> list[dict[str, Any]]:
    """Describe each further model's parameters for each confidential attribute, and its measures.

    ``bucketed``: attributes that are released as buckets.
    """
    return [_describe_model(result, result.name in bucketed) for result in verdict.models]


def _describe_model(result: ModelResult, is_bucketed: bool) -> dict[str, Any]:
    described = {
        "name": result.model,
        "attribute": result.name,
        "asked": result.parameters,
        "reached": result.achieved if isfinite(result.achieved) else None,
        "failing_classes": result.n_failing,
    }
    return described | MODELS.classes()[result.model].describe(
        result.parameters, is_bucketed=is_bucketed
    )


def describe_risk(verdict: Verdict, k: int) -> dict[str, Any]:
    """Discernibility, average class size over k, and attacks on each confidential attribute."""
    return {
        "discernibility": verdict.discernibility,
        "average_class_size": verdict.sizes.mean / k,
        "attributes": {risk.name: _describe_attacks(risk) for risk in verdict.risks},
    }


def _describe_attacks(risk: RiskResult) -> dict[str, Any]:
    figures = asdict(risk)
    return {
        "homogeneity": {what: figures[f"homogeneous_{what}"] for what in ("records", "classes")},
        "groups": risk.groups,
        "similarity": {what: figures[f"similar_{what}"] for what in ("records", "classes")},
        "skewness": {
            "factor": risk.factor,
            "records": risk.skewed_records,
            "classes": risk.skewed_classes,
            "largest": risk.largest_factor,
            "mean": risk.mean_factor,
        },
    }


def three_digits(value: float) -> float:
    """All of them would tell what the rounding of a mean hides."""
    return float(f"{value:.3g}")


def find_differences(said: Any, found: Any, place: str) -> list[str]:
    """Places in which two accounts differ; figures that differ by rounding alone do not."""
    if isinstance(said, dict) and isinstance(found, dict) and said.keys() == found.keys():
        pairs = [(said[key], found[key], f"{place}.{key}") for key in said]
        return [line for pair in pairs for line in find_differences(*pair)]
    if isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        items = enumerate(zip(said, found, strict=True))
        return [line for i, pair in items for line in find_differences(*pair, f"{place}[{i}]")]
    if isinstance(said, float) and isinstance(found, float):
        return [] if abs(said - found) <= SAME_FIGURE * max(1.0, abs(found)) else [place]
    return [] if said == found and type(said) is type(found) else [place]
