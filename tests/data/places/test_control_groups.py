"""Processors and memory of a container: control groups of both versions, as files of the system."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tclose.data.places import control_groups
from tclose.data.places.process_limits import count_processors, machine_memory
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.engines.local import bytes_per_worker, worker_count

GIB = 1 << 30


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 64 processors, with no groups yet."""
    monkeypatch.setattr(control_groups, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(control_groups, "_OWN", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    return tmp_path


def make_groups(folder: Path, own: str, limits: Mapping[str, str]) -> None:
    (folder / "own").write_text(own)
    for name, text in limits.items():
        path = folder / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


SECOND = "0::/\n"
FIRST = "4:memory:/docker/ab12\n3:cpu,cpuacct:/docker/ab12\n1:name=systemd:/docker/ab12\n0::/\n"
SERVICE = "0::/system.slice/tclose.service\n"


@pytest.mark.parametrize(
    ("own", "limits", "n_processors", "n_bytes"),
    [
        ("", {}, 64, None),
        (SECOND, {"cpu.max": "max 100000", "memory.max": "max"}, 64, None),
        (SECOND, {"cpu.max": "200000 100000", "memory.max": "1073741824"}, 2, GIB),
        (SECOND, {"cpu.max": "50000 100000"}, 1, None),
        (SECOND, {"cpu.max": "150000 100000"}, 2, None),
        (SECOND, {"cpu.max": "6400001 100000"}, 64, None),
        (
            SERVICE,
            {
                "system.slice/cpu.max": "300000 100000",
                "system.slice/tclose.service/cpu.max": "max 100000",
                "system.slice/tclose.service/memory.max": "2147483648",
                "system.slice/tclose.service/memory.high": "1073741824",
            },
            3,
            GIB,
        ),
        (
            FIRST,
            {
                "cpu/cpu.cfs_quota_us": "250000",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "1073741824",
            },
            3,
            GIB,
        ),
        (
            FIRST,
            {
                "cpu/docker/ab12/cpu.cfs_quota_us": "-1",
                "cpu/docker/ab12/cpu.cfs_period_us": "100000",
                "memory/docker/ab12/memory.limit_in_bytes": "9223372036854771712",
            },
            64,
            None,
        ),
        ("0::/../../elsewhere\n", {"cpu.max": "nonsense", "memory.max": ""}, 64, None),
        ("no groups\n", {}, 64, None),
    ],
)
def test_limits_of_the_groups_are_kept(
    own: str, limits: Mapping[str, str], n_processors: int, n_bytes: int | None, groups: Path
) -> None:
    make_groups(groups, own, limits)
    all_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert count_processors() == n_processors
    assert machine_memory() == (n_bytes or all_bytes)


def test_local_workers_fit_into_their_container(groups: Path) -> None:
    """The default takes no more than there is, however many processors the machine has."""
    make_groups(groups, SECOND, {"memory.max": str(2 * GIB)})
    usual = EngineSettings()
    assert worker_count(usual) == 4
    assert 500_000_000 <= bytes_per_worker(usual) <= 2 * GIB // worker_count(usual)
    assert bytes_per_worker(EngineSettings(workers=2)) == bytes_per_worker(usual)
    make_groups(groups, SECOND, {"cpu.max": "50000 100000"})
    assert worker_count(usual) == 1
    assert bytes_per_worker(usual) == 2 * GIB


def test_little_memory_is_one_workers(groups: Path) -> None:
    make_groups(groups, SECOND, {"memory.max": "300000000"})
    assert worker_count(EngineSettings()) == 1
    assert bytes_per_worker(EngineSettings()) == 300_000_000
