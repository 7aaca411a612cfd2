"""Figures of lines, drawn by matplotlib, which the extra ``charts`` installs.

The same figures give the same SVG text: no date, no version and no drawn identifiers are in it, and
settings of the user's own matplotlib do not change it.
"""

import contextlib
import io
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tclose.errors import UsageError
from tclose.security.working_folder import away_from_working_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK = "#222222"
_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "font.size": 10,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "lines.markersize": 5,
    "lines.solid_joinstyle": "round",
    "svg.fonttype": "none",  # text stays text, that can be searched and read aloud
    "svg.hashsalt": "tclose",
    "text.color": INK,
    "text.parse_math": False,  # names of columns may have dollar signs
    "xtick.color": INK,
    "ytick.color": INK,
}
_NOT_SAID = {"Creator": None, "Date": None, "Format": None, "Type": None}
_DOTS_PER_INCH = 72  # of matplotlib's SVG
_TITLE_HEIGHT, _LINE_HEIGHT = 0.42, 0.2  # inches


def require_charts() -> None:
    """Find out before long work whether figures can be drawn.

    Raises
    ------
    UsageError
        matplotlib is not installed.
    """
    try:
        if sys.modules.get("matplotlib") is None:
            with away_from_working_folder():  # which may have a matplotlibrc
                import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            "drawing charts needs the package matplotlib; install it with: "
            "pip install 'tclose[charts]'"
        ) from None


@contextlib.contextmanager
def chart_style() -> Iterator[None]:
    """Have all figures of the block look alike, whatever the user has set up.

    Raises
    ------
    UsageError
        matplotlib is not installed.
    """
    require_charts()
    import matplotlib.style

    with matplotlib.style.context(_STYLE, after_reset=True):
        yield


def make_figure(width: float, height: float, title: str, basis: Sequence[str]) -> "Figure":
    """An empty figure with its title and, line by line below it, what it is based on.

    Parameters
    ----------
    width, height : inches
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.text(0.01, 1 - 0.12 / height, title, size=14, weight="bold", va="top")
    top = height - _TITLE_HEIGHT
    for line in basis:
        figure.text(0.01, top / height, line, va="top")
        top -= _LINE_HEIGHT
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 0.99, (top - 0.1) / height), wspace=0.06)
    return figure


def line_styles(n_lines: int, *, thinnest: float, step: float) -> list[dict[str, Any]]:
    """Colours and widths of lines: earlier ones are wider, so that one below another is seen.

    Parameters
    ----------
    thinnest : width of the last line, in points
    step : how much wider each one before it is, up to three times
    """
    return [
        {
            "color": COLOURS[i % len(COLOURS)],
            "linewidth": (width := thinnest + step * min(n_lines - 1 - i, 3)),
            "markersize": 4 + width,
        }
        for i in range(n_lines)
    ]


def to_svg(figure: "Figure", title: str) -> str:
    """The figure as SVG text, for a file of its own or for a page."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", dpi=_DOTS_PER_INCH, metadata=_NOT_SAID | {"Title": title})
    text = drawn.getvalue()
    return re.sub(r"[ \t]+$", "", text[text.index("<svg") :], flags=re.MULTILINE)
