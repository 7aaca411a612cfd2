"""A warning where a run draws noise of records that noise was drawn of before."""

from collections.abc import Sequence

from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.plan.plan import Plan
from tclose.policy.warning_kinds import NOISE_AGAIN
from tclose.releases.composition.noise_draws import (
    Draw,
    Neighbours,
    add_up,
    find_changed,
    find_draws,
    read_neighbours,
)
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.runtime.artifacts.artifacts import Artifact
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import INSPECTION, Run

NOISE_DRAWS = Artifact("noise-draws", tuple[Draw, ...])
_MOST_NAMED = 3


def warn_of_noise_draws(run: Run, plan: Plan, progress: Progress) -> tuple[PlanWarning, ...]:
    """Look for earlier draws before there is another; kept for the internal manifest.

    They are kept where there are none, too: what is damaged is not taken for none, and said at
    once.
    """
    neighbours = read_neighbours(run.repository.output)
    if neighbours.untold:
        progress.warn(_describe_untold(neighbours.untold))
    if changed := find_changed(run.repository.output, run.release_id):
        progress.warn(_describe_changed(changed))
    if neighbours.closed and plan.epsilons:
        progress.warn(_describe_closed(neighbours.closed))
    draws = _find_draws(run, plan, neighbours)
    run.workspace.save(NOISE_DRAWS, draws)
    return _warn(draws, plan)


def find_late_draws(run: Run, plan: Plan) -> tuple[tuple[Draw, ...], tuple[PlanWarning, ...]]:
    """The draws that there are by now, with a warning where others were published meanwhile."""
    draws = _find_draws(run, plan, read_neighbours(run.repository.output))
    return draws, () if draws == run.workspace.load(NOISE_DRAWS) else _warn(draws, plan)


def _find_draws(run: Run, plan: Plan, neighbours: Neighbours) -> tuple[Draw, ...]:
    digests = {content.file.sha256 for content in run.workspace.load(INSPECTION)}
    return find_draws(neighbours, digests, plan.epsilons)


def _warn(draws: tuple[Draw, ...], plan: Plan) -> tuple[PlanWarning, ...]:
    return (make_warning(NOISE_AGAIN, _describe(draws, plan)),) if draws else ()


def _name(places: Sequence[str]) -> str:
    return ", ".join(places[:_MOST_NAMED]) + (", ..." if len(places) > _MOST_NAMED else "")


def _describe_untold(releases: Sequence[str]) -> str:
    is_one = len(releases) == 1
    return (
        f"warning: {len(releases):,} release{'' if is_one else 's'} in the output folder "
        f"({_name(releases)}) cannot be told from others of the same "
        f"input: internal/manifest.json is damaged; if {'it is one' if is_one else 'they are'}, "
        "the epsilons of noise add up, and whoever has two can tell records apart: audit "
        f"{'it' if is_one else 'them'} (tclose audit), and remove what fails"
    )


def _describe_changed(releases: Sequence[str]) -> str:
    is_one = len(releases) == 1
    return (
        f"warning: what {len(releases):,} release{'' if is_one else 's'} in the output folder "
        f"({_name(releases)}) {'says' if is_one else 'say'} of "
        f"{'its' if is_one else 'their'} input and noise is not what was published: "
        "internal/manifest.json does not have its seal; it is counted as it stands, and more may "
        f"have been handed out: audit {'it' if is_one else 'them'} (tclose audit), and put back "
        "what was changed"
    )


def _describe_closed(folders: Sequence[str]) -> str:
    return (
        f"warning: this user may not look into {_name(folders)} in the output folder; if noise on "
        "the same records is released there, the epsilons add up, and nothing here says so: run as "
        "a user who may read all releases"
    )


def _describe(draws: Sequence[Draw], plan: Plan) -> str:
    sums = add_up(draws, plan.epsilons)
    both = [
        f"{name!r} {float(own):g}, together {float(sums[name]):g}"
        for name, own in plan.epsilons.items()
        if sums[name] != own
    ]
    named = _name([draw.release for draw in draws])
    is_one = len(draws) == 1
    return (
        f"{len(draws):,} release{'' if is_one else 's'} of the same input "
        f"{'has' if is_one else 'have'} noise on the same columns already ({named}); noise that is "
        f"drawn again can be averaged away, so the epsilons add up: {'; '.join(both)}"
    )
