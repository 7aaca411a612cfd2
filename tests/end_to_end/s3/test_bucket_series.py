"""A series whose releases go to a bucket: registers, kills, one claim, persons forgotten."""

import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.cases.series_months import SeriesMonths, write_months
from support.servers.bucket_runs import QUIET, public, run
from support.servers.s3_buckets import objects
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.data.places.bucket_paths import BucketPath
from tclose.errors import BusyError
from tclose.passes.release import open_release
from tclose.passes.series.forget_person import forget_person
from tclose.policy.policy import parse_policy
from tclose.releases.repository.contents import read_internal
from tclose.releases.series.series_history import list_series

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> SeriesMonths:
    return write_months(tmp_path_factory.mktemp("months"), 3)


class BucketSeries:
    """The months of a panel, released to a bucket."""

    def __init__(self, months: SeriesMonths, bucket: BucketPath, folder: Path) -> None:
        self.months, self.root, self.folder = months, bucket / "out", folder

    def policy(self, month: int) -> dict[str, Any]:
        engine = {"work_path": str(self.folder / "work"), "lease_seconds": 1}
        return self.months.policy(month) | {"output": {"path": str(self.root)}, "engine": engine}

    def find_findings(self) -> list[str]:
        """Return the findings of audits of all releases, alone and together."""
        releases = list_series(self.root, "panel")
        return [f for one in releases for f in add_series(audit_release(one.place)).findings]

    def registers(self) -> dict[str, bytes]:
        """Of each release that has one, by its path."""
        found = objects(self.root)
        return {name: of for name, of in found.items() if name.endswith("register.parquet")}


@pytest.fixture
def series(months: SeriesMonths, bucket: BucketPath, tmp_path: Path) -> BucketSeries:
    return BucketSeries(months, bucket, tmp_path)


@pytest.mark.nightly  # several releases, each file a request
def test_series_in_a_bucket_is_that_in_a_folder(
    series: BucketSeries, months: SeriesMonths, tmp_path: Path
) -> None:
    """Registers byte by byte, as both have one release key; none is among what is handed out."""
    made = SeriesMonths(tmp_path, months.files).publish(0, 1)
    key = (tmp_path / "releases" / ".release-key").read_bytes()
    (series.root / ".internal" / "release-key").put(key, None)
    for month, one in enumerate(made):
        there = run(series.policy(month)).release
        assert there.name == one.folder.name
        files = public(series.root / f"panel-{month}", there.name)
        assert {path: files[path] for path in one.paths} == one.data
        assert not any("register" in name or b"person_high" in of for name, of in files.items())
        inside = f"panel-{month}/.internal/{there.name}/register.parquet"
        register = (one.folder / "internal" / "register.parquet").read_bytes()
        assert series.registers()[inside] == register
    assert series.find_findings() == []
    forget_somebody(series)


def forget_somebody(series: BucketSeries) -> None:
    """Stopped after each of the steps that are decided; the next run does the rest.

    A run was killed whose register was in the bucket already: it goes before anything is decided.
    """
    persons = [set(pq.read_table(file)["person_id"].to_pylist()) for file in series.months.files]
    [person, *_] = sorted(set.intersection(*persons))
    before = series.registers()
    with pytest.MonkeyPatch.context() as patch:
        end_at(patch, "register.parquet", is_before=False)
        with pytest.raises(KilledError):
            run(series.policy(2))
    assert len(series.registers()) == len(before) + 1
    assert list((series.folder / "work").rglob("link"))
    with pytest.MonkeyPatch.context() as patch:
        end_at(patch, "seal.json", is_before=False)
        with pytest.raises(KilledError):
            forget_person(parse_policy(series.policy(0)), person, lambda _: None)
    assert not list((series.folder / "work").rglob("link"))
    assert series.registers().keys() == before.keys()
    run(series.policy(2))
    after = series.registers()
    assert {name for name in before if after[name] != before[name]} == set(before)
    assert series.find_findings() == []
    assert "rewriting" not in "".join(objects(series.root))
    said = read_internal(list_series(series.root, "panel")[-1].place)
    assert said is not None
    assert said.over_time is not None
    assert (said.over_time.number, said.over_time.forgotten) == (3, 1)


class KilledError(BaseException):
    pass


def end_at(patch: pytest.MonkeyPatch, name: str, *, is_before: bool) -> None:
    """End before or after the first write of a name."""
    put = BucketPath.put

    def ending(path: BucketPath, data: bytes, tag: str | None) -> str:
        if threading.current_thread() is not threading.main_thread() or path.name != name:
            return put(path, data, tag)
        if not is_before:
            put(path, data, tag)
        raise KilledError

    patch.setattr(BucketPath, "put", ending)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["register.parquet", "manifest.json", "CURRENT", "seal.json"])
def test_killed_commit_counts_as_published_or_not_at_all(series: BucketSeries, name: str) -> None:
    first = run(series.policy(0))
    for is_before in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            end_at(patch, name, is_before=is_before)
            with pytest.raises(KilledError):
                run(series.policy(1))
        numbers = [one.entry.number for one in list_series(series.root, "panel")]
        assert numbers in ([1], [1, 2])
        assert series.find_findings() == []
        again = run(series.policy(1))
        assert [one.entry.number for one in list_series(series.root, "panel")] == [1, 2]
        assert again.current == again.release.name != first.release.name
        assert series.find_findings() == []
        for path in (series.root / "panel-1").rglob():
            path.unlink()


@pytest.mark.nightly
def test_one_claim_of_a_series_in_a_bucket(series: BucketSeries) -> None:
    run(series.policy(0))
    with (
        pytest.raises(BusyError),
        open_release(parse_policy(series.policy(1)), QUIET),
        open_release(parse_policy(series.policy(2)), QUIET),
    ):
        pass
