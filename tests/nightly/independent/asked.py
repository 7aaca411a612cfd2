"""A policy as a reader of its documentation takes it: roles, types and limits."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

QUASI, CONFIDENTIAL, PASSTHROUGH = "quasi-identifier", "confidential", "non-confidential"
GENERALISING = ("mondrian", "incognito", "sabre")


@dataclass(frozen=True)
class Asked:
    """The policy, and the type that each of its columns has in the input."""

    document: dict[str, Any]
    types: dict[str, pa.DataType]

    @property
    def attributes(self) -> dict[str, dict[str, Any]]:
        """Attributes in their long form."""
        given = self.document["attributes"]
        return {n: {"role": a} if isinstance(a, str) else a for n, a in given.items()}

    def with_role(self, role: str) -> list[str]:
        """Names of the attributes with a role, in the policy's order."""
        return [n for n, a in self.attributes.items() if a["role"] == role]

    @property
    def method(self) -> dict[str, Any]:
        """The method with its keys."""
        given: dict[str, Any] = self.document.get("method", {})
        return {"name": "t-closeness-first"} | given

    @property
    def privacy(self) -> dict[str, Any]:
        """k, t, combinations and models."""
        found: dict[str, Any] = self.document["privacy"]
        return found

    @property
    def partition_by(self) -> list[str]:
        """Columns that are folders."""
        return list(self.document.get("output", {}).get("partition_by", []))

    @property
    def class_columns(self) -> list[str]:
        """What an outsider tells classes by."""
        return list(dict.fromkeys([*self.partition_by, *self.with_role(QUASI)]))

    @property
    def domains(self) -> list[str]:
        """Folders of values that are released as they are, and that no class mixes.

        A quasi-identifier's folders are those of its released values.
        """
        return [n for n in self.partition_by if self.attributes[n]["role"] == PASSTHROUGH]

    @property
    def released(self) -> list[str]:
        """Columns that a release has."""
        return [n for n, a in self.attributes.items() if a["role"] != "identifier"]

    @property
    def generalises(self) -> bool:
        """Whether quasi-identifiers become texts that cover their class."""
        return self.method["name"] in GENERALISING

    @property
    def noised(self) -> list[str]:
        """Columns that are released with noise."""
        return [n for n, a in self.attributes.items() if "noise" in a]

    @property
    def bucketed(self) -> list[str]:
        """Columns that are released as buckets."""
        is_bucket = self.method.get("release", "bucket") == "bucket"
        is_bucketized = self.method["name"] == "bucketization" and is_bucket
        return self.with_role(CONFIDENTIAL) if is_bucketized else []

    @property
    def unchanged(self) -> list[str]:
        """Columns whose values are released as they are, beside those that are folders."""
        changed = {*self.noised, *self.bucketed}
        kept = [n for n in self.released if n not in self.with_role(QUASI)]
        return [n for n in kept if n not in changed]

    def kind(self, name: str) -> str:
        """The kind of a column: as the policy has it, or as its type suggests."""
        attribute, dtype = self.attributes[name], self.types[name]
        if "taxonomy" in attribute:
            return "nominal"
        if "type" in attribute:
            return str(attribute["type"])
        if pa.types.is_boolean(dtype):
            return "boolean"
        if pa.types.is_temporal(dtype):
            return "date"
        return "nominal" if is_text(dtype) else "numeric"

    def order(self, name: str) -> list[str]:
        """The values of an ordinal attribute, lowest first."""
        return [str(value) for value in self.attributes[name]["order"]]

    def limit(self, name: str) -> Fraction | None:
        """The t of a confidential attribute; None where the policy asks for none."""
        attribute, privacy = self.attributes[name], self.privacy
        own = attribute.get("t", privacy.get("t"))
        joint = privacy.get("joint", [])
        of_joint = [j["t"] for j in joint if name in j.get("attributes", [name])]
        given = of_joint if own is None else [own]
        return Fraction(str(min(given))) if given else None

    def models(self, name: str) -> list[dict[str, Any]]:
        """The further models that a confidential attribute is held to."""
        asked = self.privacy.get("models", [])
        return [m for m in asked if name in (m.get("attributes") or [name])]


def is_text(dtype: pa.DataType) -> bool:
    """Whether a type holds text, in a dictionary or not."""
    if pa.types.is_dictionary(dtype):
        return is_text(dtype.value_type)
    return bool(
        pa.types.is_string(dtype)
        or pa.types.is_large_string(dtype)
        or pa.types.is_string_view(dtype)
    )
