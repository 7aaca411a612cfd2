"""`kernel` compiles a function and keeps its code on disk: each signature in a file of its own.

The compiler's own cache numbers the signatures of a function, and writes the list of numbers apart
from the code. Of two processes that compile at once one may end with its number at the other's
code, and loading that gives wrong results without an error. It also compares one file's source
only: a kernel that calls one of another module would use the old one after an upgrade. Here a file
is named by all sources, the function, its signature, the processor and the compiler's settings,
repeats these in its content, and is written atomically; a file whose content does not match is
compiled again. Of several processes that need one signature at once, one compiles it. A further
folder, named by ``TCLOSE_KERNELS``, is only read: an image has there what was compiled when it was
built.

What a function calls is in its file, under names that the compiler makes different by numbers. It
counts them from 1 in each process, and of two functions of one name in a process the first to be
loaded serves all callers: the sort of values where positions were to be sorted, for instance. Here
the numbers are drawn, so that no two processes have the same.

A user who can write these files can have code run by all who load them. So the folder and each file
must belong to root or the user and be closed to others (see `trusted_paths`); another folder is not
used, and every process compiles for itself. The digest in a file detects damage by a full disk or a
crash, and has no key: a key next to the files could be read by all who can write them, and one
elsewhere would need the same protection as the folder, and keep nobody else out.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import secrets
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from tclose.kernels.compile_lock import hold_compile_lock
from tclose.kernels.compiling.compiled_now import compiles_kernel
from tclose.kernels.compiling.linked_code import is_part, link_parts
from tclose.kernels.ready_folder import READY, find_missing, find_other_kernels
from tclose.security.trusted_paths import TrustedFolder, UntrustedError, open_trusted
from tclose.security.working_folder import away_from_working_folder

with away_from_working_folder():
    import llvmlite
    import numba
    import numpy as np
    from numba.core import config, types
    from numba.core.bytecode import FunctionIdentity
    from numba.core.caching import _Cache
    from numba.core.compiler import CompileResult
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target
    from numba.core.serialize import dumps
    from numba.core.sigutils import normalize_signature

# numba takes settings from the working folder, where others may write: when it is imported, and
# whenever it compiles.
config._config_fname = os.devnull  # noqa: SLF001  # it has no other way

# From the system, as processes that are forked would draw the same numbers otherwise.
_numbers: Any = iter(lambda: secrets.randbits(62), None)
FunctionIdentity._unique_ids = _numbers  # noqa: SLF001  # it has no other way

_failed_writes: list[str] = []  # of code that was compiled in this process

_DIGEST_BYTES = 32
_CODE = ".code"  # of a kernel that Python calls
_PART = ".part"  # of one that is linked into those

# Of numba, each by NUMBA_ and its name: what is checked while code runs, and how it is optimised.
_SETTINGS = ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")

Inline = Literal["never", "always"]


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    inline: Inline = "never",
    borrows: bool = False,
) -> Any:
    """Compile a function on first use, to run without the interpreter's lock.

    Parameters
    ----------
    inline : "never", or "always" for what costs less than a call
    borrows : the function neither makes an array nor returns one, so that who holds an array need
        not be counted; in kernels that do little with many arrays counting takes most of the time.
        One that makes an array does not compile
    """
    if function is None:
        return functools.partial(kernel, inline=inline, borrows=borrows)
    options: dict[str, Any] = {"nogil": True, "inline": inline, "_nrt": not borrows}
    dispatcher: Any = numba.njit(**options)(function)
    link_parts(dispatcher)
    own, ready = (
        found if isinstance(found, TrustedFolder) else None
        for found in (_open_cache(), _open_ready())
    )
    if own or ready:  # where numba has its own
        dispatcher._cache = CodeFiles(function, own, ready)  # noqa: SLF001
    dispatcher.compile = _compile_once(dispatcher)
    return dispatcher


def _compile_once(dispatcher: Any) -> Any:
    """Return a `compile` that compiles a signature, or loads its code, under the compile lock.

    A number that is written where a kernel is called, or a constant, is of the type of its values,
    so that code for any serves for it, too. A part, which has no machine code, is compiled again if
    it is needed by itself.
    """
    compile_signature, cache = dispatcher.compile, dispatcher._cache  # noqa: SLF001

    @global_compiler_lock
    def compile_once(signature: Any) -> Any:
        arguments = tuple(types.unliteral(of_one) for of_one in normalize_signature(signature)[0])
        there = dispatcher.overloads.get(arguments)
        if there is not None and (compiles_kernel() or not is_part(there)):
            return there.entry_point
        dispatcher.overloads.pop(arguments, None)
        if not isinstance(cache, CodeFiles):
            return compile_signature(arguments)
        with cache.turn(arguments, dispatcher.targetctx):
            return compile_signature(arguments)

    return compile_once


def load_compiler() -> None:
    """Load now what the first kernel that a process calls would load: numba's own declarations."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def is_kept(dispatcher: Any) -> bool:
    """Return whether compiled code of a kernel that Python calls is on disk, for any signature.

    And for this processor, and what else code is made for.
    """
    cache = dispatcher._cache  # noqa: SLF001  # see `kernel`
    names = cache.names() if isinstance(cache, CodeFiles) else ()
    made_here = f"-{_name_target(_describe_target(cpu_target.target_context.codegen()))}-"
    return any(name.endswith(_CODE) and made_here in name for name in names)


def keeps_code() -> bool:
    """Return whether what is compiled in this process is there for the next one."""
    return isinstance(_open_cache(), TrustedFolder)


def find_refusal() -> str:
    """Return why stored code is not used in this process, and what to do; empty if it is used."""
    reason = "so whoever can write there could have other code run"
    refusal = _open_cache()
    if isinstance(refusal, UntrustedError):
        return (
            f"compiled kernels are not kept: {refusal}, {reason}, and every process compiles for "
            f"itself, which takes half a minute or so; remove {refusal.place}, or name a folder of "
            "your own by NUMBA_CACHE_DIR"
        )
    refusal = _open_ready()
    if isinstance(refusal, UntrustedError):
        return (
            f"kernels that were compiled ahead are not read: {refusal}, {reason}; close "
            f"{refusal.place} to others, or take {READY} out of the environment"
        )
    if _open_cache() is None and not os.environ.get(READY):
        return (
            "compiled kernels are not kept: there is no folder for them that this user can make, "
            "and every process compiles for itself, which takes half a minute or so; name one by "
            "NUMBA_CACHE_DIR"
        )
    return find_missing() or find_other_kernels(_sources_digest())


def find_failed_write() -> str:
    """Return why code that was compiled in this process was not kept, and what to do; or empty."""
    if not _failed_writes:
        return ""
    return (
        f"compiled kernels are not kept: {_failed_writes[0]}; make room there, or name another "
        "folder by NUMBA_CACHE_DIR"
    )


@functools.cache
def _open_cache() -> TrustedFolder | UntrustedError | None:
    """Folder of these sources, or why it is not trusted; None: no room.

    In the user's cache, or where NUMBA_CACHE_DIR says. One that cannot be written to is read.
    """
    home = config.CACHE_DIR  # type: ignore[attr-defined]  # numba sets it by its name
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


@functools.cache
def _open_ready() -> TrustedFolder | UntrustedError | None:
    """Folder of code that was compiled ahead, as in an image, and is only read; None: none."""
    home = os.environ.get(READY)
    if not home:
        return None
    try:
        return open_trusted(Path(home) / _sources_digest())
    except UntrustedError as error:
        return error
    except OSError:
        return None


def _sources_digest() -> str:
    """SHA-256 over the kernels' source files, by their places, and versions of what compiles them.

    Code has calls of the compiler's libraries in it, and how numpy and Python lay out what they
    hand over.
    """
    libraries = (numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((*sys.version_info, *libraries)).encode())
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        place, content = path.relative_to(folder).as_posix(), path.read_bytes()
        digest.update(f"{place}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()[:20]


class CodeFiles(_Cache):
    """Files with the compiled code of one function, in the form of numba's own cache."""

    def __init__(
        self,
        function: Callable[..., Any],
        own: TrustedFolder | None,
        ready: TrustedFolder | None = None,
    ) -> None:
        self._own, self._folders = own, tuple(folder for folder in (own, ready) if folder)
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder that code is written to, or else read from."""
        return str(self._folders[0].path)

    def enable(self) -> None:
        """Load and keep code."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor keep any."""
        self._enabled = False

    def flush(self) -> None:
        """Remove all code of the function, but what was compiled ahead."""
        if self._own is None:
            return
        for name in self.names():
            with contextlib.suppress(FileNotFoundError):
                self._own.remove(name)

    def names(self) -> list[str]:
        """Names of the files with code of the function."""
        names = {name for folder in self._folders for name in folder.names()}
        of_function = [n for n in names if n.startswith(f"{self._name}-")]
        return [n for n in of_function if n.endswith((_CODE, _PART))]

    def turn(self, sig: Any, target_context: Any) -> AbstractContextManager[None]:
        """Return the lock under which the code of a signature is loaded or compiled."""
        name = self._file(self._key(sig, target_context.codegen()))
        if not self._own or any(name in folder.names() for folder in self._folders):
            return contextlib.nullcontext()
        return hold_compile_lock(f"{Path(name).stem}.turn", self._own.descriptor)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Load the code for a signature; None if there is none, or it is damaged."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        for folder in self._folders if self._enabled else ():
            code = _read_code(folder, self._file(key), key)
            if code is not None:
                compiled: CompileResult = CompileResult._rebuild(target_context, *code)  # noqa: SLF001
                return compiled
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the code for a signature, if there is space and the code has no addresses in it."""
        if not self._enabled or not self._own or data.library.has_dynamic_globals:
            return
        key = self._key(sig, data.codegen)
        kept = data._replace(type_annotation="")  # a listing of the source, which takes long
        pickled = dumps((key, kept._reduce()))  # noqa: SLF001
        try:
            self._own.write(self._file(key), hashlib.sha256(pickled).digest() + pickled)
        except OSError as error:
            what = error.strerror or type(error).__name__
            _failed_writes.append(f"{self._own.path} cannot be written ({what})")

    def _key(self, sig: Any, codegen: Any) -> tuple[str, Any, tuple[Any, ...], str]:
        kind = _PART if compiles_kernel() else _CODE
        return self._name, sig, _describe_target(codegen), kind

    def _file(self, key: tuple[Any, ...]) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return f"{self._name}-{_name_target(key[2])}-{digest[:20]}{key[-1]}"


def _describe_target(codegen: Any) -> tuple[Any, ...]:
    """Describe what code is made for: the processor, and settings by which it comes out another."""
    settings = tuple(f"{name}={getattr(config, name)!r}" for name in _SETTINGS)
    return (*codegen.magic_tuple(), *settings)


def _name_target(target: tuple[Any, ...]) -> str:
    """Name it in few letters, by which files of code are told apart without being read."""
    return hashlib.sha256(repr(target).encode()).hexdigest()[:8]


def _read_code(folder: TrustedFolder, name: str, key: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Read the code of a file; None if there is none, or it is damaged or another's."""
    try:
        stored = folder.read(name)
    except (OSError, UntrustedError):
        return None
    digest, data = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
    if hashlib.sha256(data).digest() != digest:
        return None
    of_key, code = pickle.loads(data)  # noqa: S301  # nobody else wrote it
    return code if of_key == key else None
