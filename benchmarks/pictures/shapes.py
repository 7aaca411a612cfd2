"""Shapes of SVG pictures: markup rounded to a tenth, so that a picture has the same bytes again.

A picture is a white card with a border: it reads alike on light and on dark pages.
"""

import html
from collections.abc import Iterable, Sequence

INK, SOFT, RULE, PALE = "#1b1f24", "#4d5663", "#c9d0d8", "#f3f5f8"
BLUE, ORANGE, GREEN = "#1f5fa8", "#a8450a", "#14653a"
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

Point = tuple[float, float]


def picture(width: int, height: int, title: str, description: str, parts: Iterable[str]) -> str:
    """A whole picture, with a name and a description for screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="name words" '
        f'font-family="{FONT}" font-size="15" fill="{INK}">\n'
        f'<title id="name">{html.escape(title)}</title>\n'
        f'<desc id="words">{html.escape(description)}</desc>\n'
        f"{box(0.5, 0.5, width - 1, height - 1, '#ffffff', stroke=RULE, radius=8)}\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def box(
    x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "", radius: int = 0
) -> str:
    """A rectangle."""
    more = f' stroke="{stroke}"' if stroke else ""
    more += f' rx="{radius}"' if radius else ""
    size = f'width="{_round(width)}" height="{_round(height)}"'
    return f'<rect x="{_round(x)}" y="{_round(y)}" {size} fill="{fill}"{more}/>'


def words(x: float, y: float, said: str, style: str = "", *, end: str = "start") -> str:
    """A line of text; ``style``: further attributes as markup, ``end``: of ``text-anchor``."""
    anchor = "" if end == "start" else f' text-anchor="{end}"'
    more = f" {style}" if style else ""
    return f'<text x="{_round(x)}" y="{_round(y)}"{anchor}{more}>{html.escape(said)}</text>'


def heading(x: float, y: float, said: str) -> str:
    """A line of text that names what is below it."""
    return words(x, y, said, 'font-weight="600" font-size="16"')


def note(x: float, y: float, said: str, *, end: str = "start") -> str:
    """A line of smaller, softer text."""
    return words(x, y, said, f'font-size="14" fill="{SOFT}"', end=end)


def rule(start: Point, end: Point, colour: str = RULE, style: str = "") -> str:
    """A straight line."""
    ends = f'x1="{_round(start[0])}" y1="{_round(start[1])}"'
    ends += f' x2="{_round(end[0])}" y2="{_round(end[1])}"'
    return f'<line {ends} stroke="{colour}"{" " + style if style else ""}/>'


def arrow(start: Point, end: Point, colour: str = SOFT) -> str:
    """A line to the right with a head."""
    x, y = end
    head = f'<path d="M{_round(x)} {_round(y)}l-9 -6v12z" fill="{colour}"/>'
    return rule(start, (x - 8, y), colour, 'stroke-width="2"') + head


def curve(points: Sequence[Point], colour: str, width: float = 2) -> str:
    """A line through points."""
    placed = " ".join(f"{_round(x)},{_round(y)}" for x, y in points)
    return f'<polyline points="{placed}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def area(points: Sequence[Point], fill: str, opacity: float) -> str:
    """A filled polygon."""
    placed = " ".join(f"{_round(x)},{_round(y)}" for x, y in points)
    return f'<polygon points="{placed}" fill="{fill}" fill-opacity="{opacity:g}"/>'


def dot(x: float, y: float, radius: float, colour: str) -> str:
    """A filled circle."""
    return f'<circle cx="{_round(x)}" cy="{_round(y)}" r="{radius:g}" fill="{colour}"/>'


def bar(start: Point, length: float, colour: str, said: Sequence[str]) -> str:
    """A bar to the right, with a text above it and one at its end."""
    x, y = start
    above, beside = said
    text = words(x, y - 5, above, 'font-size="14"')
    return text + box(x, y, length, 16, colour) + words(x + length + 8, y + 13, beside)


def _round(value: float) -> str:
    return f"{round(value, 1):g}"
