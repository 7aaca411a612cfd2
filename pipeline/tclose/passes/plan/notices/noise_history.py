"""A warning where a run draws noise of records that noise was drawn of before."""

from collections.abc import Sequence

from tclose.passes.plan.plan import Plan
from tclose.releases.noise_draws import Draw, add_up, find_draws
from tclose.runtime.artifacts import Artifact
from tclose.runtime.progress import Progress
from tclose.runtime.run import INSPECTION, Run

NOISE_DRAWS = Artifact("noise-draws", tuple[Draw, ...])


def report_noise_draws(run: Run, plan: Plan, progress: Progress) -> None:
    """Look for earlier draws before there is another; kept for the internal manifest."""
    own = plan.epsilons
    if not own:
        return
    contents = run.workspace.load(INSPECTION)
    draws = find_draws(run.repository.output, {content.file.sha256 for content in contents}, own)
    run.workspace.save(NOISE_DRAWS, draws)
    if draws:
        progress.warn(_format_warning(draws, plan))


def _format_warning(draws: Sequence[Draw], plan: Plan) -> str:
    sums = add_up(draws, plan.epsilons)
    both = [
        f"{name!r} {float(own):g}, together {float(sums[name]):g}"
        for name, own in plan.epsilons.items()
        if sums[name] != own
    ]
    named = ", ".join(draw.release for draw in draws[:3]) + (", ..." if len(draws) > 3 else "")
    is_one = len(draws) == 1
    return (
        f"warning: {len(draws):,} release{'' if is_one else 's'} of the same input "
        f"{'has' if is_one else 'have'} noise on the same columns already ({named}); noise that is "
        f"drawn again can be averaged away, so the epsilons add up: {'; '.join(both)}"
    )
