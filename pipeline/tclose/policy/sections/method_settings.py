"""The ``method`` section of a policy: any of the registered methods, by its name."""

from typing import Any

from pydantic import Field, SerializeAsAny

from tclose.methods.method import Method


def _add_default(schema: dict[str, Any]) -> None:
    schema["default"] = default_method().model_dump(mode="json")


def default_method() -> Method:
    """The method of a policy that names none."""
    return Method.model_validate({})


MethodSettings = SerializeAsAny[Method]
METHOD_FIELD: Any = Field(default_factory=default_method, json_schema_extra=_add_default)
