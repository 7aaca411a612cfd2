"""tclose: verified t-close microdata releases, from a table to published files.

``load_policy``, ``plan``, ``release``, ``audit``, ``frontier`` and ``check`` are the public API,
with their results and errors. Whatever else the package holds may change from version to version.
Nothing heavy is imported before a name of it is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from tclose.errors import (
    BusyError,
    ClusterError,
    ConflictError,
    DataError,
    InfeasibleError,
    OutputError,
    PolicyError,
    StoreError,
    StrictError,
    TaskError,
    TcloseError,
    UnreachableError,
    UsageError,
    VerificationError,
)
from tclose.package import VERSION

if TYPE_CHECKING:
    from tclose.api.calls import audit, check, frontier, plan, release
    from tclose.api.checking import Check
    from tclose.api.results import Audit, Chart, Frontier, PlanSummary, Release
    from tclose.policy.policy import Policy, load_policy

__version__ = VERSION

__all__ = [
    "Audit",
    "BusyError",
    "Chart",
    "Check",
    "ClusterError",
    "ConflictError",
    "DataError",
    "Frontier",
    "InfeasibleError",
    "OutputError",
    "PlanSummary",
    "Policy",
    "PolicyError",
    "Release",
    "StoreError",
    "StrictError",
    "TaskError",
    "TcloseError",
    "UnreachableError",
    "UsageError",
    "VerificationError",
    "__version__",
    "audit",
    "check",
    "frontier",
    "load_policy",
    "plan",
    "release",
]

_PLACES = {
    "tclose.api.calls": ("audit", "check", "frontier", "plan", "release"),
    "tclose.api.checking": ("Check",),
    "tclose.api.results": ("Audit", "Chart", "Frontier", "PlanSummary", "Release"),
    "tclose.policy.policy": ("Policy", "load_policy"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what a public name stands for when it is first used."""
    if name not in _PLACE_OF:
        raise AttributeError(f"module 'tclose' has no attribute {name!r}")
    from tclose.runtime.interrupts import deferred

    with deferred():  # an interrupt in the middle would leave libraries half imported, for good
        value = getattr(importlib.import_module(_PLACE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
