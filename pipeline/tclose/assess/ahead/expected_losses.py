"""The loss that a planned release is expected to have, by column, and the price of `suppress`.

Releases of a sample lose more than one of the whole table, whose records have nearer ones: squared
distances to a neighbour fall by a power of the number of records (Biau and Devroye, *Lectures on
the Nearest Neighbor Method*, 2015, chapter 2). So a quarter of the sample is released, too, and
each column's loss may go on falling from the one to the whole table as it does between the two. It
need not: of categories and small ranges it soon stays, and where tails are heavy it does not fall,
as the outermost records have no near ones in a larger table either. So the loss of the sample is
told, too; the whole table's is often between these, but not always. Nothing is decided by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.assess.ahead.drawn_records import DrawnRecords, draw_records
from tclose.assess.ahead.trial_release import TrialRelease, make_trial
from tclose.data.column_scales import choose_scale
from tclose.data.keys import Encoding
from tclose.errors import TcloseError
from tclose.model.array_types import Float64, Int64
from tclose.model.column_terms import Scale
from tclose.passes.plan.notices.compile_notice import COMPILING, kernels_are_compiled
from tclose.passes.plan.notices.costs.class_seconds import ClassWork
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.search_budget import SearchBudget, choose_search_budget
from tclose.passes.series.link_persons import (
    SERIES,
    SeriesLink,
    limits_made_for,
    look_up_window,
)
from tclose.policy.policy import Policy
from tclose.releases.manifest.inside_sections import CategoryShares
from tclose.releases.repository.contents import read_manifest
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Run

# Records, where nothing else is asked: of methods that compare all with all, and of others. Near
# clusters of as many as a block has are tried whatever they lose, which takes longer than the
# search, so that more tell what a record of a table takes; most where no long search follows, and
# then all of a table that is not much larger.
SAMPLED, SAMPLED_BY_PARTS, SAMPLED_SOON, WHOLE_SOON = 10_000, 40_000, 100_000, 200_000
PARTS = 4  # the smaller sample is one of so many
STEEPEST = -2.0  # power of the number of records that a loss falls by at most


@dataclass(frozen=True, eq=False)
class ExpectedLosses:
    """Means over the records that are kept, by quasi-identifier in the plan's order.

    ``sampled`` float64 (QIs,): of the sample's release; ``kept``: of that of the whole table, if
    the loss goes on falling; ``with_all``: of the records that ``sampled`` is of, in the same
    ranges, in a release with those left out; None where none are or it is not known. ``n_sampled``,
    ``n_left_out``:
    records of the sample that are kept, and that are left out; ``work``: seconds that the classes
    of all records are expected to take, None where that is not known; ``is_faster``:
    the search was a shorter one; ``shares``: of the categories of the sample, by column;
    ``class_sizes`` int64 (c,): records of each class of the sample's release.
    """

    sampled: Float64
    kept: Float64
    with_all: Float64 | None
    n_sampled: int
    n_left_out: int
    work: ClassWork | None
    is_faster: bool
    shares: Mapping[str, CategoryShares]
    class_sizes: Int64


def expect_losses(
    run: Run, plan: Plan, scratch: Path, size: int, progress: Progress
) -> ExpectedLosses | str:
    """Estimate losses from releases of about ``size`` records; or why that cannot be said.

    Parameters
    ----------
    run : that has made the plan
    scratch : a private folder, for the samples
    """
    series = run.workspace.load(SERIES)
    if series and series[0].window.releases:
        return describe_before(run)
    drawn = draw_records(run, size, progress)
    if plan.keeps_persons and not drawn.is_whole:
        return "a sample of records would not have all records of a person"
    policy, is_faster = without_long_search(_with_room(run.policy, series), len(drawn.table))
    is_compiled = kernels_are_compiled(
        choose_search_budget(policy.method.refine, len(drawn.table)),
        keeps_persons=plan.keeps_persons,
    )
    if not is_compiled:
        progress.info(COMPILING)
    ahead = _Ahead(policy, plan, drawn, scratch)
    sizes = [len(drawn.table)] if drawn.is_whole else [len(drawn.table) // PARTS, len(drawn.table)]
    try:
        expected = ahead.estimate(sizes, progress, is_faster=is_faster)
    except TcloseError as error:  # the plan of all records is decided, whatever a trial comes to
        return f"a trial release of {len(drawn.table):,} records failed: {error}"
    # The first release of all took what compiling takes.
    return expected if is_compiled or len(sizes) > 1 else replace(expected, work=None)


def describe_before(run: Run) -> str:
    """Say why the loss of a later release of a series is not tried, and what the one before lost.

    Classes of earlier releases stay together in it, whom a trial by itself would part.
    """
    before = look_up_window(run)[1][-1]
    manifest = read_manifest(before.place)
    lost = "" if manifest is None else f", which lost {manifest.information_loss.total:.3g}"
    return f"classes of release {before.name}{lost}, stay together, and lose more as persons move"


def _with_room(policy: Policy, series: Sequence[SeriesLink]) -> Policy:
    """The policy of a release by itself; of a series' first one with classes that leave room.

    Parameters
    ----------
    series : one, without earlier releases, or none
    """
    alone = policy.without_series()
    if not series:
        return alone
    made = {
        name: min(limit, policy.privacy.limit(name) if own is None else Fraction(str(own)))
        for name, limit in limits_made_for(policy).items()
        for own in [policy.attributes[name].t]
    }
    attributes = {
        name: settings.model_copy(update={"t": float(made[name])}) if name in made else settings
        for name, settings in alone.attributes.items()
    }
    privacy = alone.privacy.model_copy(update={"k": series[0].made_k})
    return alone.model_copy(update={"attributes": attributes, "privacy": privacy})


def without_long_search(policy: Policy, n_records: int) -> tuple[Policy, bool]:
    """Return the policy with a search that ends soon, and whether its own is longer."""
    budget = choose_search_budget(policy.method.refine, n_records)
    fast = choose_search_budget("fast", n_records)
    if budget.n_rounds <= fast.n_rounds and budget.n_perturbed <= fast.n_perturbed:
        return policy, False
    method = policy.method.model_copy(update={"refine": "fast"})
    return policy.model_copy(update={"method": method}), True


@dataclass(frozen=True, eq=False)
class _Ahead:
    """Releases of samples, without and with the records that the plan leaves out."""

    policy: Policy
    plan: Plan
    drawn: DrawnRecords
    scratch: Path

    def estimate(self, sizes: list[int], progress: Progress, *, is_faster: bool) -> ExpectedLosses:
        """Release samples of these sizes, the largest last, and that with those left out."""
        left_out, encodings = self.drawn.is_left_out, self.plan.encodings
        by_record = not self.policy.method.generalises and not self.drawn.has_gaps
        is_priced = bool(left_out.any()) and by_record
        with progress.following("try", len(sizes) + is_priced, label="trying on some") as step:
            counts, losses, works, shares = [], [], [], dict[str, CategoryShares]()
            sizes_of_classes = np.empty(0, dtype=np.int64)
            for size in sizes:
                rows = self._choose(size)
                trial = self._release(rows[~left_out[rows]], f"kept-{size}")
                counts.append(len(trial.originals))
                losses.append(trial.measure_all(encodings))
                works.append(trial.class_work)
                shares = trial.describe_shares()
                sizes_of_classes = np.bincount(trial.find_classes())
                step()
            falls = [not self._has_heavy_tails(encoding) for encoding in encodings]
            kept_losses = _extrapolate(counts, losses, self.drawn.n_table, np.array(falls))
            with_all = None
            if is_priced:
                trial = self._release(self._choose(sizes[-1]), "all")
                with_all = trial.measure_some(np.flatnonzero(~left_out), encodings)
                step()
        return ExpectedLosses(
            sampled=losses[-1],
            kept=kept_losses,
            with_all=with_all,
            n_sampled=counts[-1],
            n_left_out=int(np.count_nonzero(left_out)),
            work=works[-1].times(self.drawn.n_table / counts[-1]),
            is_faster=is_faster,
            shares=shares,
            class_sizes=sizes_of_classes,
        )

    def _has_heavy_tails(self, encoding: Encoding) -> bool:
        """Return whether a column's range is many times that of its middle records."""
        if encoding.is_nominal or encoding.categories is not None:
            return False
        column = self.drawn.table[encoding.column.name].combine_chunks()
        values = column.filter(pa.array(~self.drawn.is_left_out)).drop_null()
        keys = np.sort(encoding.encode(values))
        span = float(encoding.high - encoding.low)
        return choose_scale((keys - keys[0]).astype(np.float64), span).kind is Scale.TRIMMED

    def _choose(self, size: int) -> Int64:
        """Rows of the sample, ascending: all, or some at random."""
        n_rows = len(self.drawn.table)
        if size >= n_rows:
            return np.arange(n_rows)
        rng = np.random.default_rng([self.policy.seed, 2])
        return np.sort(rng.choice(n_rows, size, replace=False))

    def _release(self, rows: Int64, name: str) -> TrialRelease:
        budget = None
        if not self.drawn.is_whole:
            budget = share_search(self.policy, self.drawn.n_table, rows.size)
        return make_trial(self.policy, self.drawn.table.take(rows), self.scratch / name, budget)


def share_search(policy: Policy, n_table: int, n_records: int) -> SearchBudget:
    """Return the search of the whole table on some records, each searched for as long.

    They are perturbed as often as the table's, and rounds end by what the table's have to save.
    """
    budget = choose_search_budget(policy.method.refine, n_table)
    return replace(budget, n_perturbed=round(n_records / max(1, n_table) * budget.n_perturbed))


def _extrapolate(
    counts: Sequence[int], losses: Sequence[Float64], n_table: int, falls: NDArray[np.bool_]
) -> Float64:
    """Losses of the whole table, from those of some records and of fewer: float64 (QIs,).

    Parameters
    ----------
    falls : bool (QIs,): of which columns the loss goes on falling
    """
    if len(losses) == 1:
        return losses[0]
    (few, many), (most, least) = counts, losses
    fell = np.divide(least, most, out=np.ones_like(least), where=(least > 0) & (most > 0))
    power = np.where(falls, np.clip(np.log(fell) / np.log(many / few), STEEPEST, 0.0), 0.0)
    expected: Float64 = least * (n_table / many) ** power
    return expected
