"""Progress for a waiting user: a live bar on a terminal, plain lines elsewhere, or nothing.

And what is remembered of it for a profile. rich draws the bar; in a file or pipe it would print
nothing before the end.
"""

import contextlib
import contextvars
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tclose.runtime.engines.tracing import Trace
from tclose.runtime.monitoring.work import (
    Work,
    describe_end,
    describe_middle,
    describe_start,
    show_clock,
    show_percent,
)
from tclose.runtime.streams import print_message

if TYPE_CHECKING:
    from tclose.runtime.engines.engine import Engine

LINE_SECONDS = 10.0  # between the lines of work that takes long
LOOK_SECONDS = 1.0  # after which it is looked at whether a line is due
_LABEL_WIDTH = 16
_TEXT_WIDTH = 66  # of a bar's line without the bar itself
_BAR_WIDTHS = 4, 40


class _Show(Protocol):
    """Tells a line where one is due, and a listener of each task that is done."""

    def __call__(self, *, is_middle: bool) -> None: ...


class Listener(Protocol):
    """An orchestrator that keeps the lines of a run, whatever the terminal shows."""

    def hear(self, text: str, *, warns: bool) -> None:
        """Keep a line."""

    def follow(self, work: Work, text: str) -> None:
        """Keep the state of some work; called when it begins, and after each of its tasks."""


@dataclass
class Progress:
    """Follows the tasks of passes, and remembers how long passes and tasks took.

    ``profiled``: the cluster's record of each task is kept too, which costs a little time.
    ``listener``: gets all lines, also those that a bar or ``none`` keeps off the terminal.
    ``cautions``: numbered warnings are printed, whatever the style. ``warned``: what was warned of
    once, and is not to be again.
    """

    style: str = "lines"  # bar, lines or none
    profiled: bool = False
    listener: Listener | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    works: list[Work] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    pass_name: str = ""
    cautions: bool = True
    warned: set[str] = field(default_factory=set)

    @contextlib.contextmanager
    def timing(self, pass_name: str) -> Iterator[None]:
        """Add the time of the block to the pass; tasks that run in it are of the pass."""
        start, self.pass_name = time.perf_counter(), pass_name
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[pass_name] = self.seconds.get(pass_name, 0.0) + elapsed
            self.pass_name = ""

    @contextlib.contextmanager
    def following(
        self, task_name: str, n_tasks: int | Work, *, label: str = ""
    ) -> Iterator[Callable[[], None]]:
        """Show the work of a kind of task; the function that is yielded is called after each task.

        A caller that knows how many records tasks have gives a ``Work`` instead of a number, and
        adds the records of a task to it before the call.
        """
        work = n_tasks if isinstance(n_tasks, Work) else Work(n_tasks)
        work.pass_name, work.task_name = self.pass_name, task_name
        work.started = time.perf_counter()
        self.works.append(work)
        label = label or task_name
        bar = _show_bar(label, work) if self.style == "bar" else contextlib.nullcontext()
        is_told = self.style != "none" or self.listener is not None
        with bar as move, self._show_lines(label, work) as show:

            def refresh() -> None:
                before = work.records_running
                work.look()
                if work.records_running != before:
                    work.mark()
                if move is not None:
                    move()
                show(is_middle=True)

            def step() -> None:
                work.tasks_done += 1
                work.look()
                work.mark()
                if move is not None:
                    move()
                show(is_middle=False)

            with _repeated(refresh) if is_told else contextlib.nullcontext():
                try:
                    yield step
                finally:
                    work.mark()

    @contextlib.contextmanager
    def _show_lines(self, label: str, work: Work) -> Iterator["_Show"]:
        last_line = time.perf_counter()

        def show(*, is_middle: bool) -> None:
            nonlocal last_line
            if time.perf_counter() - last_line >= LINE_SECONDS and not work.is_done:
                last_line = time.perf_counter()
                self._line(f"{label}: {describe_middle(work)}")
            if not is_middle:
                self._follow(label, work)

        self._line(f"{label}: {describe_start(work)}")
        self._follow(label, work)
        yield show
        self._line(f"{label}: {describe_end(work)}")

    def _follow(self, label: str, work: Work) -> None:
        if self.listener is not None:
            self.listener.follow(work, f"{label}: {describe_middle(work)}")

    def _line(self, text: str) -> None:
        """Tell a line about work, for which a terminal may have a bar."""
        self._tell(text, is_printed=self.style == "lines")

    def _tell(self, text: str, *, is_printed: bool = True, warns: bool = False) -> None:
        if is_printed:
            print_message(text)
        if self.listener is not None:
            self.listener.hear(text, warns=warns)

    @contextlib.contextmanager
    def tracing(self, engine: "Engine", task_name: str) -> Iterator[None]:
        """Remember what the engine knows of the tasks that run in the block, if that is wanted."""
        if not self.profiled:
            yield
            return
        with engine.tracing(task_name) as trace:
            self.traces.append(trace)
            yield

    def info(self, text: str) -> None:
        """Print a line, unless silent."""
        self._tell(text, is_printed=self.style != "none")

    def confide(self, text: str) -> None:
        """Print a line for who runs it alone: no listener hears it, which others may read."""
        if self.style != "none":
            print_message(text)

    def caution(self, text: str) -> None:
        """Print a line that who wants silence need not see, and a command always shows."""
        self._tell(text, is_printed=self.cautions, warns=True)

    def warn(self, text: str) -> None:
        """Print a line that even who wants silence has to see."""
        self._tell(text, warns=True)

    def warn_once(self, topic: str, text: str) -> None:
        """Warn of a topic if that was not done before, in whatever words."""
        if topic not in self.warned:
            self.warned.add(topic)
            self.warn(text)


@contextlib.contextmanager
def _repeated(show: Callable[[], None]) -> Iterator[None]:
    """Call a function again and again within the block: a single task may take long.

    What it raises is raised at the end of the block.
    """
    ended, context = threading.Event(), contextvars.copy_context()
    raised: list[Exception] = []

    def repeat() -> None:
        try:
            while not ended.wait(LOOK_SECONDS):
                context.run(show)
        except Exception as error:  # of a listener: any
            raised.append(error)

    thread = threading.Thread(target=repeat, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    for error in raised:
        raise error


def _shorten(count: float) -> str:
    """A count in few letters: 9,999, 450k, 1.25M."""
    if count < 1e4:
        return f"{count:,.0f}"
    if count < 1e6:
        return f"{count / 1e3:.0f}k"
    return f"{count / 1e6:,.{2 if count < 1e7 else 1 if count < 1e8 else 0}f}M"


@dataclass(frozen=True)
class _BarTexts:
    """The text columns next to a bar, computed whenever the bar is drawn."""

    work: Work

    @property
    def percent(self) -> str:
        return f"{show_percent(self.work):>5}"

    @property
    def amount(self) -> str:
        work = self.work
        if work.n_records is None:
            return f"{work.tasks_before + work.tasks_done:,}/{work.n_tasks:,}"
        return f"{_shorten(work.records_so_far)}/{_shorten(work.n_records)} records"

    @property
    def speed(self) -> str:
        speed = self.work.records_per_second
        return f"{_shorten(speed)}/s" if speed else ""

    @property
    def time(self) -> str:
        if self.work.is_done:
            return f"{self.work.seconds:.1f} s"
        seconds_left = self.work.seconds_left
        if seconds_left is None:
            return show_clock(self.work.seconds_so_far)
        return f"{show_clock(seconds_left)} left"


@contextlib.contextmanager
def _show_bar(label: str, work: Work) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    least, most = _BAR_WIDTHS
    is_narrow = console.width < least + _TEXT_WIDTH  # all texts would be cut there
    columns = (
        TextColumn(f"{{task.description:<{_LABEL_WIDTH}}}"),
        BarColumn(bar_width=max(least, min(most, console.width - _TEXT_WIDTH))),
        *(
            TextColumn(f"{{task.fields[texts].{part}}}")
            for part in (_FEW_PARTS if is_narrow else _PARTS)
        ),
    )
    # The streams are left as they are: numba, which is imported meanwhile, lets colorama keep them
    # to the end of the process.
    with RichProgress(
        *columns, console=console, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(label, total=1.0, texts=_BarTexts(work))
        bar.update(task, completed=work.share)
        yield lambda: bar.update(task, completed=work.share)


_PARTS = "percent", "amount", "speed", "time"
_FEW_PARTS = "percent", "time"


def default_style(quiet: bool) -> str:
    """A bar on a terminal; lines in files and pipes, and where nothing can be redrawn."""
    if quiet:
        return "none"
    is_terminal = getattr(sys.stderr, "isatty", None)  # there may be no such stream
    redraws = (
        is_terminal is not None
        and is_terminal()
        and os.environ.get("TERM", "") not in ("dumb", "unknown")
    )
    return "bar" if redraws else "lines"
