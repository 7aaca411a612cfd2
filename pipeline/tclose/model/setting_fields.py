"""Values that several sections of a policy have, and what all sections have in common."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticKnownError

Scalar = str | int | float | bool


def refuse_truth(value: object) -> object:
    """YAML's ``yes`` and ``true`` would pass for the number 1."""
    return str(value) if isinstance(value, bool) else value


def _refuse_as_whole(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError("int_type")
    return value


def _refuse_as_real(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


# After what bounds a number: else its schema would not have the bounds.
WHOLE = BeforeValidator(_refuse_as_whole)
REAL = BeforeValidator(_refuse_as_real)

Threshold = Annotated[float, Field(gt=0, le=1), BeforeValidator(refuse_truth)]

Factor = Annotated[float, Field(ge=1, allow_inf_nan=False), BeforeValidator(refuse_truth)]

Many = Annotated[int, Field(ge=2), BeforeValidator(refuse_truth)]

Group = Annotated[tuple[Scalar, ...], Field(min_length=1)]

NO_NUL = r"^[^\x00]*$"

# What people read: a line, or a paragraph; no character that would move or hide what is shown.
ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
SOME_LINES = r"^[^\x00-\x09\x0b-\x1f\x7f]*$"
Line = Annotated[str, Field(min_length=1, max_length=200, pattern=ONE_LINE)]
Words = Annotated[str, Field(min_length=1, max_length=4000, pattern=SOME_LINES)]


def refuse_shorthand(path: str) -> str:
    """Refuse what a shell would replace: a folder of that very name would be made, and filled."""
    if path == "~" or path.startswith(("~/", "$")):
        raise ValueError(
            f"begins with {path[0]!r}, which is not replaced by what a shell puts there; write the "
            "folder out, or put ./ before it if that is its name"
        )
    return path


Folder = Annotated[str, Field(min_length=1, pattern=NO_NUL), AfterValidator(refuse_shorthand)]


class Settings(BaseModel):
    """A section: frozen, its keys known, its numbers finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Number = Annotated[int | float, BeforeValidator(refuse_truth)]
