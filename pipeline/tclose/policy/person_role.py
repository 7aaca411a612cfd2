"""The column that says whose a record is: what a policy with one can ask."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from tclose.methods.method import Method, name_methods
from tclose.methods.method_registry import DEFAULT_METHOD
from tclose.model.attributes import ANCESTOR, REPRESENTATIVE, Attribute
from tclose.model.column_terms import Role
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.privacy.privacy_model import Model


def check_person_role(
    attributes: Mapping[str, AttributeSettings], method: Method, models: Sequence[Model]
) -> None:
    """Refuse what is not held over persons.

    Raises
    ------
    ValueError
        There are two such columns; the method or a model counts records alone; there is none, and
        a value is said not to last.
    """
    names = [name for name, settings in attributes.items() if settings.role is Role.PERSON]
    if not names:
        drawn = [name for name, settings in attributes.items() if not settings.persistent]
        if drawn:
            raise ValueError(
                f"attributes.{drawn[0]}: persistent goes with a column of role person; give it to "
                "the one that says whose a record is, or take persistent out"
            )
        return
    if len(names) > 1:
        raise ValueError(
            f"attributes: {names[0]!r} and {names[1]!r} both have role: person; a record is of one "
            "person, make the other one an identifier"
        )
    if not method.counts_persons:
        able = " or ".join(name_methods(lambda one: one.counts_persons))
        raise ValueError(
            f"attributes.{names[0]}: {method.name} counts records, not persons; take method.name: "
            f"{able}, or make the column an identifier"
        )
    if models:
        raise ValueError(
            f"privacy.models: {models[0].name} counts records, and {names[0]!r} has role: person; "
            "take the model out, or make the column an identifier"
        )


def check_together(roles: Collection[Role], *, is_cut: bool, is_held: bool) -> None:
    """Refuse to keep the records of a person in one class where that cannot be.

    Parameters
    ----------
    is_cut : whether classes are cut by partitions
    is_held : whether classes are held over time

    Raises
    ------
    ValueError
        Nothing says whose a record is; a person's records may be in several partitions; cells of a
        series decide who is in a class.
    """
    if Role.PERSON not in roles:
        raise ValueError(
            "privacy.persons: together needs a column of role person; give it to the one that says "
            "whose a record is, or take persons out"
        )
    if is_cut:
        raise ValueError(
            "privacy.persons: together does not go with output.partition_by, as a person may have "
            "records in several partitions; take either out"
        )
    if is_held:
        raise ValueError(
            "privacy.persons: together does not go with privacy.over_time, where everybody has at "
            "most one record in a release; take either out"
        )


def check_over_time(roles: Collection[Role], method: str, *, is_cut: bool, is_joint: bool) -> None:
    """Refuse what is not held over time.

    Parameters
    ----------
    roles : of the columns; one with noise goes with other methods alone
    is_cut : whether classes are cut by partitions
    is_joint : whether they are held to a joint t

    Raises
    ------
    ValueError
        There is no column of persons, or no value to protect; the method is another; classes are
        cut by partitions, or held to a joint t.
    """
    if Role.PERSON not in roles:
        raise ValueError(
            "privacy.over_time: needs a column of role person, by which releases are compared; "
            "give it to the one that says whose a record is, or take over_time out"
        )
    if method != DEFAULT_METHOD:
        raise ValueError(
            f"privacy.over_time: goes with method.name: {DEFAULT_METHOD}, not with {method}"
        )
    if Role.CONFIDENTIAL not in roles:
        raise ValueError(
            "privacy.over_time: needs a confidential attribute; name one, or take over_time out"
        )
    if is_cut:
        raise ValueError(
            "privacy.over_time: does not go with output.partition_by, as persons move from one "
            "partition to another; take either out"
        )
    if is_joint:
        raise ValueError(
            "privacy.over_time: does not go with privacy.joint, which is not held over time; take "
            "either out"
        )


def check_changing(attributes: Iterable[Attribute]) -> None:
    """Refuse bounds and aggregates that are others in each release of a series.

    Raises
    ------
    ValueError
        A percentile moves with the records, and a value that lasts with it; what a class releases
        depends on the other classes, so that one that stays would release something else.
    """
    for attribute in attributes:
        if attribute.aggregate == REPRESENTATIVE:
            raise ValueError(
                f"privacy.over_time: does not go with aggregate: {REPRESENTATIVE} of "
                f"{attribute.name!r}, as classes that stay would release other values each time; "
                "take the aggregate out"
            )
        if attribute.preparation is not None and attribute.preparation.awaits_bounds:
            raise ValueError(
                f"privacy.over_time: does not go with a percentile as a bound of "
                f"{attribute.name!r}, which is another one in each release; give numbers"
            )


def check_held(attributes: Sequence[Attribute]) -> None:
    """Refuse columns whose released values cannot take the place of a record that is gone.

    Raises
    ------
    ValueError
        Values are released as they are, and so tell rows of a class apart; are drawn anew for each
        release, released as groups, or prepared as they are read.
    """
    for attribute in attributes:
        if attribute.role is Role.NON_CONFIDENTIAL:
            reason = "is non-confidential: a value of the release before tells which rows are held"
        elif not attribute.persistent:
            reason = "is not persistent: who is held would have last month's value"
        elif attribute.preparation is not None:
            reason = "is prepared as it is read, and would be twice"
        elif attribute.grouping is not None or attribute.aggregate == ANCESTOR:
            reason = "is released as groups, which are no values of records"
        else:
            continue
        raise ValueError(
            f"privacy.over_time.departures: hold does not go with {attribute.name!r}, which "
            f"{reason}; take departures: drop, or leave the column out"
        )
