"""What a run will take, from what runs took: stated as about, never relied upon."""

from typing import Any

from pipeline.execution.engine import runs_in_process, worker_count
from pipeline.settings import EngineSettings
from pipeline.stages.plan import Plan
from pipeline.storage.inputs import PARTITION_ROWS

# Measured on two cores (benchmarks/RESULTS.md): ten million records with nine columns, in blocks of
# 100 clusters of ten, took 40 s on two workers; Algorithm 3 does a distance of one
# quasi-identifier in about a nanosecond.
SECONDS_PER_RECORD_AND_COLUMN = 0.8e-6
SECONDS_PER_DISTANCE = 1e-9
START_SECONDS = 3.0
BASE_MEGABYTES = 300.0
COPIES_OF_A_PIECE = 8


def estimate_run(plan: Plan, engine: EngineSettings, n_bytes: int) -> dict[str, Any]:
    """Megabytes per worker, seconds, and what these are for; ``n_bytes`` is the input's size."""
    alone = runs_in_process(engine, n_bytes)
    n_workers = 1 if alone else worker_count(engine)
    n_columns = len(plan.encodings) + len(plan.confidential) + len(plan.carried) + 1
    work = plan.n_records * n_columns * SECONDS_PER_RECORD_AND_COLUMN
    work += count_distances(plan) * len(plan.encodings) * SECONDS_PER_DISTANCE
    return {
        "megabytes": BASE_MEGABYTES + piece_records(plan) * n_columns * 8 * COPIES_OF_A_PIECE / 1e6,
        "seconds": START_SECONDS + work / n_workers,
        "on": "this process" if alone else f"{n_workers} workers",
    }


def count_distances(plan: Plan) -> float:
    """Distances that Algorithm 3 takes: a block of g clusters scans 1.5 g times what is left."""
    return sum(
        0.75 * domain.n_records * min(plan.block_clusters, domain.n_clusters)
        for domain in plan.domains
    )


def piece_records(plan: Plan) -> int:
    """Records of the largest piece that one unit of work holds."""
    regions = [d.n_records // min(d.n_regions, d.n_clusters) for d in plan.domains]
    return max(min(PARTITION_ROWS, plan.n_records), *regions)
