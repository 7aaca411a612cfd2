"""What must not leave, planted in an input and searched for in all that a command writes.

Identifiers, unlisted columns, original quasi-identifiers, and the first record of a CSV part
without a header. Bytes are searched as they are, as UTF-16, decompressed, as Parquet's values and
as rows of SQLite databases: in releases, streams, TMPDIR, home, Prefect's database, lineage and
profiles, after success, refusal, failure and kill. Only the working files of a run that was killed
or broke, with which the next one goes on, may hold records, where nobody else can read them.
"""

import csv
import gzip
import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from nightly.counts import Record, report
from nightly.kernel_cache import kernel_cache

TESTS = Path(__file__).resolve().parents[1]
N = 120
PERSON, UNLISTED, PLACE = "CANARY-person-7f3a", "CANARY-unlisted-99e0", "CANARY-place-c41d"
AGE, DAY = 73_141_592, "1907-05-23"
CANARIES = (PERSON, UNLISTED, PLACE, str(AGE), DAY)
ENDS: dict[str, tuple[list[str], dict[str, Any], int]] = {
    "success": (["run"], {}, 0),
    "profile": (["run", "--profile", "profile"], {}, 0),
    "two workers": (["run"], {"engine": {"workers": 2}}, 0),
    "flow": (["flow"], {}, 0),
    "plan": (["plan"], {}, 0),
    "bad data": (["run"], {"missing": "error"}, 2),
    "no header": (["run"], {}, 2),
    "infeasible": (
        ["run"],
        {"privacy": {"k": 3, "models": [{"name": "distinct-l-diversity", "l": 50}]}},
        3,
    ),
    "failed verification": (
        ["run"],
        {"method": {"name": "mdav"}, "privacy": {"k": 3, "t": 0.2}},
        3,
    ),
    "broken in a pass": (["run"], {}, 1),
    "killed": (["run"], {}, -signal.SIGKILL),
}
# Those that start in a moment: the others take part in the long trials.
SHORT = ("success", "no header", "broken in a pass")
CHOSEN = list(ENDS) if "TCLOSE_KILLS" in os.environ else SHORT


def write_input(folder: Path, *, with_gaps: bool, with_header: bool) -> None:
    """Two CSV files; one record is singled out by all of its quasi-identifiers."""
    rng = np.random.default_rng(3)
    names = ["person", "note", "age", "place", "day", "pay"]
    rows: list[list[Any]] = []
    for i in range(N):
        own = [int(rng.integers(20, 60)), "Bonn", f"2020-01-{1 + i % 28:02d}"]
        own = [AGE, PLACE, DAY] if i == N // 2 else own
        rows.append([f"{PERSON}-{i}", f"{UNLISTED}-{i}", *own, int(rng.integers(9))])
    if with_gaps:
        rows[5][2] = ""
    folder.mkdir()
    for number, part in enumerate((rows[: N // 2], rows[N // 2 :])):
        with (folder / f"part-{number}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            if number == 0 or with_header:
                writer.writerow(names)
            writer.writerows(part)


def write_policy(folder: Path, changes: dict[str, Any]) -> None:
    document = {
        "name": "canaries",
        "input": {"path": "in"},
        "unlisted": "drop",
        "attributes": {
            "person": "identifier",
            "age": "quasi-identifier",
            "place": {"role": "quasi-identifier", "type": "nominal"},
            "day": "quasi-identifier",
            "pay": "confidential",
        },
        "privacy": {"k": 3, "t": 0.4},
        "output": {"path": "releases"},
    }
    (folder / "policy.yaml").write_text(yaml.safe_dump(document | changes))


def run(folder: Path, arguments: list[str], fault: str) -> "subprocess.CompletedProcess[bytes]":
    for name in ("tmp", "home", "releases"):
        (folder / name).mkdir()
    environment = os.environ | {
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": "",
        "TMPDIR": str(folder / "tmp"),
        "PREFECT_HOME": str(folder / "home" / "prefect"),
        "PYTHONPATH": f"{TESTS}:{TESTS.parent}",
    }
    environment |= kernel_cache()
    command = [sys.executable, "-m", "support.faults.faulty_run", fault]
    command += [arguments[0], "policy.yaml", *arguments[1:]]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, timeout=300
    )


def contents(path: Path) -> Iterator[bytes]:
    """All that stands in a file, however it is packed."""
    data = path.read_bytes()
    yield data
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
    if data[:4] == b"PAR1":
        yield repr(pq.read_table(path, partitioning=None).to_pydict()).encode()
        yield repr(pq.read_metadata(path).to_dict()).encode()
    if data.startswith(b"SQLite format 3"):
        with sqlite3.connect(path) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (name,) in tables.fetchall():
                for row in database.execute(f'SELECT * FROM "{name}"'):
                    yield from (_as_bytes(value) for value in row)


def _as_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        return str(value).encode()
    try:
        return value + zlib.decompress(value)
    except zlib.error:
        return value


def find_canaries(data: bytes) -> list[str]:
    encodings = ("utf-8", "utf-16-le", "utf-16-be")
    return [c for c in CANARIES if any(c.encode(e) in data for e in encodings)]


def is_private(path: Path, folder: Path) -> bool:
    """Whether only its owner can reach a file: one of the folders above it is closed to others."""
    above = [p for p in (path, *path.parents) if p.is_relative_to(folder) and p != folder]
    return any(p.stat().st_mode & 0o077 == 0 for p in above)


def search(folder: Path, *, goes_on: bool) -> tuple[int, list[str]]:
    """How many files were searched, and which of them hold a canary."""
    found, n_files = [], 0
    skipped = {folder / "in", folder / "policy.yaml"}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or skipped & {path, *path.parents}:
            continue
        n_files += 1
        if goes_on and ".work" in path.parts and is_private(path, folder):
            continue  # working files of a run that the next one goes on with
        for data in contents(path):
            found += [f"{path.relative_to(folder)} holds {c}" for c in find_canaries(data)]
    return n_files, found


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("end", CHOSEN)
def test_canaries_are_nowhere(end: str, tmp_path: Path, record_property: Record) -> None:
    arguments, changes, status = ENDS[end]
    write_input(tmp_path / "in", with_gaps=end == "bad data", with_header=end != "no header")
    write_policy(tmp_path, changes)
    fault = {"killed": "end@encode", "broken in a pass": "full@3"}.get(end, "none")
    ended = run(tmp_path, arguments, fault)
    assert ended.returncode == status, ended.stderr.decode()
    assert find_canaries(ended.stdout + ended.stderr) == []
    assert b"Traceback" not in ended.stderr
    n_files, found = search(tmp_path, goes_on=status not in (0, 2, 3))
    assert found == []
    if status >= 0:
        left = [p for p in (tmp_path / "tmp").rglob("*") if p.is_file() and p.stat().st_size]
        assert left == []
    counts = Counter({"ends": 1, "files searched": n_files, "leaks": 0})
    report(record_property, "canaries", counts)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_planted_canaries_are_found(encoding: str, tmp_path: Path) -> None:
    """The search itself: it finds what it is for in each kind of file."""
    texts = f"some {PERSON}-3 text".encode(encoding)
    (tmp_path / "plain.log").write_bytes(texts)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(texts))
    with sqlite3.connect(tmp_path / "base.db") as database:
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES (?)", (zlib.compress(texts),))
    n_files, found = search(tmp_path, goes_on=False)
    assert n_files == 3
    assert {line.split()[0] for line in found} == {"plain.log", "packed.gz", "base.db"}
