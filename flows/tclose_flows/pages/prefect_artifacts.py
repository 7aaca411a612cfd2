"""Prefect artifacts of a run, as its verdict; those of a failure are made in ``failures``.

Artifacts are kept in Prefect's database, where more people look than may see the microdata. So they
are made of manifests that are handed out with the release, of counts, and of tclose's own messages,
with no partition named in them.
"""

import base64
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from tclose.data.places.locations import Location, internal_of
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.report.svg_charts import draw_distances_alone
from tclose.render.release_tables import release_rows
from tclose.runtime.run import Outcome

Row = Sequence[str]

_WIDTH = 72  # of a quoted line


def leave(kind: str, name: str, markdown: str, about: str) -> None:
    """Keep an account in Prefect, as ``<kind>-<name>``; a server that does not answer is no harm.

    Parameters
    ----------
    name : of the release, or of the deployment; Prefect takes lower case letters, digits, dashes
    about : one line, which lists of artifacts show
    """
    key = re.sub(r"[^a-z0-9]+", "-", f"{kind}-{name}".lower()).strip("-")
    try:
        create_markdown_artifact(markdown, key=key, description=about)
    except Exception as error:
        get_run_logger().warning("no artifact was kept (%s)", type(error).__name__)


def describe_outcome(outcome: Outcome) -> str:
    """The verdict table of a release and where it is."""
    repeat_note = "Already published: its files match their digests, nothing was done."
    rows = release_rows(outcome.manifest)
    lines = [f"# {outcome.manifest.name}: {outcome.manifest.verdict.upper()}", ""]
    lines += [repeat_note if outcome.already_published else "Verified and published.", ""]
    lines += table(("what", "found"), rows)
    lines += ["", *_pictures(outcome.manifest)]
    if outcome.beside:
        named = ", ".join(f"`{release}`" for release in outcome.beside)
        lines += ["", f"Also released of the same input: {named}. Distribute only one of them."]
    lines += ["", "## Where", "", *_links(outcome.release)]
    if outcome.current != outcome.release.name:
        lines += ["", f"The current release is another one: `{outcome.current}`."]
    return "\n".join(lines)


def _pictures(manifest: Manifest) -> list[str]:
    """The distances of classes against each t: counts of classes, and no value of a record."""
    if manifest.figures is None:
        return []
    lines = []
    for name, of_attribute in manifest.figures.attributes.items():
        if name in manifest.privacy.t:
            caption = f"{name}: classes by distance"
            limit = manifest.privacy.t[name].asked
            drawn = draw_distances_alone(caption, of_attribute.distances, limit)
            data = base64.b64encode(drawn.encode()).decode()
            lines += [f"![{_cell(caption)}](data:image/svg+xml;base64,{data})", ""]
    return lines


def _links(release: Location) -> list[str]:
    """List where everything is: of a folder its path once, as phones cut long paths off."""
    if isinstance(release, Path):
        return [
            f"- release: {_link(release)}",
            "- to hand out: all but `internal`; `report.html` and `dictionary.md` are to be read",
            "- to keep inside: `internal`, with its own `report.html` and `lineage.jsonl`",
        ]
    locations = {
        "release": release,
        "data": release / "data",
        "manifest": release / "manifest.json",
        "report": release / "report.html",
        "data dictionary": release / "dictionary.md",
        "report (internal)": internal_of(release) / "report.html",
        "lineage (internal)": internal_of(release) / "lineage.jsonl",
    }
    return [f"- {title}: {_link(location)}" for title, location in locations.items()]


def _link(location: Location) -> str:
    """A place by its own URL; a path as text, since browsers open no files of other machines."""
    return f"`{location}`" if isinstance(location, Path) else f"[`{location}`](<{location}>)"


def quote(text: str) -> list[str]:
    """A message as it is, none of it read as markdown; pages cut what is wider than they are."""
    return [
        f"    {part}"
        for line in text.splitlines()
        for part in textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
    ]


def table(head: Row, rows: Sequence[Row]) -> list[str]:
    """A table in markdown."""
    ruled = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(_cell, row)) + " |" for row in ruled]


_SIGNS: Mapping[int, str] = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\|*_`[]<>"} | {"\n": " "}
)


def _cell(text: str) -> str:
    if text == "---":
        return text
    deeper = "· " if text.startswith("  ") else ""
    return deeper + text.strip().translate(_SIGNS)
