"""A warning where a release is made of records that another one in the folder has, too."""

from collections.abc import Sequence

from tclose.passes.plan.notices.noise_history import NOISE_DRAWS
from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.series.link_persons import SERIES
from tclose.policy import warning_kinds
from tclose.releases.composition.noise_draws import read_neighbours
from tclose.releases.composition.same_input import Sibling, find_siblings
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.runtime.run import INSPECTION, Run

_MOST_NAMED = 3


def find_beside(run: Run) -> tuple[Sibling, ...]:
    """Other releases of the same input files that nothing has been said of yet.

    Without those with noise, which have a warning of their own, and those of the series that this
    one is held together with, which need none.
    """
    contents = run.workspace.load(INSPECTION)
    drawn = {draw.release for draw in run.workspace.load(NOISE_DRAWS)}
    held = {release for link in run.workspace.load(SERIES) for release in link.window.releases}
    siblings = find_siblings(
        read_neighbours(run.repository.output, run.release_id),
        [content.file.sha256 for content in contents],
        run.policy.model_dump(mode="json"),
    )
    return tuple(sibling for sibling in siblings if sibling.release not in drawn | held)


def warn_by_policy(run: Run) -> tuple[PlanWarning, ...]:
    """Find, ahead of a release, others whose policy or files make other classes."""
    return warn_of_siblings(
        [sibling for sibling in find_beside(run) if sibling.differs or sibling.has_other_files]
    )


def warn_of_siblings(others: Sequence[Sibling]) -> tuple[PlanWarning, ...]:
    """Say which other releases there are, and what to do."""
    return (make_warning(warning_kinds.SAME_INPUT, _describe(others)),) if others else ()


def find_others(run: Run, data: frozenset[str]) -> tuple[Sibling, ...]:
    """Find the releases whose rows are others, as the digests of their data files say.

    Files that were cut elsewhere are others, too; then the policies decide.
    """
    return tuple(
        sibling
        for sibling in find_beside(run)
        if sibling.data != data
        and (sibling.differs or sibling.has_other_files or sibling.is_cut_alike)
    )


def _describe(others: Sequence[Sibling]) -> str:
    named = ", ".join(
        f"{other.release} ({_name_difference(other)})" for other in others[:_MOST_NAMED]
    )
    n_more = len(others) - _MOST_NAMED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    is_one = len(others) == 1
    return (
        f"{len(others):,} release{'' if is_one else 's'} of the same input "
        f"{'is' if is_one else 'are'} in the output folder already: {named}{more}; anyone with two "
        "can tell records apart that each keeps together, and k and t hold for neither"
    )


def _name_difference(other: Sibling) -> str:
    words = [f"other {', '.join(other.differs)}"] if other.differs else []
    if other.has_other_files:
        words.append("only some files are the same")
    return "; ".join(words) or "other version of tclose"
