"""Megabytes on disk: what passes leave for the next ones, and the release.

Working files stay until the release is published, so their peak is the sum over the passes. All
figures are of records, columns and values as they are stored: eight bytes a value, mostly
(benchmarks/RESULTS.md, Predictions).
"""

from tclose.passes.plan.notices.costs.run_scope import RunScope, count_coded_columns, passed_bytes
from tclose.passes.plan.plan import Plan

FIXED_BYTES = 400_000  # of plans, checkpoints and the release's manifest and reports
SAMPLED_RECORDS = 50_000  # of a number's values, at most, that its scale is found by
SAMPLED_BYTES = 27
COUNTED_BYTES, DISTRIBUTED_BYTES = 12.5, 27  # of a distinct confidential value
RELEASED_BYTES = 7.2  # of a value of a record as it is verified
GENERALISED = 2.0  # times: what is released as an interval or a set has two ends
CLASS_BYTES, GENERALISED_CLASS_BYTES = 8, 96  # of a quasi-identifier of a class
STORED_BYTES = 1.1  # of a value in the release's compressed files


def expect_disk(plan: Plan, scope: RunScope) -> float:
    """Megabytes that working files and release take where they are most."""
    n, n_values, passed = plan.n_records, count_coded_columns(plan), passed_bytes(plan)
    numbers = [e for e in (*plan.encodings, *plan.confidential) if not e.is_nominal]
    generalises = plan.method.generalises
    ends = GENERALISED if generalises else 1.0
    of_class = GENERALISED_CLASS_BYTES if generalises else CLASS_BYTES
    n_classes = sum(one.n_clusters for one in plan.release_partitions)
    of_pass = {
        "summarise": min(n, SAMPLED_RECORDS) * SAMPLED_BYTES * len(numbers)
        + COUNTED_BYTES * scope.n_distinct,
        "plan": DISTRIBUTED_BYTES * scope.n_distinct,
        "encode": 8 * n * n_values + passed,
        "microaggregate": 8 * n * (len(plan.confidential) + 1 / 4)
        + of_class * n_classes * len(plan.encodings)
        + (0.0 if plan.referenced else passed),
        "verify": RELEASED_BYTES * ends * n * n_values + passed,
        "release": STORED_BYTES * n * (n_values - 1) + passed,
    }
    return (FIXED_BYTES + sum(of_pass.values())) / 1e6
