"""The ``method`` section of a policy: how classes are made."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from pipeline.setting_values import Settings, refuse_truth
from pipeline.stages.methods.method import GENERALISING, QUADRATIC, T_CLOSENESS_FIRST


def _read_off(value: Any) -> Any:
    """YAML reads ``off`` as false; ``on`` says nothing of how long to search."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value


TimeBudget = Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?(s|min|h)$")]

MethodName = Literal[
    "t-closeness-first",
    "mdav",
    "v-mdav",
    "microaggregate-and-merge",
    "k-anonymity-first",
    "bucketization",
    "dp-confidential",
    "mondrian",
    "incognito",
    "sabre",
]

# Keys that only some methods have.
_METHOD_KEYS = {
    "scope": (T_CLOSENESS_FIRST, "mondrian", *QUADRATIC),
    "block_clusters": (T_CLOSENESS_FIRST,),
    "class_size": (T_CLOSENESS_FIRST,),
    "start": ("microaggregate-and-merge", "dp-confidential"),
    "gamma": ("v-mdav", "microaggregate-and-merge", "dp-confidential"),
    "buckets": ("bucketization",),
    "ratio": ("bucketization",),
    "release": ("bucketization",),
}


class MethodSettings(Settings):
    """How classes are made."""

    name: MethodName = "t-closeness-first"
    scope: Literal["blocks", "table"] = Field(
        default="blocks", description="table: one block, as the algorithm is printed; slow."
    )
    block_clusters: int = Field(default=100, ge=1, description="Clusters in a block, at most.")
    class_size: Annotated[
        Annotated[int, Field(ge=2)] | Literal["auto", "paper"], BeforeValidator(refuse_truth)
    ] = Field(
        default="auto",
        description="Records in a cluster before refinement: auto leaves refinement half of t to "
        "spend, paper is eq. (3) of t-closeness-first, or a number.",
    )
    refine: Annotated[
        Annotated[int, Field(ge=0)] | TimeBudget | Literal["off", "fast", "full"],
        BeforeValidator(_read_off),
    ] = Field(
        default="fast",
        description="Search for less loss: off, fast, full, a number of rounds, or a time as in "
        "10min (only then the bytes depend on the machine's speed). Other methods than "
        "t-closeness-first: off unless it is given.",
    )
    start: Literal["mdav", "v-mdav"] = Field(
        default="mdav", description="What microaggregate-and-merge and dp-confidential begin with."
    )
    gamma: float = Field(default=0.2, ge=0, description="Of v-mdav: how freely clusters extend.")
    buckets: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="Of bucketization: how many; as many as ratio allows by default."
    )
    ratio: Annotated[float, Field(gt=1), BeforeValidator(refuse_truth)] | None = Field(
        default=None,
        description="Of bucketization: how many times as common a bucket may be in a class as in "
        "the table, or the other way round, at most.",
    )

    release: Literal["bucket", "value"] = Field(
        default="bucket",
        description="Of bucketization: the confidential attribute is released as its bucket, or as "
        "it is; the ratio then holds for buckets only, and there is no epsilon.",
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_as_printed(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "refine" in value:
            return value
        name = value.get("name", T_CLOSENESS_FIRST)
        return value if name == T_CLOSENESS_FIRST else value | {"refine": "off"}

    @model_validator(mode="after")
    def _check_method(self) -> "MethodSettings":
        given = [key for key in _METHOD_KEYS if not self._is_usual(key)]
        for key in given:
            if self.name not in _METHOD_KEYS[key]:
                names = " or ".join(_METHOD_KEYS[key])
                raise ValueError(f"{key} goes with {names}, not with {self.name}")
        if "gamma" in given and "v-mdav" not in (self.name, self.start):
            raise ValueError("gamma goes with start: v-mdav, not with mdav")
        if "block_clusters" in given and self.scope == "table":
            raise ValueError("block_clusters goes with scope: blocks, not with scope: table")
        if self.name == "bucketization" and self.ratio is None:
            raise ValueError("bucketization needs its ratio, as in ratio: 2")
        if self.name in (*GENERALISING, "bucketization") and self.refine not in ("off", 0):
            raise ValueError(f"refine does not go with {self.name}, take it out")
        return self

    def _is_usual(self, key: str) -> bool:
        """Whether a key asks for nothing but its default."""
        return bool(getattr(self, key) == type(self).model_fields[key].default)
