"""Estimates of a run's memory, from measured runs; approximate, never relied upon."""

from collections.abc import Iterator

from tclose.data.category_trees import tree_of
from tclose.data.files.input_partitions import PARTITION_ROWS
from tclose.errors import PolicyError
from tclose.kernels.refinement.search import LARGEST_MENDED
from tclose.model.column_terms import Distance
from tclose.passes.plan.notices.footprint import refuse_wide, text_bytes, wide_bytes
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.search_budget import MAX_SEARCHED, SearchBudget, count_block_classes
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.engines.engine import Engine, worker_memory
from tclose.runtime.monitoring.progress import Progress

BASE_MEGABYTES = 300.0
COPIES_OF_A_PIECE = 16  # the most that was seen is 14
SPARE_BYTES = 256_000_000  # for further threads, where no worker has a limit


def search_bytes(plan: Plan) -> int:
    """Bytes of the counts that exchanges keep of every class of a block, in the largest block.

    Four for each class and each node of a tree that a record of the block is below: with the equal
    distance a node is a value. Classes above `MAX_SEARCHED` are not searched.
    """
    return max(
        4 * n_classes * min(plan.n_nodes, n_records * plan.tree_depth)
        for n_classes, n_records in _searched_blocks(plan)
    )


def category_bytes(plan: Plan) -> int:
    """Bytes of the counts of quasi-identifiers' categories in the classes of a block, likewise.

    Eight for each class, row of a nominal one (a taxonomy has one a level), and category of that
    with the most: a count, and the share by which partners are found.
    """
    trees = [tree_of(e) for e in plan.encodings if e.is_nominal]
    n_rows = sum(1 if tree is None else tree.columns().shape[0] for tree in trees)
    n_levels = max((len(e.categories or ()) for e in plan.encodings if e.is_nominal), default=0)
    return max(
        8 * n_classes * n_rows * min(n_levels, n_records)
        for n_classes, n_records in _searched_blocks(plan)
    )


def block_bytes(plan: Plan) -> int:
    """Bytes of all that grows with the square of a block, or with its values; 0 without a search.

    Of each pair of classes twelve: what an exchange promises, in a stratum and in all, and whether
    it was tried.
    """
    pairs = max(12 * n_classes * n_classes for n_classes, _ in _searched_blocks(plan))
    return search_bytes(plan) + category_bytes(plan) + pairs


def _searched_blocks(plan: Plan) -> Iterator[tuple[int, int]]:
    """Classes and records of the largest blocks, of each release partition; at least one, empty."""
    yield 0, 0
    budget: SearchBudget = plan.search_budget
    if not budget.n_rounds:
        return
    for release_partition in plan.release_partitions:
        size = min(release_partition.class_size.adjusted, MAX_SEARCHED)
        block_classes = count_block_classes(budget, size)
        of_region = -(-release_partition.n_clusters // max(1, release_partition.n_regions))
        repaired = min(plan.block_clusters, of_region)
        yield repaired, repaired * min(size, LARGEST_MENDED)
        yield min(block_classes, of_region), min(block_classes, of_region) * size


def check_memory(plan: Plan, engine: EngineSettings, n_bytes: int) -> None:
    """Refuse a search, and records, that no worker has the memory for.

    Raises
    ------
    PolicyError
        Names the attributes and what needs less.
    """
    needed, there = search_bytes(plan) + category_bytes(plan), worker_memory(engine, n_bytes)
    refuse_wide(plan, there)
    if there is None or needed <= max(there - BASE_MEGABYTES * 1e6, there / 2):
        return
    raise PolicyError(
        f"method.refine: exchanges would need about {needed / 1e6:,.1f} MB, a worker has "
        f"{there / 1e6:,.1f} MB: {_name_many(plan)}; or take a smaller method.block_clusters, "
        "scope: blocks, and refine: fast; or give engine.memory_per_worker more"
    )


def _name_many(plan: Plan) -> str:
    """Name the columns whose values exchanges count in every class, and how to have fewer."""
    if search_bytes(plan) >= category_bytes(plan):
        names = [e.column.name for e in plan.confidential if e.column.distance != Distance.ORDERED]
        return (
            f"{', '.join(map(repr, names))} together have {plan.n_nodes:,} values that are not "
            "ordered. Take distance: ordered, or round or group the values"
        )
    nominal = [e for e in plan.encodings if e.is_nominal]
    most = max(nominal, key=lambda encoding: len(encoding.categories or ()))
    return (
        f"{most.column.name!r} has {len(most.categories or ()):,} categories, and as many are "
        f"counted of each of {len(nominal):,} nominal quasi-identifiers. Group its categories"
    )


def count_columns(plan: Plan) -> int:
    """Columns of a piece: the policy's that go along, and the position of each record."""
    return len(plan.encodings) + len(plan.confidential) + len(plan.along) + 1


def task_megabytes(plan: Plan) -> float:
    """Return a process's memory during a task: its own, and a multiple of the piece.

    And what is wide: texts that classes are made by, and wide pass-through columns; and the counts
    of a search.
    """
    piece = piece_records(plan) * count_columns(plan) * 8
    wide = wide_bytes(plan) + text_bytes(plan)
    searched = block_bytes(plan)
    return BASE_MEGABYTES + (COPIES_OF_A_PIECE * piece + searched + wide) / 1e6


def count_threads(plan: Plan, engine: Engine, n_tasks: int) -> int:
    """Threads that search each of so many regions, as far as there is memory for their blocks."""
    n_threads = engine.threads_per_task(n_tasks)
    needed = block_bytes(plan)
    limit = engine.memory_per_unit()
    spare = SPARE_BYTES if limit is None else max(0, int(limit - task_megabytes(plan) * 1e6))
    return min(n_threads, 1 + spare // needed) if needed else n_threads


def warn_of_short_memory(plan: Plan, engine: Engine, progress: Progress) -> None:
    """Say so where workers have less memory for a task than it may need."""
    limit, needed = engine.memory_per_unit(), task_megabytes(plan)
    if limit is not None and needed * 1e6 > limit:
        progress.info(
            f"a task may need {needed:,.0f} MB, and a worker has {limit / 1e6:,.0f} MB for "
            "each of its threads: tasks may have to be begun again; give workers more memory, or "
            "fewer threads"
        )


def count_distances(plan: Plan) -> float:
    """Distances that Algorithm 3 takes: a block of g clusters scans 1.5 g times what is left."""
    return sum(
        0.75 * release_partition.n_records * min(plan.block_clusters, release_partition.n_clusters)
        for release_partition in plan.release_partitions
    )


def piece_records(plan: Plan) -> int:
    """Records of the largest piece that one task holds."""
    regions = [d.n_records // min(d.n_regions, d.n_clusters) for d in plan.release_partitions]
    return max(min(PARTITION_ROWS, plan.n_records), *regions)
