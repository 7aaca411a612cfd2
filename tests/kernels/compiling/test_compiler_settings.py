"""Settings with which there could be no kernels are refused by their names."""

import pytest

from tclose.errors import UsageError
from tclose.kernels.compiling.compiler_settings import check_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [("NUMBA_DISABLE_JIT", "1"), ("NUMBA_NUM_THREADS", "0"), ("NUMBA_NUM_THREADS", "-2")],
)
def test_what_hinders_the_compiler_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=rf"^{name}: .*take it out of the environment$"):
        check_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [("NUMBA_DISABLE_JIT", "0"), ("NUMBA_DISABLE_JIT", "no"), ("NUMBA_NUM_THREADS", "2")],
)
def test_what_does_not_is_left_to_it(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    check_settings()
