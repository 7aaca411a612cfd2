"""Advice on good and bad uses of a release: sentences that follow from how it was made.

The measured changes are those of the manifest, in whole percent and two decimals.
"""

from collections.abc import Sequence

from tclose.model.column_terms import Role
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import ReleasedColumn

NEXT_TO_ALL = 0.95  # of the height of a taxonomy


def _name(columns: list[ReleasedColumn]) -> str:
    return ", ".join(column.name for column in columns)


def list_safe(manifest: Manifest) -> list[str]:
    """Analyses that the release supports."""
    quasi = _of_role(manifest, Role.QUASI_IDENTIFIER)
    exact_columns = [
        column
        for column in manifest.columns
        if column.role is not Role.QUASI_IDENTIFIER and not (column.noised or column.bucketed)
    ]
    analyses = []
    if exact_columns:
        analyses.append(
            f"Everything about {_name(exact_columns)} without the quasi-identifiers: counts, "
            "means, spreads, and how they go together record by record. They are released as they "
            f"were {'prepared' if any(column.prepared for column in exact_columns) else 'read'}."
        )
    means = _released_as(quasi, "mean")
    if means:
        analyses.append(
            f"Means and totals of {_name(means)}, over the whole table or over groups of many "
            "classes: a class's mean stands in for its records."
        )
    analyses.append(
        "Comparisons of large groups, made of many whole classes, and models of the main effects "
        "of quasi-identifiers, read with what is said beside."
    )
    analyses.append(
        "Teaching, testing of programs, and preparing an analysis of the original data."
    )
    return analyses


def list_unsafe(manifest: Manifest) -> list[str]:
    """Analyses that the release misleads in, and what must not be done with it."""
    quasi = _of_role(manifest, Role.QUASI_IDENTIFIER)
    warnings = []
    lost = [one for one in quasi if _is_lost(one, manifest)]
    if lost:
        warnings.append(
            f"Anything by {_name(lost)}: nearly all records have a group of all, or of nearly all, "
            "of its values."
        )
    generalised = [
        one for one in quasi if one.generalised or one in _released_as(quasi, "ancestor")
    ]
    aggregated = [column for column in quasi if column not in generalised]
    if aggregated:
        warnings.append(
            f"Variances, quantiles, extremes and standard errors of {_name(aggregated)}: all "
            "records of a class have one value, so spread within classes is lost."
        )
    medians = [one for one in _released_as(quasi, "median") if one.kind in ("numeric", "date")]
    if medians:
        warnings.append(
            f"Means and totals of {_name(medians)}: a class's median stands in for its records, "
            "and their mean is another where they lie farther out on one side."
        )
    if any(column.kind == "nominal" for column in aggregated):
        warnings.append(
            "Rare categories of quasi-identifiers: a class has one of its values, and all of its "
            "records are counted with that."
        )
    if generalised:
        warnings.append(
            "Exact values of generalised columns: an interval, a set or a node of a taxonomy says "
            "only that the value is in it."
        )
    if manifest.privacy.t or manifest.privacy.joint:
        warnings.append(
            "Strong relations between quasi-identifiers and confidential attributes: every class "
            "has nearly the distribution of the whole table, so effects are attenuated; what t "
            "forbids cannot be found, and its absence here shows nothing."
        )
    prepared = [column for column in manifest.columns if column.prepared]
    if prepared:
        warnings.append(
            f"{_name(prepared)} as they were collected: values were capped, rounded, grouped or "
            "filled in first, as the columns say, so means, spreads and relations are those of "
            "the values after that."
        )
    if manifest.noise:
        warnings.append(
            f"Single values of {', '.join(manifest.noise)}, and their distributions as they stand: "
            "each value was drawn anew around the one that was read. Shares of categories come "
            "nearer to equal ones, and means to the middle of the bounds, the more the smaller "
            "epsilon is; the data dictionary says by which draws, so that an estimate can allow "
            "for them. They widen every standard error, too."
        )
    if manifest.held is not None and manifest.held.percent:
        warnings.append(
            f"Who is there at the moment: at most {manifest.held.percent} % of the records are of "
            "persons who had left, with the values that they had."
        )
    warnings.append("Groups smaller than a few classes, and anything about a single record.")
    warnings.append(
        "Finding persons: it must not be tried, and other releases of the same records must not "
        "be laid beside this one, because together they can tell records apart."
    )
    return warnings


def list_changes(manifest: Manifest) -> list[tuple[str, str, str]]:
    """Rows of a column, the change of its variance, and the largest ones of a correlation."""
    changes = manifest.figures.changes if manifest.figures is not None else None
    if changes is None:
        return []
    return [
        (
            name,
            _in_words(percent),
            _correlation(
                changes.correlations.get(name),
                (changes.attenuations or {}).get(name, 0.0),
                changes.untold.get(name, ()),
            ),
        )
        for name, percent in changes.variances.items()
    ]


def _in_words(percent: int) -> str:
    if not percent:
        return "less than 1 % different"
    return f"{abs(percent)} % {'too small' if percent < 0 else 'too large'}"


def _correlation(change: float | None, weaker: float, untold: Sequence[str]) -> str:
    parts = [_describe_correlation(change, weaker)] if change is not None or not untold else []
    if untold:
        parts.append(f"not said of that with {', '.join(untold)}")
    return "; ".join(parts)


def _describe_correlation(change: float | None, weaker: float) -> str:
    if change is None:
        return "no other number"
    if change < 0.01:
        return "by less than 0.01"
    difference = f"by up to {change:.2f}"
    return f"{difference}; is attenuated by up to {weaker:.2f}" if weaker >= 0.01 else difference


def _is_lost(column: ReleasedColumn, manifest: Manifest) -> bool:
    """Return whether next to nothing is left of a column with a taxonomy, which can lose 1."""
    lost = manifest.information_loss.per_attribute.get(column.name, 0.0)
    return column.loss is not None and lost >= NEXT_TO_ALL


def _released_as(columns: list[ReleasedColumn], aggregate: str) -> list[ReleasedColumn]:
    return [column for column in columns if f"{aggregate} of its class" in column.treatment]


def _of_role(manifest: Manifest, role: Role) -> list[ReleasedColumn]:
    return [column for column in manifest.columns if column.role is role]
