"""A warning of quasi-identifiers of which a release leaves next to nothing."""

from collections.abc import Iterator, Sequence

from tclose.data.category_trees import tree_of
from tclose.data.keys import Encoding
from tclose.methods.scaling import find_shares_lost
from tclose.model.array_types import Float64
from tclose.model.column_terms import Scale
from tclose.model.grouping import ROOT
from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.policy import warning_kinds
from tclose.releases.manifest.plan_document import PlanWarning

NEXT_TO_ALL = 0.95  # of what is lost of a column where the whole table is one class
_ROUNDED = 1e-9


def warn_of_lost(
    encodings: Sequence[Encoding],
    losses: Sequence[float] | Float64,
    *,
    is_expected: bool = False,
) -> Iterator[PlanWarning]:
    """Find quasi-identifiers of which nearly as much is lost as in a table of one class.

    Parameters
    ----------
    losses : of the quasi-identifiers, by eq. (5)
    is_expected : whether losses are those of a trial
    """
    shares = _share_of_all(encodings, losses)
    for encoding in encodings:
        name = encoding.column.name
        if (share := shares.get(name, 0.0)) < NEXT_TO_ALL:
            continue
        loses = "is expected to lose" if is_expected else "loses"
        grouped = ""
        if encoding.column.attribute.grouping is not None:
            some = "every record has" if share >= 1 - _ROUNDED else "most records have"
            grouped = f", and {some} {ROOT!r}, the group of all values"
        yield make_warning(
            warning_kinds.COLUMN_LOST,
            f"column {name!r}: the release {loses} {min(share, 1.0):.1%} of what would be lost of "
            f"it if the whole table were one class{grouped}",
            [name],
        )


def _share_of_all(
    encodings: Sequence[Encoding], losses: Sequence[float] | Float64
) -> dict[str, float]:
    """What is lost of each quasi-identifier, in shares of what one class loses.

    Methods that do not count in these know it of taxonomies, whose uppermost group loses 1. Of
    numbers with a scale of their own it is not known: a few far ones may be nearly all of it.
    """
    of_trees = {
        encoding.column.name: float(lost)
        for encoding, lost in zip(encodings, losses, strict=True)
        if tree_of(encoding) is not None
    }
    shares = of_trees | find_shares_lost(encodings, losses)
    scaled = {e.column.name for e in encodings if e.by.kind is not Scale.RANGE}
    return {name: share for name, share in shares.items() if name not in scaled}
