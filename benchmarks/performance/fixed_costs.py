"""Costs that no record has: TLS between a run and its workers, and folders of a release.

``python -m benchmarks.performance.fixed_costs [--pairs N] [--folders N] [--out PAGE]``

A local cluster is started, given tasks and ended with TLS and, in the next process, without it: the
differences of these pairs, of the first cluster of a process and of its second.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.performance.measure import measure
from benchmarks.performance.run import working_folder
from benchmarks.results import (
    Target,
    describe_call,
    render_table,
    render_targets,
    say,
    show_section,
)

TITLE = "Fixed costs: TLS and folders"
COLUMNS = ("what", "seconds")
TRANSPORTS = ("tls", "tcp")
WORKERS, TASKS = 2, 200
RECORDS_PER_FOLDER = 12
WANTED_TLS = 0.3
WANTED_FOLDERS = 240.0  # what was not enough once


def main() -> None:
    """Measure both, and print or write the section."""
    given = _parse()
    if given.transport:
        print(json.dumps(time_clusters(given.transport)))
        return
    pairs = [{how: _run_apart(how) for how in TRANSPORTS} for _ in range(given.pairs)]
    with working_folder(None) as folder:
        say(f"measuring: {given.folders:,} folders")
        seconds = measure(_release_command(folder, given.folders)).seconds
    body = _describe(pairs, given.folders, seconds)
    show_section(TITLE, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what no record costs.")
    parser.add_argument("--pairs", type=int, default=5, help="of processes with and without TLS")
    parser.add_argument("--folders", type=int, default=10_000, help="of the release")
    parser.add_argument("--out", type=Path, help="write the section into this page, too")
    parser.add_argument("--transport", choices=TRANSPORTS, help=argparse.SUPPRESS)
    return parser.parse_args()


def _run_apart(transport: str) -> list[float]:
    """Seconds of the first and the second cluster of a process of its own."""
    say(f"measuring: {transport}")
    command = [sys.executable, "-m", "benchmarks.performance.fixed_costs", "--transport", transport]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    seconds: list[float] = json.loads(made.stdout)
    return seconds


def time_clusters(transport: str) -> list[float]:
    """Seconds of two local clusters, one after the other, from their start to their end.

    Parameters
    ----------
    transport : ``tls`` as runs have it, or ``tcp``
    """
    import distributed

    from tclose.policy.sections.engine_settings import EngineSettings
    from tclose.runtime.engines import local

    if transport == "tcp":
        without = functools.partial(_without_tls, distributed.LocalCluster)
        vars(distributed)["LocalCluster"] = without
        vars(local)["make_tls_configuration"] = lambda _: {}
    settings, seconds = EngineSettings(workers=WORKERS), []
    for _ in range(2):
        start = time.perf_counter()
        with local.local_cluster(settings) as address, distributed.Client(address) as client:
            client.gather(client.map(abs, range(TASKS), pure=False))
        seconds.append(time.perf_counter() - start)
    return seconds


def _without_tls(make: type, **settings: object) -> object:
    return make(**(settings | {"protocol": "tcp"}))


def _release_command(folder: Path, n_folders: int) -> list[str]:
    """Write records, and return the command that releases them, in a folder for each dozen."""
    rng, n_records = np.random.default_rng(6), n_folders * RECORDS_PER_FOLDER
    table = {
        "part": np.repeat(np.arange(n_folders), RECORDS_PER_FOLDER),
        "age": rng.integers(18, 90, n_records),
        "pay": rng.integers(0, 9, n_records),
    }
    pq.write_table(pa.table(table), folder / "records.parquet")
    policy = {
        "name": "folders",
        "input": {"path": str(folder / "records.parquet")},
        "attributes": {
            "part": "non-confidential",
            "age": "quasi-identifier",
            "pay": {"role": "confidential", "t": 0.8},
        },
        "privacy": {"k": 4, "t": 0.8},
        "output": {"path": str(folder / "releases"), "partition_by": ["part"]},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    return [sys.executable, "-m", "tclose", "run", str(folder / "policy.yaml"), "--quiet"]


def _describe(pairs: list[dict[str, list[float]]], n_folders: int, seconds: float) -> str:
    """The body of the section."""
    call = describe_call("benchmarks.performance.fixed_costs")
    load = os.getloadavg()[1]
    how = (
        f"{call}, with a load of {load:.0f} over the last five "
        "minutes: above the number of cores it was busy with other work, which makes all of it "
        f"longer. A local cluster of {WORKERS} workers, from its start over {TASKS} empty tasks to "
        f"its end, with TLS and without: medians of {len(pairs)} processes each that took turns, "
        f"and of their differences. A release of {n_folders * RECORDS_PER_FOLDER:,} records with a "
        f"folder for each {RECORDS_PER_FOLDER}, start-up included: one run."
    )
    rows, targets = [], []
    for place, which in enumerate(("first cluster of a process", "second cluster of a process")):
        of_each = [
            statistics.median(pair[transport][place] for pair in pairs) for transport in TRANSPORTS
        ]
        more = statistics.median(pair["tls"][place] - pair["tcp"][place] for pair in pairs)
        named = zip(("with TLS", "without"), of_each, strict=True)
        rows += [(f"{which}, {what}", f"{median:.2f}") for what, median in named]
        targets.append(Target(f"TLS: more seconds, {which}", WANTED_TLS, more))
    rows.append((f"release with {n_folders:,} folders", f"{seconds:.1f}"))
    targets.append(Target(f"release with {n_folders:,} folders: seconds", WANTED_FOLDERS, seconds))
    return f"{how}\n\n{render_table(COLUMNS, rows)}\n\n{render_targets(targets)}"


if __name__ == "__main__":
    main()
