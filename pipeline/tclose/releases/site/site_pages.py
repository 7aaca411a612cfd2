"""Pages of a site of releases: what there is, and a data dictionary of each. No script is needed.

All that they say is in public manifests.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from tclose.releases.manifest.dictionary import describe_other_records, on_one_line
from tclose.releases.manifest.privacy_sections import Privacy
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import ReleasedColumn
from tclose.releases.report.html_parts import (
    element,
    facts,
    link_table,
    page,
    paragraph,
    section,
    text,
)
from tclose.releases.report.page_style import STYLE
from tclose.releases.report.public_report import give_title


@dataclass(frozen=True)
class ListedPage:
    """A release on the site; ``place``: its folder there, below the page that lists it."""

    manifest: Manifest
    place: str
    is_current: bool


def write_index(title: str, names: Sequence[tuple[str, Sequence[ListedPage]]]) -> str:
    """Write the first page.

    Parameters
    ----------
    names : of each name its releases, the newest first
    """
    n_releases = sum(len(listed) for _, listed in names)
    head = "".join(
        [
            element("p", "Releases of microdata", class_="kicker"),
            element("h1", text(title)),
            facts([("data sets", f"{len(names):,}"), ("releases", f"{n_releases:,}")]),
        ]
    )
    sections = [_list_name(i, name, listed) for i, (name, listed) in enumerate(names)]
    foot = paragraph(
        "Made by tclose from the public manifests; it says nothing that is not there. The command "
        "tclose audit, given a release, measures again what is said of it."
    )
    return page(f"{title}: releases", STYLE, head, sections, foot)


def _list_name(number: int, name: str, listed: Sequence[ListedPage]) -> str:
    newest = listed[0].manifest
    about = newest.about
    title = about.title if about is not None and about.title else name
    words = about.description if about is not None else None
    description = paragraph(on_one_line(words)) if words else ""
    table = link_table(
        f"Releases of {name}",
        ("release", "read", "published", "verdict", "records", "k", "nearest to t", "loss"),
        [_list_release(one) for one in listed],
    )
    return section(f"name-{number}", title, description, table)


def _list_release(listed: ListedPage) -> list[str]:
    """Cells of a row, as markup."""
    manifest = listed.manifest
    mark = " (current)" if listed.is_current else ""
    privacy = manifest.privacy
    links = [("data dictionary", "dictionary.html"), ("manifest", "manifest.json")]
    if manifest.figures is not None:
        links.insert(0, ("report", "report.html"))
    return [
        text(f"{manifest.release_id}{mark}"),
        ", ".join(link(label, f"{quote(listed.place)}/{file}", manifest) for label, file in links),
        _whole(manifest.published_at[:10]),
        text(manifest.verdict.upper()),
        text(f"{manifest.records:,}"),
        _whole(f"{privacy.reached():,} (asked {privacy.k.asked:,})"),
        _whole(_show_t(privacy)),
        text(f"{manifest.information_loss.total:.3g}"),
    ]


def _whole(words: str) -> str:
    """A text on one line, as dates are read."""
    return element("span", text(words), class_="whole")


def _show_t(privacy: Privacy) -> str:
    """The distance that is nearest to its t, which the list of releases names, too."""
    nearest = privacy.nearest_to_t()
    return "-" if nearest is None else f"{nearest[1].largest_emd:.3g} of {nearest[1].asked:.3g}"


def link(label: str, place: str, manifest: Manifest) -> str:
    """A link that says where it leads also to those who hear links alone."""
    return element("a", text(label), href=place, aria_label=f"{label} of {manifest.release_id}")


def write_dictionary_page(manifest: Manifest) -> str:
    """Write the data dictionary of a release, whose folder is in that of its name."""
    links = [("All releases", "../../index.html"), ("manifest", "manifest.json")]
    if manifest.figures is not None:
        links.insert(1, ("report", "report.html"))
    head = "".join(
        [
            element("p", "Data dictionary", class_="kicker"),
            element("h1", text(give_title(manifest))),
            element("p", ", ".join(element("a", text(label), href=to) for label, to in links)),
            facts(
                [
                    ("release", manifest.release_id),
                    ("records", f"{manifest.records:,}"),
                    ("columns", f"{len(manifest.columns):,}"),
                ]
            ),
        ]
    )
    notes = map(paragraph, describe_other_records(manifest))
    rows = [(c.name, c.role, f"{c.kind}, {c.type}") for c in manifest.columns]
    cells = ([text(cell) for cell in row] for row in rows)
    table = link_table("Roles and types", ("column", "role", "type"), cells)
    sections = [section("columns", "Columns", *notes, table)]
    sections += [_describe(i, column) for i, column in enumerate(manifest.columns)]
    foot = paragraph(f"Made by tclose {manifest.code.tclose} from manifest.json of the release.")
    return page(f"{manifest.name}: data dictionary", STYLE, head, sections, foot)


def _describe(number: int, column: ReleasedColumn) -> str:
    """Describe a column in the publisher's words, with its values where they are listed."""
    pairs = [("unit", column.unit), ("order", _join(column.order)), ("distance", column.distance)]
    known = [(term, str(value)) for term, value in pairs if value]
    title = f"{column.name}: {column.label}" if column.label else column.name
    described = paragraph(on_one_line(column.description)) if column.description else ""
    parts = [described, paragraph(f"Released: {column.treatment}."), facts(known) if known else ""]
    return section(f"column-{number}", title, *parts)


def _join(values: Iterable[str] | None) -> str:
    return ", ".join(values or ())
