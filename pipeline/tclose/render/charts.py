"""Parts of pictures with lines: plain SVG text, without a library that plots."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log, log10

# Okabe and Ito: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LEFT = 80  # where titles and the first panel begin
LEAST_LABEL_GAP = 34
MOST_LOG_TICKS = 10
_LINE_GAP = 17
_FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class Scale:
    """From values ``low`` to ``high`` to places ``start`` to ``stop``; ``is_log``: by logarithm."""

    low: float
    high: float
    start: float
    stop: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where a value is; in the middle if there is one value only."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = log(low), log(high), log(value)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)


@dataclass(frozen=True)
class Panel:
    """A frame and its scales; ``strip``: room between the frame and the names of its x values."""

    left: int
    top: int
    width: int
    height: int
    x: Scale
    y: Scale
    strip: int = 0

    @property
    def right(self) -> int:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """Its lower edge, above the strip."""
        return self.top + self.height


@dataclass(frozen=True)
class Axis:
    """What an axis is called, and its ticks, ascending; ``is_log``: it goes by the logarithm."""

    name: str
    ticks: Sequence[float]
    is_log: bool = False

    def scale(self, start: float, stop: float) -> Scale:
        """Its first tick at one place, its last at the other."""
        return Scale(self.ticks[0], self.ticks[-1], start, stop, self.is_log)


@dataclass(frozen=True)
class Layout:
    """Where panels of one size stand; ``padding``: between the frame and the first point."""

    top: int
    width: int
    height: int
    padding: int
    strip: int = 0

    def panel(self, left: int, x: Axis, y: Axis) -> Panel:
        """The panel at a place across, its highest y tick at its top."""
        across = x.scale(left + self.padding, left + self.width - self.padding)
        up = y.scale(self.top + self.height, self.top)
        return Panel(left, self.top, self.width, self.height, across, up, self.strip)


def draw_picture(
    width: int, height: int, title: str, basis: Sequence[str], parts: Iterable[str]
) -> str:
    """A picture on white as SVG text: its title, on what it is based line by line, its parts."""
    size = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' {_FONT} fill='#222'>",
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(basis[0])}</desc>",
        f"<rect width='{width}' height='{height}' fill='white'/>",
        draw_text(LEFT, 32, title, size=18, weight="bold"),
    )
    lines = (draw_text(LEFT, 54 + _LINE_GAP * i, line) for i, line in enumerate(basis))
    return "\n".join((*head, *lines, *parts, "</svg>", ""))


def draw_text(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", weight: str = "normal"
) -> str:
    """A line of text; ``anchor``: which end of it is at x."""
    style = f"font-size='{size}' text-anchor='{anchor}' font-weight='{weight}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(text)}</text>"


def draw_axes(panel: Panel, title: str, x: Axis, y: Axis) -> Iterator[str]:
    """What a panel shows, what its axes are, and their values."""
    yield from _draw_names(panel, title, x.name, y.name)
    yield from draw_grid(panel, x.ticks, y.ticks)


def _draw_names(panel: Panel, title: str, x_name: str, y_name: str) -> Iterator[str]:
    middle, bottom = panel.left + panel.width / 2, panel.bottom + panel.strip
    yield draw_text(panel.left, panel.top - 14, title, size=14, weight="bold")
    yield draw_text(middle, bottom + 40, x_name, anchor="middle")
    yield (
        f"<text transform='translate({panel.left - 58},{panel.top + panel.height / 2}) "
        f"rotate(-90)' font-size='12' text-anchor='middle'>{escape(y_name)}</text>"
    )


def draw_grid(panel: Panel, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> Iterator[str]:
    """Axes with their values; x values that would run into one another have a tick alone."""
    for tick in y_ticks:
        y = panel.y.place(tick)
        yield f"<path d='M{panel.left} {y:.1f}H{panel.right}' stroke='#ddd'/>"
        yield draw_text(panel.left - 8, y + 4, f"{tick:g}", anchor="end")
    last = float("-inf")
    for value in x_ticks:
        x = panel.x.place(value)
        yield f"<path d='M{x:.1f} {panel.bottom}v5' stroke='#222'/>"
        if x - last >= LEAST_LABEL_GAP:
            yield draw_text(x, panel.bottom + panel.strip + 20, f"{value:g}", anchor="middle")
            last = x
    frame = f"M{panel.left} {panel.top}V{panel.bottom}H{panel.right}"
    yield f"<path d='{frame}' fill='none' stroke='#222'/>"


def style_lines(
    n_lines: int, *, thinnest: float, step: float, steps: int
) -> list[tuple[str, float]]:
    """Colours and widths of lines: one that lies on another lets it be seen.

    Parameters
    ----------
    thinnest : width of the last line
    step, steps : how much wider each one before it is, and how many times at most
    """
    n_violating = [min(n_lines - 1 - i, steps) for i in range(n_lines)]
    return [(COLOURS[i % len(COLOURS)], thinnest + step * n) for i, n in enumerate(n_violating)]


def draw_line(
    panel: Panel, points: Sequence[tuple[float, float, str]], colour: str, width: float
) -> Iterator[str]:
    """A line through points (x, y, what the point says of itself)."""
    places = [(panel.x.place(x), panel.y.place(y)) for x, y, _ in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield (
        f"<polyline points='{path}' fill='none' stroke='{colour}' "
        f"stroke-width='{width}' stroke-linejoin='round'/>"
    )
    for (x, y), (_, _, said) in zip(places, points, strict=True):
        yield (
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{2 + width / 2:.1f}' "
            f"fill='{colour}'><title>{escape(said)}</title></circle>"
        )


def draw_key(x: float, y: float, label: str, colour: str, width: float) -> Iterator[str]:
    """A line's entry in the legend."""
    yield f"<path d='M{x} {y}h24' stroke='{colour}' stroke-width='{width}'/>"
    yield draw_text(x + 30, y + 4, label)


def round_ticks(largest: float) -> list[float]:
    """Round numbers from 0 to above the largest value, about five."""
    if largest <= 0:
        return [0.0, 1.0]
    rough = largest / 4
    size = 10.0 ** floor(log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if rough <= size * factor * 1.001)
    return [round(step * i, 12) for i in range(ceil(1.04 * largest / step) + 1)]


def log_ticks(least: float, largest: float) -> list[float]:
    """Ticks from below the least value to above the largest, both above 0: 1, 2, 5, 10, ...

    Powers of ten alone where that would be more than `MOST_LOG_TICKS`.
    """
    decades = range(floor(log10(least)) - 1, ceil(log10(largest)) + 2)
    for digits in ((1, 2, 5), (1,)):
        all_ticks = [float(f"{digit}e{i}") for i in decades for digit in digits]
        first = max(i for i, tick in enumerate(all_ticks) if tick <= least or i == 0)
        last = min(i for i, tick in enumerate(all_ticks) if tick >= largest and i > first)
        ticks = all_ticks[first : last + 1]
        if len(ticks) <= MOST_LOG_TICKS:
            break
    return ticks
