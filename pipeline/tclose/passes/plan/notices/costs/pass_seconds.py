"""Seconds of each pass but the microaggregation, on the reference's machine.

A pass takes what it takes for any table, for each column (summaries merge, and files are made,
column by column), and for each value, which is what workers share. Measured on ten tables
(benchmarks/RESULTS.md, Predictions).
"""

from dataclasses import dataclass

from tclose.data.files.input_partitions import MIN_PARTITION_ROWS, PARTITION_ROWS
from tclose.passes.plan.notices.costs.run_scope import (
    RunScope,
    count_coded_columns,
    count_pieces,
    passed_bytes,
)
from tclose.passes.plan.plan import Plan


@dataclass(frozen=True)
class PassCost:
    """Seconds of a pass: of any table, of a column, of a value.

    ``alone``: what it takes to import and load where no worker has done so ahead; ``generalised``:
    times a value takes that is released as an interval or a set.
    """

    fixed: float
    column: float
    value: float
    alone: float = 0.0
    generalised: float = 1.0


COSTS = {
    "summarise": PassCost(0.015, 0.0035, 7.0e-8, alone=0.02),
    "plan": PassCost(0.01, 0.006, 2.1e-8),
    "encode": PassCost(0.03, 0.001, 6.5e-8, alone=0.13),
    "verify": PassCost(0.03, 0.002, 3.0e-8, alone=-0.03, generalised=3.0),
    "publish": PassCost(0.05, 0.008, 3.2e-8, generalised=2.0),
}
PARSED_BYTE = 0.7e-8  # seconds of a byte of CSV, as it is summarised
# Of a byte of pass-through columns, as it is moved; a file is written, and read back.
PASSED_BYTES = {"encode": 4.0e-9, "verify": 2.5e-9, "publish": 5.5e-9}


def expect_passes(plan: Plan, scope: RunScope) -> dict[str, float]:
    """Seconds of each pass, before the calibration."""
    n_rows = min(PARTITION_ROWS, max(MIN_PARTITION_ROWS, -(-plan.n_records // 8)))
    shares = {
        "summarise": scope.longest_share(count_pieces(plan, n_rows)),
        "plan": 1.0,
        "encode": scope.longest_share(count_pieces(plan, n_rows)),
        "verify": scope.longest_share(len(plan.regions())),
        "publish": scope.longest_share(count_pieces(plan, plan.rows_per_file)),
    }
    parsed = {"summarise": PARSED_BYTE * scope.n_parsed / scope.n_workers}
    passed = passed_bytes(plan)
    return {
        name: _expect(plan, scope, cost, shares[name])
        + parsed.get(name, 0.0)
        + PASSED_BYTES.get(name, 0.0) * passed * shares[name]
        for name, cost in COSTS.items()
    }


def _expect(plan: Plan, scope: RunScope, cost: PassCost, share: float) -> float:
    n_values = count_coded_columns(plan)
    of_value = cost.value * (cost.generalised if plan.method.generalises else 1.0)
    seconds = cost.fixed + cost.column * n_values + of_value * n_values * plan.n_records * share
    return seconds + (cost.alone if scope.alone else 0.0)
