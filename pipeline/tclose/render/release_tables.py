"""Short tables in plain text, printed at the end of a command."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tclose.model.column_terms import Distance
from tclose.model.counted_words import count_words
from tclose.releases.manifest.inside_sections import CategoryShares, SeriesSection
from tclose.releases.manifest.internal_manifest import PersonTracesSection, Utility
from tclose.releases.manifest.privacy_sections import (
    JointResult,
    NoiseResult,
    PersonsResult,
    Privacy,
    PrivacyModelResult,
    TResult,
    format_parameters,
)
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import (
    ClassesSection,
    DataFile,
    Exposed,
    InformationLoss,
    RiskSection,
    SkewnessSection,
)
from tclose.render.analyses_rows import analyses_rows
from tclose.render.series_rows import series_rows
from tclose.render.text_tables import render_table
from tclose.render.trace_rows import trace_rows
from tclose.security.printable_text import printable

if TYPE_CHECKING:
    from tclose.assess.auditing.audit_result import AuditResult
    from tclose.releases.manifest.originals_section import OriginalsResult, PopulationResult


def report_release(  # noqa: PLR0913 (a manifest, and what a run tells beside it)
    manifest: Manifest,
    place: str,
    seconds: dict[str, float],
    budget: dict[str, float] | None = None,
    beside: Sequence[str] = (),
    over_time: SeriesSection | None = None,
    traces: PersonTracesSection | None = None,
    left_out: tuple[int, int] = (0, 0),
) -> str:
    """Verdict, k and t asked and achieved, classes, loss, times, and where the release is.

    ``budget``: epsilon of columns over all releases of the same records that have noise on them;
    ``beside``: other releases of the same input files; ``over_time``: of a release of a series;
    ``traces``: where persons are counted; ``left_out``: records with a missing value, and isolated
    ones.
    """
    rows = release_rows(manifest)
    after = [key for key, _ in rows].index("records") + 1
    rows[after:after] = _left_out_rows(*left_out)
    rows += trace_rows(traces) + series_rows(over_time)
    for name, epsilon in (budget or {}).items():
        rows.append((f"all draws of {name}", f"epsilon {epsilon:g}, with those of other releases"))
    if seconds:
        by_pass = ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())
        rows.append(("seconds", f"{by_pass}; together {sum(seconds.values()):.1f}"))
    if beside:
        more = f" and {len(beside) - 3:,} more" if len(beside) > 3 else ""
        named = f"also released as {', '.join(beside[:3])}{more}"
        rows.append(("same input", f"{named}: distribute only one of them, remove the others"))
    rows.append(("release", place))
    return render_table(rows)


def _left_out_rows(n_dropped: int, n_isolated: int) -> list[tuple[str, str]]:
    rows = [("dropped", f"{n_dropped:,} with a missing value")] if n_dropped else []
    return rows + ([("left out", f"{n_isolated:,} as isolated ones")] if n_isolated else [])


def release_rows(manifest: Manifest) -> list[tuple[str, str]]:
    """Tabulate a manifest's statements on the released rows, in two columns."""
    rows = [("verdict", manifest.verdict.upper()), ("method", manifest.method)]
    rows.append(("records", f"{manifest.records:,}"))
    rows += _privacy_rows(manifest.privacy)
    rows += _noise_rows(manifest.noise)
    rows += _value_rows(manifest)
    rows += _class_rows(manifest.classes)
    rows += _loss_rows(manifest.information_loss)
    rows.append(("data", describe_files(manifest.files)))
    return rows


def _privacy_rows(privacy: Privacy) -> list[tuple[str, str]]:
    rows = [("k", f"asked {privacy.k.asked}, achieved {privacy.k.achieved}")]
    rows += [(f"t of {name}", _format_t(t)) for name, t in privacy.t.items()]
    rows += [(f"t of {' with '.join(t.attributes)}", _format_t(t)) for t in privacy.joint]
    rows += _person_rows(privacy.persons)
    for model in privacy.models or ():
        rows += _model_rows(model)
    return rows


def _person_rows(persons: PersonsResult | None) -> list[tuple[str, str]]:
    """K and t over persons; none where k counts records."""
    if persons is None:
        return []
    k, sizes = persons.k, persons.classes
    rows = [("persons", f"{persons.persons:,}")]
    rows.append(("k over persons", f"asked {k.asked}, achieved {k.achieved}"))
    for name, t in persons.t.items():
        reached = "within" if t.largest_emd is None else f"largest EMD {t.largest_emd:.6f}"
        rows.append((f"t of {name} over persons", f"asked {t.asked:g}, {reached}"))
    text = f"{sizes.smallest} to {sizes.largest:,}, mean {sizes.mean:.2f}"
    rows.append(("persons of a class", text))
    if persons.in_several_classes is not None:
        rows.append(("persons in several classes", f"{persons.in_several_classes:,}"))
    return rows


def _format_t(t: TResult | JointResult) -> str:
    is_ordered = t.distance in (None, Distance.ORDERED)
    asked = f"asked {t.asked:g}" if t.asked < 1 else "no limit (t 1)"
    text = f"{asked}, largest EMD {t.largest_emd:.6f}"
    text += "" if is_ordered else f" ({t.distance})"
    return f"{text} of {t.of}" if isinstance(t, TResult) and t.of is not None else text


def _value_rows(manifest: Manifest) -> list[tuple[str, str]]:
    """List the columns that were compared with the input's; earlier manifests do not say it."""
    values = manifest.values
    if values is None:
        return []
    prepared = {column.name for column in manifest.columns if column.prepared is not None}
    notes = dict.fromkeys(prepared, " (as prepared)")
    notes |= dict.fromkeys(values.as_buckets, " (its buckets)")
    named = [f"{name}{notes.get(name, '')}" for name in values.compared]
    is_held = values.result != "identical"
    others = ", but for those held from the release before," if is_held else ""
    rows = [("records compared", f"identical to the input's{others} in {', '.join(named)}")]
    rows += [(f"  not in {name}", reason) for name, reason in values.left_out.items()]
    return rows if named else rows[1:]


def _noise_rows(noise: Mapping[str, NoiseResult]) -> list[tuple[str, str]]:
    rows = []
    for name, settings in noise.items():
        text = f"epsilon {settings.epsilon:g} ({settings.mechanism})"
        limit = f"asked {settings.asked_t:g}, " if settings.asked_t is not None else ""
        rows.append(
            (f"noise on {name}", f"{text}, {limit}stochastic t {settings.stochastic_t:.3f}")
        )
    return rows


def _model_rows(model: PrivacyModelResult) -> list[tuple[str, str]]:
    achieved = "none" if model.reached is None else f"{model.reached:.6g}"
    rows = [(f"{model.name} of {model.attribute}",
             f"asked {format_parameters(model.asked)}, reached {achieved}")]  # fmt: skip
    if model.holds_for is not None:
        rows.append(("  holds for", model.holds_for))
    if model.epsilon is not None:
        text = f"{model.epsilon:.6g}, about {model.epsilon_is_about}"
        rows.append(("  epsilon (Proposition 3)", text))
        rows += [("    assuming that", text) for text in model.epsilon_assumes]
    return rows


def risk_rows(risk: RiskSection) -> list[tuple[str, str]]:
    """Tabulate what the measured attacks learn, in two columns."""
    rows = [("average class size / k", f"{risk.average_class_size:.3f}"),
            ("discernibility", f"{risk.discernibility:,}")]  # fmt: skip
    for name, attacks in risk.attributes.items():
        rows.append((f"attacks on {name}", f"groups: {attacks.groups}"))
        rows.append(("  homogeneity", _format_exposure(attacks.homogeneity)))
        rows.append(("  similarity", _format_exposure(attacks.similarity)))
        rows.append(("  skewness", _format_skewness(attacks.skewness)))
    return rows


def _format_skewness(skewness: SkewnessSection) -> str:
    return (
        f"{_format_exposure(skewness)} make a group more than {skewness.factor:g} times as likely; "
        f"largest {skewness.largest:.3g}, mean {skewness.mean:.3g}"
    )


def _format_exposure(exposed: Exposed | SkewnessSection) -> str:
    classes = count_words(exposed.classes, "class", "classes")
    return f"{count_words(exposed.records, 'record')} in {classes}"


def _class_rows(classes: ClassesSection) -> list[tuple[str, str]]:
    sizes = f"{classes.smallest} to {classes.largest:,}, mean {classes.mean:.2f}"
    return [("classes", f"{classes.n_classes:,}"), ("class sizes", sizes)]


def _loss_rows(loss: InformationLoss) -> list[tuple[str, str]]:
    rows = [("information loss", f"{loss.total:.3g} (SSE per record and quasi-identifier)")]
    for name, value in loss.per_attribute.items():
        rows.append((f"  {name}", f"{value:.3g}"))
    return rows


def describe_files(files: Sequence[DataFile]) -> str:
    """Describe the number and size of files."""
    size = sum(file.bytes for file in files)
    count = f"{len(files)} file{'s' if len(files) != 1 else ''}"
    return f"{count}, {size / 1e6:,.1f} MB" if size >= 1e5 else f"{count}, {size / 1e3:,.1f} kB"


def report_audit(audit: "AuditResult", *, brief: bool) -> str:
    """Report an audit; ``brief``: the verdict, the findings and the notes alone."""
    rows = audit_rows(audit, brief=brief)
    if brief:
        return "\n".join(f"audit: {text}" for _, text in rows)
    return render_table(rows)


def audit_rows(audit: "AuditResult", *, brief: bool = False) -> list[tuple[str, str]]:
    """Tabulate an audit in two columns; all of it can be printed."""
    rows = [("verdict", "PASS" if not audit.findings else "FAIL")]
    rows += [("finding", finding) for finding in audit.findings]
    rows += [("note", note) for note in audit.notes]
    if not brief:
        rows += _audited_rows(audit)
    return [(printable(name), printable(text)) for name, text in rows]


def _audited_rows(audit: "AuditResult") -> list[tuple[str, str]]:
    rows = []
    if audit.records is not None:
        rows.append(("records", f"{audit.records:,}"))
    rows += [] if audit.privacy is None else _privacy_rows(audit.privacy)
    rows += _noise_rows(audit.noise or {})
    rows += [] if audit.classes is None else _class_rows(audit.classes)
    rows += [] if audit.risk is None else risk_rows(audit.risk)
    rows += _originals_rows(audit.originals)
    rows.append(("release", audit.release))
    return rows


def _originals_rows(figures: "OriginalsResult | None") -> list[tuple[str, str]]:
    """Beside the originals: figures of the raw data, to be kept inside."""
    if figures is None:
        return []
    linked = f"{_figure(figures.linkage)} of {figures.attackers:,} records"
    rows = [("linked to their own", linked)]
    rows += _population_rows(figures.population)
    rows.append(("SSE", f"{_figure(figures.sse)} per record and quasi-identifier"))
    return rows + utility_rows(figures)


def _population_rows(population: "PopulationResult | None") -> list[tuple[str, str]]:
    if population is None:
        return []
    low = f"; fewer than k in {population.below_k:,}" if population.below_k else ""
    classes = f"{population.of_classes:,} classes"
    return [
        ("population", f"{population.persons:,} persons, {population.left_out:,} more left out"),
        (
            "  could be in a class",
            (
                f"{population.smallest:,} persons or more, "
                f"{population.classes:,} of {classes} looked at{low}"
            ),
        ),
        ("  journalist's risk", f"{_figure(population.journalist)} at most"),
        ("  marketer's risk", f"{_figure(population.marketer)} on average"),
    ]


def utility_rows(figures: Utility) -> list[tuple[str, str]]:
    """Tabulate a release's changes for analysis: figures of the raw data, kept internal."""
    rows = [("IL1s", _figure(figures.il1s))]
    changes = {
        "mean, in deviations": figures.changes_of_means,
        "variance": figures.changes_of_variances,
        "correlation": figures.changes_of_correlations,
    }
    for title, of_names in changes.items():
        rows += [(f"  {title}: {name}", _figure(value)) for name, value in of_names.items()]
    rows += [
        (f"  shares: {name}", _format_shares(shares)) for name, shares in figures.shares.items()
    ]
    if figures.not_measured is not None:
        rows.append(("not measured", figures.not_measured))
    return rows + ([] if figures.analyses is None else analyses_rows(figures.analyses))


def _format_shares(shares: CategoryShares) -> str:
    return f"total variation {shares.total_variation:.3g}; {format_changed(shares)}"


def format_changed(shares: CategoryShares) -> str:
    """Format how many categories no released row has, and how many have far fewer or more."""
    return (
        f"of {shares.categories:,} categories {shares.lost:,} lost; of those with 2k records or "
        f"more {shares.shrunk:,} shrunk and {shares.grown:,} grown by over a tenth"
    )


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
