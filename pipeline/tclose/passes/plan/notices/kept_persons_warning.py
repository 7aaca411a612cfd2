"""A warning where keeping all records of a person in one class costs much.

A class has k persons at least, with all of their records: so it is as many times larger than it had
to be as a person has records, and one with very many decides alone what her class is like.
"""

from tclose.passes.plan.describe_plan import describe_planned_persons
from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.plan.plan import Plan
from tclose.policy import warning_kinds
from tclose.releases.manifest.plan_document import PlanWarning

MANY = 4  # records of a person on average; times those of a class, that one person has


def warn_of_kept_persons(plan: Plan) -> tuple[PlanWarning, ...]:
    """Find that persons have many records on average, or one of them far more than a class."""
    counts = plan.persons
    if not plan.keeps_persons or counts is None:
        return ()
    together = describe_planned_persons(counts, plan).together
    assert together is not None
    mean = counts.n_records / counts.n_persons
    if mean < MANY and counts.largest < MANY * together.class_records:
        return ()
    message = (
        f"persons have {mean:.2f} records each on average, {counts.largest:,} at most, and all of "
        f"one are in one class: of {plan.k * mean:.1f} records or more on average, and one of "
        f"{together.largest_class:,} or more"
    )
    return (make_warning(warning_kinds.MANY_RECORDS, message),)
