"""Rows of what analysts would find in a release: figures of the raw data, kept internal."""

from tclose.releases.manifest.inside_sections import AnalysesSection


def analyses_rows(analyses: AnalysesSection) -> list[tuple[str, str]]:
    """Tabulate them in two columns."""
    rows = [("unchanged", f"{analyses.unchanged:.3g} of the records, by all quasi-identifiers")]
    rows += [
        (f"  unchanged: {name}", f"{n:.3g}") for name, n in analyses.unchanged_by_column.items()
    ]
    if (errors := analyses.range_counts) is not None:
        figures = (
            f"{errors.queries:,}, half of them off by {errors.median_error:.3g} at most, nine "
            f"tenths by {errors.ninth_tenth_error:.3g}, of {errors.floor:,} records at least"
        )
        rows.append(("range counts", figures))
    for name in analyses.not_counted:
        rows.append((f"  not measured: {name}", "of which ranges or sets are released"))
    rows += [(f"  total variation: {name}", f"{n:.3g}") for name, n in analyses.marginals.items()]
    for measure, changes in analyses.associations.items():
        if changes.mean is not None and changes.largest is not None:
            figures = (
                f"mean {changes.mean:.3g}, largest {changes.largest:.3g} ({changes.largest_of}), "
                f"of {changes.pairs:,} pairs"
            )
            rows.append((f"  change of {measure.replace('_', ' ')}", figures))
    return rows
