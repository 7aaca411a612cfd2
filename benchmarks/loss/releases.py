"""One release for its loss: made by the pipeline in this process, read from what it says inside."""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.microdata.sources import Source, Stored
from tclose.errors import TcloseError
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

REFERENCE, OFF, FAST, FULL = "reference", "off", "fast", "full"
_BY_EQ_5 = {"name": "t-closeness-first", "losses": "absolute"}
METHODS: dict[str, dict[str, str]] = {
    REFERENCE: _BY_EQ_5 | {"scope": "table", "class_size": "paper", "refine": "off"},
    OFF: _BY_EQ_5 | {"scope": "blocks", "class_size": "auto", "refine": "off"},
    FAST: _BY_EQ_5 | {"scope": "blocks", "class_size": "auto", "refine": "fast"},
    FULL: _BY_EQ_5 | {"scope": "blocks", "class_size": "auto", "refine": "full"},
}


@dataclass(frozen=True)
class Measurement:
    """The figures of a release that comparisons of loss need.

    ``n_clusters``: classes as they were made; those that are released alike are one of the release.
    ``loss``: the mean over records and quasi-identifiers (Soria-Comas et al. 2015, eq. 5);
    ``numeric_loss``: the share that is lost of what the numeric quasi-identifiers hold;
    ``distances``: the largest of each confidential attribute; ``merged``: the share of the planned
    clusters that went into others to bring classes within t; ``n_rounds``: of refinement;
    ``seconds``: of the whole run, and of its microaggregation.
    """

    n_records: int
    n_clusters: int
    n_classes: int
    smallest: int
    mean_size: float
    largest: int
    distances: tuple[float, ...]
    loss: float
    numeric_loss: float
    merged: float
    n_rounds: int
    seconds: float
    microaggregation_seconds: float

    @property
    def cluster_size(self) -> float:
        """Records of a cluster, on average."""
        return self.n_records / self.n_clusters


def write_document(source: Source, path: Path, place: Path, k: int, t: float) -> dict[str, Any]:
    """A policy as YAML would give it. Means are not rounded: rounding is no matter of method."""
    attributes: dict[str, Any] = {
        name: {"role": "quasi-identifier", "round": False} for name in source.numeric
    }
    attributes |= {name: {"role": "quasi-identifier", "type": "nominal"} for name in source.nominal}
    attributes |= dict.fromkeys(source.confidential, "confidential")
    return {
        "name": "bench",
        "input": {"path": str(path)},
        "attributes": {name: attributes[name] for name in source.columns},
        "privacy": {"k": k, "t": t},
        "output": {"path": str(place)},
    }


def make_release(
    stored: Stored, k: int, t: float, method: dict[str, str], folder: Path
) -> Measurement | TcloseError:
    """Make one and measure it, or say why there is none; nothing of it stays on disk."""
    place = folder / "releases"
    document = write_document(stored.source, stored.path, place, k, t)
    document["method"] = method
    start = time.perf_counter()
    try:
        outcome = run_release(parse_policy(document), Progress("none"))
        seconds = time.perf_counter() - start
        internal = outcome.release / "internal"
        manifest = json.loads((internal / "manifest.json").read_text())
        plan = json.loads((internal / "plan.json").read_text())
        return read_measurement(manifest, plan, stored, seconds)
    except TcloseError as error:
        return error
    finally:
        shutil.rmtree(place, ignore_errors=True)


def read_measurement(
    manifest: dict[str, Any], plan: dict[str, Any], stored: Stored, seconds: float
) -> Measurement:
    """Read the figures of a release from its internal manifest and its plan."""
    classes, loss = manifest["classes"], manifest["exact_information_loss"]
    lost = sum(loss["per_attribute"][name] for name in stored.source.numeric)
    results, n_clusters = manifest["privacy"]["t"], manifest["clusters"]
    return Measurement(
        n_records=manifest["records"],
        n_clusters=n_clusters,
        n_classes=classes["n_classes"],
        smallest=classes["smallest"],
        mean_size=classes["mean"],
        largest=classes["largest"],
        distances=tuple(results[name]["largest_emd"] for name in stored.source.confidential),
        loss=loss["total"],
        numeric_loss=lost / stored.numeric_spread if stored.numeric_spread else 0.0,
        merged=1 - n_clusters / sum(p["clusters"] for p in plan["release_partitions"]),
        n_rounds=max(0, len(manifest["rounds"]) - 1),  # the first is the start
        seconds=seconds,
        microaggregation_seconds=manifest["seconds"]["microaggregate"],
    )
