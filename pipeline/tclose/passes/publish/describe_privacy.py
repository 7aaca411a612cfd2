"""Requirements and what was achieved, as manifests have them; audits describe them again."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from fractions import Fraction
from math import inf, nextafter

from tclose.model.attributes import Column
from tclose.model.preparation import exact_number
from tclose.model.verification import ClassSizes, Verdict
from tclose.passes.plan.plan import Plan
from tclose.privacy.models.stochastic_closeness import stochastic_closeness
from tclose.releases.manifest.privacy_sections import (
    JointResult,
    KResult,
    NoiseResult,
    Privacy,
    TResult,
)
from tclose.releases.manifest.privacy_summary import (
    describe_models,
    describe_persons,
)
from tclose.releases.manifest.sections import ClassesSection


def describe_privacy(
    verdict: Verdict, columns: Sequence[Column], bucketed: Collection[str] = ()
) -> Privacy:
    """Describe the privacy parameters of the policy and the achieved measures.

    Parameters
    ----------
    columns : the confidential ones, then the joint
    bucketed : those that are released as buckets: of these t is that of the buckets
    """
    t: dict[str, TResult] = {}
    joint: list[JointResult] = []
    for result, column in zip(verdict.attributes, columns, strict=True):
        reached: dict[str, object] = {
            "asked": float(result.max_emd),
            "largest_emd": result.largest_emd,
            "distance": str(column.distance),
        }
        if column.is_joint:
            parts = list(column.attribute.combines)
            joint.append(JointResult.model_validate({"attributes": parts} | reached))
        else:
            reached |= {"of": "buckets"} if result.name in bucketed else {}
            t[result.name] = TResult.model_validate(reached)
    k = KResult(asked=verdict.k, achieved=verdict.sizes.smallest)
    persons = describe_persons(verdict)
    counted = {} if persons is None else {"persons": persons}
    return Privacy(
        k=k,
        t=t,
        joint=joint,
        models=describe_models(verdict, bucketed),
        counted="records" if persons is None else "persons",
        **counted,
    )


def describe_sizes(sizes: ClassSizes) -> ClassesSection:
    """Sizes of the classes."""
    return ClassesSection(**asdict(sizes))


def describe_noise(plan: Plan, verdict: Verdict) -> dict[str, NoiseResult]:
    """Describe each attribute's noise: epsilon, the noise's range, and t.

    The t is that of Domingo-Ferrer and Soria-Comas 2015, Proposition 1.
    """
    described = {}
    for column in plan.passthrough:
        noise = column.attribute.noise
        if noise is None:
            continue
        asked_t = {} if noise.max_t is None else {"asked_t": float(noise.max_t)}
        described[column.name] = NoiseResult(
            epsilon=float(noise.epsilon),
            mechanism="discrete Laplace" if not noise.values else "randomised response",
            low=None if noise.low is None else exact_number(noise.low),
            high=None if noise.high is None else exact_number(noise.high),
            step=exact_number(noise.step),
            values=list(noise.values or column.attribute.order),
            stochastic_t=state_closeness(noise.epsilon, verdict.n_records, verdict.sizes),
            **asked_t,
        )
    return described


def state_closeness(epsilon: Fraction, n_records: int, sizes: ClassSizes) -> float:
    """Return the t of stochastic closeness for a manifest, rounded up.

    Domingo-Ferrer and Soria-Comas 2015, Proposition 1.
    """
    return round_up(stochastic_closeness(epsilon, n_records, sizes.smallest).t)


def round_up(value: Fraction) -> float:
    """A float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else nextafter(nearest, inf)
