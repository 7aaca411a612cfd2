"""A notice of the time and memory that compiling the kernels for a first use takes."""

from tclose.kernels.clustering.algorithm3 import cluster_blocks
from tclose.kernels.compiler import find_refusal, is_kept
from tclose.kernels.refinement.refine_blocks import refine_blocks
from tclose.kernels.refinement.unit_search import refine_units
from tclose.passes.plan.notices.estimate import task_megabytes
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.search_budget import SearchBudget
from tclose.runtime.engines.engine import Engine
from tclose.runtime.monitoring.progress import Progress

COMPILING = "compiling the kernels: half a minute or so"
ONCE = ", once on this machine"
COMPILER_MEGABYTES = 450.0  # a first use of the search was seen to hold 445 more


def kernels_are_compiled(search_budget: SearchBudget, *, keeps_persons: bool = False) -> bool:
    """Return whether the needed kernel that takes longest to compile is on disk."""
    search = refine_units if keeps_persons else refine_blocks
    return is_kept(search if search_budget.n_rounds else cluster_blocks)


def report_compiling(plan: Plan, engine: Engine, progress: Progress) -> None:
    """Say so where kernels are not compiled; other methods' take seconds.

    And where they are not kept or read, since somebody else could have written what is there, they
    are of another version, or no folder can be made for them.
    """
    refusals = sorted({answer for answer in engine.ask(find_refusal) if answer})
    for refusal in refusals:
        progress.caution(refusal)
    if not plan.method.cuts_by_subsets:
        return
    if kernels_are_compiled(plan.search_budget, keeps_persons=plan.keeps_persons):
        return
    notice = COMPILING if refusals else COMPILING + ONCE
    limit = engine.memory_per_unit()
    needed = task_megabytes(plan) + COMPILER_MEGABYTES
    if limit is not None and needed * 1e6 > limit:
        notice += (
            f"; that and a task may need {needed:,.0f} MB, and a worker has {limit / 1e6:,.0f} MB "
            "for each of its threads: give workers more memory if they do not get through"
        )
    progress.info(notice)
