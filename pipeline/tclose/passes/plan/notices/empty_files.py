"""A warning of input files that have no records, as exports have that came out empty."""

from collections.abc import Iterator, Sequence

from tclose.data.files.inspection import FileContent
from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.policy import warning_kinds
from tclose.releases.manifest.plan_document import PlanWarning

_MOST_FILES = 3


def warn_of_empty_files(contents: Sequence[FileContent]) -> Iterator[PlanWarning]:
    """Name files with columns and no records, beside others that have some."""
    empty = [content.file.name for content in contents if not content.pieces]
    if not empty:
        return
    n_more = len(empty) - _MOST_FILES
    more = f" and {n_more:,} more" if n_more > 0 else ""
    yield make_warning(
        warning_kinds.EMPTY_FILES,
        f"{len(empty):,} of {len(contents):,} files {'have' if empty[1:] else 'has'} no records: "
        f"{', '.join(empty[:_MOST_FILES])}{more}",
    )
