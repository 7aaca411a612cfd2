"""``internal/report.html``: a release for those who sign it, with figures that stay inside.

All that it says is in the internal manifest, beside which it is sealed: figures before and after,
never a record's value. Releases do not change, so what a motivated intruder or an audit found later
is in another copy of the page, outside of the release.
"""

from collections.abc import Iterable

from tclose.model.counted_words import count_words
from tclose.model.preparation import OF_CLASS
from tclose.releases.manifest.figure_sections import Shares
from tclose.releases.manifest.inside_sections import IntrusionSection
from tclose.releases.manifest.internal_manifest import (
    Analysis,
    InternalManifest,
    PreviousRelease,
    SizeLoss,
    Spread,
)
from tclose.releases.manifest.originals_section import FrontierSection, OriginalsResult
from tclose.releases.report.analyses_before_after import show_analyses
from tclose.releases.report.assessment_clauses import list_clauses, list_indicators
from tclose.releases.report.exposure_report import show_exposure
from tclose.releases.report.html_parts import (
    bullets,
    data_table,
    element,
    facts,
    format_share,
    page,
    paragraph,
    section,
    text,
)
from tclose.releases.report.identification_risk import measure_identification
from tclose.releases.report.intrusion_report import show_intrusion
from tclose.releases.report.left_out_report import count_read, show_left_out
from tclose.releases.report.originals_report import show_frontier_section, show_linkage
from tclose.releases.report.page_style import style_release
from tclose.releases.report.public_report import (
    count_persons,
    give_title,
    list_limits,
    name_originals,
    show_attacks,
    show_verdict,
)
from tclose.releases.report.svg_charts import draw_pairs
from tclose.releases.report.unique_records import show_uniques

_MOST_FILES = 20
_ONLY_LEFT = "value that lasts is the only one left", "values that last are the only one left"
_SIGNED = ("Name", "Function", "Date", "Signature")


def write_internal_report(
    manifest: InternalManifest,
    *,
    intrusion: IntrusionSection | None = None,
    originals: OriginalsResult | None = None,
    frontier: FrontierSection | None = None,
) -> str:
    """Write the page; with what was found later, it is one of its own, which is not sealed."""
    sections = [
        _show_warnings(manifest),
        show_left_out(manifest),
        _show_risk(manifest),
        show_attacks(manifest),
        *show_uniques(manifest.analysis),
        *show_intrusion(intrusion),
        *show_linkage(originals),
        *show_frontier_section(frontier),
        *_show_analysis(manifest),
        *show_analyses(manifest.utility),
        _show_loss(manifest),
        _show_previous(manifest, manifest.previous),
        show_exposure(manifest),
        _show_clauses(manifest),
        _show_provenance(manifest),
        _leave_room(),
    ]
    title = f"{give_title(manifest)}: internal report of the release"
    later = [
        *(["a motivated intruder"] if intrusion is not None else []),
        *(["the original records"] if originals is not None else []),
    ]
    seal_note = f"and {' and '.join(later)}; not sealed" if later else "and sealed with it"
    foot = paragraph(
        f"Made by tclose {manifest.code.tclose} from internal/manifest.json, {seal_note}. "
        "It has figures of the original records and stays inside."
    )
    style = style_release(manifest.name, manifest.release_id)
    return page(title, style, _head(manifest), sections, foot)


def _head(manifest: InternalManifest) -> str:
    privacy, classes = manifest.privacy, manifest.classes
    parts = [
        element("p", "Internal report of a release: not to be handed out", class_="kicker"),
        element("h1", text(give_title(manifest))),
        show_verdict(manifest),
    ]
    pairs = [
        ("release", manifest.release_id),
        ("published", _say_when(manifest.published_at)),
        ("records", f"{manifest.records:,}"),
        ("classes", f"{classes.n_classes:,}"),
        *count_persons(privacy),
        *list_limits(privacy),
    ]
    return "".join(parts) + facts(pairs)


def _show_warnings(manifest: InternalManifest) -> str:
    lines = [f"{w.code}: {w.message}; {w.remedy}" for w in manifest.warnings]
    shown = bullets(lines) if lines else paragraph("None.")
    return section("warnings", "Warnings of the plan", shown)


def _show_traces(manifest: InternalManifest) -> str:
    """Show what the classes of persons with several records tell of them."""
    traces = manifest.person_traces
    if traces is None or not (traces.by_classes or traces.in_several_classes):
        return ""
    if traces.by_classes is None:
        left = "".join(
            f" Of {count_words(n, 'person')} one {name} is left, if it lasts, those in one class "
            "with one value among them."
            for name, n in traces.one_value_left.items()
        )
        return paragraph(
            f"{count_words(traces.in_several_classes, 'person has', 'persons have')} records in "
            "several classes, and whoever knows all of their quasi-identifiers knows which these "
            "are. By all of their classes, and the number of records in each, "
            f"{count_words(traces.alone, 'person is', 'persons are')} alone and "
            f"{traces.below_k:,} among fewer than k. A value that is the same in all records of a "
            f"person is one that each of these classes has.{left} k and t of classes do not bound "
            "that; privacy.persons: together does for whoever does not know how many records a "
            "person has, and a release with one record for each person does."
        )
    cells = traces.by_classes
    by_classes = sum(cells.one_value_left.values())
    by_number = sum(traces.one_value_left.values())
    return paragraph(
        "All records of a person have to be in one class: "
        f"{count_words(traces.in_several_classes, 'person has', 'persons have')} some in several. "
        f"By their classes {count_words(cells.below_k, 'is', 'are')} among fewer than k persons, "
        f"and {count_words(by_classes, *_ONLY_LEFT)}. Whoever also knows how many records each "
        "person has can look for a value that is there as often: then "
        f"{count_words(traces.below_k, 'person is', 'persons are')} among fewer than k with as "
        f"many, and {count_words(by_number, *_ONLY_LEFT)}. No class bounds that; a release with "
        "one record for each person does."
    )


def _show_risk(manifest: InternalManifest) -> str:
    persons = manifest.privacy.persons
    if persons is not None and persons.persons < manifest.records:
        intro = (
            "k counts persons, who may have several records each: how likely one of them is taken "
            "for another does not follow from how many records classes have. Every class has "
            f"{manifest.privacy.reached():,} persons at least."
        )
        return section("risk", "Risks of identification", paragraph(intro), _show_traces(manifest))
    fraction = _find_fraction(manifest)
    risk = measure_identification(manifest.classes, manifest.records, fraction)
    of = (
        "No sampling fraction is given (input.sampling_fraction), so the records are taken for the "
        "whole population."
        if fraction is None
        else f"The records are {100 * fraction:.3g} % of their population "
        "(input.sampling_fraction), so a class stands for more persons than it has records."
    )
    if persons is None:
        of += " No column says whose a record is, so each is taken for another person's."
    rows = [
        ("prosecutor", "knows that the person is in the data", f"{risk.prosecutor:.3g}, at most"),
        ("journalist", "does not know that", f"{risk.journalist:.3g}, estimated"),
        ("marketer", "wants many, and minds no errors", f"{risk.marketer:.3g}, on average"),
    ]
    head = ("intruder", "who", "probability that a record is taken for the right person's")
    unique = paragraph(
        "Population uniqueness: no record is unique in the population by its released "
        f"quasi-identifiers, because {manifest.classes.smallest:,} records at least share them in "
        "the data alone."
    )
    table = data_table("Risks of identification, guessing within a class", head, rows)
    traces = _show_traces(manifest)
    return section("risk", "Risks of identification", paragraph(of), table, unique, traces)


def _find_fraction(manifest: InternalManifest) -> float | None:
    settings = (manifest.policy or {}).get("input")
    fraction = settings.get("sampling_fraction") if isinstance(settings, dict) else None
    return float(fraction) if isinstance(fraction, int | float) else None


def _show_analysis(manifest: InternalManifest) -> Iterable[str]:
    analysis = manifest.analysis
    if analysis is None:
        return
    columns = ("column", "mean before", "mean after", "deviation before", "deviation after")
    rows = [
        (name, *_show_spreads(marginal.original, marginal.released))
        for name, marginal in analysis.marginals.items()
    ]
    intro = paragraph(
        f"Numbers and dates; deviations of dates are in days. Before: {name_originals(manifest)}, "
        "of records that are released."
    )
    table = data_table("Means and standard deviations, before and after", columns, rows)
    yield section("marginals", "Marginals before and after", intro, table)
    if analysis.shares:
        yield section("shares", "Distributions before and after", *_draw_shares(analysis))
    pairs = [
        (name, _number(pair.original), _number(pair.released))
        for name, pair in analysis.correlations.items()
    ]
    if pairs:
        head = ("columns", "before", "after")
        table = data_table("Correlations of two columns", head, pairs)
        yield section("correlations", "Correlations before and after", table)


def _draw_shares(analysis: Analysis) -> Iterable[str]:
    """A picture for each quasi-identifier; no value is written on an axis."""
    yield paragraph(
        "Shares of the records by their values and by the released ones: of numbers and dates in "
        "ten equal parts of the range, of categories by frequency. Columns that are released as "
        "they are have the same shares before and after."
    )
    charts = []
    for number, (name, pair) in enumerate(analysis.shares.items()):
        before = Shares(labels=pair.labels, shares=pair.original)
        after = Shares(labels=pair.labels, shares=pair.released)
        charts.append(draw_pairs(f"shares-{number}", name, ("before", before), ("after", after)))
    yield element("div", "".join(charts), class_="pictures")


def _show_spreads(original: Spread, released: Spread) -> tuple[str, ...]:
    figures = (original.mean, released.mean, original.deviation, released.deviation)
    return tuple(_number(figure) for figure in figures)


def _show_loss(manifest: InternalManifest) -> str:
    losses = manifest.information_loss.per_attribute
    shares = manifest.utility.shares if manifest.utility is not None else {}
    exact = manifest.exact_information_loss
    of_one_class = exact.of_one_class if exact is not None else {}
    rows = []
    for name, loss in losses.items():
        of_column = shares.get(name)
        lost = f"{of_column.lost:,} of {of_column.categories:,}" if of_column is not None else "-"
        apart = f"{of_column.total_variation:.3g}" if of_column is not None else "-"
        share = f"{100 * of_one_class[name]:.3g} %" if name in of_one_class else "-"
        rows.append((name, f"{loss:.3g}", share, lost, apart))
    head = (
        *("quasi-identifier", "loss", "of what one class loses"),
        *("categories lost", "total variation of shares"),
    )
    parts = [data_table("Information loss by column", head, rows), *_explain_gaps(manifest)]
    sizes = manifest.analysis.loss_by_class_size if manifest.analysis is not None else []
    if not sizes:
        return section("loss", "Where information is lost", *parts)
    by_size = data_table(
        "Information loss by class size, as classes were made",
        ("records in the class", "records", "of all", "loss"),
        [
            (
                _name_sizes(one, manifest),
                f"{one.records:,}",
                format_share(one.records, manifest.records),
                f"{one.loss:.3g}",
            )
            for one in sizes
        ],
    )
    return section("loss", "Where information is lost", *parts, by_size)


def _name_sizes(one: SizeLoss, manifest: InternalManifest) -> str:
    """The sizes of some classes; none has fewer than k records, or more than the largest."""
    smallest = max(one.smallest, manifest.privacy.k.asked)
    largest = min(one.largest, manifest.classes.largest)
    return f"{smallest:,} to {largest:,}" if smallest < largest else f"{largest:,}"


def _explain_gaps(manifest: InternalManifest) -> list[str]:
    """Explain figures where records without a value have that of their class."""
    prepared = {c.name: c.prepared for c in manifest.columns if c.prepared is not None}
    names = [name for name, one in prepared.items() if one.missing == OF_CLASS]
    if not names:
        return []
    return [
        paragraph(
            f"Losses and shares of {', '.join(names)} count the records that have a value. Means, "
            "variances, correlations and all that analysts would find, above, count the records "
            "that have all of these columns."
        )
    ]


def _show_previous(manifest: InternalManifest, previous: PreviousRelease | None) -> str:
    if previous is None:
        intro = "There is none of this name."
        held = manifest.over_time
        if held is not None and held.releases:
            intro += (
                f" The earlier ones of series {held.series} have other names: "
                f"{len(held.releases):,} are held together with this one; see clause 9."
            )
        return section("previous", "The release before", paragraph(intro))
    rows = [
        ("records", f"{previous.records:,}", f"{manifest.records:,}"),
        ("classes", f"{previous.n_classes:,}", f"{manifest.classes.n_classes:,}"),
        ("k reached", f"{previous.k:,}", f"{manifest.privacy.reached():,}"),
        ("information loss", f"{previous.loss:.3g}", f"{manifest.information_loss.total:.3g}"),
    ]
    now = {name: t.largest_emd for name, t in manifest.privacy.t.items()}
    rows += [
        (f"t of {name}, reached", _reached(previous.t.get(name)), _reached(now.get(name)))
        for name in dict.fromkeys((*previous.t, *now))
    ]
    columns = [column.name for column in manifest.columns]
    rows += [(f"column {n}", "-", "new") for n in columns if n not in previous.columns]
    rows += [(f"column {n}", "there", "gone") for n in previous.columns if n not in columns]
    intro = paragraph(
        f"{previous.release_id}, published {_say_when(previous.published_at)}. tclose diff "
        "compares policies and files too; tclose attack measures what both give away together."
    )
    table = data_table("Difference to the release before", ("figure", "before", "now"), rows)
    return section("previous", "The release before", intro, table)


def _show_clauses(manifest: InternalManifest) -> str:
    head = ("clause", "asks", "this release")
    iso = data_table("ISO/IEC 27559, in our words", head, list_clauses(manifest))
    head = ("indicator", "asks", "this release")
    opinion = data_table("Opinion 05/2014, in our words", head, list_indicators(manifest))
    intro = paragraph("A help for the assessment, and no certificate.")
    return section("clauses", "Clause by clause", intro, iso, opinion)


def _show_provenance(manifest: InternalManifest) -> str:
    seconds = sum(manifest.seconds.values())
    pairs = [
        ("records read", "-" if manifest.records_read is None else f"{count_read(manifest):,}"),
        ("plan, SHA-256", (manifest.plan_sha256 or "")[:16]),
        ("made by", manifest.run.user or "unknown"),
        ("seconds", f"{seconds:,.3g}"),
    ]
    n_more = len(manifest.inputs) - _MOST_FILES
    more = f", and {n_more:,} more, which internal/manifest.json lists" if n_more > 0 else ""
    files = data_table(
        f"Input files{more}",
        ("file", "bytes", "SHA-256 begins with"),
        [(f.name, f"{f.n_bytes:,}", f.sha256[:16]) for f in manifest.inputs[:_MOST_FILES]],
    )
    return section("provenance", "How it was made", facts(pairs), files)


def _leave_room() -> str:
    rows = [(role, "", "", "", "") for role in ("Prepared by", "Reviewed by", "Released by")]
    table = data_table("Signatures", ("Task", *_SIGNED), rows)
    intro = paragraph("I have read this report; the release may be handed out as the terms say.")
    return section("signature", "Decision", intro, table)


def _say_when(moment: str) -> str:
    """A time of a manifest, which is in UTC, to the minute; another is shown as it is."""
    return f"{moment[:10]}, {moment[11:16]} UTC" if moment.endswith("+00:00") else moment


def _reached(distance: float | None) -> str:
    return "-" if distance is None else f"{distance:.3g}"


def _number(figure: float | str | None) -> str:
    if figure is None:
        return "-"
    return figure if isinstance(figure, str) else f"{figure:,.10g}"
