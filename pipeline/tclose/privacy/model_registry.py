"""The privacy models that a policy can ask for."""

from typing import Any

from tclose.model.registry import Decorated, Registry

# In the order of messages; modules of other distributions: entry points of the group.
MODELS: Registry[Any] = Registry(
    "tclose.models",
    (
        "tclose.privacy.models.diversity_models",
        "tclose.privacy.models.n_t_model",
        "tclose.privacy.models.ratio_model",
        "tclose.privacy.models.stochastic_model",
    ),
)


def register_model(model: Decorated) -> Decorated:
    """Make a privacy model known by the value of its field ``name``; a decorator.

    A process that is started for a run imports modules that the entry points ``tclose.models``
    name; what is registered by hand is known to the process alone.
    """
    return MODELS.register(model)
