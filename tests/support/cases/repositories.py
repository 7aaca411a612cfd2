"""Releases of one name that were published one after another, for tests of the register."""

import datetime
import json
from pathlib import Path
from typing import Any, Self, cast

import pytest

from support.cases.people import people, policy_for, release, write_parquet
from tclose.passes.publish import release_record
from tclose.releases.catalog.catalog import open_repository
from tclose.releases.repository.repository import ReleaseRepository

FIRST_DAY = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


class Clock(datetime.datetime):
    """The time of publication: set by a test, never that of the machine."""

    moment = FIRST_DAY

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Self:
        """The moment that the test has set."""
        return cls.fromtimestamp(cls.moment.timestamp(), tz)


def publish_on(day: int, document: dict[str, Any]) -> str:
    """Publish what a policy asks for on a day after the first one; the id of the release."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release_record, "datetime", Clock)
        patch.setattr(Clock, "moment", FIRST_DAY + datetime.timedelta(days=day))
        return release(document).folder.name


def write_people(folder: Path) -> Path:
    """The input of the releases below."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_parquet(folder / "people.parquet", people())


def make_repository(folder: Path, n_releases: int = 3) -> tuple[ReleaseRepository, list[str]]:
    """Releases of ``people`` by other seeds, a day apart; their ids, the oldest first."""
    source = write_people(folder)
    names = [publish_on(day, policy_for(source, seed=day + 1)) for day in range(n_releases)]
    return open_repository(folder / "releases" / "people"), names


def fake_manifest(release_id: str, day: int = 0, **changes: Any) -> dict[str, Any]:
    """A public manifest as a run writes it, of a release without files."""
    date = FIRST_DAY + datetime.timedelta(days=day)
    columns = [
        {"name": "age", "role": "quasi-identifier", "kind": "numeric", "type": "int16",
         "treatment": "mean of its class"},
        {"name": "pay", "role": "confidential", "kind": "ordinal", "type": "string",
         "treatment": "as it is", "distance": "ordered", "order": ["poor", "rich"]},
    ]  # fmt: skip
    return {
        "format": 3,
        "name": "people",
        "release_id": release_id,
        "published_at": date.isoformat(),
        "verdict": "pass",
        "method": "t-closeness-first",
        "privacy": {
            "k": {"asked": 3, "achieved": 4},
            "t": {"pay": {"asked": 0.3, "largest_emd": 0.25, "distance": "ordered"}},
        },
        "records": 60,
        "classes": {"n_classes": 15, "smallest": 4, "largest": 4, "mean": 4.0},
        "information_loss": {"total": 0.125, "per_attribute": {"age": 0.125}},
        "partition_by": [],
        "columns": columns,
        "files": [{"path": "data/part-00000.parquet", "rows": 60, "bytes": 9, "sha256": "0" * 64}],
        "code": {"tclose": "0.1.0"},
    } | changes


FAKE_POLICY: dict[str, Any] = {
    "name": "people",
    "input": {"path": "people.parquet", "missing_values": ["?"]},
    "attributes": {"age": {"role": "quasi-identifier", "order": None},
                   "pay": {"role": "confidential", "order": ["poor", "rich"], "t": None}},
    "privacy": {"k": 3, "t": 0.3},
    "output": {"path": "releases", "partition_by": []},
    "engine": {"workers": 2},
    "seed": 1,
}  # fmt: skip


def write_fake(root: Path, manifest: dict[str, Any], **internal: Any) -> Path:
    """A release of these manifests on the repository of a name; the internal one may be changed."""
    folder = root / manifest["release_id"]
    (folder / "data").mkdir(parents=True)
    (folder / "internal").mkdir()
    run = {"user": "ann", "host": "vault", "flow_run": None, "lineage_run": "0-1"}
    facts = {"policy": FAKE_POLICY, "run": run, "inputs": [], "records_dropped": 7}
    inside = manifest | facts | internal
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "internal" / "manifest.json").write_text(json.dumps(inside))
    return cast(Path, folder)


def fake_repository(
    folder: Path, *release_ids: str, current: str | None = None
) -> ReleaseRepository:
    """Releases without files, a day apart; the last one is current unless another is named."""
    root = folder / "releases" / "people"
    root.mkdir(parents=True)
    (root / ".lock").touch()
    for day, release_id in enumerate(release_ids):
        write_fake(root, fake_manifest(release_id, day))
    (root / "CURRENT").write_text(f"{current or release_ids[-1]}\n")
    return open_repository(root)


def move_current(repository: ReleaseRepository, release_id: str) -> None:
    """Move CURRENT as a run does."""
    with repository.acquire_lease() as held:
        held.set_current(release_id)


def fake_id(id_prefix: str) -> str:
    """An id that begins so."""
    return id_prefix.ljust(20, "0")
