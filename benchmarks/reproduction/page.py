"""Parts of the report: tables of printed and found figures, and of what a paper says in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.results import render_table

COMPARED_COLUMNS = ("", "paper", "here", "difference")
CLAIM_COLUMNS = ("the paper says", "here", "")


@dataclass(frozen=True)
class Compared:
    """A figure as it is printed and as it was found; ``n_digits``: after the point, as printed."""

    what: str
    printed: str
    found: float
    n_digits: int = 0

    @property
    def rounded(self) -> str:
        """The figure found, to as many digits as are printed."""
        return f"{self.found:.{self.n_digits}f}"

    @property
    def is_same(self) -> bool:
        """True if it is the printed value to the digit."""
        return self.rounded == self.printed

    @property
    def cells(self) -> list[str]:
        """A row of `COMPARED_COLUMNS`."""
        difference = float(self.rounded) - float(self.printed)
        shown = "none" if self.is_same else f"{difference:+.{self.n_digits}f}"
        return [self.what, self.printed, self.rounded, shown]


@dataclass(frozen=True)
class Claim:
    """A paper's statement in words, our result, and whether they agree; None: partly."""

    what: str
    found: str
    holds: bool | None

    @property
    def cells(self) -> list[str]:
        """A row of `CLAIM_COLUMNS`."""
        verdict = {True: "as the paper", False: "**not as the paper**", None: "**in part**"}
        return [self.what, self.found, verdict[self.holds]]


def claim_often(what: str, n_held: int, n_tried: int, of_what: str) -> Claim:
    """A claim that was put to several cases."""
    holds = True if n_held == n_tried else None if n_held else False
    return Claim(what, f"at {n_held} of {n_tried} {of_what}", holds)


def render_compared(rows: Sequence[Compared]) -> str:
    """Figures side by side."""
    return render_table(COMPARED_COLUMNS, [row.cells for row in rows])


def render_claims(claims: Sequence[Claim]) -> str:
    """Words side by side with what was found."""
    return render_table(CLAIM_COLUMNS, [claim.cells for claim in claims])
