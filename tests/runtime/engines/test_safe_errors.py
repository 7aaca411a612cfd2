"""What may be shown of an error, and interrupts that arrive as another error."""

import pytest

from tclose.runtime.engines.engine import to_safe_error


def test_interrupted_call_of_compiled_code_is_an_interrupt() -> None:
    """Python reports a function of C that returns with an exception set as a SystemError."""
    error = SystemError("returned a result with an exception set")
    shown = str(to_safe_error(error, "verify"))
    assert shown.startswith("verify: stopped by SystemError")
    error.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        to_safe_error(error, "verify")
