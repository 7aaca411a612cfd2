"""Interrupted at drawn moments, once or twice: one line, exit status 1, nothing goes on.

``TCLOSE_INTERRUPTS`` is how many. Run again, the command ends as if nothing had happened.
"""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from nightly.commands import Site, Started, expect, make_site, measure, sleep_a_part
from nightly.counts import Record, report

N_INTERRUPTS = int(os.environ.get("TCLOSE_INTERRUPTS", "3"))
SEED = int(os.environ.get("TCLOSE_SEED", "1"))
KINDS = [
    *("run", "run from its start", "plan", "run", "frontier", "audit with originals", "audit"),
    *("run from its start", "run on two workers"),
]
LINE = "tclose: interrupted; run again to "


def try_interrupt(
    site: Site, rng: random.Random, kind: str, seconds: float
) -> tuple[str, list[str]]:
    """How it ended, and what is wrong with that."""
    started = Started(site, kind)
    started.wait_until_it_hears()
    sleep_a_part(rng, seconds)
    for _ in range(rng.choice([1, 2])):
        time.sleep(rng.choice([0, 0.001, 0.05]))
        for process in started.family():  # as a terminal does, which tells the whole group
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGINT)
    ended = started.wait()
    lines = [
        line
        for line in ended.errors.splitlines()
        if not line.startswith(("warning: ", "warning TC-"))
    ]
    said = [line for line in lines if kind != "frontier" or "tclose: " in line]
    wrong = []
    line = LINE + ("go on from here" if kind.startswith("run") else "begin anew")
    if (ended.status, said) not in ((0, []), (1, [line])):
        wrong.append(f"ended with status {ended.status} and said: {ended.errors!r}")
    how = "interrupted" if ended.status else "had ended"
    return how, [*wrong, *site.look_again(kind, ended, "")]


@pytest.mark.timeout(7200)
@pytest.mark.nightly
def test_interrupted(tmp_path: Path, record_property: Record) -> None:
    site, template = make_site(tmp_path / "site"), tmp_path / "template"
    expect(site, template)
    seconds: dict[str, float] = {}
    counts: Counter[str] = Counter()
    problems = []
    for number in range(N_INTERRUPTS):
        kind, rng = KINDS[number % len(KINDS)], random.Random(f"{SEED}:{number}")
        if kind not in seconds:
            seconds[kind] = measure(site, template, kind)
        how, wrong = try_interrupt(site, rng, kind, seconds[kind])
        if wrong:
            problems.append(f"interrupt {number} of seed {SEED}: {kind}, {how}: {wrong}")
        counts[how] += 1
        site.reset(template)
    assert problems == [], "\n".join(problems)
    report(record_property, "interrupts", {"tried": N_INTERRUPTS} | counts | {"wrong": 0})
