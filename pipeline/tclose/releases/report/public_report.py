"""``report.html``: a release for those who decide on it and who use it, in words and pictures.

All that it says is in the public manifest. The time of publication is not in it, so that the same
release made again has the same bytes.
"""

from collections.abc import Iterator

from tclose.model.column_terms import Role
from tclose.model.counted_words import count_words
from tclose.releases.manifest.dictionary import describe_other_records, on_one_line
from tclose.releases.manifest.figure_sections import About, AttributeFigures, ReleaseFigures
from tclose.releases.manifest.privacy_sections import Privacy, TResult, format_parameters
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import Attacks, ReleasedColumn
from tclose.releases.report import advice
from tclose.releases.report.html_parts import (
    bullets,
    data_table,
    element,
    facts,
    page,
    paragraph,
    section,
    text,
)
from tclose.releases.report.page_style import style_release
from tclose.releases.report.svg_charts import draw_bars, draw_distances, draw_pairs

_ROLES = {
    Role.QUASI_IDENTIFIER: "quasi-identifier: what others could know of a person",
    Role.CONFIDENTIAL: "confidential: what nobody shall learn of a person",
    Role.NON_CONFIDENTIAL: "not protected, because the publisher says so",
}


def write_report(manifest: Manifest) -> str:
    """The page, of a manifest that has figures."""
    figures = manifest.figures
    assert figures is not None
    sections = [
        _explain(manifest, figures),
        _show_classes(manifest, figures),
        _show_distances(manifest, figures),
        _show_values(manifest, figures),
        show_attacks(manifest),
        _list_columns(manifest),
        _advise(manifest),
        _describe_source(manifest),
    ]
    title = f"{give_title(manifest)}: report of the release"
    style = style_release(manifest.name, manifest.release_id)
    return page(title, style, _head(manifest), [one for one in sections if one], _foot(manifest))


def give_title(manifest: Manifest) -> str:
    """The publisher's title, or the name of the release."""
    about = manifest.about
    return about.title if about is not None and about.title else manifest.name


def _head(manifest: Manifest) -> str:
    about, classes, privacy = manifest.about, manifest.classes, manifest.privacy
    parts = [
        element("p", "Report of a release of microdata", class_="kicker"),
        element("h1", text(give_title(manifest))),
    ]
    if about is not None and about.description:
        parts.append(paragraph(on_one_line(about.description)))
    parts.append(show_verdict(manifest))
    pairs = [
        ("records", f"{manifest.records:,}"),
        ("columns", f"{len(manifest.columns):,}"),
        ("classes of records", f"{classes.n_classes:,}"),
        ("records in a class", f"{classes.smallest:,} to {classes.largest:,}"),
        *count_persons(privacy),
        *list_limits(privacy),
    ]
    pairs.append(("information loss", f"{manifest.information_loss.total:.3g}"))
    pairs.append(("method", manifest.method))
    return "".join(parts) + facts(pairs)


def list_limits(privacy: Privacy) -> list[tuple[str, str]]:
    """List k, each t and each further model: what was asked, and what was reached."""
    pairs = [("k, asked and reached", f"{privacy.k.asked:,} and {privacy.reached():,}")]
    pairs += [
        (f"t of {name}", f"{t.largest_emd:.3g} of {t.asked:.3g}")
        for name, t in privacy.limits().items()
    ]
    for model in privacy.models or ():
        reached = "none" if model.reached is None else f"{model.reached:.3g}"
        asked = f"asked {format_parameters(model.asked)}"
        pairs.append((f"{model.name} of {model.attribute}", f"{reached}, {asked}"))
    return pairs


def show_verdict(manifest: Manifest) -> str:
    """The verdict, in large letters."""
    if manifest.verdict == "pass":
        return element("p", "PASS: every class meets what was asked", class_="verdict")
    return element("p", "FAIL", class_="verdict fail")


def count_persons(privacy: Privacy) -> list[tuple[str, str]]:
    """List how many persons there are, in all and in a class; or say that k counts records."""
    persons = privacy.persons
    if persons is None:
        return [("k counts", "records")]
    sizes = f"{persons.classes.smallest:,} to {persons.classes.largest:,}"
    pairs = [("persons", f"{persons.persons:,}"), ("persons in a class", sizes)]
    if persons.in_several_classes is not None:
        pairs.append(("persons in several classes", f"{persons.in_several_classes:,}"))
    return pairs


def _explain(manifest: Manifest, figures: ReleaseFigures) -> str:
    parts = _explain_k(manifest)
    first = next(iter(figures.attributes), None)
    if first is None:
        return section("meaning", "What k means here", *parts)
    parts += _explain_t(first, figures.attributes[first], manifest.privacy.t[first])
    return section("meaning", "What k and t mean here", *parts)


def _explain_k(manifest: Manifest) -> list[str]:
    k, persons = manifest.privacy.k, manifest.privacy.persons
    others = f"at least {k.achieved - 1:,} others"
    least = manifest.privacy.reached()
    reached = f", reached {least:,}" if least != k.asked else ""
    if persons is not None:
        others = f"those of at least {persons.k.achieved - 1:,} other persons" + (
            ", who may have several each" if persons.persons < manifest.records else ""
        )
    parts = [
        paragraph(
            f"k = {k.asked:,}{reached}: every record shares the values of all quasi-identifiers "
            f"with {others}. Together they are a class. Who knows these values of a person finds a "
            "class, and cannot tell which of its records is the person's."
        )
    ]
    if persons is None:
        parts.append(
            paragraph(
                "k counts records and not persons, because no column says whose a record is. Where "
                f"persons have several records here, a class may be of fewer than {k.asked:,} "
                "persons, and all of its records may be one person's."
            )
        )
    elif persons.in_several_classes == 0:
        parts.append(
            paragraph(
                "All records of a person are in one class. So a value that is the same in all of "
                "them cannot be found by looking for what several classes have in common."
            )
        )
    return parts


def _explain_t(name: str, of_attribute: AttributeFigures, t: TResult) -> list[str]:
    """Explain t, and what it means for the class that is farthest by one attribute."""
    caption = f"{name}: the whole table and the class farthest from it"
    whole, one = (
        ("the whole table", of_attribute.table),
        ("the farthest class", of_attribute.farthest),
    )
    return [
        paragraph(
            "t limits what the class itself gives away. If all of its records had one confidential "
            "value, finding the class would be enough. So the values in every class have to be "
            "distributed nearly as in the whole table: the earth mover's distance between both is "
            "at most t, where 0 is the same distribution and 1 the farthest that there is."
        ),
        paragraph(
            f"The picture shows {name} in the class of this release that is farthest from the "
            f"table, with {of_attribute.farthest_records:,} records: its distance is "
            f"{t.largest_emd:.3g}, and t is {t.asked:.3g}. No class is farther."
        ),
        draw_pairs("pairs", caption, whole, one),
    ]


def _show_classes(manifest: Manifest, figures: ReleaseFigures) -> str:
    classes = manifest.classes
    intro = paragraph(
        f"{manifest.records:,} records form {count_words(classes.n_classes, 'class', 'classes')} "
        "of "
        f"{classes.smallest:,} to {classes.largest:,} records, {classes.mean:.3g} on average."
    )
    caption = "Records in a class: share of the classes"
    chart = draw_bars("sizes", caption, figures.class_sizes, "classes")
    return section("classes", "Sizes of the classes", intro, chart)


def _show_distances(manifest: Manifest, figures: ReleaseFigures) -> str:
    if not figures.attributes:
        return ""
    intro = paragraph(
        "How far the classes are from the whole table. Nothing is to the right of t: it was "
        "decided for every class, without rounding, before anything was published."
    )
    charts = [
        draw_distances(
            f"distances-{i}",
            f"{name}: classes by their distance, largest {t.largest_emd:.3g}",
            of_attribute.distances,
            t.asked,
        )
        for i, (name, of_attribute, t) in enumerate(_measured(manifest, figures))
    ]
    pictures = element("div", "".join(charts), class_="pictures")
    return section("distances", "Distances of the classes against t", intro, pictures)


def _measured(
    manifest: Manifest, figures: ReleaseFigures
) -> Iterator[tuple[str, AttributeFigures, TResult]]:
    for name, of_attribute in figures.attributes.items():
        if name in manifest.privacy.t:
            yield name, of_attribute, manifest.privacy.t[name]


def _show_values(manifest: Manifest, figures: ReleaseFigures) -> str:
    if not figures.attributes:
        return ""
    columns = {column.name: column for column in manifest.columns}
    intro = paragraph(
        "Shares of all records. Values of few records are counted under other values, and ranges "
        "are open where few records lie."
    )
    charts = [
        draw_bars(f"values-{i}", _entitle(columns[name]), of_attribute.table, "records")
        for i, (name, of_attribute) in enumerate(figures.attributes.items())
    ]
    pictures = element("div", "".join(charts), class_="pictures")
    return section("values", "Distributions of the confidential attributes", intro, pictures)


def _entitle(column: ReleasedColumn) -> str:
    label = f"{column.name}: {column.label}" if column.label else column.name
    return f"{label} ({column.unit})" if column.unit else label


def show_attacks(manifest: Manifest) -> str:
    """Show of how many records the measured attacks learn something."""
    if manifest.risk is None or not manifest.risk.attributes:
        return ""
    intro = paragraph(
        "Measured on the released records: of how many an intruder who finds the class learns "
        "something. Homogeneity: all of its records have one confidential value. Similarity: all "
        "have values of one group. Skewness: a group is more likely in the class than in the table "
        "by more than the factor that is given."
    )
    head = ("attribute", "homogeneity", "similarity", "skewness")
    rows = [
        (name, *_measure(attacks, manifest.records))
        for name, attacks in manifest.risk.attributes.items()
    ]
    shown = data_table("Records of which an attack learns something", head, rows)
    groups = [f"Groups of {n}: {a.groups}." for n, a in manifest.risk.attributes.items()]
    return section("attacks", "Attacks that were measured", intro, shown, bullets(groups))


def _measure(attacks: Attacks, n_records: int) -> tuple[str, str, str]:
    skewness = attacks.skewness
    raised = f"by more than {skewness.factor:.3g} times; at most {skewness.largest:.3g} times"
    return (
        _exposed(attacks.homogeneity.records, n_records),
        _exposed(attacks.similarity.records, n_records),
        f"{_exposed(skewness.records, n_records)} {raised}",
    )


def _exposed(n_exposed: int, n_records: int) -> str:
    if not n_exposed:
        return "none"
    return f"{n_exposed:,} ({100 * n_exposed / n_records:.3g} %)"


def _list_columns(manifest: Manifest) -> str:
    losses = manifest.information_loss.per_attribute
    cards = []
    for column in manifest.columns:
        role = text(_ROLES.get(column.role, column.role))
        lines = [
            element("h3", text(_entitle(column))),
            element("p", f"{role}; {text(column.kind)}", class_="role"),
        ]
        if column.description:
            lines.append(paragraph(on_one_line(column.description)))
        loss = f"; information loss {losses[column.name]:.3g}" if column.name in losses else ""
        lines.append(paragraph(f"Released: {column.treatment}{loss}."))
        cards.append(element("li", "".join(lines)))
    intro = "".join(map(paragraph, describe_other_records(manifest))) + paragraph(
        "Information loss is the mean of squared differences to the original values, in shares of "
        "their scale: 0 is none. The data dictionary has types, orders and taxonomies."
    )
    return section(
        "columns", "The columns, and what was done", intro,
        element("ul", "".join(cards), class_="columns"),
    )  # fmt: skip


def _advise(manifest: Manifest) -> str:
    good = element("h3", "Safe") + bullets(advice.list_safe(manifest))
    bad = element("h3", "Not safe") + bullets(advice.list_unsafe(manifest))
    parts = [element("div", element("div", good) + element("div", bad), class_="advice")]
    changes = advice.list_changes(manifest)
    if changes:
        head = ("column", "its variance in the release is", "a correlation with it changes")
        before = name_originals(manifest)
        title = f"What aggregation changed, measured against {before}"
        parts.append(data_table(title, head, changes))
    return section("use", "How to use these data, and how not", *parts)


def name_originals(manifest: Manifest) -> str:
    """What released values are compared with."""
    prepared = any(column.prepared for column in manifest.columns)
    return "the originals as they were prepared" if prepared else "the originals"


def _describe_source(manifest: Manifest) -> str:
    about = manifest.about or About()
    named = {"publisher": about.publisher, "licence": about.licence, "contact": about.contact}
    pairs = [(key, value) for key, value in named.items() if value]
    parts = [facts(pairs)] if pairs else []
    not_named = " and ".join(f"no {key}" for key in ("licence", "contact") if not named[key])
    if not_named:
        parts.append(
            paragraph(f"The publisher names {not_named}: ask whoever handed the data out.")
        )
    by = f"{about.publisher}: " if about.publisher else ""
    usual = f"{by}{give_title(manifest)}. Release {manifest.release_id}."
    parts.append(paragraph(f"Cite as: {on_one_line(about.citation or usual)}"))
    n_files = len(manifest.files)
    parts.append(
        paragraph(
            f"Release {manifest.release_id} of {manifest.name}: {n_files:,} "
            f"file{'' if n_files == 1 else 's'} below data/. manifest.json has the digest of each, "
            "and of this page; dictionary.md and datapackage.json describe the columns. "
            "The command tclose audit, given the folder of the release, measures again what is "
            "said here of k, t and the classes, from the files alone."
        )
    )
    return section("source", "Citation, licence, contact", *parts)


def _foot(manifest: Manifest) -> str:
    return paragraph(
        f"Made by tclose {manifest.code.tclose} from manifest.json of the release; it says nothing "
        "that is not there, loads nothing and runs no script."
    )
