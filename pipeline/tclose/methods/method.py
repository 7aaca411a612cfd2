"""The protocol of a method: its policy settings, its capabilities, and its work.

A method is one module: a class that derives from `Method`, has its keys as fields, says what it can
do by class variables, and is decorated with `tclose.methods.method_registry.register_method`. The
rest of the package asks for the class variables and properties, never for a name. A module imports
what starts slowly (kernels) where it is used, since every policy that is read imports all methods.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tclose.data.keys import Encoding
from tclose.methods.generalisation.value_buckets import Bucketing
from tclose.methods.method_registry import DEFAULT_METHOD, METHODS
from tclose.model.distribution import Distribution
from tclose.model.registry import Registrable, check_hooks
from tclose.model.setting_fields import refuse_truth
from tclose.privacy.privacy_model import PrivacyModel

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem

BLOCK_CLUSTERS = 100  # in a block, at most, where nothing else is asked


def _read_off(value: object) -> object:
    """Other readers of YAML take ``off`` for false; ``on`` says nothing of how long to search."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "off" if value == "no" else value


TimeBudget = Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?(s|min|h)$")]

Refine = Annotated[
    Annotated[int, Field(ge=0)] | TimeBudget | Literal["off", "lean", "fast", "full"],
    BeforeValidator(_read_off),
    Field(
        description="Search for less loss: off, lean, fast, full, a number of rounds, or a time "
        "as in 10min (only then the bytes depend on the machine's speed). Other methods than "
        f"{DEFAULT_METHOD}: off unless it is given.",
    ),
]

Losses = Annotated[
    Literal["relative", "absolute"],
    Field(
        description="relative: each quasi-identifier's in shares of what a release with one class "
        "loses of it, so that none is given up for others; absolute: numbers by their ranges, "
        f"categories 0 or 1. Other methods than {DEFAULT_METHOD}: absolute unless it is given.",
    ),
]

Scope = Annotated[
    Literal["blocks", "table"],
    Field(description="table: one block, as the algorithm was published; quadratic."),
]

ClassSizeKey = Annotated[
    Annotated[int, Field(ge=2)] | Literal["auto", "paper"], BeforeValidator(refuse_truth)
]


@dataclass(frozen=True, eq=False)
class MethodContext:
    """A table that a method is asked for classes of.

    ``quasi``, ``confidential``: the attributes as they are released; ``bucketing``: of the
    confidential one, if there is any; ``is_cut``: whether some records must not mix with others.
    """

    quasi: tuple[Encoding, ...]
    confidential: tuple[Encoding, ...]
    bucketing: Bucketing | None
    k: int
    is_cut: bool


class Method(Registrable):
    """A method that partitions records into classes."""

    generalises: ClassVar[bool] = False
    """Quasi-identifiers are released as intervals, sets and nodes rather than as one value."""
    holds_t: ClassVar[bool] = True
    """Classes that are above t are merged; else they are verified, and nothing is done about it."""
    whole_table: ClassVar[bool] = False
    """A release partition is one region, as all of its records are clustered together."""
    max_records: ClassVar[int | None] = None
    """Records that are looked at together, at most, if that is not as for all methods."""
    refines: ClassVar[bool] = True
    """Classes can be searched for less loss."""
    cuts_by_subsets: ClassVar[bool] = False
    """Clusters take a record of each quantile subset; needs the kernels that compile longest."""
    cuts_buckets: ClassVar[bool] = False
    """Classes are made by buckets of the one confidential attribute, cut by `cut_buckets`."""
    draws_noise: ClassVar[bool] = False
    """Confidential attributes are released with noise, and no class is held to a t of them."""
    uses_intervals: ClassVar[bool] = False
    """Numbers are generalised to the intervals that the policy has."""
    counts_persons: ClassVar[bool] = False
    """Classes are united until k and t hold over persons, too, who may have several records."""
    without_joint: ClassVar[str] = ""
    """The reason why classes cannot be held to a joint t ("works with ..."); empty if they can."""
    alternatives: ClassVar[tuple[str, ...]] = (DEFAULT_METHOD,)
    """Methods that hold a t which the classes of this one turned out to be above."""

    name: str = DEFAULT_METHOD
    refine: Refine = "off"
    losses: Losses = "absolute"

    @model_validator(mode="wrap")
    @classmethod
    def _find_method(cls, value: Any, handler: ModelWrapValidatorHandler["Method"]) -> "Method":
        """A method of any name where any is allowed."""
        if cls is not Method or not isinstance(value, Mapping):
            return handler(value)
        name = value.get("name", DEFAULT_METHOD)
        method_class = METHODS.find(name)
        if method_class is None:
            raise METHODS.refuse_name(name, "Method")
        method: Method = method_class.model_validate(_own_keys(name, method_class, value))
        return method

    @model_validator(mode="after")
    def _check_search(self) -> "Method":
        if not self.refines and self.refine not in ("off", 0):
            raise ValueError(f"refine does not go with {self.name}, take it out")
        if self.generalises and self.has_relative_losses:
            raise ValueError(f"losses: relative does not go with {self.name}, take it out")
        return self

    def model_post_init(self, _: Any, /) -> None:
        """Count the name as given, so that what is written without defaults is read again."""
        self.__pydantic_fields_set__.add("name")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The keys of all methods in one section, for editors."""
        reference = handler(schema)
        if cls is Method:
            full = handler.resolve_ref_schema(reference)
            full |= {"title": "MethodSettings", "properties": _all_properties()}
        return reference

    @classmethod
    def check_class(cls) -> None:
        """Refuse a class without what it has to define."""
        check_hooks(cls, Method, ["make_classes", *["cut_buckets"] * cls.cuts_buckets])

    @property
    def has_relative_losses(self) -> bool:
        """True if each quasi-identifier counts in shares of what one class loses of it."""
        return self.losses == "relative"

    @property
    def is_one_block(self) -> bool:
        """True if the table is to be one block."""
        return getattr(self, "scope", "blocks") == "table"

    @property
    def clusters_per_block(self) -> int:
        """Clusters in a block, at most."""
        return BLOCK_CLUSTERS

    @property
    def initial_class_size(self) -> int | str:
        """Records in a cluster before refinement: a number, ``auto`` or ``paper``."""
        return "auto"

    @property
    def releases_buckets(self) -> bool:
        """True if the confidential attribute is released as its buckets."""
        return False

    def require_models(self, _: Iterable[str], /) -> tuple[PrivacyModel, ...]:
        """Return the method's own, unbound requirements on the named confidential attributes."""
        return ()

    def cut_buckets(
        self,
        confidential: Sequence[Encoding],
        read: Callable[[], Distribution],
        k: int,
        *,
        is_cut: bool,
    ) -> Bucketing:
        """The buckets of the confidential attribute, of a method with ``cuts_buckets``.

        Parameters
        ----------
        read : gives the distribution of the first confidential attribute, if there is one
        is_cut : whether some records must not mix with others
        """
        raise NotImplementedError

    def check(self, _: MethodContext, /) -> None:
        """Refuse what the method cannot do with a table, whatever classes it tries.

        Raises
        ------
        PolicyError, DataError, UsageError
            The method does not go with the attributes, or lacks what it needs.
        InfeasibleError
            No classes exist; says what could be asked instead.
        """

    @abstractmethod
    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """The classes of a region.

        Raises
        ------
        InfeasibleError, PolicyError
            The method cannot do what is asked; the message says what could be.
        """


def registered_methods() -> dict[str, type[Method]]:
    """All methods by name."""
    return METHODS.classes()


def name_methods(is_wanted: Callable[[type[Method]], bool]) -> list[str]:
    """Names of the methods that something holds for; those for tables of any size come first."""
    methods = [(name, m) for name, m in registered_methods().items() if is_wanted(m)]
    methods.sort(key=lambda pair: pair[1].max_records is not None)
    return [name for name, _ in methods]


def _name_owners(key: str) -> str:
    return " or ".join(name_methods(lambda method: key in method.model_fields))


def method_keys() -> list[str]:
    """The keys that a policy's section can have, of all methods."""
    return sorted({key for m in registered_methods().values() for key in m.model_fields})


def _own_keys(name: str, method: type[Method], document: Mapping[str, Any]) -> dict[str, Any]:
    """The keys without those of other methods that ask for nothing but their default."""
    keys = dict(document)
    for key in document.keys() - method.model_fields.keys():
        owners = [m for m in registered_methods().values() if key in m.model_fields]
        if not owners:
            continue  # refused as unknown
        if any(document[key] != m.model_fields[key].default for m in owners):
            raise ValueError(f"{key} goes with {_name_owners(key)}, not with {name}")
        del keys[key]
    return keys


def _all_properties() -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for method in registered_methods().values():
        for key, described in method.model_json_schema()["properties"].items():
            properties.setdefault(key, described)
    properties["name"] = {
        "default": DEFAULT_METHOD,
        "description": "How classes are made.",
        "enum": list(registered_methods()),
        "title": "Name",
        "type": "string",
    }
    return properties
