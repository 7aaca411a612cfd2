"""What a user sees while waiting: a live bar on a terminal, plain lines elsewhere, or nothing.

Lines carry counts and times only.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

LABELS = {
    "inspect": "reading the input's files",
    "infer": "finding column types",
    "summarise": "summarising records",
    "distribute": "counting confidential values",
    "encode": "assigning subsets and regions",
    "microaggregate": "microaggregating regions",
    "verify": "sorting and verifying classes",
    "publish": "writing files",
}


@dataclass
class Progress:
    """Follows passes and remembers how long each stage took."""

    style: str = "lines"  # bar, lines or none
    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time of the block to the stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[stage] = self.seconds.get(stage, 0.0) + elapsed

    @contextlib.contextmanager
    def following(
        self, pass_name: str, n_units: int, *, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Show a pass; the function that it gives is called after each unit."""
        label = LABELS.get(pass_name, pass_name)
        if self.style == "bar":
            with _show_bar(label, n_units, done) as step:
                yield step
        else:
            start = time.perf_counter()
            yield lambda: None
            resumed = f", {done} of them done before" if done else ""
            units = f"{n_units} unit{'s' if n_units != 1 else ''}"
            self.say(f"{label}: {units}{resumed}, {time.perf_counter() - start:.1f} s")

    def say(self, text: str) -> None:
        """Print a line, unless silent."""
        if self.style != "none":
            print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _show_bar(label: str, n_units: int, done: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description:<32}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=n_units, completed=done)
        yield lambda: bar.advance(task)


def default_style(quiet: bool) -> str:
    """A bar on a terminal, lines elsewhere."""
    if quiet:
        return "none"
    return "bar" if sys.stderr.isatty() else "lines"
