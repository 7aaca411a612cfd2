"""What a manifest says of further models and of attacks: measured on the released rows alone."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from fractions import Fraction
from math import isfinite
from typing import Any

from pipeline.model import Column, Float64, ModelResult, RiskResult, Role, Verdict
from pipeline.stages.models.ratio import ASSUMPTIONS, epsilon_of_ratio
from pipeline.stages.models.utility import Comparison, measure_changes, measure_il1s
from pipeline.stages.requirements import Model

# Figures that are sums of floats, made again in another order of their terms.
SAME_FIGURE = 1e-9


def describe_models(verdict: Verdict, bucketed: Collection[str] = ()) -> list[dict[str, Any]]:
    """What each further model asked of each confidential attribute, and what was reached.

    ``bucketed``: attributes that are released as buckets.
    """
    return [_describe_model(result, result.name in bucketed) for result in verdict.models]


def _describe_model(result: ModelResult, is_bucketed: bool) -> dict[str, Any]:
    described = {
        "name": result.model,
        "attribute": result.name,
        "asked": result.asked,
        "reached": result.reached if isfinite(result.reached) else None,
        "failing_classes": result.n_failing,
    }
    if result.model != Model.RATIO:
        return described
    if "release" in result.asked:
        return described | {"holds_for": _BUCKETS_ONLY}
    return described | {
        "epsilon": float(epsilon_of_ratio(Fraction(str(result.asked["t"])))),
        "epsilon_is_about": _subject(result.asked, is_bucketed),
        "epsilon_assumes": list(ASSUMPTIONS),
    }


_BUCKETS_ONLY = (
    "the buckets that classes were made with, not for the values, which are released as they are: "
    "inside a bucket a class may have any of them, so no epsilon of Proposition 3 is claimed; the "
    "distance of classes in the values is measured under t"
)


def _subject(asked: dict[str, Any], is_bucketed: bool) -> str:
    if is_bucketed:
        return "the bucket that is released in place of the attribute's value"
    if "buckets" not in asked:
        return "the attribute's value"
    return (
        "the bucket that the attribute's value is in; the value itself is released, and what it "
        "says beyond its bucket is not covered"
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


def describe_utility(comparison: Comparison, columns: Sequence[Column]) -> dict[str, Any]:
    """What a release changes for analysis, to three digits: to be kept inside.

    IL1s over the quasi-identifiers, which come first; changes of means (in standard deviations of
    the original), of variances (relative), and of correlations (differences), over all columns.
    None where there is no such figure: of a single record, or of one value.
    """
    n_quasi = sum(column.role is Role.QUASI_IDENTIFIER for column in columns)
    changes = measure_changes(comparison)
    names = [column.name for column in columns]
    return {
        "il1s": _known(measure_il1s(comparison.first(n_quasi))),
        "changes_of_means": _by_name(names, changes.means),
        "changes_of_variances": _by_name(names, changes.variances),
        "changes_of_correlations": {
            f"{names[i]} and {names[j]}": _known(float(changes.correlations[i, j]))
            for j in range(len(names))
            for i in range(j)
        },
    }


def _by_name(names: Sequence[str], values: Float64) -> dict[str, float | None]:
    return dict(zip(names, map(_known, values.tolist()), strict=True))


def three_digits(value: float) -> float:
    """All of them would tell what the rounding of a mean hides."""
    return float(f"{value:.3g}")


def _known(value: float) -> float | None:
    return three_digits(value) if isfinite(value) else None


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
