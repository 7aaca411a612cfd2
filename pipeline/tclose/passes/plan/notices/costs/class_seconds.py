"""Seconds of the microaggregation: of clusters by counts, of their search by a trial or by counts.

A region is a task. Where there are fewer of them than workers, further threads help to search each,
and the clusters of one are made by one thread.
"""

from dataclasses import dataclass

import numpy as np

from tclose.data.places.process_limits import count_processors
from tclose.passes.plan.notices.costs.run_scope import RunScope
from tclose.passes.plan.notices.estimate import count_distances
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.search_budget import (
    FAST,
    LEAST_GAIN_OF_A_MILLION,
    MAX_SEARCHED,
    TIMES,
    USUAL_SIZE,
    SearchBudget,
)

# Algorithm 3 does a distance of one quasi-identifier in about half a nanosecond.
SECONDS_PER_DISTANCE = 0.5e-9
CLUSTERED_RECORD, CLUSTERED_VALUE = 0.7e-6, 0.08e-6  # seconds, beside those of distances
# A second thread of a search, and a worker beside another, are less than the first by this share.
OF_THREADS, OF_WORKERS = 0.85, 0.92
# Of a searched record, where no trial was made: of fast from its least gain to the largest, as its
# logarithm goes. Fast takes longer where t is loose, as more can be exchanged.
FAST_RECORDS, LOOSE, LOOSE_TIMES = (25e-6, 14.5e-6), 0.2, 4.0
LEAN_RECORD, LEAN_VALUE = 1.2e-6, 0.12e-6
DOUBLE_SIZE = 130  # records of a class above the usual by which a search takes once more of both
OTHER_RECORD = 4.5e-6  # of methods that do not cut by subsets, in place of clusters
PERTURBED_RECORD = 1.5e-6  # seconds, each time that its group is perturbed
KEPT_RECORD = 0.65e-3  # a hundred thousand records of fifty thousand persons: 65 s by two threads


@dataclass(frozen=True)
class ClassWork:
    """Seconds of a processor: of a search, which threads share, and of all else.

    ``search``: of exchanges and repair; ``clusters``: of starts, and of what is released.
    """

    clusters: float
    search: float

    def times(self, factor: float) -> "ClassWork":
        """Both, so many times."""
        return ClassWork(self.clusters * factor, self.search * factor)


def expect_classes(plan: Plan, scope: RunScope, work: ClassWork) -> float:
    """Seconds of the pass, once the kernels are loaded."""
    n_regions = max(1, len(plan.regions()))
    share = scope.longest_share(n_regions, scope.n_beside)
    n_threads = _threads(plan, scope, n_regions)
    search = work.search * share / (1 + (n_threads - 1) * (2 * OF_THREADS - 1))
    beside = 1.0 if min(n_regions, scope.n_beside) == 1 else OF_WORKERS
    return (work.clusters * share + search) / beside


def _threads(plan: Plan, scope: RunScope, n_regions: int) -> int:
    """Threads that search a region; persons who are kept together are searched by two at most."""
    n_processors = count_processors() if scope.alone else scope.n_workers
    n_threads = max(1, n_processors // min(n_regions, scope.n_beside))
    return min(n_threads, 2) if plan.keeps_persons else n_threads


def count_class_work(plan: Plan) -> ClassWork:
    """Seconds of a processor by counts alone."""
    n_columns = len(plan.encodings)
    if not plan.method.cuts_by_subsets:
        return ClassWork(plan.n_records * OTHER_RECORD, _count_search(plan))
    clusters = plan.n_records * (CLUSTERED_RECORD + n_columns * CLUSTERED_VALUE)
    share = plan.n_clustered / max(1, plan.n_records)
    clusters += share * count_distances(plan) * n_columns * SECONDS_PER_DISTANCE
    return ClassWork(clusters, _count_search(plan))


def is_searched(plan: Plan) -> bool:
    """Return whether classes are refined after they were made."""
    return bool(plan.search_budget.n_rounds) and plan.method.refines


def _count_search(plan: Plan) -> float:
    if not is_searched(plan):
        return 0.0
    budget: SearchBudget = plan.search_budget
    if budget.seconds is not None:
        return budget.seconds
    n_records = plan.n_clustered
    if plan.keeps_persons:
        return KEPT_RECORD * n_records
    times = 1.0 + max(0.0, _class_size(plan) - USUAL_SIZE) / DOUBLE_SIZE
    if not budget.least_gain:  # no search that what a round saves ends
        return (LEAN_RECORD + LEAN_VALUE * len(plan.encodings)) * n_records * times
    is_loose = min(plan.verification_limits, default=1) >= LOOSE
    gains = np.log([FAST.least_gain, LEAST_GAIN_OF_A_MILLION])
    each = float(np.interp(np.log(budget.least_gain), gains, FAST_RECORDS))
    rounds = each * n_records * (LOOSE_TIMES if is_loose else 1.0)
    passes = budget.n_perturbed // (TIMES * max(1, plan.n_records))
    return (rounds + passes * TIMES * n_records * PERTURBED_RECORD) * times


def _class_size(plan: Plan) -> float:
    """Records of a class; of those too large to be searched, the usual."""
    size = max((one.class_size.adjusted for one in plan.release_partitions), default=USUAL_SIZE)
    return size if size <= MAX_SEARCHED else USUAL_SIZE
