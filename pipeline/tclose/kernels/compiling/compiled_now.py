"""Which functions numba is compiling in this process, and whether that is for a kernel of ours."""

import weakref
from typing import Any

from tclose.kernels.compiling.compiler_settings import check_settings
from tclose.security.working_folder import away_from_working_folder

check_settings()
with away_from_working_folder():
    from numba.core import event

kernels: weakref.WeakSet[Any] = weakref.WeakSet()
_compiling: list[tuple[Any, bool]] = []  # dispatchers, the outermost first, and whether that one is
# a kernel; the compiler's lock protects it


class _Follower(event.Listener):
    """Keeps track of which functions are being compiled."""

    def on_start(self, event: Any) -> None:
        """Begin to compile a function."""
        dispatcher = event.data["dispatcher"]
        of_kernel = _compiling[0][1] if _compiling else dispatcher in kernels
        _compiling.append((dispatcher, of_kernel))

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """End it."""
        _compiling.pop()


def compiles_kernel() -> bool:
    """Return whether a kernel is being compiled, so that another one it needs would be a part."""
    return bool(_compiling) and _compiling[0][1]


def list_compiled_now() -> list[Any]:
    """Dispatchers of the functions that are being compiled, each by the one before."""
    return [dispatcher for dispatcher, _ in _compiling]


def follow_compiler() -> None:
    """Keep track from now on."""
    event.register("numba:compile", _Follower())
