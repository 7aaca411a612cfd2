"""Machine code of a kernel that Python calls, with the kernels and functions that it calls inside.

By itself numba optimises each function and emits its machine code, then links it into every caller,
where it is optimised and emitted again; so a chain of calls costs the square of its length. Here
what a kernel calls is a *part*: it is typed, lowered and linked into the kernel, and the whole is
optimised and emitted once. A part that Python calls itself is compiled again, by itself.

Parts are kernels, and numba's own functions that kernels use. Functions of others, which could be
called from Python at any time, are compiled as numba does it.
"""

from typing import Any, Self

from tclose.kernels.compiling.compiled_now import (
    compiles_kernel,
    follow_compiler,
    kernels,
    list_compiled_now,
)
from tclose.kernels.compiling.frugal_compiler import make_frugal, no_garbage_collection
from tclose.security.working_folder import away_from_working_folder

with away_from_working_folder():
    from llvmlite.binding import newpassmanagers
    from numba.core import codegen as code_generation
    from numba.core.environment import lookup_environment
    from numba.core.registry import cpu_target
    from numba.core.targetconfig import ConfigStack

_KIND = "part"  # of serialised code, beside numba's "object" and "bitcode"
_ENVIRONMENT = "_ZN08NumbaEnv"  # how names of constants of a function begin


def is_part(compiled: Any) -> bool:
    """Return whether a compile result of a kernel has no machine code of its own."""
    return compiled.library.is_part


class LinkedLibrary(code_generation.JITCodeLibrary):
    """The code of one function: a part, which is only linked, or a whole, as numba has it."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.is_part = compiles_kernel() and _is_inside()

    def _optimize_functions(self, ll_module: Any) -> None:
        """Make each function smaller, which is linked into others; the whole is optimised later.

        What borrows its arrays does little and often, and is optimised in full here, too, as numba
        does it with all functions, even with those that are only declared.
        """
        codegen = self._codegen
        ll_module.data_layout = codegen._data_layout  # noqa: SLF001  # numba's own
        flags = ConfigStack.top_or_none()
        is_light = flags is not None and flags.nrt
        for function in ll_module.functions:
            if not function.is_declaration:
                manager, passes = (
                    _simplification(codegen) if is_light else codegen._function_pass_manager()  # noqa: SLF001
                )
                manager.run(function, passes)

    def _optimize_final_module(self) -> None:
        if not self.is_part:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self.is_part:
            self._finalize_dynamic_globals()
            self._finalized = True
            return
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self.codegen.set_env(variable.name, environment)

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function; 0 in a part, as where there is none of that name."""
        self._ensure_finalized()
        return 0 if self.is_part else super().get_pointer_to_function(name)

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        """Return the code as it is stored: of a part, what is linked."""
        if not self.is_part:
            return super().serialize_using_object_code()
        self._ensure_finalized()
        return self.name, _KIND, self._final_module.as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Self:
        name, kind, data = state
        if kind != _KIND:
            return super()._unserialize(codegen, state)
        library: Self = codegen.create_library(name)
        library.is_part = True
        library._final_module = code_generation.ll.parse_bitcode(data)  # type: ignore[attr-defined]
        library._finalize_final_module()
        return library


def _is_inside() -> bool:
    """Return whether the function that is being compiled now is one that another one calls."""
    if cpu_target.target_context._codelib_stack:  # noqa: SLF001  # made for the code of another
        return True
    compiled = list_compiled_now()
    innermost = compiled[-1]
    of_numba = innermost.py_func.__module__.startswith("numba.")
    return len(compiled) > 1 and (innermost in kernels or of_numba)


def _simplification(codegen: Any) -> tuple[Any, Any]:
    """Put variables into registers, and join instructions and blocks."""
    manager = newpassmanagers.create_new_function_pass_manager()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    return manager, codegen._pass_builder()  # noqa: SLF001  # it has no other way


def link_parts(dispatcher: Any) -> None:
    """Have what a kernel calls linked into it, and the kernel into those that call it."""
    kernels.add(dispatcher)
    add_overload, compile_signature = dispatcher.add_overload, dispatcher.compile

    def add(compiled: Any) -> None:
        if is_part(compiled):  # nothing that Python could call
            dispatcher.overloads[tuple(compiled.signature.args)] = compiled
        else:
            add_overload(compiled)

    def compile_kind(signature: Any) -> Any:
        wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": compiles_kernel()}
        dispatcher.targetoptions.update(wrappers)
        with no_garbage_collection():
            return compile_signature(signature)

    dispatcher.add_overload, dispatcher.compile = add, compile_kind


def _wrap_only_wholes(context: Any) -> None:
    """Make nothing that C could call a part by: numba does so for each of its own functions.

    ``context``: the class, as numba compiles with copies of its context.
    """
    make = context.create_cfunc_wrapper

    def create_cfunc_wrapper(self: Any, library: Any, *arguments: Any) -> None:
        if not library.is_part:
            make(self, library, *arguments)

    context.create_cfunc_wrapper = create_cfunc_wrapper


def _use_linked_libraries() -> None:
    """Make the compiler of this process use `LinkedLibrary`."""
    make_frugal()
    follow_compiler()
    _wrap_only_wholes(type(cpu_target.target_context))
    codegen = cpu_target.target_context.codegen()
    set_environment = codegen.set_env

    def set_if_there(name: str, environment: Any) -> None:
        if codegen._engine.is_symbol_defined(name):  # noqa: SLF001  # parts are not in it
            set_environment(name, environment)

    codegen._library_class, codegen.set_env = LinkedLibrary, set_if_there  # noqa: SLF001


_use_linked_libraries()
