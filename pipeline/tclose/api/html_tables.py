"""Tables as notebooks show them; every text is escaped."""

from collections.abc import Sequence
from html import escape

_NAME = "text-align: left; white-space: pre; font-weight: normal"
_TEXT = "text-align: left; white-space: pre-wrap"


def html_rows(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Two columns: names and texts."""
    body = "".join(
        f'<tr><th scope="row" style="{_NAME}">{escape(name)}</th>'
        f'<td style="{_TEXT}">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{body}</tbody></table>"


def html_grid(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Any number of columns, each with a head."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
