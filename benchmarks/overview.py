"""What the page of results begins with: its sections by subject, and which figures are not met."""

import re
from collections.abc import Mapping

NOT_MET = "**not met**"  # the verdict of a figure, in the last cell of its row


def render_overview(sections: Mapping[str, str]) -> str:
    """List the sections by subject, and tabulate the figures that are wanted and not met.

    Parameters
    ----------
    sections : bodies by title, in the order of the page; what stands before a colon is the subject
    """
    titles: dict[str, list[str]] = {}
    for title in sections:
        titles.setdefault(title.partition(": ")[0], []).append(title)
    several = {subject: of_it for subject, of_it in titles.items() if len(of_it) > 1}
    lines = [
        f"- {subject}: {', '.join(_link(_shorten(title), title) for title in of_it)}"
        for subject, of_it in several.items()
    ]
    if alone := [_link(title, title) for [title, *more] in titles.values() if not more]:
        lines.append(f"- {'Others' if several else 'Sections'}: {', '.join(alone)}")
    return "\n".join([*lines, *_render_unmet(sections)])


def _shorten(title: str) -> str:
    """A title without its subject, where it says more."""
    return title.partition(": ")[2] or "in general"


def _render_unmet(sections: Mapping[str, str]) -> list[str]:
    """The figures whose verdict is that they are not met, each with its section."""
    rows = [
        [_link(title, title), *(cell.strip() for cell in line.strip("| ").split("|")[:-1])]
        for title, body in sections.items()
        for line in body.splitlines()
        if line.rstrip("| ").endswith(NOT_MET)
    ]
    if not rows:
        return []
    table = [["section", "figure", "wanted", "found"], ["---"] * 4, *rows]
    return [
        "",
        "Wanted, and not met (of the figures that tables judge; sections say more in words):",
        "",
        *(f"| {' | '.join(row)} |" for row in table),
    ]


def _link(text: str, title: str) -> str:
    """A link to a section, under the name that GitHub and the site give its heading."""
    anchor = re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-")
    return f"[{text}](#{anchor})"
