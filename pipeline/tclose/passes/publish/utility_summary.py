"""The utility section of the internal manifest: changes that matter for analysis."""

from collections.abc import Mapping, Sequence

import numpy as np

from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Role
from tclose.passes.microaggregate.utility import (
    ValueComparison,
    measure_changes,
    measure_il1s,
)
from tclose.releases.manifest.inside_sections import CategoryShares
from tclose.releases.manifest.internal_manifest import Utility
from tclose.releases.manifest.privacy_summary import known_digits, three_digits


def describe_utility(
    comparison: ValueComparison,
    columns: Sequence[Column],
    shares: Mapping[str, Int64],
    k: int,
) -> Utility:
    """Describe a release's changes for analysis to three digits, for the internal manifest.

    IL1s over the quasi-identifiers, which come first; changes of means (in standard deviations of
    the original), of variances (relative), and of correlations (differences), over all columns.
    None where there is no such figure: of a single record, or of one value.

    Parameters
    ----------
    shares : of quasi-identifiers by name, records that have each category and that release it:
        int64 (2, v)
    k : of categories with at least 2k records changed shares are counted
    """
    n_quasi = sum(column.role is Role.QUASI_IDENTIFIER for column in columns)
    changes = measure_changes(comparison)
    names = [column.name for column in columns]
    return Utility(
        il1s=known_digits(measure_il1s(comparison.first(n_quasi))),
        changes_of_means=_by_name(names, changes.means),
        changes_of_variances=_by_name(names, changes.variances),
        changes_of_correlations={
            f"{names[i]} and {names[j]}": known_digits(float(changes.correlations[i, j]))
            for j in range(len(names))
            for i in range(j)
        },
        shares={name: describe_shares(counts, k) for name, counts in shares.items()},
    )


def describe_shares(counts: Int64, k: int) -> CategoryShares:
    """Describe how far the released shares of a column's categories are from the records'.

    Parameters
    ----------
    counts : int64 (2, v): records that have each category, and that release it
    k : of categories with at least 2k records changed shares are counted
    """
    own, released = counts
    common = own >= 2 * k
    apart = 10 * np.abs(released - own) > own
    return CategoryShares(
        categories=int(own.size),
        lost=int(np.count_nonzero(released == 0)),
        shrunk=int(np.count_nonzero(common & apart & (released < own))),
        grown=int(np.count_nonzero(common & apart & (released > own))),
        total_variation=three_digits(float(np.abs(released - own).sum() / 2 / max(1, own.sum()))),
    )


def _by_name(names: Sequence[str], values: Float64) -> dict[str, float | None]:
    return dict(zip(names, map(known_digits, values.tolist()), strict=True))
