"""Stochastic t-closeness as a model of a policy: noise meets it, not classes.

Domingo-Ferrer and Soria-Comas 2015.
"""

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from tclose.model.setting_fields import refuse_truth
from tclose.privacy.model_registry import register_model
from tclose.privacy.privacy_model import Model


@register_model
class StochasticTCloseness(Model):
    """The closeness that noise provides, by Proposition 1.

    Domingo-Ferrer and Soria-Comas 2015, Definition 3.
    """

    of_noise: ClassVar[bool] = True

    name: Literal["stochastic-t-closeness"]
    t: Annotated[float, Field(gt=1, allow_inf_nan=False), BeforeValidator(refuse_truth)] = Field(
        description="Stochastic t of the noise, at most.", examples=[3]
    )

    @property
    def noise_limit(self) -> Fraction | None:
        """The t that noise is held to."""
        return Fraction(str(self.t))
