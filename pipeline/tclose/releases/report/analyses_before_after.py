"""The internal report's section on what analysts would find in a release and in the records."""

from collections.abc import Iterable, Sequence

from tclose.releases.manifest.inside_sections import AnalysesSection, RangeCountErrors
from tclose.releases.manifest.internal_manifest import Utility
from tclose.releases.report.html_parts import data_table, paragraph, section
from tclose.releases.report.svg_charts import percent

MEASURES = {
    "correlation": "two columns with numbers: correlation",
    "cramers_v": "two columns with categories: Cram\u00e9r's V",
    "correlation_ratio": "one of each: correlation ratio",
}


def show_analyses(utility: Utility | None) -> Iterable[str]:
    """Show them, or that an error stopped them; nothing of a release that was made without them."""
    analyses = None if utility is None else utility.analyses
    if utility is not None and utility.not_measured is not None:
        failure = f"Not measured: {utility.not_measured}. Nothing of the release depends on it."
        yield section("analyses", "What analysts would find", paragraph(failure))
    if analyses is None:
        return
    yield section(
        "analyses",
        "What analysts would find",
        _say_unchanged(analyses),
        *([] if analyses.range_counts is None else [_say_errors(analyses.range_counts)]),
        *([_say_not_counted(analyses.not_counted)] if analyses.not_counted else []),
        _list_associations(analyses),
        _list_columns(analyses),
    )


def _say_unchanged(analyses: AnalysesSection) -> str:
    return paragraph(
        f"{percent(analyses.unchanged)} of the records are released with all quasi-identifiers as "
        "they are. Who has the release does not know which."
    )


def _say_errors(errors: RangeCountErrors) -> str:
    return paragraph(
        f"{errors.queries:,} random counts of the records in ranges of two or three "
        "quasi-identifiers and of a confidential attribute, if one is measured: half are off by "
        f"{percent(errors.median_error)} at most, nine tenths by "
        f"{percent(errors.ninth_tenth_error)}, in shares of the true count or of "
        f"{errors.floor:,} records, whichever is more."
    )


def _say_not_counted(names: Sequence[str]) -> str:
    return paragraph(
        f"Not measured: counts over {', '.join(names)}, of which ranges or sets are released. What "
        "a count over a part of such a range is off by is not in these figures, and associations "
        "take the ranges for the values."
    )


def _list_associations(analyses: AnalysesSection) -> str:
    rows = [
        (
            MEASURES.get(measure, measure),
            f"{changes.pairs:,}",
            "-" if changes.mean is None else f"{changes.mean:.3g}",
            "-" if changes.largest is None else f"{changes.largest:.3g}",
            changes.largest_of or "-",
        )
        for measure, changes in analyses.associations.items()
    ]
    head = ("measure", "pairs", "mean difference", "largest", "of")
    return data_table("Associations of two columns, before and after", head, rows)


def _list_columns(analyses: AnalysesSection) -> str:
    rows = [
        (name, f"{apart:.3g}", percent(analyses.unchanged_by_column[name]))
        for name, apart in analyses.marginals.items()
    ]
    head = ("quasi-identifier", "total variation", "records unchanged")
    return data_table("Marginals and unchanged values by column", head, rows)
