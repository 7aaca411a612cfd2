"""The work of a kind that is done, its speed, and the words in which that is told.

Words carry counts and times only.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Work:
    """The total and finished work of a kind of task, in tasks, and in records where they are known.

    ``tasks_before`` and ``records_before`` are what an earlier run had done, ``tasks_done`` and
    ``records_done`` what this one has; ``records_running`` what tasks that run have told of theirs;
    ``seconds`` is the time from the start to the last of them. ``look`` brings up to date what is
    known of tasks that run.
    """

    n_tasks: int
    n_records: int | None = None
    tasks_before: int = 0
    records_before: int = 0
    tasks_done: int = 0
    records_done: int = 0
    records_running: int = 0
    pass_name: str = ""
    task_name: str = ""
    seconds: float = 0.0
    started: float = field(default_factory=time.perf_counter)
    look: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def mark(self) -> None:
        """Take the time."""
        self.seconds = self.seconds_so_far

    @property
    def seconds_so_far(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.started

    @property
    def is_done(self) -> bool:
        """True if no work is left."""
        return self.tasks_before + self.tasks_done >= self.n_tasks

    @property
    def share(self) -> float:
        """The finished share of all work, 0 to 1."""
        if self.is_done:
            return 1.0
        tasks = self.tasks_before + self.tasks_done
        return min(self._part(tasks, self.records_so_far), 1.0)

    @property
    def records_so_far(self) -> int:
        """Records that are done, in tasks that are done or run."""
        return self.records_before + self.records_done + self.records_running

    def _part(self, tasks: int, records: int) -> float:
        """Return the part done, by records where they are known, as tasks differ in size."""
        return records / self.n_records if self.n_records else tasks / self.n_tasks

    @property
    def records_per_second(self) -> float | None:
        """Speed of this run; what an earlier one had done does not count."""
        if self.n_records is None or self.seconds <= 0:
            return None
        return (self.records_done + self.records_running) / self.seconds

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds left, counted down.

        None until a task is finished, and once they have passed: nobody knows then.
        """
        if self.is_done:
            return 0.0
        done_now = self.share - self._part(self.tasks_before, self.records_before)
        if done_now <= 0:
            return None
        waited = self.seconds_so_far - self.seconds
        left = self.seconds * (1 - self.share) / done_now - waited
        return max(0.0, left) if left > -1 else None


def describe_start(work: Work) -> str:
    """All that there is to do."""
    parts = [f"{work.n_tasks:,} task{'s' if work.n_tasks != 1 else ''}"]
    if work.n_records is not None:
        parts.append(f"{work.n_records:,} records")
    if work.tasks_before:
        parts.append(f"{work.tasks_before:,} of the tasks done before")
    return ", ".join(parts)


def describe_middle(work: Work) -> str:
    """The part that is done, its speed, and the time that the rest may take."""
    if work.n_records is None:
        amount = f"{work.tasks_before + work.tasks_done:,} of {work.n_tasks:,} tasks"
    else:
        amount = f"{work.records_so_far:,} of {work.n_records:,} records"
    parts = [show_percent(work), amount, *_speed(work)]
    if (seconds_left := work.seconds_left) is not None:
        parts.append(f"about {show_clock(seconds_left)} left")
    elif work.seconds_so_far >= 1:
        parts.append(f"{show_clock(work.seconds_so_far)} so far")
    return ", ".join(parts)


def describe_end(work: Work) -> str:
    """The time that it took."""
    return ", ".join([f"done in {work.seconds:.1f} s", *_speed(work)])


def _speed(work: Work) -> list[str]:
    speed = work.records_per_second
    return [f"{speed:,.0f} records/s"] if speed else []


def show_percent(work: Work) -> str:
    """The finished share, rounded down."""
    return f"{int(100 * work.share)} %"


def show_clock(seconds: float) -> str:
    """Seconds as minutes, or hours, and what is left over: 1:05, 2:00:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
