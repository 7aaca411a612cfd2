"""Metrics of runs for Prometheus: a file for each release name, where ``TCLOSE_METRICS`` says.

A run is over before anybody could ask it. So its figures are in a file, which the textfile
collector of Prometheus's node exporter reads with the machine's own. They are those of manifests,
which are handed out, and counts of runs.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.data.places.atomic_files import write_atomically
from tclose.releases.manifest.public_manifest import Manifest
from tclose.runtime.run import Outcome

if TYPE_CHECKING:
    from prometheus_client import Metric

FOLDER = "TCLOSE_METRICS"  # variable of the environment that switches them on
_RESULTS = ("published", "already_published", "failed")
_ABOUT = {
    "tclose_runs": "Runs by their result; a counter that outlives the process.",
    "tclose_last_run_timestamp_seconds": "When a run last ended with this result.",
    "tclose_last_release_pass": "1 where the verdict of the last release is pass, else 0.",
    "tclose_last_release_records": "Records of the last release.",
    "tclose_last_release_distance_over_t": "Largest distance of a class, as a share of its t.",
    "tclose_last_release_pass_seconds": "Seconds of each pass of the last release.",
}
_Labels = tuple[tuple[str, str], ...]
_Values = dict[str, dict[_Labels, float]]


@contextlib.contextmanager
def counting_run(name: str, warn: Callable[[str], None]) -> Iterator[list[Outcome]]:
    """Count the run of a release within the block, if that is switched on.

    Yields
    ------
    A list for the run's outcome; a block that leaves it empty has failed. Metrics that cannot be
    kept are a warning, and no reason for the run to fail.
    """
    outcomes: list[Outcome] = []
    try:
        yield outcomes
    finally:
        if folder := os.environ.get(FOLDER):
            try:
                _keep(Path(folder) / f"tclose-{name}.prom", name, outcomes)
            except Exception as error:
                reason = getattr(error, "strerror", None) or type(error).__name__
                warn(f"{FOLDER}: metrics could not be kept in {folder} ({reason})")


def _keep(path: Path, name: str, outcomes: list[Outcome]) -> None:
    values = _read(path)
    release = ("release", name)
    result = "failed"
    if outcomes:
        result = "already_published" if outcomes[-1].already_published else "published"
        _describe_release(values, release, outcomes[-1])
    runs = values.setdefault("tclose_runs", {})
    for each in _RESULTS:
        runs.setdefault((release, ("result", each)), 0.0)
    runs[release, ("result", result)] += 1
    times = values.setdefault("tclose_last_run_timestamp_seconds", {})
    times[release, ("result", result)] = time.time()
    write_atomically(path, _write(values), mode=0o644, is_forced=False)


def _describe_release(values: _Values, release: tuple[str, str], outcome: Outcome) -> None:
    manifest = outcome.manifest
    values["tclose_last_release_pass"] = {(release,): float(manifest.verdict == "pass")}
    values["tclose_last_release_records"] = {(release,): float(manifest.records)}
    values["tclose_last_release_distance_over_t"] = {
        (release, ("attribute", attribute)): share
        for attribute, share in _distances(manifest).items()
    }
    if outcome.seconds:  # a release that was there has none
        values["tclose_last_release_pass_seconds"] = {
            (release, ("pass", one)): seconds for one, seconds in outcome.seconds.items()
        }


def _distances(manifest: Manifest) -> dict[str, float]:
    """Largest distances by attribute, each as a share of the t that was asked for."""
    results = manifest.privacy.t.items()
    return {name: one.largest_emd / one.asked for name, one in results if one.asked > 0}


def _read(path: Path) -> _Values:
    """Return what an earlier run kept; nothing where there was none."""
    if not path.exists():
        return {}
    from prometheus_client.parser import text_string_to_metric_families

    families = text_string_to_metric_families(path.read_text("utf-8"))
    return {
        family.name: {tuple(sample.labels.items()): sample.value for sample in family.samples}
        for family in families
    }


def _write(values: _Values) -> bytes:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.registry import Collector

    class Kept(Collector):
        def collect(self) -> "Iterator[Metric]":
            for metric, about in _ABOUT.items():
                family = GaugeMetricFamily(metric, about)
                if metric == "tclose_runs":
                    family.type = "counter"
                for labels, value in values.get(metric, {}).items():
                    suffix = "_total" if metric == "tclose_runs" else ""
                    family.add_sample(f"{metric}{suffix}", dict(labels), value)
                yield family

    registry = CollectorRegistry()
    registry.register(Kept())
    return generate_latest(registry)
