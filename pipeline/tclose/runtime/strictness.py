"""The refusal of numbered warnings where a policy is strict."""

from collections.abc import Sequence

from tclose.errors import StrictError
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.releases.manifest.plan_document import PlanWarning


def refuse_warnings(warnings: Sequence[PlanWarning], engine: EngineSettings) -> None:
    """Refuse what a strict policy is warned of, but for the numbers that it accepts.

    Raises
    ------
    StrictError
        Names each warning.
    """
    refused = [w for w in warnings if w.code not in engine.accepted_warnings]
    if engine.strict and refused:
        lines = "".join(f"\n  {warning.code}: {warning.message}" for warning in refused)
        raise StrictError(
            f"the policy is strict, and there are warnings{lines}\ncorrect what they name, or "
            "accept their numbers by engine.accepted_warnings"
        )
