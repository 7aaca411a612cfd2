"""A warning of dates whose years of two digits are read as some to come."""

from collections.abc import Iterator, Sequence

from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.summarise.records import DatesAhead
from tclose.policy import warning_kinds
from tclose.releases.manifest.plan_document import PlanWarning

_MOST_FILES = 3


def warn_of_ahead(ahead: Sequence[DatesAhead]) -> Iterator[PlanWarning]:
    """Tell of columns with such dates, and of the files that they are in."""
    for found in ahead:
        n_more = len(found.files) - _MOST_FILES
        more = f" and {n_more:,} more" if n_more > 0 else ""
        yield make_warning(
            warning_kinds.DATES_AHEAD,
            f"column {found.column!r}: {found.n_ahead:,} of {found.n_values:,} dates, in "
            f"{', '.join(found.files[:_MOST_FILES])}{more}, have years of two digits, and are read "
            "as days to come, as those below 69 are of this century",
            [found.column],
        )
