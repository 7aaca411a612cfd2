"""Megabytes that a worker is expected to hold at most, by pass, and that a run takes on disk.

What workers are warned of (`notices.estimate`) is the most that was seen of any table; this is what
is usual: base and copies were measured on ten tables (benchmarks/RESULTS.md, Predictions).

Working files stay until the release is published, so their peak is the sum over the passes. Their
figures are of records, columns and values as they are stored: eight bytes a value, mostly.
"""

from tclose.data.files.input_partitions import MIN_PARTITION_ROWS, PARTITION_ROWS
from tclose.passes.plan.notices.costs.run_scope import (
    RunScope,
    count_coded_columns,
    count_pieces,
    passed_bytes,
    region_records,
)
from tclose.passes.plan.notices.estimate import block_bytes
from tclose.passes.plan.notices.footprint import text_bytes, wide_bytes
from tclose.passes.plan.plan import Plan

# Of a process before a pass, megabytes: of a worker, and of the one process of a small input, which
# has imported all that a run works with.
WORKER_MEGABYTES = {
    "summarise": 225.0,
    "plan": 235.0,
    "encode": 240.0,
    "microaggregate": 250.0,
    "verify": 250.0,
    "publish": 255.0,
}
ALONE_MEGABYTES = {
    "summarise": 250.0,
    "plan": 250.0,
    "encode": 310.0,
    "microaggregate": 335.0,
    "verify": 335.0,
    "publish": 335.0,
}
COPIES_OF_PARTITION, COPIES_OF_REGION = 5, 12
COPIES_OF_PASSED = COPIES_OF_PARSED = 3
PARSED_AT_ONCE = 64_000_000

# On disk.
FIXED_BYTES = 400_000  # of plans, checkpoints and the release's manifest and reports
SAMPLED_RECORDS = 50_000  # of a number's values, at most, that its scale is found by
SAMPLED_BYTES = 27
COUNTED_BYTES, DISTRIBUTED_BYTES = 12.5, 27  # of a distinct confidential value
RELEASED_BYTES = 7.2  # of a value of a record as it is verified
GENERALISED = 2.0  # times: what is released as an interval or a set has two ends
CLASS_BYTES, GENERALISED_CLASS_BYTES = 8, 96  # of a quasi-identifier of a class
STORED_BYTES = 1.1  # of a value in the release's compressed files


def expect_memory(plan: Plan, scope: RunScope) -> dict[str, float]:
    """Megabytes of a worker in each pass."""
    row = count_coded_columns(plan) * 8 + (0 if plan.referenced else plan.widths.per_record)
    n_partition = min(plan.n_records, PARTITION_ROWS, max(MIN_PARTITION_ROWS, plan.n_records // 8))
    at_once = scope.n_beside if scope.alone else 1  # in one process
    n_pieces = min(at_once, count_pieces(plan, n_partition))
    n_regions = max(1, min(at_once, len(plan.regions())))
    piece = COPIES_OF_PARTITION * n_partition * row * n_pieces
    region = COPIES_OF_REGION * region_records(plan) * count_coded_columns(plan) * 8 * n_regions
    texts, wide = text_bytes(plan), wide_bytes(plan)
    passed = 0.0
    if not plan.referenced:
        passed = COPIES_OF_PASSED * passed_bytes(plan) * region_records(plan) / plan.n_records
        passed *= n_regions
    parsed = min(PARSED_AT_ONCE, scope.n_parsed)
    held = {
        "summarise": piece + texts + COPIES_OF_PARSED * parsed,
        "plan": piece + texts,
        "encode": piece + texts + wide,
        "microaggregate": region + block_bytes(plan) * n_regions + passed + texts + wide,
        "verify": region + passed + wide,
        "publish": region + passed + wide,
    }
    base = ALONE_MEGABYTES if scope.alone else WORKER_MEGABYTES
    return {name: base[name] + n_bytes / 1e6 for name, n_bytes in held.items()}


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
