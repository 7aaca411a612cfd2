"""The manifest's sections on further models and on attacks, measured on the released rows alone."""

from collections.abc import Collection
from math import isfinite
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from tclose.data.places.untrusted_files import MalformedError, dump_json
from tclose.errors import UsageError
from tclose.model.verification import ModelResult, RiskResult, Verdict
from tclose.privacy.bound_models import privacy_model_of
from tclose.privacy.model_registry import MODELS
from tclose.privacy.privacy_model import Model, PrivacyModel
from tclose.releases.manifest.privacy_sections import (
    KResult,
    PersonClasses,
    PersonsResult,
    PersonT,
    PrivacyModelResult,
)
from tclose.releases.manifest.public_manifest import parse_as
from tclose.releases.manifest.sections import (
    Attacks,
    Exposed,
    RiskSection,
    Section,
    SkewnessSection,
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


def check_describable(requirement: PrivacyModel, k: int, *, is_bucketed: bool) -> None:
    """Refuse a model that a manifest could not hold, or an audit not read back, before it is used.

    Parameters
    ----------
    k : of the policy

    Raises
    ------
    UsageError
        For the author of the model, who may be somebody else than who runs it.
    """
    kind, parameters = requirement.kind, requirement.parameters
    more = kind.describe(parameters, is_bucketed=is_bucketed)
    try:
        written = PrivacyModelResult.model_validate(
            {"name": requirement.model, "attribute": requirement.name, "asked": parameters}
            | {"reached": None, "failing_classes": 0}
            | more
        )
        read = parse_as(PrivacyModelResult, dump_json(written.to_json()))
    except ValidationError as error:
        places = {".".join(map(str, problem["loc"][:2])) for problem in error.errors()}
        raise _blame(kind, f"{', '.join(sorted(places))}: {_MAY_HOLD}") from None
    except (PydanticSerializationError, MalformedError):
        raise _blame(kind, f"what describe gives: {_MAY_HOLD}") from None
    if differing := find_differences(read, written, "describe"):
        raise _blame(kind, f"{differing[0]} is read back as something else; {_MAY_HOLD}")
    reconstructed = privacy_model_of(requirement.model, requirement.name, read.asked, k)
    if reconstructed is None or _parameters_of(reconstructed) != _parameters_of(requirement):
        keys = " and ".join(filter(None, [kind.limit_key, kind.count_key]))
        what = "describe_parameters gives what an audit cannot make the same requirement of"
        raise _blame(kind, f"{what}; it has to have {keys}, in numbers of double precision")


_MAY_HOLD = "a manifest holds numbers and lists of lists of texts in asked, and JSON in the rest"


def _parameters_of(requirement: PrivacyModel) -> tuple[object, ...]:
    return requirement.limit, requirement.count, requirement.buckets, requirement.of_values


def _blame(kind: type[Model], what: str) -> UsageError:
    where = f"{kind.__module__}.{kind.__qualname__}"
    return UsageError(f"privacy model {where}: {what}; whoever wrote it has to correct it")


def describe_persons(verdict: Verdict, *, inside: bool = False) -> PersonsResult | None:
    """Describe k and t over persons; None where k counts records.

    ``inside``: with the distances reached. By the digits of one an intruder would tell which rows
    of a release are of one person, so what is handed out says that it is within t.
    """
    persons = verdict.persons
    if persons is None:
        return None
    counted = {}
    if persons.are_together and persons.traces is not None:
        counted["in_several_classes"] = persons.traces.n_several
    return PersonsResult(
        persons=persons.n_persons,
        k=KResult(asked=verdict.k, achieved=persons.smallest),
        t={
            result.name: PersonT.model_validate(
                {"asked": float(result.max_emd)}
                | ({"largest_emd": result.largest_emd} if inside else {})
            )
            for result in persons.attributes
        },
        classes=PersonClasses(
            smallest=persons.smallest, largest=persons.largest, mean=persons.mean
        ),
        **counted,
    )


def measure_over_persons(verdict: Verdict) -> dict[str, float]:
    """The largest distance of a class over persons, by attribute; empty where k counts records."""
    if verdict.persons is None:
        return {}
    return {result.name: result.largest_emd for result in verdict.persons.attributes}


def describe_risk(verdict: Verdict, k: int) -> RiskSection:
    """Discernibility, average class size over k, and attacks on each confidential attribute."""
    return RiskSection(
        discernibility=verdict.discernibility,
        average_class_size=verdict.sizes.mean / k,
        attributes={risk.name: _describe_attacks(risk) for risk in verdict.risks},
    )


def _describe_attacks(risk: RiskResult) -> Attacks:
    return Attacks(
        homogeneity=Exposed(records=risk.homogeneous_records, classes=risk.homogeneous_classes),
        groups=risk.groups,
        similarity=Exposed(records=risk.similar_records, classes=risk.similar_classes),
        skewness=SkewnessSection(
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


def known_digits(value: float) -> float | None:
    """Return three digits; None of what is no finite number, as the largest float is with three."""
    digits = three_digits(value)
    return digits if isfinite(digits) else None


def find_differences(stated: Any, measured: Any, place: str) -> list[str]:
    """Places in which a manifest says something else than was found; rounding is no difference.

    A key that this version does not know is none: what it says is found nowhere.
    """
    if isinstance(stated, Section) and type(stated) is type(measured):
        keys = (*type(stated).model_fields, *(measured.model_extra or ()))
        pairs = [(getattr(stated, k, None), getattr(measured, k), f"{place}.{k}") for k in keys]
        return [line for pair in pairs for line in find_differences(*pair)]
    if isinstance(stated, dict) and isinstance(measured, dict) and stated.keys() == measured.keys():
        pairs = [(stated[key], measured[key], f"{place}.{key}") for key in stated]
        return [line for pair in pairs for line in find_differences(*pair)]
    if isinstance(stated, list) and isinstance(measured, list) and len(stated) == len(measured):
        items = enumerate(zip(stated, measured, strict=True))
        return [line for i, pair in items for line in find_differences(*pair, f"{place}[{i}]")]
    if isinstance(stated, float) and isinstance(measured, float):
        return [] if abs(stated - measured) <= SAME_FIGURE * max(1.0, abs(measured)) else [place]
    return [] if stated == measured and type(stated) is type(measured) else [place]
