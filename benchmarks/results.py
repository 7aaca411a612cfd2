"""The page of results: sections that are measured apart, each with the command that made it."""

import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overview import NOT_MET, render_overview

PREAMBLE = (
    "# Measured\n\n"
    "Each section names the command that wrote it and the machine. `make bench` measures some of "
    "the sections, `make bench-full` all but those on paper and those that were run once by hand; "
    "both leave the others as they stand. What is wanted stands beside what was found; nothing "
    "fails over it."
)
BY_HAND = "Run by hand"
NOTED = "<!-- by hand -->"  # what stands below it in a section stays when that is measured again

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Target:
    """A figure that is wanted to be at most (or at least) so much; what was found, if anything."""

    what: str
    bound: float
    found: float | None
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """True if the target was met; False if nothing was measured."""
        if self.found is None:
            return False
        return self.found >= self.bound if self.at_least else self.found <= self.bound

    @property
    def cells(self) -> list[str]:
        """A row of `TARGET_COLUMNS`."""
        wanted = f"{'at least' if self.at_least else 'at most'} {self.bound:g}"
        found = "-" if self.found is None else f"{self.found:.5g}"
        verdict = "met" if self.is_met else NOT_MET
        return [self.what, wanted, found, verdict if self.found is not None else "not measured"]


TARGET_COLUMNS = ("figure", "wanted", "found", "")


def render_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, without a line end after it."""
    ruler = ["---"] * len(columns)
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, ruler, *rows))


def render_targets(targets: Sequence[Target]) -> str:
    """Tabulate the targets and the measured values."""
    return render_table(TARGET_COLUMNS, [target.cells for target in targets])


def describe_machine() -> str:
    """Cores, memory, architecture and Python: what times depend on first."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    cores = os.cpu_count()
    machine = platform.machine()
    return f"{cores} cores, {gigabytes:.0f} GB, {machine}, Python {platform.python_version()}"


def describe_command(module: str, arguments: Sequence[str]) -> str:
    """Return the command of a module's call, without the paths that it reads and writes."""
    kept = list(arguments)
    for option in ("--out", "--folder"):
        if option in kept:
            at = kept.index(option)
            del kept[at : at + 2]
    return shlex.join(["python", "-m", module, *kept])


def describe_call(module: str, arguments: Sequence[str] | None = None) -> str:
    """Return the command of a module's call, by default this process's, and the machine."""
    command = describe_command(module, sys.argv[1:] if arguments is None else arguments)
    return f"`{command}` on {describe_machine()}"


def read_sections(text: str) -> dict[str, str]:
    """Bodies by heading, in their order; what stands before the first heading is left out."""
    _, *parts = _HEADING.split(text)
    return {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


def replace_sections(text: str, measured: dict[str, str]) -> str:
    """The page with the sections that were measured; new ones come last, before those by hand.

    What was written by hand stays, below a line in its section that says so.
    """
    before = read_sections(text)
    sections = before | {t: _keep_note(before.get(t, ""), body) for t, body in measured.items()}
    by_hand = sections.pop(BY_HAND, None)
    if by_hand is not None:
        sections[BY_HAND] = by_hand
    parts = [f"## {title}\n\n{body.strip()}" for title, body in sections.items()]
    overview = [render_overview(sections)] if sections else []
    return "\n\n".join([PREAMBLE, *overview, *parts]) + "\n"


def _keep_note(before: str, body: str) -> str:
    """A section with what stood below its measured part before."""
    _, noted, note = before.partition(NOTED)
    return f"{body.strip()}\n\n{noted}{note}" if noted and NOTED not in body else body


def append_row(text: str, note: str, columns: Sequence[str], row: Sequence[str]) -> str:
    """The page with one more row in the table of runs by hand; note and table are made if new."""
    fresh = f"{note}\n\n{render_table(columns, ())}"
    body = read_sections(text).get(BY_HAND, fresh)
    return replace_sections(text, {BY_HAND: f"{body}\n| {' | '.join(row)} |"})


def update_page(path: Path, measured: dict[str, str]) -> None:
    """Write the sections that were measured into the page."""
    path.write_text(replace_sections(read_page(path), measured), encoding="utf-8")


def say(text: str) -> None:
    """Print what is measured next, aside from what is found."""
    print(text, file=sys.stderr, flush=True)


def show_section(title: str, body: str, page: Path | None) -> None:
    """Print a section that was measured, and write it into the page if there is one."""
    print(f"## {title}\n\n{body}\n", flush=True)
    if page is not None:
        update_page(page, {title: body})


def read_page(path: Path) -> str:
    """The page as it stands; empty where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""
