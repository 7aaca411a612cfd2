"""A release of a few records that nobody sees: what it loses, and what it takes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.assess.any_table import code_values_apart
from tclose.assess.linkage import find_points, joined, released_keys
from tclose.assess.linking import read_verified_rows
from tclose.assess.sample import NUMBER, policy_of_sample
from tclose.data.category_trees import tree_of
from tclose.data.files.column_names import free_name
from tclose.data.keys import Encoding
from tclose.model.array_types import Float64, Int64
from tclose.passes.microaggregate.aggregate_task import REGION_RESULTS
from tclose.passes.microaggregate.losses import merge_losses, name_shares
from tclose.passes.microaggregate.microaggregate import MICROAGGREGATE
from tclose.passes.plan.decide import DECIDE
from tclose.passes.plan.notices.costs.class_seconds import ClassWork
from tclose.passes.plan.plan import PLAN
from tclose.passes.plan.search_budget import SearchBudget
from tclose.passes.publish.utility_summary import describe_shares
from tclose.passes.release import TRIAL
from tclose.policy.policy import Policy
from tclose.releases.manifest.inside_sections import CategoryShares
from tclose.runtime.artifacts.arrays import column_array
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Runner
from tclose.runtime.run import Run

FIXED_SECONDS = 0.02  # of the microaggregation of any table


@dataclass(frozen=True, eq=False)
class TrialRelease:
    """A release of some records in a scratch folder.

    ``seconds``: of the processor, that each pass took.
    """

    run: Run
    originals: pa.Table
    number: str
    seconds: dict[str, float]

    @property
    def class_work(self) -> ClassWork:
        """Seconds that its classes took, without what a pass takes of any table."""
        searched = sum(one.search_seconds for one in self.run.workspace.load(REGION_RESULTS))
        in_all = self.seconds[MICROAGGREGATE.name] - FIXED_SECONDS
        return ClassWork(max(0.0, in_all - searched), searched)

    def measure_all(self, encodings: Sequence[Encoding]) -> Float64:
        """Mean loss of each quasi-identifier, in the ranges of some encodings: float64 (QIs,)."""
        results = self.run.workspace.load(REGION_RESULTS)
        means = merge_losses([one.losses for one in results]).means
        own = self.run.workspace.load(PLAN).encodings
        pairs = zip(own, encodings, strict=True)
        scales = [1.0 if e.is_nominal else _share_of_range(e, other) for e, other in pairs]
        losses: Float64 = means * np.array(scales)
        return losses

    def describe_shares(self) -> dict[str, CategoryShares]:
        """Describe the released shares of each column's categories, where it has some."""
        merged = merge_losses([one.losses for one in self.run.workspace.load(REGION_RESULTS)])
        plan = self.run.workspace.load(PLAN)
        shares = name_shares(merged, plan)
        return {name: describe_shares(counts, plan.k) for name, counts in shares.items()}

    def find_classes(self) -> Int64:
        """The class of each record, from 0: int64 (n,)."""
        rows = pa.concat_tables(list(read_verified_rows(self.run)))
        names = [encoding.column.name for encoding in self.run.workspace.load(PLAN).encodings]
        names += self.run.policy.output.partition_by
        classes = np.empty(len(self.originals), dtype=np.int64)
        _, class_of, _ = find_points([code_values_apart(rows[name], name) for name in names])
        classes[column_array(rows, self.number)] = class_of
        return classes

    def measure_some(self, numbers: Int64, encodings: Sequence[Encoding]) -> Float64:
        """The same of the records of some numbers, where classes release one value each."""
        rows = pa.concat_tables(list(read_verified_rows(self.run)))
        rows = rows.take(pa.array(np.argsort(rows[self.number].to_numpy()))).take(numbers)
        originals = self.originals.take(numbers)
        own = self.run.workspace.load(PLAN).encodings
        return np.array(
            [
                _lose(e, by, joined(originals, e.column.name), joined(rows, e.column.name))
                for e, by in zip(own, encodings, strict=True)
            ]
        )


def make_trial(
    policy: Policy, records: pa.Table, place: Path, search_budget: SearchBudget | None = None
) -> TrialRelease:
    """Release records by a policy in a folder, in this process, up to the verdict.

    Parameters
    ----------
    search_budget : of the search; by default that of a table of so many records

    Raises
    ------
    InfeasibleError, VerificationError, DataError
        They cannot be released so.
    """
    number = free_name(NUMBER, records.column_names)
    place.mkdir(mode=0o700)
    path = place / "records.parquet"
    pq.write_table(records.append_column(number, pa.array(np.arange(len(records)))), path)
    inner = policy_of_sample(policy, tuple(records.column_names), path, number)
    nowhere = inner.output.model_copy(update={"path": str(place / "releases")})
    inner = inner.model_copy(update={"output": nowhere})  # beside no other releases, to be told of
    one_by_one = InProcess(n_at_once=1)  # or each would count the processor's time of all
    run = Run(inner, "plan", place / "work", one_by_one)
    runner, seconds = Runner(run, Progress("none", cautions=False)), dict[str, float]()
    run.workspace.create()
    for one in TRIAL.passes:
        start = time.process_time()
        runner.execute(one)
        seconds[one.name] = time.process_time() - start
        if one is DECIDE and search_budget is not None:
            plan = run.workspace.load(PLAN)
            run.workspace.save(PLAN, replace(plan, search_budget=search_budget))
    return TrialRelease(run, records, number, seconds)


def _share_of_range(own: Encoding, other: Encoding) -> float:
    """Return by how much squares in ranges of the one are more than in ranges of the other."""
    ranges = [float(encoding.high - encoding.low) for encoding in (own, other)]
    return (ranges[0] / ranges[1]) ** 2 if ranges[1] else 1.0


def _lose(own: Encoding, by: Encoding, original: pa.Array, released: pa.Array) -> float:
    """Return the mean loss of some records in a quasi-identifier, as `Losses` has it."""
    keys, shown = own.encode(original), released_keys(own, released)
    tree = tree_of(own)
    if tree is not None:
        return float(np.mean(tree.count_apart(keys, shown))) / tree.height
    if own.is_nominal:
        return float(np.mean(keys != shown))
    span = float(by.high - by.low)
    return float(np.mean(((keys - shown) / span) ** 2)) if span else 0.0
