"""The methods that a policy can name."""

from typing import Any

from tclose.model.registry import Decorated, Registry

DEFAULT_METHOD = "t-closeness-first"
# In the order of messages; modules of other distributions: entry points of the group.
METHODS: Registry[Any] = Registry(
    "tclose.methods",
    (
        "tclose.methods.microaggregation.t_closeness_first",
        "tclose.methods.microaggregation.microaggregation",
        "tclose.methods.microaggregation.microaggregate_and_merge",
        "tclose.methods.microaggregation.k_anonymity_first",
        "tclose.methods.bucketization.bucketization_method",
        "tclose.methods.dp.dp_method",
        "tclose.methods.mondrian.mondrian_method",
        "tclose.methods.incognito.incognito_method",
        "tclose.methods.sabre.sabre_method",
    ),
)


def register_method(method: Decorated) -> Decorated:
    """Make a method known by the value of its field ``name``; a decorator.

    A process that is started for a run imports modules that the entry points ``tclose.methods``
    name; what is registered by hand is known to the process alone.
    """
    return METHODS.register(method)
