"""Exposure of persons that a planned release and an earlier one are expected to leave together.

A plan does not know the classes of either: those of this release are not made, and whose rows an
earlier one has is written down nowhere, unless it is of a series. So two releases of a sample are
made as this policy asks, with another seed each, in which as large a share of the persons is in
both, in the one alone, and in the other alone as sketches tell of the two releases. Their classes
are known, and attacked as `tclose attack` does with classes known. What classes have to do with
each other depends little on the number of records. In the trials nobody's values change from the
one to the other, and the earlier release may be of another policy: so it is an estimate, mostly
below what the attack finds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tclose.assess.ahead.drawn_records import draw_records
from tclose.assess.ahead.expected_losses import share_search, without_long_search
from tclose.assess.ahead.trial_release import make_trial
from tclose.assess.over_time.attack_result import Knowledge
from tclose.assess.over_time.cells import Membership, place_persons
from tclose.assess.over_time.intruder import Intruder, count_published
from tclose.assess.over_time.lasting_values import LastingValues, code_lasting
from tclose.errors import TcloseError
from tclose.model.array_types import Bools, Int64
from tclose.model.column_terms import Role
from tclose.passes.persons.person_sketch import PERSON_SKETCHES
from tclose.passes.plan.notices.person_warnings import find_shared_persons
from tclose.passes.plan.plan import Plan
from tclose.policy.policy import Policy
from tclose.policy.warning_kinds import SAME_PERSONS
from tclose.releases.composition.shared_persons import SharedPersons
from tclose.releases.manifest.plan_document import PlannedExposure, PlanWarning
from tclose.releases.manifest.privacy_summary import three_digits
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Run

MOST_SAMPLED = 5_000  # records, of which two releases are made
LEAST_IN_BOTH = 100  # fewer say nothing


def expect_exposure(
    run: Run, plan: Plan, scratch: Path, size: int, progress: Progress
) -> PlannedExposure | None:
    """Estimate what this release and the earlier one with most of its persons tell together.

    None if there is no earlier one.

    Parameters
    ----------
    run : that has made the plan
    scratch : a private folder, for the trial releases
    size : records to draw, at most
    """
    sketches = run.workspace.load(PERSON_SKETCHES)
    shared = find_shared_persons(run, sketches[0]) if sketches else ()
    if not shared:
        return None
    most, own = shared[0], sketches[0]
    told = PlannedExposure(release=most.release, persons=min(own.persons, most.persons))
    if run.policy.privacy.over_time is not None:
        reason = "classes of a series are made with regard to its releases"
        return told.model_copy(update={"reason": reason})
    if plan.persons is None or plan.persons.largest > 1:
        reason = "persons have several records here, and so several classes each"
        return told.model_copy(update={"reason": reason})
    try:
        return _try(run, told, _Shares.of(own.persons, most), scratch, size, progress)
    except TcloseError as error:  # the plan is decided, whatever a trial comes to
        return told.model_copy(update={"reason": f"a trial release failed: {error}"})


@dataclass(frozen=True)
class _Shares:
    """Shares of the persons of two releases who are in the first alone, and in both."""

    first: float
    both: float

    @classmethod
    def of(cls, n_own: int, other: SharedPersons) -> "_Shares":
        n_both = min(n_own, other.persons, other.of)
        n_all = n_own + other.of - n_both
        return cls((n_own - n_both) / n_all, n_both / n_all)

    def split(self, n_persons: int, seed: int) -> tuple[Bools, Bools]:
        """Draw who is in each of two releases: bool (n_persons,)."""
        drawn = np.random.default_rng([seed, 3]).random(n_persons)
        return drawn < self.first + self.both, drawn >= self.first


def _try(
    run: Run, told: PlannedExposure, shares: _Shares, scratch: Path, size: int, progress: Progress
) -> PlannedExposure:
    """Make two releases of a sample, and attack them."""
    drawn = draw_records(run, min(size, MOST_SAMPLED), progress)
    policy, _ = without_long_search(run.policy, len(drawn.table))
    members = shares.split(len(drawn.table), policy.seed)
    n_both = int(np.sum(members[0] & members[1]))
    if n_both < LEAST_IN_BOTH:
        return told.model_copy(update={"reason": f"of a sample {n_both:,} persons are in both"})
    classes = []
    with progress.following("compare", len(members), label="trying two releases") as step:
        for number, is_in in enumerate(members):
            other = policy.model_copy(update={"seed": policy.seed + number})
            rows, place = np.flatnonzero(is_in), scratch / f"beside-{number}"
            classes.append(_release(other, drawn.table.take(rows), place, drawn.n_table))
            step()
    found = _attack(policy, drawn.table, members, classes)
    return _describe(told, found)


def _release(policy: Policy, records: pa.Table, place: Path, n_table: int) -> Int64:
    """Release records as those of a table of ``n_table`` are; the class of each: int64 (n,)."""
    budget = share_search(policy, n_table, len(records))
    return make_trial(policy, records, place, budget).find_classes()


def _attack(
    policy: Policy, records: pa.Table, members: tuple[Bools, Bools], classes: list[Int64]
) -> Knowledge:
    """Attack two releases whose classes are known; each record is of another person."""
    rows = [np.flatnonzero(is_in) for is_in in members]
    values = _code_lasting(policy, records, rows)
    last = np.zeros(len(records), dtype=np.int64)
    for of_release, codes in zip(rows, values.records, strict=True):
        last[of_release] = codes
    intruder = Intruder(
        k=policy.privacy.k,
        values=values,
        published=count_published(values, classes),
        true_values=last,
    )
    true = [_place(len(records), *pair) for pair in zip(rows, classes, strict=True)]
    return intruder.attack(true, true, lambda: None)


def _place(n_persons: int, persons: Int64, classes: Int64) -> Membership:
    return place_persons(n_persons, persons, np.arange(persons.size + 1), classes)


def _code_lasting(policy: Policy, records: pa.Table, rows: list[Int64]) -> LastingValues:
    """Code the confidential values that the policy does not say to be drawn anew."""
    names = [
        attribute.name
        for attribute in policy.resolve_attributes()
        if attribute.role is Role.CONFIDENTIAL and attribute.persistent
    ]
    tables = [records.select(names).take(of_release) for of_release in rows]
    return code_lasting(names, tables, tables)


def _describe(told: PlannedExposure, found: Knowledge) -> PlannedExposure:
    both, one = found.stayed, found.changed
    return told.model_copy(
        update={
            "of_sample": both.persons,
            "alone": three_digits(both.alone / both.persons),
            "below_k": three_digits(both.below_k / both.persons),
            "one_value": {v.attribute: three_digits(v.persons / both.persons) for v in both.values},
            "alone_in_one": three_digits(one.alone / one.persons) if one.persons else None,
        }
    )


def warn_of_exposure(
    warnings: Sequence[PlanWarning], exposure: PlannedExposure, k: int
) -> tuple[PlanWarning, ...]:
    """The warnings of a plan, of which that of earlier releases says what was estimated."""
    told = _put_into_words(exposure, k)
    return tuple(
        one.model_copy(update={"message": f"{one.message}; {told}"})
        if one.code == SAME_PERSONS.code
        else one
        for one in warnings
    )


def _put_into_words(exposure: PlannedExposure, k: int) -> str:
    e = exposure
    if e.alone is None or e.below_k is None:
        return f"how many of them was not estimated: {e.reason}"
    values = "".join(f", {share:.1%} with one {name} left" for name, share in e.one_value.items())
    in_one = (
        "" if e.alone_in_one is None else f"; of those in one of them {e.alone_in_one:.1%} alone"
    )
    return (
        f"by estimate {e.alone:.1%} of those in both alone, {e.below_k:.1%} among fewer than "
        f"k = {k}{values}, for whoever knows all classes{in_one} (two trial releases by this "
        f"policy, {e.of_sample:,} persons in both, as if the earlier one were made by it, too)"
    )
