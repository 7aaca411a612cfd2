"""The field's words for columns: their roles, kinds and distances. Nothing slow is imported."""

from enum import StrEnum


class Role(StrEnum):
    """The role of a column in disclosure control (Soria-Comas et al. 2015, section 2)."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    CONFIDENTIAL = "confidential"
    NON_CONFIDENTIAL = "non-confidential"
    PERSON = "person"


# Roles of columns that no release has.
UNRELEASED = (Role.IDENTIFIER, Role.PERSON)


class Kind(StrEnum):
    """The kind of a column's values, which decides how they compare."""

    NUMERIC = "numeric"
    DATE = "date"
    BOOLEAN = "boolean"
    NOMINAL = "nominal"
    ORDINAL = "ordinal"

    @property
    def is_categorical(self) -> bool:
        """True if keys are indices in a list of categories."""
        return self in (Kind.NOMINAL, Kind.BOOLEAN, Kind.ORDINAL)


class Scale(StrEnum):
    """Divisor of the values of a quasi-identifier where records are compared."""

    RANGE = "range"
    STD = "std"
    IQR = "iqr"
    TRIMMED = "trimmed"
    RANK = "rank"


class Distance(StrEnum):
    """The distance between two confidential values (Li et al. 2007, section 5)."""

    ORDERED = "ordered"
    EQUAL = "equal"
    HIERARCHICAL = "hierarchical"
