"""Releases of Adult, Census, FARS and 200,000 generated records are known byte for byte."""

import platform
from pathlib import Path

import pytest

from support.length import FULL
from support.real_bytes import CASES, digest_release, read_real_bytes
from tclose.releases.provenance import library_versions

ALL = [(table, method, n_workers) for n_workers in (1, 4) for table, method in CASES]
SHORT = [("adult", "mondrian", 1), ("census", "incognito", 1), ("generated", "mondrian", 4)]


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("table", "method", "n_workers"), ALL if FULL else SHORT)
def test_bytes_are_known(table: str, method: str, n_workers: int, tmp_path: Path) -> None:
    known = read_real_bytes()
    if known["machine"] != platform.machine():
        pytest.skip(f"files were written on {known['machine']}, whose compression differs")
    assert known["libraries"] == library_versions(), "write real_bytes.json anew (real_bytes.py)"
    made = digest_release(table, method, tmp_path, n_workers)
    assert made == known["digests"][f"{table}, {method}"], (
        "released bytes changed: raise a version (see support/golden.py), then write them anew"
    )


def test_every_case_is_known() -> None:
    assert list(read_real_bytes()["digests"]) == [f"{t}, {m}" for t, m in CASES]
