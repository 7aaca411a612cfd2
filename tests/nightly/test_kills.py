"""Killed at drawn moments, every command: run again it ends as if nothing had happened.

``TCLOSE_KILLS`` is how many; most are of runs. Killed is the command, one of its workers, or the
server that workers are forked from. Afterwards every release passes an audit, the run's has the
bytes of an undisturbed one, and neither working files nor records are left.
"""

import os
import random
import signal
from collections import Counter
from pathlib import Path

import psutil
import pytest

from nightly.commands import AS_PROCESSES, Site, Started, expect, make_site, measure, sleep_a_part
from nightly.counts import Record, report

N_KILLS = int(os.environ.get("TCLOSE_KILLS", "3"))
SEED = int(os.environ.get("TCLOSE_SEED", "1"))
CHUNK = 25
KINDS = [
    *("run", "plan", "run", "frontier", "run", "audit with originals", "run", "rollback"),
    *("run", "prune", "run", "plan", "run", "run", "audit with originals", "run"),
]
RARE = {18: "run on two workers", 47: "flow", 97: "flow"}  # of each hundred trials
DONE = "is the current release already"  # what a rollback says that was done by then
STARTS = range(0, N_KILLS, CHUNK)


def kind_of(number: int) -> str:
    """The command of a trial."""
    with_processes = dict.fromkeys(range(3, 100, 4), "run on two workers")
    return (with_processes | RARE).get(number % 100, KINDS[number % len(KINDS)])


def strike(started: Started, rng: random.Random) -> str:
    """Kill the command, or a process that it has started; which of them."""
    family = started.family()
    victim = rng.choice(family) if len(family) > 1 and rng.random() < 0.8 else started.process
    try:
        victim.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return "nobody, it had ended"
    return "the command" if victim == started.process else "one of its processes"


def try_kill(site: Site, rng: random.Random, kind: str, seconds: float) -> tuple[str, list[str]]:
    """Who was killed, and what is wrong afterwards."""
    started = Started(site, kind)
    if kind in AS_PROCESSES and rng.random() < 0.7:
        started.wait_until_it_has_others()
        seconds /= 2
    sleep_a_part(rng, seconds)
    victim = strike(started, rng)
    ended = started.wait()
    wrong = []
    if ended.status not in (-signal.SIGKILL, 0, 1):
        wrong.append(f"ended with status {ended.status}: {ended.errors}")
    return victim, [*wrong, *site.look_again(kind, ended, DONE)]


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("start", STARTS)
def test_killed(start: int, tmp_path: Path, record_property: Record) -> None:
    site, template = make_site(tmp_path / "site"), tmp_path / "template"
    expect(site, template)
    seconds: dict[str, float] = {}
    counts: Counter[str] = Counter()
    problems = []
    for number in range(start, min(start + CHUNK, N_KILLS)):
        kind, rng = kind_of(number), random.Random(f"{SEED}:{number}")
        if kind not in seconds:
            seconds[kind] = measure(site, template, kind)
        victim, wrong = try_kill(site, rng, kind, seconds[kind])
        if wrong:
            problems.append(f"kill {number} of seed {SEED}: {kind}, {victim}: {wrong}")
        counts[f"of {victim}"] += 1
        counts[f"of {kind}"] += 1
        site.reset(template)
    n_trials = min(CHUNK, N_KILLS - start)
    assert problems == [], "\n".join(problems)
    report(record_property, "kills", {"tried": n_trials} | counts | {"lost or left anything": 0})
