"""Tables of memory as inputs: known by a name, read from a scratch file during a call.

The name is what messages, manifests and lineage say of the input: the file is gone afterwards.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_STAGED: ContextVar[tuple[str, str] | None] = ContextVar("staged_input", default=None)
_PROTOCOL = "file://"


@contextlib.contextmanager
def staged_as(name: str, file: Path) -> Iterator[None]:
    """Have the input of that name be read from a file in the block."""
    token = _STAGED.set((name, str(file)))
    try:
        yield
    finally:
        _STAGED.reset(token)


def find_place(path: str) -> str:
    """Return the location of an input that a policy names: the path itself, unless it is staged."""
    staged = _STAGED.get()
    return staged[1] if staged is not None and staged[0] == path else path


def find_name(path: str) -> str:
    """Return the name of an input in messages: its path, unless it is staged."""
    staged = _STAGED.get()
    return staged[0] if staged is not None and path.removeprefix(_PROTOCOL) == staged[1] else path
