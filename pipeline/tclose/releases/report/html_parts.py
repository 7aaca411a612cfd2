"""Parts of a page: every text in them is escaped, none can become markup."""

import html
from collections.abc import Iterable, Sequence

from tclose.security.printable_text import printable

_LONG = 14  # characters of a fact that two columns are for
_STACKED = 40  # characters of a cell that no column of a phone is wide enough for
_ALLOWED = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def text(value: object) -> str:
    """A text as it is shown: no markup, no character that moves or hides what is beside it."""
    return html.escape(printable(str(value)))


def element(tag: str, content: str, **attributes: str) -> str:
    """An element around what is markup already; ``class_`` stands for ``class``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items()
    )
    return f"<{tag}{written}>{content}</{tag}>"


def paragraph(*sentences: str) -> str:
    """Sentences as a paragraph."""
    return element("p", text(" ".join(sentence for sentence in sentences if sentence)))


def bullets(items: Iterable[str]) -> str:
    """Texts as a list."""
    return element("ul", "".join(element("li", text(item)) for item in items))


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Terms and what they are, side by side."""
    rows = []
    for term, value in pairs:
        wide = {"class_": "long"} if len(value) > _LONG else {}
        rows.append(element("div", element("dt", text(term)) + element("dd", text(value)), **wide))
    return element("dl", "".join(rows), class_="facts")


def data_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that can be scrolled where it is too wide; the first cell of a row is its head.

    Of more than three columns, or with long texts, it is a list of rows on a phone.
    """
    rows = list(rows)
    stacked = len(head) > 3 or any(len(cell) > _STACKED for row in (head, *rows) for cell in row)
    return link_table(caption, head, ([text(cell) for cell in row] for row in rows), stacked)


def link_table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], stacked: bool = True
) -> str:
    """The same of cells that are markup already, as links are."""
    heads = "".join(element("th", text(cell), scope="col") for cell in head)
    lines = []
    for first, *others in rows:
        cells = "".join(
            element("td", cell, **({"data_head": title} if stacked else {}))
            for title, cell in zip(head[1:], others, strict=True)
        )
        lines.append(element("tr", element("th", first, scope="row") + cells))
    inner = (
        element("caption", text(caption))
        + element("thead", element("tr", heads))
        + element("tbody", "".join(lines))
    )
    return element(
        "div",
        element("table", inner),
        class_="wide stack" if stacked else "wide",
        role="region",
        tabindex="0",
        aria_label=caption,
    )


def section(name: str, title: str, *parts: str) -> str:
    """A section with a heading that can be linked to."""
    heading = element("h2", text(title), id=f"{name}-title")
    return element("section", heading + "".join(parts), id=name, aria_labelledby=f"{name}-title")


def page(title: str, style: str, header: str, sections: Sequence[str], footer: str) -> str:
    """A whole page, which loads nothing."""
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(_ALLOWED)}">'
        '<meta name="color-scheme" content="light">'
        f"<title>{text(title)}</title><style>{style}</style>"
    )
    body = (
        '<a class="skip" href="#main">To the content</a>'
        + element("header", header)
        + element("main", "\n".join(sections), id="main")
        + element("footer", footer)
    )
    whole = element("html", f"\n<head>{head}</head>\n<body>\n{body}\n</body>\n", lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def format_share(part: int, whole: int) -> str:
    """A part in percent of the whole, in three digits; a dash where the whole is nothing."""
    return f"{100 * part / whole:.3g} %" if whole else "-"
