"""Releases of generated discharges, and copies of releases for tests to change or hand out."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.cases.discharge_policies import discharge_policy, write_discharges
from support.cases.people import folder_of
from tclose.passes.release import run_release
from tclose.runtime.monitoring.progress import Progress


def publish_discharges(folder: Path, n_rows: int) -> Path:
    """A release in several files, below an output folder that has the release key."""
    path = write_discharges(folder / "discharges.parquet", n_rows)
    output = {"path": str(folder / "releases"), "rows_per_file": 1_500}
    policy = discharge_policy(path, folder / "releases", output=output)
    return folder_of(run_release(policy, Progress("none")))


def copy_at_home(release: Path, folder: Path) -> Path:
    """A copy of a release with its whole output folder: the release key is at hand."""
    shutil.copytree(release.parents[1], folder / "releases")
    return folder / "releases" / release.parent.name / release.name


def hand_out(release: Path, folder: Path) -> Path:
    """A copy of a release as a recipient has it: no internal part, and no key."""
    place = folder / release.name
    return shutil.copytree(release, place, ignore=shutil.ignore_patterns("internal"))


def edit_manifest(release: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the public manifest of a release in place."""
    path = release / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def data_of(release: Path) -> dict[str, bytes]:
    """Bytes of the data files, by their path in ``data/``."""
    data = release / "data"
    return {str(p.relative_to(data)): p.read_bytes() for p in data.rglob("*") if p.is_file()}
