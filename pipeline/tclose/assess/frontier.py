"""The frontier of a policy: what k and t cost and what they give, before anything is published.

Every point of a grid is made by the passes of a run, verification among them, in a private scratch
folder that is gone afterwards, whatever happens. Nothing is published.
"""

import time
from dataclasses import dataclass

from tclose.assess.frontier_grid import FrontierGrid
from tclose.assess.linking import link_attackers
from tclose.assess.sample import Sample, local_sample
from tclose.data.files.inspection import FileContent
from tclose.errors import DataError, InfeasibleError, VerificationError
from tclose.methods.scaling import find_shares_lost
from tclose.model.verification import AttributeResult, ClassSizes
from tclose.passes.microaggregate.aggregate_task import REGION_RESULTS
from tclose.passes.microaggregate.losses import merge_losses
from tclose.passes.plan.notices.compile_notice import COMPILING, kernels_are_compiled
from tclose.passes.plan.plan import PLAN
from tclose.passes.plan.search_budget import choose_search_budget
from tclose.passes.release import TRIAL
from tclose.passes.verify.verdict import VERDICT
from tclose.policy.policy import Policy
from tclose.releases.manifest.privacy_summary import three_digits
from tclose.runtime.engines.engine import Engine
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import INSPECTION, Run


@dataclass(frozen=True)
class Figures:
    """The figures of a release: classes, loss, distances, and record-linkage risk.

    ``loss``: Soria-Comas et al. 2015, eq. (5), over records and quasi-identifiers; ``risk``: the
    share of records that an intruder links to their own; ``of_one_class``: what is lost of what one
    class loses, the mean over quasi-identifiers, None where that does not count. All to three
    digits, as manifests have them.
    """

    classes: ClassSizes
    loss: float
    attributes: tuple[AttributeResult, ...]
    risk: float
    of_one_class: float | None = None


@dataclass(frozen=True)
class Point:
    """One k and t: its figures, or why it cannot be."""

    k: int
    t: float | None
    is_policy: bool
    figures: Figures | None
    reason: str = ""


@dataclass(frozen=True)
class ComputedFrontier:
    """All points of a grid, and on what they were computed.

    ``n_table``: complete records of the input; ``n_records``: those computed on, drawn by ``seed``
    where they are fewer; ``n_attackers``: those whose own released record was looked for.
    """

    name: str
    n_table: int
    n_records: int
    n_attackers: int
    seed: int
    points: tuple[Point, ...]

    @property
    def is_whole(self) -> bool:
        """True if it was computed on the whole table."""
        return self.n_records == self.n_table


def compute_frontier(
    policy: Policy, grid: FrontierGrid, size: int, seed: int, progress: Progress
) -> ComputedFrontier:
    """Compute every point of a grid on ``size`` records at random, or on all if there are fewer."""
    with local_sample(policy, "frontier", size, seed, progress) as (sample, engine):
        points = _compute_points(policy, sample, grid, engine, progress)
    return ComputedFrontier(
        policy.name, sample.n_table, sample.n_records, sample.attackers.size, seed, points
    )


def _compute_points(
    policy: Policy, sample: Sample, grid: FrontierGrid, engine: Engine, progress: Progress
) -> tuple[Point, ...]:
    search_budget = choose_search_budget(policy.method.refine, sample.n_records)
    keeps_persons = policy.privacy.persons == "together"
    if not kernels_are_compiled(search_budget, keeps_persons=keeps_persons):
        progress.info(COMPILING)
    quiet, pairs = Progress("none"), list(grid.points())
    points: list[Point] = []
    inspected = Run(sample.policy, "frontier", sample.path.parent / "inspected", engine)
    run_pipeline(TRIAL.until(INSPECTION), inspected, quiet)
    contents = inspected.workspace.load(INSPECTION)
    with progress.following("computing the frontier", len(pairs)) as step:
        for k, t in pairs:
            start = time.perf_counter()
            changed = {"k": k} if t is None else {"k": k, "t": t}
            privacy = policy.privacy.model_copy(update=changed)
            policy_of_point = sample.policy.model_copy(update={"privacy": privacy})
            run = Run(policy_of_point, "frontier", sample.path.parent / f"{len(points)}", engine)
            figures, reason = _try_point(run, sample, contents, policy.input.shown)
            points.append(Point(k, t, (k, t) == (grid.k, grid.t), figures, reason))
            if progress.style == "lines":
                name = f"k = {k}" if t is None else f"k = {k}, t = {t:g}"
                progress.info(f"{name}: {time.perf_counter() - start:.1f} s")
            step()
    return tuple(points)


def _try_point(
    run: Run, sample: Sample, contents: list[FileContent], input_path: str
) -> tuple[Figures | None, str]:
    """The figures of a point, or the proof that it cannot be met."""
    k = run.policy.privacy.k
    if k > sample.n_records:
        return None, f"k is more than the {sample.n_records:,} records there are"
    try:
        return _measure(run, sample, contents), ""
    except (InfeasibleError, VerificationError) as error:
        return None, str(error)
    except DataError as error:  # of a column; the scratch file is none of the user's business
        raise DataError(str(error).replace(str(sample.path), input_path)) from None
    finally:
        run.workspace.remove()


def _measure(run: Run, sample: Sample, contents: list[FileContent]) -> Figures:
    quiet = Progress("none")
    workspace = run.workspace
    workspace.create()
    workspace.save(INSPECTION, contents)
    run_pipeline(TRIAL.after(INSPECTION), run, quiet)
    verdict = workspace.load(VERDICT)
    losses = merge_losses([result.losses for result in workspace.load(REGION_RESULTS)])
    shares = find_shares_lost(workspace.load(PLAN).encodings, losses.means)
    return Figures(
        verdict.sizes,
        three_digits(float(losses.means.mean())),
        verdict.attributes,
        three_digits(link_attackers(run, sample)),
        three_digits(sum(shares.values()) / len(shares)) if shares else None,
    )
