"""Less work for numba itself while it compiles; the code that comes out is the same.

Each of these has numba do once what it does again and again, or leave out what nobody reads. They
are written for one version of numba and are used with no other, which is left as it is; so it is
where it has no such method.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from tclose.security.working_folder import away_from_working_folder

with away_from_working_folder():
    import numba
    from llvmlite import ir as llvm_ir
    from numba.core import ir, types
    from numba.core.inline_closurecall import InlineWorker
    from numba.core.targetconfig import ConfigStack

WRITTEN_FOR = (0, 68)  # of numba, as pyproject.toml asks for

# What has no variable of numba's intermediate code in it, and is most of what an instruction has.
_WITHOUT_VARIABLES = frozenset({str, int, float, bool, type(None), ir.Loc})


def make_frugal(version: tuple[int, int] = numba.version_info.short) -> None:
    """Have numba do less, if it is of the version that this is written for."""
    if version != WRITTEN_FOR:
        return
    for replace, owner in (
        (remember_call_types, types.Function),
        (list_variables_quickly, ir.Inst),
        (remember_sizes, llvm_ir.Type),
        (inline_without_copies, InlineWorker),
    ):
        with contextlib.suppress(AttributeError):
            replace(owner)


def remember_call_types(function: type[Any]) -> None:
    """Resolve calls of one of numba's own functions with arguments of the same types once.

    It goes through all ways to add two numbers, for instance, at each addition. What it finds
    depends on the types, and on the flags of the function that has the call. A call that does not
    resolve is tried again, as what is raised says where it stands.
    """
    resolve = function.get_call_type
    resolved: dict[int, tuple[Any, dict[Any, Any]]] = {}  # by the function, which is kept

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        _, of_function = resolved.setdefault(id(self), (self, {}))
        flags = ConfigStack.top_or_none()
        set_flags = flags and str(flags._values)  # noqa: SLF001  # what is set may not be hashable
        key = context, tuple(args), tuple(dict(kws).items()), set_flags
        if key not in of_function:
            signature = resolve(self, context, args, kws)
            if signature is None:
                return None
            of_function[key] = signature
        return of_function[key]

    function.get_call_type = get_call_type


def list_variables_quickly(instruction: type[Any]) -> None:
    """List an instruction's variables with one list, and fewer questions about what has none."""
    _ = instruction._rec_list_vars  # noqa: SLF001  # an AttributeError if there is none

    def fill(value: Any, found: list[Any]) -> None:
        kind = type(value)
        if kind in _WITHOUT_VARIABLES:
            return
        if isinstance(value, ir.Var):
            found.append(value)
        elif isinstance(value, ir.Inst):
            found.extend(value.list_vars())
        elif isinstance(value, list | tuple):
            for part in value:
                fill(part, found)
        elif isinstance(value, dict):
            for part in value.values():
                fill(part, found)

    def list_variables(self: Any, value: Any) -> list[Any]:  # noqa: ARG001
        found: list[Any] = []
        fill(value, found)
        return found

    instruction._rec_list_vars = list_variables  # noqa: SLF001


def remember_sizes(llvm_type: type[Any]) -> None:
    """Ask LLVM once how many bytes a type takes; each time it reads a module written for it."""
    measure = llvm_type.get_abi_size
    sizes: dict[Any, int] = {}

    def get_abi_size(self: Any, target_data: Any, context: Any = None) -> int:
        text = str(self)
        if "%" in text:  # a type that has a name, which is of one module
            size: int = measure(self, target_data, context)
            return size
        if (target_data, text) not in sizes:
            sizes[target_data, text] = measure(self, target_data, context)
        return sizes[target_data, text]

    llvm_type.get_abi_size = get_abi_size


def inline_without_copies(worker: type[Any]) -> None:
    """Inline what has just been made for it as it is.

    numba copies the function twice, and all its variables anew for each of its blocks: to leave it
    as it is for others, and to return it as it was. Here there are no others, and nobody reads
    what `inline_function` returns of it.
    """
    inline = worker.inline_ir

    def inline_function(
        self: Any, caller: Any, block: Any, i: int, function: Any, arg_typs: Any = None
    ) -> Any:
        made = self.run_untyped_passes(function)
        of_made = list(made.blocks.values())
        for one in of_made:
            one.__deepcopy__ = _keep(one)
        free = function.__code__.co_freevars
        try:
            return inline(self, caller, block, i, made, free, arg_typs=arg_typs)
        finally:
            for one in of_made:
                del one.__deepcopy__

    worker.inline_function = inline_function


def _keep(one: Any) -> Any:
    """Return what stands for the copying of an object and gives the object itself."""
    return lambda _: one


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
