"""What tests of the kernels' compiler share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tclose.kernels import compiler


@pytest.fixture
def keep_code_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path | str], None]]:
    """Name the folder of compiled code, as NUMBA_CACHE_DIR does."""

    def name(folder: Path | str) -> None:
        monkeypatch.setattr("tclose.kernels.compiler.config.CACHE_DIR", str(folder))
        compiler._open_cache.cache_clear()

    yield name
    compiler._open_cache.cache_clear()
