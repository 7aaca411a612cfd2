"""What tests of the kernels' compiler share."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tclose.kernels import compiler
from tclose.kernels.ready_folder import READY
from tclose.security.trusted_paths import open_trusted


@pytest.fixture
def keep_code_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path | str], None]]:
    """Name the folder of compiled code, as NUMBA_CACHE_DIR does."""

    def name(folder: Path | str) -> None:
        monkeypatch.setattr("tclose.kernels.compiler.config.CACHE_DIR", str(folder))
        compiler._open_cache.cache_clear()

    yield name
    compiler._open_cache.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where code is kept meanwhile."""
    opened = open_trusted(tmp_path)
    monkeypatch.setattr(compiler, "_open_cache", lambda: opened)
    yield tmp_path
    os.close(opened.descriptor)


@pytest.fixture
def read_code_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Name the folder of code that was compiled ahead."""

    def name(folder: Path) -> None:
        monkeypatch.setenv(READY, str(folder))
        compiler._open_ready.cache_clear()

    yield name
    compiler._open_ready.cache_clear()
