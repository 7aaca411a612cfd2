"""The internal section on what analysts would find in a release, beside the records."""

from collections.abc import Iterator
from itertools import combinations
from math import ceil, inf, isfinite

import numpy as np

from tclose.data.keys import Encoding
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import ANCESTOR
from tclose.passes.microaggregate.analyses.failing_measures import try_measuring
from tclose.passes.microaggregate.analyses.record_counts import RecordCounts, sum_counts
from tclose.passes.microaggregate.analyses.workload import Workload
from tclose.passes.microaggregate.losses import Losses, compared_columns
from tclose.passes.microaggregate.utility import Moments
from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.plan.plan import Plan
from tclose.policy import warning_kinds
from tclose.releases.manifest.inside_sections import (
    AnalysesSection,
    AssociationChanges,
    RangeCountErrors,
)
from tclose.releases.manifest.internal_manifest import Utility
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.manifest.privacy_summary import three_digits

FLOOR_SHARE, LEAST_FLOOR = 1_000, 10  # errors are divided by a thousandth of the records, or by 10

# Of two columns: their names, and their association before and after; NaN of one value.
_Association = tuple[str, float, float]


def add_analyses(utility: Utility, losses: Losses, plan: Plan, workload: Workload) -> Utility:
    """The changes for analysis with what analysts would find, or with why that is not measured."""
    for failure in losses.failures:
        return utility.model_copy(update={"not_measured": failure})
    analyses, failure = try_measuring(lambda: describe_analyses(losses, plan, workload, utility))
    return utility.model_copy(update={"analyses": analyses, "not_measured": failure or None})


def warn_of_unmeasured(utility: Utility) -> tuple[PlanWarning, ...]:
    """Find that a measurement failed, on which nothing of the release depends."""
    if utility.not_measured is None:
        return ()
    return (make_warning(warning_kinds.NOT_MEASURED, utility.not_measured),)


def describe_analyses(
    losses: Losses, plan: Plan, workload: Workload, utility: Utility
) -> AnalysesSection:
    """Describe what analysts would find, to three digits; columns with noise are left out."""
    counts, n_records = sum_counts(losses.counted), losses.comparison.original.n_records
    names = [column.name for column in workload.quasi]
    of_parts = dict(zip(names, _measure_marginals(counts, workload), strict=False))
    of_categories = {name: shares.total_variation for name, shares in utility.shares.items()}
    n_unchanged = dict(zip(names, counts.unchanged.tolist(), strict=False))
    of_categories |= _measure_groups(n_unchanged, n_records, plan)
    unchanged = [three_digits(n / max(n_records, 1)) for n in counts.unchanged.tolist()]
    return AnalysesSection(
        range_counts=measure_errors(counts.ranges, n_records),
        not_counted=list(workload.unasked),
        marginals={name: of_categories.get(name, of_parts[name]) for name in names},
        associations={
            "correlation": _describe(_correlate(losses, plan)),
            "cramers_v": _describe(_relate_categories(counts, workload)),
            "correlation_ratio": _describe(_relate_kinds(counts, losses, plan, workload)),
        },
        unchanged=unchanged[-1],
        unchanged_by_column=dict(zip(names, unchanged[:-1], strict=True)),
    )


def measure_errors(ranges: Int64, n_records: int) -> RangeCountErrors | None:
    """Relative errors of counts: of the records and of the release, int64 (2, q)."""
    if not ranges.shape[1] or not n_records:
        return None
    floor = max(LEAST_FLOOR, ceil(n_records / FLOOR_SHARE))
    errors = np.abs(ranges[1] - ranges[0]) / np.maximum(ranges[0], floor)
    return RangeCountErrors(
        queries=ranges.shape[1],
        floor=floor,
        median_error=three_digits(float(np.median(errors))),
        ninth_tenth_error=three_digits(float(np.quantile(errors, 0.9, method="higher"))),
    )


def _measure_marginals(counts: RecordCounts, workload: Workload) -> list[float]:
    """Total variation of the shares of each column's parts."""
    apart = np.abs(counts.parts[1] - counts.parts[0])
    first = np.cumsum([0, *(column.n_parts for column in workload.columns)])
    sums = np.add.reduceat(apart, first[:-1]) / 2
    n_records = max(1, int(counts.parts[0, : first[1]].sum()))
    return [three_digits(share) for share in (sums / n_records).tolist()]


def _measure_groups(n_unchanged: dict[str, int], n_records: int, plan: Plan) -> dict[str, float]:
    """Total variation of columns of which classes release groups, of which none is a value.

    A value is released where a whole class has it. So the shares of values only shrink, by the
    records that release groups, which is half of the sum of all differences.
    """
    names = [e.column.name for e in plan.encodings if _releases_groups(e)]
    return {name: three_digits(1 - n_unchanged[name] / max(n_records, 1)) for name in names}


def _releases_groups(encoding: Encoding) -> bool:
    return encoding.column.aggregate == ANCESTOR and not encoding.generalised


def _describe(associations: Iterator[_Association]) -> AssociationChanges:
    known = [(name, a, b if isfinite(b) else 0.0) for name, a, b in associations if isfinite(a)]
    apart = [abs(after - before) for _, before, after in known]
    if not apart:
        return AssociationChanges(pairs=0, mean=None, largest=None, largest_of=None)
    place = int(np.argmax(apart))
    return AssociationChanges(
        pairs=len(apart),
        mean=three_digits(float(np.mean(apart))),
        largest=three_digits(apart[place]),
        largest_of=known[place][0],
    )


def _correlate(losses: Losses, plan: Plan) -> Iterator[_Association]:
    """Correlations of two columns with numbers."""
    columns = list(enumerate(compared_columns(plan)))
    columns = [(i, column) for i, column in columns if column.attribute.noise is None]
    both = losses.comparison.original.correlations, losses.comparison.released.correlations
    for (i, one), (j, other) in combinations(columns, 2):
        yield f"{one.name} and {other.name}", float(both[0][i, j]), float(both[1][i, j])


def _relate_categories(counts: RecordCounts, workload: Workload) -> Iterator[_Association]:
    """Cramér's V of two columns with categories, rare ones together."""
    columns, start = workload.columns, 0
    for i, j in workload.pairs:
        shape = columns[i].n_parts, columns[j].n_parts
        tables = np.zeros((2, shape[0] * shape[1]), dtype=np.int64)
        cells = counts.in_cells[:, start : start + tables.shape[1]]
        tables[:, : cells.shape[1]] = cells  # last cells may be empty
        start += tables.shape[1]
        before, after = (measure_cramers_v(table.reshape(shape)) for table in tables)
        yield f"{columns[i].name} and {columns[j].name}", before, after


def measure_cramers_v(table: Int64) -> float:
    """Cramér's V of a contingency table, without correction for bias; NaN of one row or column."""
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    smaller = min(table.shape) - 1
    if smaller < 1:
        return float("nan")
    n_records = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n_records
    chi_square = float(((table - expected) ** 2 / expected).sum())
    return min(1.0, float(np.sqrt(chi_square / n_records / smaller)))


def _relate_kinds(
    counts: RecordCounts, losses: Losses, plan: Plan, workload: Workload
) -> Iterator[_Association]:
    """Correlation ratios of a number over categories, rare ones together."""
    columns, numbers = workload.columns, compared_columns(plan)[: workload.shifts.size]
    first = np.cumsum([0, *(column.n_parts for column in columns)])
    both = losses.comparison.original, losses.comparison.released
    start = 0
    for place in workload.categorical:
        n_parts = columns[place].n_parts
        n_in = counts.parts[:, first[place] : first[place + 1]]
        for m, number in enumerate(numbers):
            sums = counts.sums[:, start : start + n_parts]
            before, after = (
                measure_correlation_ratio(n_in[side], sums[side], _total(both[side], m))
                for side in (0, 1)
            )
            start += n_parts
            yield f"{columns[place].name} and {number.name}", before, after


def _total(moments: Moments, place: int) -> float:
    return float(moments.products[place, place])


def measure_correlation_ratio(n_records: Int64, sums: Float64, total: float) -> float:
    """Correlation ratio of a number over categories; NaN of one value or category, or past float64.

    Parameters
    ----------
    n_records : of each category
    sums : of the numbers of each category, less anything that is the same for all
    total : sum of the squared deviations of all numbers from their mean
    """
    present = n_records > 0
    if np.count_nonzero(present) < 2 or not 0 < total < inf:
        return float("nan")
    n, means = n_records[present], sums[present] / n_records[present]
    between = float((n * (means - (n * means).sum() / n.sum()) ** 2).sum())
    return min(1.0, float(np.sqrt(between / total)))
