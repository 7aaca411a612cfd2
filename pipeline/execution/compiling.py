"""What a first use of the kernels takes is said before anybody waits for it."""

from pipeline.execution.engine import Engine
from pipeline.execution.estimate import unit_megabytes
from pipeline.execution.progress import Progress
from pipeline.kernels.clusters import cluster_blocks
from pipeline.kernels.compiled import is_kept
from pipeline.kernels.refine import refine_blocks
from pipeline.stages.effort import Effort
from pipeline.stages.methods.method import T_CLOSENESS_FIRST
from pipeline.stages.plan import Plan

COMPILING = "compiling the kernels, once on this machine: a minute or so"
COMPILER_MEGABYTES = 450.0  # a first use of the search was seen to hold 445 more


def kernels_are_compiled(effort: Effort) -> bool:
    """Whether the kernel that takes longest to compile, of those that are needed, is on disk."""
    return is_kept(refine_blocks if effort.n_rounds else cluster_blocks)


def tell_compiling(plan: Plan, engine: Engine, progress: Progress) -> None:
    """Say so where kernels are not compiled; other methods' take seconds."""
    if plan.method.name != T_CLOSENESS_FIRST or kernels_are_compiled(plan.effort):
        return
    said = COMPILING
    limit = engine.memory_per_unit()
    needed = unit_megabytes(plan) + COMPILER_MEGABYTES
    if limit is not None and needed * 1e6 > limit:
        said += (
            f"; that and a unit may need {needed:,.0f} MB, and a worker has {limit / 1e6:,.0f} MB "
            "for each of its threads: give workers more memory if they do not get through"
        )
    progress.say(said)
