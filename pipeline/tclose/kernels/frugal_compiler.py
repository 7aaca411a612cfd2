"""Less work for numba itself while it compiles; the code that comes out is the same.

Each of these replaces something of numba by what gives the same answers in less time. Where numba
no longer has what is replaced here, or it answers otherwise, it is left as it is.
"""

import contextlib
import gc
import os
from collections.abc import Iterator
from typing import Any

_PLAIN_ERRORS = "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"


@contextlib.contextmanager
def without_highlighting() -> Iterator[None]:
    """Import numba within the block without the colours of its messages.

    It makes a message for each way to call a function that does not fit, and tries many: with
    colours each of them takes the terminal over and gives it back.
    """
    before = os.environ.get(_PLAIN_ERRORS)
    os.environ[_PLAIN_ERRORS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PLAIN_ERRORS]
        else:
            os.environ[_PLAIN_ERRORS] = before


def compare_flags_quickly(flags: type[Any]) -> None:
    """Make comparing two sets of compiler flags cheap, which is done a hundred thousand times.

    numba collects their values one property after the other.
    """
    defaults = {name: option.default for name, option in flags.options.items()}

    def values(self: Any) -> dict[str, Any]:
        return {**defaults, **self._values}

    sample = flags()
    sample.nrt = True
    if values(sample) == sample.values():
        flags.values = values


def make_comparing_cheap(flags: type[Any]) -> None:
    """Try `compare_flags_quickly`; leave numba as it is where it is made otherwise."""
    with contextlib.suppress(AttributeError, TypeError):
        compare_flags_quickly(flags)


class Bodies:
    """An LLVM module as one of the functions alone that it has the code of.

    numba sets up all function passes for what is only declared, too, which are nine in ten.
    """

    def __init__(self, module: Any) -> None:
        vars(self)["_module"] = module

    @property
    def functions(self) -> list[Any]:
        """The functions with code."""
        return [f for f in self._module.functions if not f.is_declaration]

    def __getattr__(self, name: str) -> Any:
        """Return anything else of the module."""
        return getattr(self._module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set something of the module."""
        setattr(self._module, name, value)


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Look for no garbage: a seventh of the time to compile goes there, with so many objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
