"""Privacy models besides k and t: the parameters for an attribute, and the check of classes.

All but (n, t)-closeness are decided class by class, and monotone: a union of two classes that meet
one meets it, so merging can bring it about. (n, t)-closeness needs the whole table, and is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution
from tclose.model.registry import Registrable, check_hooks
from tclose.privacy.class_counts import ClassCounts, ClassMeasures
from tclose.privacy.model_registry import MODELS
from tclose.privacy.value_groups import Grouping


@dataclass(frozen=True, eq=False)
class PrivacyModel:
    """One model, by its name, asked of one confidential attribute.

    ``limit``: l, c, p or t; ``count``: l of recursive diversity, k of p-sensitivity, n of (n, t)-
    closeness. ``buckets``: of ratio closeness, how many ranges of the table's values, or groups
    of values; none where each value is its own. ``of_values``: the buckets are those that classes
    are made by, and the values are released. ``attribute``: its place among the confidential
    attributes, and ``grouping``: the buckets of its values, once `bind` has found them.
    """

    model: str
    name: str
    limit: Fraction
    count: int = 0
    buckets: int | tuple[tuple[str, ...], ...] = ()
    of_values: bool = False
    attribute: int = -1
    grouping: Grouping | None = None

    @property
    def kind(self) -> type["Model"]:
        """The registered model.

        Raises
        ------
        ValueError
            There is none of this name.
        """
        model_class = MODELS.find(self.model)
        if model_class is None:
            raise ValueError(f"{self.model!r} is not a privacy model")
        kind: type[Model] = model_class
        return kind

    @property
    def needs_table(self) -> bool:
        """True if the classes of the whole table have to be checked together."""
        return self.kind.needs_table

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters as a policy has them."""
        parameters = self.kind.describe_parameters(self)
        if self.buckets:
            raw_buckets = self.buckets
            parameters["buckets"] = (
                raw_buckets if isinstance(raw_buckets, int) else [list(g) for g in raw_buckets]
            )
        return parameters | ({"release": "value"} if self.of_values else {})


class Model(Registrable):
    """A privacy model, asked of some confidential attributes: a policy's keys, and the work.

    A model is a class that derives from this one, has its keys as fields, and is decorated with
    `tclose.privacy.model_registry.register_model`. One that is decided class by class has to be
    monotone, as above. The manifest has its parameters as `describe_parameters` gives them.
    """

    larger_is_better: ClassVar[bool] = False
    """The measure of a class has to be large rather than small."""
    needs_table: ClassVar[bool] = False
    """Classes are measured by `measure_table`, all at once, rather than by `measure`."""
    of_noise: ClassVar[bool] = False
    """The model is met by noise rather than by classes: see `noise_limit`."""
    limit_key: ClassVar[str] = "t"
    count_key: ClassVar[str] = ""
    """Keys of a manifest that `PrivacyModel.limit` and `count` are found under."""
    is_whole: ClassVar[bool] = False
    """The limit is a whole number."""
    wanted: ClassVar[Mapping[str, str]] = {}
    """The values that keys may have, for keys whose errors pydantic does not explain."""

    name: str
    attributes: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Confidential attributes; all if not given.",
        examples=[["charge"]],
    )

    @model_validator(mode="wrap")
    @classmethod
    def _find_model(cls, value: Any, handler: ModelWrapValidatorHandler["Model"]) -> "Model":
        """A model of any name where any is allowed."""
        if cls is not Model or isinstance(value, Model):
            return handler(value)
        return parse_model(value)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """One of the models, for editors."""
        if cls is not Model:
            return handler(schema)
        return {"oneOf": [model.model_json_schema() for model in MODELS.classes().values()]}

    @classmethod
    def check_class(cls) -> None:
        """Refuse a class without what it has to define, or without fields that it names."""
        hooks = ["measure_table"] if cls.needs_table else ["measure", "suggest"]
        check_hooks(cls, Model, ["noise_limit"] if cls.of_noise else hooks)
        named = {cls.limit_key, *filter(None, [cls.count_key])}
        lacking = sorted(named - cls.model_fields.keys())
        if lacking and cls.require is Model.require:
            raise ValueError(f"{cls.__name__} needs fields {lacking}, or a `require` of its own")

    @property
    def noise_limit(self) -> Fraction | None:
        """The stochastic t that noise is held to, of a model of noise."""
        return None

    def check_k(self, k: int) -> None:
        """Refuse what no class of k records could meet.

        Raises
        ------
        ValueError
        """

    def require(self, attribute: str, _k: int) -> PrivacyModel:
        """Return the requirement on one attribute, for classes of k records."""
        limit = Fraction(str(getattr(self, self.limit_key)))
        count = getattr(self, self.count_key) if self.count_key else 0
        return PrivacyModel(self.name, attribute, limit, count)

    @classmethod
    def describe_parameters(cls, requirement: PrivacyModel) -> dict[str, Any]:
        """The parameters that a policy has, but for buckets."""
        limit = requirement.limit
        parameters: dict[str, Any] = {cls.limit_key: int(limit) if cls.is_whole else float(limit)}
        return parameters | ({cls.count_key: requirement.count} if cls.count_key else {})

    @classmethod
    def measure(cls, requirement: PrivacyModel, counts: ClassCounts, table: Int64) -> ClassMeasures:
        """Measure classes one by one, of a model without ``needs_table``: see `check_counts`."""
        raise NotImplementedError

    @classmethod
    def measure_table(
        cls,
        requirement: PrivacyModel,
        centres: Float64,
        starts: Int64,
        codes: Int64,
        distribution: Distribution,
    ) -> ClassMeasures:
        """Measure all classes of a table at once, of a model with ``needs_table``.

        Parameters
        ----------
        centres : float64 (d, c): released quasi-identifiers of each class on one scale
        starts, codes : int64 (c + 1,), (n,): the attribute's values, records of a class adjacent
        """
        raise NotImplementedError

    @classmethod
    def limit_distance(cls, _: PrivacyModel, /) -> Fraction | None:
        """The t within which classes are made so that they meet it; None if none is needed."""
        return None

    @classmethod
    def check_size(cls, _: PrivacyModel, _n_records: int, /) -> None:
        """Refuse what no table of so many records could meet.

        Raises
        ------
        PolicyError
        """

    @classmethod
    def suggest(cls, requirement: PrivacyModel, achieved: float) -> str:
        """Say the nearest demand that could be met where one class of all records has this."""
        raise NotImplementedError

    @classmethod
    def describe(cls, _asked: Mapping[str, Any], *, is_bucketed: bool) -> dict[str, Any]:  # noqa: ARG003
        """Return the manifest's entries besides the parameters and the achieved values.

        Parameters
        ----------
        is_bucketed : whether the attribute is released as its buckets
        """
        return {}


def parse_model(value: Any) -> Model:
    """The settings of a model that a policy names; errors are located by its name.

    Raises
    ------
    ValidationError
    """
    if not isinstance(value, Mapping):
        raise _refusal([InitErrorDetails(type="model_attributes_type", input=value)])
    name, known = value.get("name"), MODELS.classes()
    if name is None:
        context = {"discriminator": "'name'"}
        problem = InitErrorDetails(type="union_tag_not_found", input=value, ctx=context)
        raise _refusal([problem])
    model_class = MODELS.find(name)
    if model_class is None:
        context = {"discriminator": "'name'", "tag": str(name), "expected_tags": ", ".join(known)}
        raise _refusal([InitErrorDetails(type="union_tag_invalid", input=value, ctx=context)])
    try:
        parsed: Model = model_class.model_validate(value)
    except ValidationError as error:
        raise _refusal([_locate(name, problem) for problem in error.errors()]) from None
    return parsed


def _locate(name: str, problem: Any) -> InitErrorDetails:
    location, context = (name, *problem["loc"]), problem.get("ctx", {})
    return InitErrorDetails(type=problem["type"], loc=location, input=problem["input"], ctx=context)


def _refusal(problems: list[InitErrorDetails]) -> ValidationError:
    return ValidationError.from_exception_data("Model", problems)
