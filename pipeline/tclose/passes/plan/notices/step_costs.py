"""Expected costs of each pass of a run: seconds, and megabytes per worker; approximate."""

from tclose.data.files.input_partitions import PARTITION_ROWS
from tclose.passes.plan.notices.estimate import (
    BASE_MEGABYTES,
    COPIES_OF_A_PIECE,
    SECONDS_PER_DISTANCE,
    SECONDS_PER_KEPT_RECORD,
    START_SECONDS,
    block_bytes,
    count_columns,
    count_distances,
    task_megabytes,
)
from tclose.passes.plan.notices.footprint import text_bytes, wide_bytes
from tclose.passes.plan.plan import Plan
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.releases.manifest.plan_document import CostEstimate, StepEstimate
from tclose.runtime.engines.engine import runs_in_process
from tclose.runtime.engines.local import worker_count

# Of a processor, for each record and column: measured on a million generated discharges.
PASS_SECONDS = {
    "summarise": 0.07e-6,
    "plan": 0.06e-6,
    "encode": 0.1e-6,
    "verify": 0.15e-6,
    "publish": 0.15e-6,
}
CLASS_SECONDS = 0.5e-6  # of the classes, before they are searched; likewise
SECONDS_PER_SEARCHED_RECORD = 0.045e-3  # of fast, with seven quasi-identifiers


def estimate_run(
    plan: Plan, engine: EngineSettings, n_bytes: int, class_seconds: float | None = None
) -> CostEstimate:
    """Estimate the cost of a run, pass by pass.

    Parameters
    ----------
    n_bytes : the input's size
    class_seconds : seconds of a processor that all classes take, where it was tried on a sample
    """
    alone = runs_in_process(engine, n_bytes)
    n_workers = 1 if alone else worker_count(engine)
    work = plan.n_records * count_columns(plan)
    seconds = {name: work * each / n_workers for name, each in PASS_SECONDS.items()}
    if class_seconds is None:
        class_seconds = _seconds_of_classes(plan, work)
    in_one_task = plan.keeps_persons and bool(plan.search_budget.n_rounds)
    seconds["microaggregate"] = class_seconds / (1 if in_one_task else n_workers)
    megabytes = _megabytes_of_passes(plan)
    return CostEstimate(
        megabytes=task_megabytes(plan),
        seconds=START_SECONDS + sum(seconds.values()),
        on="this process" if alone else f"{n_workers} workers",
        steps=tuple(
            StepEstimate(name=name, seconds=seconds[name], megabytes=of_pass)
            for name, of_pass in megabytes.items()
        ),
    )


def _seconds_of_classes(plan: Plan, work: int) -> float:
    """Seconds of a processor that the microaggregation takes, by counts alone."""
    seconds = work * CLASS_SECONDS
    seconds += count_distances(plan) * len(plan.encodings) * SECONDS_PER_DISTANCE
    if not plan.search_budget.n_rounds or not plan.method.refines:
        return seconds
    if plan.search_budget.seconds is not None:
        return seconds + plan.search_budget.seconds
    each = SECONDS_PER_KEPT_RECORD if plan.keeps_persons else SECONDS_PER_SEARCHED_RECORD
    return seconds + plan.n_records * each


def _megabytes_of_passes(plan: Plan) -> dict[str, float]:
    """Return the most that a task of each pass holds: its process, and copies of its piece."""
    row = count_columns(plan) * 8
    regions = [one.n_records // min(one.n_regions, one.n_clusters)
               for one in plan.release_partitions]  # fmt: skip
    piece = COPIES_OF_A_PIECE * min(PARTITION_ROWS, plan.n_records) * row
    region = COPIES_OF_A_PIECE * max(regions, default=0) * row
    texts, wide = text_bytes(plan), wide_bytes(plan)
    held = {
        "summarise": piece + texts,
        "plan": piece + texts,
        "encode": piece + texts + wide,
        "microaggregate": region + block_bytes(plan) + texts + wide,
        "verify": piece + wide,
        "publish": piece + wide,
    }
    return {name: BASE_MEGABYTES + n_bytes / 1e6 for name, n_bytes in held.items()}
