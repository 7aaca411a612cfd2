"""`kernel` compiles a function and keeps its code on disk: each signature in a file of its own.

The compiler's own cache numbers the signatures of a function, and writes the list of numbers apart
from the code. Of two processes that compile at once one may end with its number at the other's
code, and whoever loads that gets wrong results without a word. And it looks at one file's source
only: a kernel that calls one of another module would go on with the old one after an upgrade. Here
a file is named by all sources, the function, its signature and the processor, says within what it
is, and is moved to its place whole; what is not as it says is compiled anew. What several processes
want at once, one compiles.

Whoever can write these files has their code run by whoever loads them. So the folder and each file
have to be root's or the user's own, and closed to others (see `trusted`); a folder that is not is
left alone, and every process compiles for itself. The digest in a file finds what a full disk or a
crash has spoilt, and has no key: one kept beside the files could be read by all who can write them,
and one kept elsewhere would need the same care as the folder, and keep nobody else out.
"""

import contextlib
import functools
import hashlib
import os
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import numba
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from tclose.kernels.compile_lock import hold_compile_lock
from tclose.trusted_paths import TrustedFolder, UntrustedError, open_trusted

_DIGEST_BYTES = 32
_CODE = ".code"

Inline = Literal["never", "always"]


def kernel(function: Callable[..., Any] | None = None, *, inline: Inline = "never") -> Any:
    """Compile a function on first use, to run without the interpreter's lock.

    Parameters
    ----------
    inline : "never", or "always" for what costs less than a call
    """
    if function is None:
        return functools.partial(kernel, inline=inline)
    dispatcher: Any = numba.njit(nogil=True, inline=inline)(function)
    folder = _open_cache()
    if isinstance(folder, TrustedFolder):
        dispatcher._cache = CodeFiles(folder, function)  # noqa: SLF001  # where numba has its own
        dispatcher.compile = _in_turn(dispatcher)
    return dispatcher


def _in_turn(dispatcher: Any) -> Callable[[Any], Any]:
    """What compiles a signature or loads its code, when nobody else is about to leave it."""
    compile_signature, cache = dispatcher.compile, dispatcher._cache  # noqa: SLF001

    @global_compiler_lock
    def compile_in_turn(signature: Any) -> Any:
        with cache.turn(signature, dispatcher.targetctx):
            return compile_signature(signature)

    return compile_in_turn


def load_compiler() -> None:
    """Load now what the first kernel that a process calls would load: numba's own declarations."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def is_kept(dispatcher: Any) -> bool:
    """Whether code of a kernel is on disk, for whatever signature."""
    cache = dispatcher._cache  # noqa: SLF001  # see `kernel`
    return isinstance(cache, CodeFiles) and bool(cache.names())


def find_refusal() -> str:
    """Why kept code is not used in this process, and what to do; empty where that is not so."""
    found = _open_cache()
    if not isinstance(found, UntrustedError):
        return ""
    return (
        f"compiled kernels are not kept: {found}, so whoever can write there could have other code "
        "run, and every process compiles for itself, which takes a minute or so; remove "
        f"{found.place}, or name a folder of your own by NUMBA_CACHE_DIR"
    )


@functools.cache
def _open_cache() -> TrustedFolder | UntrustedError | None:
    """Folder of these sources, or why it is not trusted; None: no room.

    In the user's cache, or where NUMBA_CACHE_DIR says. One that cannot be written to is read.
    """
    home = config.CACHE_DIR  # type: ignore[attr-defined]
    if not home:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
        home = Path(cache, "tclose", "kernels")
        if not home.is_absolute():  # nobody's home is known
            return None
    try:
        return open_trusted(Path(home) / _sources_digest(), make=True)
    except UntrustedError as error:
        return error
    except OSError:
        return None


def _sources_digest() -> str:
    """SHA-256 over the compiler's version and the kernels' source files, by their names."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()[:20]


class CodeFiles(_Cache):
    """Files with the code of one function: where numba looks, and leaves what it has compiled."""

    def __init__(self, folder: TrustedFolder, function: Callable[..., Any]) -> None:
        self._folder = folder
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._folder.path)

    def enable(self) -> None:
        """Load and keep code."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor keep any."""
        self._enabled = False

    def flush(self) -> None:
        """Remove all code of the function."""
        for name in self.names():
            with contextlib.suppress(FileNotFoundError):
                self._folder.remove(name)

    def names(self) -> list[str]:
        """Names of the files with code of the function."""
        names = self._folder.names()
        return [n for n in names if n.startswith(f"{self._name}-") and n.endswith(_CODE)]

    def turn(self, sig: Any, target_context: Any) -> AbstractContextManager[None]:
        """To look for the code of a signature, and to compile what is not there."""
        name = self._file(self._key(sig, target_context.codegen()))
        if name in self._folder.names():
            return contextlib.nullcontext()
        return hold_compile_lock(f"{name.removesuffix(_CODE)}.turn", self._folder.descriptor)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Code for a signature; None if there is none that is whole and for this very signature."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        try:
            stored = self._folder.read(self._file(key))
        except (OSError, UntrustedError):
            return None
        digest, data = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        if not self._enabled or hashlib.sha256(data).digest() != digest:
            return None
        found, code = pickle.loads(data)  # noqa: S301  # nobody else wrote it
        return CompileResult._rebuild(target_context, *code) if found == key else None  # noqa: SLF001

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature; a full disk or addresses within the code prevent it."""
        if not self._enabled or data.library.has_dynamic_globals:
            return
        key = self._key(sig, data.codegen)
        pickled = dumps((key, data._reduce()))  # noqa: SLF001
        with contextlib.suppress(OSError):
            self._folder.write(self._file(key), hashlib.sha256(pickled).digest() + pickled)

    def _key(self, sig: Any, codegen: Any) -> tuple[str, Any, tuple[Any, ...]]:
        return self._name, sig, codegen.magic_tuple()

    def _file(self, key: tuple[Any, ...]) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return f"{self._name}-{digest[:20]}{_CODE}"
