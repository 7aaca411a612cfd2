"""Seconds of a processor that reports, and the figures in them, add to a release.

``python -m benchmarks.performance.report_costs DATA [--out RESULTS.md]``

DATA is what ``tclose generate`` writes. A release of it in one process, without a search, under
Python's profiler, whose clock is the processor's; kernels are compiled by a release before it. What
is measured is the cumulative time of the functions that reports alone need. The rest of the release
would be the same without them.
"""

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import describe_call, render_table, show_section
from tclose.passes.release import run_release
from tclose.policy.policy import Policy, parse_policy
from tclose.runtime.engines import engine
from tclose.runtime.monitoring.progress import Progress

TITLE = "Reports: what they add"
PARTS = {
    "public report": (("public_report.py", "write_report"),),
    "internal report": (("internal_report.py", "write_internal_report"),),
    "SUDA": (("uniques_before_after.py", "describe_uniques"),),
    "analyses": (
        ("workload.py", "make_workload"),
        ("record_counts.py", "add"),
        ("record_counts.py", "count"),
        ("analyses_summary.py", "describe_analyses"),
    ),
    "figures": (
        ("figures.py", "describe_figures"),
        ("class_profiles.py", "profile_distances"),
        ("analysis.py", "describe_analysis"),
        ("losses.py", "_count_parts"),
        ("exposure_over_time.py", "describe_exposure"),
    ),
}


def describe_policy(data: str, output: Path) -> Policy:
    """A policy for generated discharges, all columns of which decide over classes."""
    quasi = ("age", "sex", "zip", "admission_date", "length_of_stay", "diagnosis_group",
             "insurance_type")  # fmt: skip
    return parse_policy(
        {
            "name": "reported",
            "input": {"path": data},
            "unlisted": "drop",
            "attributes": {
                **dict.fromkeys(quasi, "quasi-identifier"),
                "charge": "confidential",
                "severity": {"role": "confidential", "t": 0.5},
            },
            "method": {"name": "t-closeness-first", "refine": "off"},
            "privacy": {"k": 5, "t": 0.1},
            "output": {"path": str(output)},
        }
    )


def profile_release(policy: Policy) -> tuple[pstats.Stats, float, int]:
    """Profile a release in this process; its seconds of the processor, and its records."""
    profiler = cProfile.Profile(time.process_time)
    start = time.process_time()
    outcome = profiler.runcall(run_release, policy, Progress("none"))
    seconds = time.process_time() - start
    return pstats.Stats(profiler), seconds, outcome.manifest.records


def add_up(stats: pstats.Stats) -> dict[str, float]:
    """Return the seconds of each part.

    Raises
    ------
    LookupError
        A function is not called any more, so nothing is known of its part.
    """
    found = {}
    for part, functions in PARTS.items():
        found[part] = 0.0
        for file, function in functions:
            of_name = [
                values[3]
                for (path, _, name), values in stats.stats.items()  # type: ignore[attr-defined]
                if name == function and Path(path).name == file
            ]
            if not of_name:
                raise LookupError(f"{file}: {function} was not called")
            found[part] += sum(of_name)
    return found


def main(arguments: Sequence[str]) -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.report_costs")
    parser.add_argument("data")
    parser.add_argument("--out", type=Path, help="page whose section is written")
    given = parser.parse_args(arguments)
    engine.IN_PROCESS_BYTES = 2**62  # a profiler sees its own process alone
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "second"):  # the first compiles what is not there yet
            policy = describe_policy(given.data, Path(folder) / name)
            stats, seconds, n_records = profile_release(policy)
    parts = add_up(stats)
    parts["together"] = sum(parts.values())
    rows = [[f"{n_records:,}", *(f"{value:.2f}" for value in parts.values()), f"{seconds:.1f}"]]
    table = render_table(["records", *parts, "the whole release"], rows)
    call = describe_call("benchmarks.performance.report_costs", arguments)
    text = (
        f"{call}: seconds of a processor, with the profiler's own, "
        "of what reports alone need. `analyses`: counts of range queries, associations and shares "
        "unchanged; `figures`: distributions, profiles of classes, values before and after. "
        f"Wanted: at most 3 together at 1,000,000 records.\n\n{table}"
    )
    show_section(TITLE, text, given.out)


if __name__ == "__main__":
    main(sys.argv[1:])
