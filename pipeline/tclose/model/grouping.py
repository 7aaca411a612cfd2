"""Groups of a column's values by a rule, from which its taxonomy is made when they are known."""

from dataclasses import dataclass

from tclose.model.preparation import MISSING

ROOT = "*"  # the node above all groups; the end of a prefix's name, too
CALENDAR = ("month", "quarter", "year")  # finest first: each is within one of the next


@dataclass(frozen=True)
class GroupRule:
    """The rule that groups values: by their first characters, or dates by parts of the calendar.

    ``prefixes``: numbers of characters, ascending; ``calendar``: of `CALENDAR`, in its order.
    """

    prefixes: tuple[int, ...] = ()
    calendar: tuple[str, ...] = ()

    def chain(self, text: str) -> tuple[str, ...]:
        """The value, the names of its groups, the finest first, and the root.

        Parameters
        ----------
        text : of a value; of a date as in ISO 8601
        """
        if text == MISSING:
            return (text, ROOT)
        if self.calendar:
            return (text, *(_period(text, part) for part in self.calendar), ROOT)
        groups = [f"{text[:n]}{ROOT}" for n in reversed(self.prefixes) if n <= len(text)]
        return (text, *groups, ROOT)

    def describe(self) -> str:
        """The rule in words."""
        parts = self.calendar or tuple(map(str, reversed(self.prefixes)))
        *others, last = parts
        named = f"{', '.join(others)} and {last}" if others else last
        if self.calendar:
            return f"grouped by {named}"
        return f"grouped by the first {named} character{'' if parts == ('1',) else 's'}"


def _period(text: str, part: str) -> str:
    """The month, quarter or year of a day, as 2026-11, 2026-Q4 or 2026."""
    year, month, _ = text.split("-", 2)
    if part == "month":
        return f"{year}-{month}"
    return year if part == "year" else f"{year}-Q{(int(month) + 2) // 3}"
