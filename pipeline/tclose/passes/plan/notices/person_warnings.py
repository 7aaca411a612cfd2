"""Warnings of persons: of those who have many records, and of those in earlier releases too."""

from collections.abc import Sequence

from tclose.passes.plan.describe_plan import describe_planned_persons
from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.plan.plan import Plan
from tclose.passes.series.link_persons import SeriesLink, look_up_window
from tclose.policy import warning_kinds
from tclose.releases.composition.noise_draws import read_neighbours, shares_input
from tclose.releases.composition.shared_persons import SharedPersons, find_shared
from tclose.releases.manifest.internal_manifest import PersonSketch
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.runtime.run import INSPECTION, Run

# What may leave and come in times the share that is taken to leave, and at least.
_MOST_TURNOVER, _LEAST_TURNOVER = 3, 0.1
MANY = 4  # records of a person on average; times those of a class, that one person has
LEAST_SHARE = 0.01  # of the persons
_MOST_NAMED = 3


def warn_of_kept_persons(plan: Plan) -> tuple[PlanWarning, ...]:
    """Find that persons have many records on average, or one of them far more than a class.

    A class has k persons at least, with all of their records: so it is as many times larger than it
    had to be as a person has records, and one with very many decides alone what her class is like.
    """
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


def warn_of_turnover(series: Sequence[SeriesLink]) -> tuple[PlanWarning, ...]:
    """Find that far more persons leave and come than leave as a rule: some may be the same.

    Who is spelled otherwise is another one, by her hash, and her cells are held to nothing.
    """
    for link in series:
        most = max(_MOST_TURNOVER * link.churn, _LEAST_TURNOVER)
        if min(link.share_gone, link.share_new) > most:
            message = (
                f"{link.share_gone:.0%} of the persons of the release before are not here, and "
                f"{link.share_new:.0%} of the records are of persons who are in no earlier one, "
                f"where {link.churn:.1%} are taken to leave: whoever is spelled otherwise than "
                "before is taken for another person, and nothing is held of her"
            )
            return (make_warning(warning_kinds.COME_AND_GO, message),)
    return ()


def find_shared_persons(run: Run, own: PersonSketch) -> tuple[SharedPersons, ...]:
    """Find releases in the output folder of other input files with some of the same persons.

    Those of the same files have a warning of their own; what is held together with this release
    needs none.
    """
    digests = {content.file.sha256 for content in run.workspace.load(INSPECTION)}
    origins = read_neighbours(run.repository.output).origins
    held = () if run.policy.privacy.over_time is None else look_up_window(run)[0].releases
    others = {
        name: one
        for name, one in origins.items()
        if name not in held and not shares_input(one, digests)
    }
    least = LEAST_SHARE * own.persons
    return tuple(one for one in find_shared(own, others) if one.persons >= least)


def warn_of_shared_persons(run: Run, sketches: Sequence[PersonSketch]) -> tuple[PlanWarning, ...]:
    """Warn of releases whose classes are made without regard to those of the same persons here."""
    shared = () if not sketches else find_shared_persons(run, sketches[0])
    if not shared:
        return ()
    own = sketches[0]
    series = None if run.policy.privacy.over_time is None else run.policy.series_name
    message = (
        f"of the {own.persons:,} persons about {_name_shared(own, shared, series)}; "
        f"{_say_why(shared, series)}: together the releases leave persons among fewer than k, or "
        "alone"
    )
    return (make_warning(warning_kinds.SAME_PERSONS, message),)


def _name_shared(own: PersonSketch, shared: Sequence[SharedPersons], series: str | None) -> str:
    """Name the releases with most of the persons, and those that the series' window has left."""
    named = ", ".join(
        f"{one.persons / own.persons:.0%} in {one.release}"
        + (" (of this series, before its window)" if _is_past(one, series) else "")
        for one in shared[:_MOST_NAMED]
    )
    n_more = len(shared) - _MOST_NAMED
    return named + (f" and in {n_more:,} more" if n_more > 0 else "")


def _say_why(shared: Sequence[SharedPersons], series: str | None) -> str:
    if all(_is_past(one, series) for one in shared):
        return (
            "the window of the series has left them, and nothing holds them together with this one "
            "(a larger window would)"
        )
    return "their classes are made without regard to each other"


def _is_past(one: SharedPersons, series: str | None) -> bool:
    """Return whether a release is of this one's series, which holds it no longer."""
    return series is not None and one.series == series
