"""dp-confidential: k-anonymous quasi-identifiers, confidential values with noise.

Domingo-Ferrer and Soria-Comas 2015.
"""

from typing import ClassVar, Literal

from tclose.methods.dp.dp_confidential import load_library
from tclose.methods.method import MethodContext
from tclose.methods.method_registry import register_method
from tclose.methods.microaggregation.microaggregation import StartedMicroaggregation


@register_method
class DpConfidential(StartedMicroaggregation):
    """Clusters by MDAV or v-MDAV; the noise is drawn where records are encoded."""

    holds_t: ClassVar[bool] = False
    draws_noise: ClassVar[bool] = True
    without_joint: ClassVar[str] = "has noise in the place of a t"

    name: Literal["dp-confidential"] = "dp-confidential"

    def check(self, _: MethodContext, /) -> None:
        """Refuse to begin where the library that draws noise is not installed."""
        load_library()
