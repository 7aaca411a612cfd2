"""How trials are counted: each test says what it did, and the end of the session adds it up."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

PREFIX = "counted "


Record = Callable[[str, object], None]


def report(record_property: Record, kind: str, counts: Mapping[str, int]) -> None:
    """Record the counts of a test under a kind of trial."""
    record_property(PREFIX + kind, dict(counts))


def add_up(reports: Iterable[Any]) -> list[str]:
    """A line for each kind of trial: what there was, and how often, the commonest first."""
    sums: dict[str, Counter[str]] = {}
    for test in reports:
        for key, counts in test.user_properties:
            if key.startswith(PREFIX):
                sums.setdefault(key.removeprefix(PREFIX), Counter()).update(counts)
    return [
        f"{kind}: " + ", ".join(f"{n:,} {what}" for what, n in counts.items())
        for kind, counts in sorted(sums.items())
    ]
