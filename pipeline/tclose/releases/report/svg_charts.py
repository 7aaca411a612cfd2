"""Pictures as SVG: bars with their labels above them, which phones show as well as paper.

Each has a title and a description for screen readers; the same figures follow as a table.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

from tclose.releases.manifest.figure_sections import Shares
from tclose.releases.report.html_parts import data_table, element, text

WIDTH = 440
_ROW, _BAR, _GAP = 20, 11, 5
_TABLE, _FAR = "#1f5fa8", "#a8450a"
_PLOT = 150  # height of columns
_MARGIN = 20  # around a picture of its own
_LETTER = 9  # width of a letter where the style has its largest, on phones and paper


def percent(share: float) -> str:
    """A share to three digits, in percent."""
    return f"{100 * share:.3g} %"


def draw_bars(name: str, caption: str, shares: Shares, what: str, label_head: str = "") -> str:
    """A figure of one bar for each label; ``what``: of which shares there are.

    Parameters
    ----------
    label_head : what labels are, above them in the table
    """
    pairs = zip(shares.labels, shares.shares, strict=True)
    rows = [(label, percent(share)) for label, share in pairs]
    parts = _draw_rows(shares.labels, [(what, _TABLE, shares.shares)], legend=False)
    described = "; ".join(f"{label}: {percentage}" for label, percentage in rows)
    return _figure(name, caption, parts, described, ((label_head, what), rows))


def draw_pairs(
    name: str, caption: str, first: tuple[str, Shares], second: tuple[str, Shares]
) -> str:
    """A figure of two bars for each label, which both have; each with the name of its shares."""
    labels = first[1].labels
    series = [(first[0], _TABLE, first[1].shares), (second[0], _FAR, second[1].shares)]
    parts = _draw_rows(labels, series, legend=True)
    rows = [
        (label, percent(a), percent(b))
        for label, a, b in zip(labels, first[1].shares, second[1].shares, strict=True)
    ]
    described = "; ".join(f"{label}: {a} and {b}" for label, a, b in rows)
    head = ("value", first[0], second[0])
    return _figure(name, caption, parts, f"{first[0]}, {second[0]}: {described}", (head, rows))


def _draw_rows(
    labels: Sequence[str],
    series: Sequence[tuple[str, str, Sequence[float]]],
    *,
    legend: bool,
) -> tuple[int, str]:
    """Rows of bars, and how high they are together."""
    parts, y = [], 0
    if legend:
        for what, colour, _ in series:
            parts.append(_rectangle(0, y + 3, 12, 12, colour))
            parts.append(_label(18, y + 14, what))
            y += _ROW
        y += _GAP
    largest = max((max(shares, default=0) for _, _, shares in series), default=0) or 1
    for i, label in enumerate(labels):
        percentages = " | ".join(percent(shares[i]) for _, _, shares in series)
        parts.append(_label(0, y + 14, _fit(label, WIDTH // _LETTER - len(percentages) - 1)))
        parts.append(_label(WIDTH, y + 14, percentages, anchor="end"))
        y += _ROW
        for _, colour, shares in series:
            width = round(WIDTH * shares[i] / largest, 1)
            parts.append(_rectangle(0, y, WIDTH, _BAR, "#e6eaef"))
            parts.append(_rectangle(0, y, width, _BAR, colour))
            y += _BAR + 2
        y += _GAP
    return y, "".join(parts)


def draw_distances(name: str, caption: str, shares: Sequence[float], limit: float) -> str:
    """A figure of columns from 0 to t: how many of the classes are at which distance."""
    rows = _list_distances(shares, limit)
    described = "; ".join(f"{range_}: {percentage}" for range_, percentage in rows)
    drawn = _draw_columns(shares, limit)
    return _figure(name, caption, drawn, described, (("distance", "classes"), rows))


def draw_distances_alone(caption: str, shares: Sequence[float], limit: float) -> str:
    """The same as a picture of its own, on a white card that shows on dark pages, too."""
    height, parts = _draw_columns(shares, limit)
    described = "; ".join(
        f"{range_}: {percentage}" for range_, percentage in _list_distances(shares, limit)
    )
    words = element("title", text(caption)) + element("desc", text(described))
    width, height = WIDTH + 2 * _MARGIN, height + 2 * _MARGIN + _ROW
    card = f'<rect width="{width}" height="{height}" rx="6" fill="#fff"/>'
    heading = _label(_MARGIN, _MARGIN + 8, _fit(caption, WIDTH // _LETTER))
    moved = f'<g transform="translate({_MARGIN} {_MARGIN + _ROW})">{parts}</g>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="system-ui,Arial,sans-serif" font-size="14" '
        f'fill="#1b1f24">{words}{card}{heading}{moved}</svg>'
    )


def _list_distances(shares: Sequence[float], limit: float) -> list[tuple[str, str]]:
    """Ranges of distances that classes have, and the share of those that have them."""
    n_steps = len(shares)
    return [
        (f"{limit * i / n_steps:.3g} to {limit * (i + 1) / n_steps:.3g}", percent(share))
        for i, share in enumerate(shares)
        if share
    ]


def _draw_columns(shares: Sequence[float], limit: float) -> tuple[int, str]:
    """Columns from 0 to t, and how high they are with what is below them."""
    n_steps, largest = len(shares), max(shares, default=0) or 1
    width = WIDTH / n_steps
    parts = [
        _rectangle(
            round(i * width + 1, 1),
            round(20 + _PLOT * (1 - share / largest), 1),
            round(width - 2, 1),
            round(_PLOT * share / largest, 1),
            _TABLE,
        )
        for i, share in enumerate(shares)
    ]
    bottom = 20 + _PLOT
    parts.append(_rectangle(0, bottom, WIDTH, 1, "#4d5663"))
    parts.append(_rectangle(WIDTH - 3, 0, 3, bottom, _FAR))
    parts.append(_label(WIDTH - 8, 13, f"t = {limit:.3g}", anchor="end"))
    parts.append(_label(0, bottom + 17, "0"))
    parts.append(_label(WIDTH / 2, bottom + 17, f"{limit / 2:.3g}", anchor="middle"))
    parts.append(_label(WIDTH, bottom + 17, f"{limit:.3g}", anchor="end"))
    return bottom + 24, "".join(parts)


def _figure(
    name: str,
    caption: str,
    drawn: tuple[int, str],
    described: str,
    figures: tuple[Sequence[str], Sequence[Sequence[str]]],
) -> str:
    height, parts = drawn
    words = element("title", text(caption), id=f"{name}-name")
    words += element("desc", text(described), id=f"{name}-words")
    picture = (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}-name" '
        f'aria-describedby="{name}-words">{words}{parts}</svg>'
    )
    again = element(
        "details", element("summary", "The figures as a table") + data_table(caption, *figures)
    )
    return element("figure", element("figcaption", text(caption)) + picture + again)


def _fit(label: str, n_letters: int) -> str:
    """A label, cut where it would reach what is beside it; letters of East Asia take two places."""
    widths = [2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in label]
    if sum(widths) <= n_letters:
        return label
    n_kept = sum(end < n_letters for end in accumulate(widths))
    return f"{label[:n_kept]}\u2026"


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>'


def _label(x: float, y: float, words: str, anchor: str = "start") -> str:
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}"{placed}>{text(words)}</text>'
