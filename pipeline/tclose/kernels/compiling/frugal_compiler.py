"""Less work for numba itself while it compiles; the code that comes out is the same.

Each of these has numba do once what it does again and again, or leave out what nobody reads. They
are written for one version of numba and are used with no other, which is left as it is; so it is
where it has no such method, and where it compiles a function that is no kernel: that is the user's.
"""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

from tclose.kernels.compiling.compiled_now import compiles_kernel
from tclose.kernels.compiling.frugal_lowering import (
    count_references_only,
    extract_what_was_inserted,
    keep_arguments_as_values,
    keep_structures_as_values,
    leave_plain_variables,
    make_array_classes_once,
    name_briefly,
)
from tclose.kernels.compiling.frugal_variables import (
    follow_variables_on_demand,
    list_variables_quickly,
    rename_where_mentioned,
)
from tclose.security.working_folder import away_from_working_folder

with away_from_working_folder():
    import numba
    from llvmlite import ir as llvm_ir
    from llvmlite.binding import ffi
    from numba.core import errors, ir, ssa, types
    from numba.core.base import BaseContext
    from numba.core.cgutils import _StructProxy
    from numba.core.inline_closurecall import InlineWorker
    from numba.core.lowering import Lower
    from numba.core.postproc import PostProcessor
    from numba.core.runtime.context import NRTContext
    from numba.core.targetconfig import ConfigStack
    from numba.core.typing import templates
    from numba.core.typing.context import BaseContext as BaseTypingContext
    from numba.np import arrayobj

WRITTEN_FOR = (0, 68)  # of numba, as pyproject.toml asks for


def make_frugal(version: tuple[int, int] = numba.version_info.short) -> None:
    """Have numba do less, if it is of the version that this is written for."""
    if version != WRITTEN_FOR:
        return
    of_kernels: tuple[tuple[Callable[[Any], None], Any], ...] = (
        (remember_call_types, types.Function),
        (share_functions, templates._OverloadFunctionTemplate),  # noqa: SLF001
        (remember_attributes, BaseTypingContext),
        (inline_without_copies, InlineWorker),
        (follow_variables_on_demand, PostProcessor),
        (know_arrays_as_such, BaseContext),
        (remember_function_types, BaseTypingContext),
        (extract_what_was_inserted, llvm_ir.IRBuilder),
        (keep_structures_as_values, _StructProxy),
        (leave_plain_variables, Lower),
        (keep_arguments_as_values, Lower),
        (count_references_only, NRTContext),
        (name_briefly, BaseContext),
    )
    of_all: tuple[tuple[Callable[[Any], None], Any], ...] = (
        (compare_types_quickly, types.Type),
        (list_variables_quickly, ir.Inst),
        (rename_where_mentioned, ssa),
        (remember_sizes, llvm_ir.Type),
        (write_plain_messages, errors),
        (make_array_classes_once, arrayobj),
        (announce_no_calls, ffi.lib._lock),  # noqa: SLF001
    )
    for replace, owner in of_kernels:
        with contextlib.suppress(AttributeError):
            replace_for_kernels(replace, owner)
    for replace, owner in of_all:
        with contextlib.suppress(AttributeError):
            replace(owner)


def replace_for_kernels(replace: Callable[[Any], None], owner: type[Any]) -> None:
    """Replace methods of a class while kernels are compiled; others get what was there before."""
    before = {name: getattr(owner, name) for name in dir(owner)}
    replace(owner)
    for name, new in list(vars(owner).items()):
        if callable(new) and name in before and new is not before[name]:
            setattr(owner, name, _either(new, before[name]))


def _either(for_kernels: Any, for_others: Any) -> Any:
    """Return a method that is one of two."""

    @functools.wraps(for_kernels)
    def method(*args: Any, **kwargs: Any) -> Any:
        return (for_kernels if compiles_kernel() else for_others)(*args, **kwargs)

    return method


def remember_call_types(function: type[Any]) -> None:
    """Resolve calls of one of numba's own functions with arguments of the same types once.

    It goes through all ways to add two numbers, for instance, at each addition. What it finds
    depends on the types, and on the flags that are handed on. A call that does not resolve is tried
    again, as what is raised says where it stands.
    """
    resolve = function.get_call_type
    resolved: dict[int, tuple[Any, dict[Any, Any]]] = {}  # by the function, which is kept

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        _, of_function = resolved.setdefault(id(self), (self, {}))
        key = context, tuple(args), tuple(dict(kws).items()), _flags_handed_on()
        if key not in of_function:
            signature = resolve(self, context, args, kws)
            if signature is None:
                return None
            of_function[key] = signature
        return of_function[key]

    function.get_call_type = get_call_type


def share_functions(template: type[Any]) -> None:
    """Compile one of numba's own functions once for callers whose other flags differ.

    numba has one for each set of its callers' flags, most of which say how the caller itself is
    compiled.
    """
    build = template._build_impl  # noqa: SLF001

    def _get_impl(self: Any, args: Any, kws: Any) -> Any:
        key = self.context, tuple(args), tuple(kws.items()), _flags_handed_on()
        if key in self._impl_cache:
            return self._impl_cache[key]
        return build(self, key, args, kws)

    _ = template._get_impl  # noqa: SLF001  # an AttributeError if there is none
    template._get_impl = _get_impl  # noqa: SLF001


def _flags_handed_on() -> tuple[Any, ...]:
    """Return the flags that a function has from the one that calls it, see `CPUTargetOptions`."""
    flags = ConfigStack.top_or_none()
    if flags is None:
        return ()
    return flags.nrt, flags.error_model, flags.forceinline, frozenset(flags.fastmath.flags)


def remember_attributes(context: type[Any]) -> None:
    """Look for the template of a type's attribute once; there are some for each kind of type."""
    find = context.find_matching_getattr_template
    found: dict[tuple[Any, ...], Any] = {}

    def find_matching_getattr_template(self: Any, typ: Any, attr: str) -> Any:
        key = self, typ, attr
        if key not in found:
            template = find(self, typ, attr)
            if template is None:  # until a module declares it
                return None
            found[key] = template
        return found[key]

    context.find_matching_getattr_template = find_matching_getattr_template


def compare_types_quickly(kind: Any) -> None:
    """Compare a type with itself, as nearly always, without going through what it is made of.

    And compute its hash once, which for a block of classes is made of those of hundreds of arrays.
    It is left out where the type is stored, as those of texts are others in another process.
    """
    compare, compute, reduce = kind.__eq__, kind.__hash__, kind.__reduce__

    def is_same(self: Any, other: object) -> Any:
        return self is other or compare(self, other)

    def find_hash(self: Any) -> int:
        own = self.__dict__
        if "_hash" not in own:
            own["_hash"] = compute(self)
        found: int = own["_hash"]
        return found

    def take_apart(self: Any) -> Any:
        rebuild, (*how, state) = reduce(self)
        return rebuild, (*how, {name: of_one for name, of_one in state.items() if name != "_hash"})

    kind.__eq__, kind.__hash__ = is_same, find_hash
    kind.__reduce__ = take_apart


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


def know_arrays_as_such(context: type[Any]) -> None:
    """Look for no new way to make an array of an array, while there is none for anything.

    numba looks whenever it touches an array, and then through all its modules for new functions.
    """
    find = context.get_function

    def get_function(self: Any, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if isinstance(fn, str) and fn == "__array__" and not self._defns[fn].versions:
            raise NotImplementedError(fn)
        return find(self, fn, sig, _firstcall)

    context.get_function = get_function


def remember_function_types(context: type[Any]) -> None:
    """Ask once whether one of numba's functions is a value of another kind, such as a buffer."""
    resolve = context.resolve_value_type
    functions: dict[int, Any] = {}  # by their number, and kept, so that it stays theirs

    def resolve_value_type(self: Any, val: Any) -> Any:
        if id(val) in functions:
            return self._get_global_type(val)
        found = resolve(self, val)
        if isinstance(found, types.Function):
            functions[id(val)] = val
        return found

    context.resolve_value_type = resolve_value_type


def write_plain_messages(messages: Any) -> None:
    """Write messages without colours, and set up no terminal for each: most are never shown."""
    colours = type(messages.termcolor())

    def _markup(self: Any, msg: str, color: Any = None, style: Any = None) -> str:  # noqa: ARG001
        return msg

    _ = colours._markup  # noqa: SLF001  # an AttributeError if there is none
    colours._markup = _markup  # noqa: SLF001


def announce_no_calls(lock: Any) -> None:
    """Tell nobody of each call of LLVM, a hundred thousand times: nobody listens here."""
    for pair in list(lock._cblist):  # noqa: SLF001
        if pair[0].__module__ == BaseContext.__module__:
            lock.unregister(*pair)


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
