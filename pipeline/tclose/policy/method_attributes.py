"""Keys of attributes that do not go with a policy's method, which are refused."""

from tclose.methods.method import Method, name_methods
from tclose.model.attributes import ANCESTOR
from tclose.model.column_terms import Distance, Role
from tclose.model.preparation import OF_CLASS
from tclose.policy.sections.attribute_settings import AttributeSettings


def check_no_t(method: Method, t: float | None) -> None:
    """Refuse a t that classes of a method with noise would not be held to.

    Raises
    ------
    ValueError
    """
    if (t or 1) < 1:
        raise ValueError(
            f"privacy.t: {method.name} holds no class to a t; take it out, or ask a t of "
            "the noise by stochastic-t-closeness"
        )


def check_bucketed(name: str, attribute: AttributeSettings) -> None:
    """Refuse a distance that a confidential attribute does not have when its bucket is released.

    Raises
    ------
    ValueError
    """
    if attribute.taxonomy or attribute.distance not in (None, Distance.ORDERED):
        raise ValueError(
            f"attributes.{name}: released as its bucket it has the distance of ordered "
            "values; take distance and taxonomy out, or take release: value"
        )


def check_noise_keys(name: str, attribute: AttributeSettings, method: Method) -> None:
    """Refuse noise that the method does not add, and a confidential column without noise.

    Raises
    ------
    ValueError
    """
    with_noise = method.draws_noise
    if attribute.noise is not None and not with_noise:
        names = " or ".join(name_methods(lambda m: m.draws_noise))
        raise ValueError(f"attributes.{name}: noise goes with method.name: {names}")
    if with_noise and attribute.role is Role.CONFIDENTIAL and attribute.noise is None:
        raise ValueError(
            f"attributes.{name}: noise is missing; {method.name} needs its epsilon, and "
            "low and high or values"
        )


def check_generalisation(name: str, attribute: AttributeSettings, method: Method) -> None:
    """Refuse keys of how a quasi-identifier is released that the method does not look at.

    Raises
    ------
    ValueError
    """
    if attribute.intervals is not None and not method.uses_intervals:
        names = " or ".join(name_methods(lambda m: m.uses_intervals))
        raise ValueError(
            f"attributes.{name}: intervals go with method.name: {names}, not with {method.name}"
        )
    if not method.generalises:
        return
    if attribute.missing == OF_CLASS:
        names = " or ".join(name_methods(lambda m: not m.generalises))
        raise ValueError(
            f"attributes.{name}: {method.name} generalises, so its classes have no aggregate; "
            f"missing: {OF_CLASS} goes with {names}; say missing: category, median or mode"
        )
    if attribute.aggregate == ANCESTOR:
        raise ValueError(
            f"attributes.{name}: {method.name} releases nodes of a taxonomy of its own accord; "
            "take aggregate: ancestor out"
        )
    if attribute.aggregate or attribute.round is False:
        names = " or ".join(name_methods(lambda m: not m.generalises))
        raise ValueError(
            f"attributes.{name}: {method.name} generalises; aggregate and round go with {names}"
        )
    if attribute.scale or attribute.weight != 1:
        names = " or ".join(name_methods(lambda m: not m.generalises))
        raise ValueError(
            f"attributes.{name}: {method.name} generalises; scale and weight go with {names}"
        )
