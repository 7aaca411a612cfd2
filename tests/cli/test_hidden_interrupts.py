"""An interrupt of which a library has made another error is an interrupt."""

import threading

import pytest

from tclose.cli import main as module
from tclose.errors import PolicyError
from tclose.runtime import interrupts


@pytest.mark.parametrize("error", [PolicyError("_show: KeyboardInterrupt"), ValueError("other")])
def test_error_after_an_interrupt_is_that(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> int:
        raise error

    heard = threading.Event()
    monkeypatch.setattr(interrupts, "HEARD", heard)
    monkeypatch.setitem(module._COMMANDS, "releases", fail)
    assert module.main(["releases", "somewhere"]) != 0
    heard.set()
    with pytest.raises(KeyboardInterrupt):
        module.main(["releases", "somewhere"])
