"""A warning where earlier releases are about the same persons."""

from collections.abc import Sequence

from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.series.link_persons import look_up_window
from tclose.policy import warning_kinds
from tclose.releases.composition.noise_draws import read_neighbours, shares_input
from tclose.releases.composition.shared_persons import find_shared
from tclose.releases.manifest.internal_manifest import PersonSketch
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.runtime.run import INSPECTION, Run

LEAST_SHARE = 0.01  # of the persons
_MOST_NAMED = 3


def warn_of_shared_persons(run: Run, sketches: Sequence[PersonSketch]) -> tuple[PlanWarning, ...]:
    """Find releases in the output folder of other input files with the same persons.

    Those of the same files have a warning of their own; what is held together with this release
    needs none.
    """
    if not sketches:
        return ()
    own = sketches[0]
    digests = {content.file.sha256 for content in run.workspace.load(INSPECTION)}
    origins = read_neighbours(run.repository.output).origins
    held = () if run.policy.privacy.over_time is None else look_up_window(run)[0].releases
    others = {
        name: one
        for name, one in origins.items()
        if name not in held and not shares_input(one, digests)
    }
    shared = [one for one in find_shared(own, others) if one.persons >= LEAST_SHARE * own.persons]
    if not shared:
        return ()
    named = ", ".join(
        f"{one.persons / own.persons:.0%} in {one.release}" for one in shared[:_MOST_NAMED]
    )
    more = f" and in {len(shared) - _MOST_NAMED:,} more" if len(shared) > _MOST_NAMED else ""
    message = (
        f"of the {own.persons:,} persons about {named}{more}; their classes are made without "
        "regard to each other: together the releases leave persons among fewer than k, or alone"
    )
    return (make_warning(warning_kinds.SAME_PERSONS, message),)
