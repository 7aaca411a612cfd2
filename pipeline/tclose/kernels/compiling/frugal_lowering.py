"""Less intermediate code for LLVM to read; what it makes of it is the same.

numba writes each array, range and pair that it looks at into memory of its own, takes the one
field that it wants from there, and clears each variable at its end. LLVM finds out that nothing of
it is needed, which is most of what it does with a kernel. Here a field is taken from the value
itself, and variables that hold no reference to memory are neither read before they are written
nor cleared.

Written for the version of numba that `tclose.kernels.compiling.frugal_compiler` is written for.
"""

import functools
import hashlib
import sys
from typing import Any

from tclose.kernels.compiling.compiled_now import compiles_kernel
from tclose.security.working_folder import away_from_working_folder

with away_from_working_folder():
    from llvmlite.ir import instructions
    from numba.core import cgutils, ir
    from numba.core.cgutils import ValueStructProxy

_IN_MEMORY = ("_value", "_outer_ref")  # pointers of a structure in memory, as numba names them


def extract_what_was_inserted(builder: type[Any]) -> None:
    """Take a member of a structure that has just been put together as what was put in."""
    extract = builder.extract_value

    def extract_value(self: Any, agg: Any, idx: Any, name: str = "") -> Any:
        place = list(idx) if isinstance(idx, tuple | list) else [idx]
        while isinstance(agg, instructions.InsertValue) and len(agg.indices) == len(place) == 1:
            if list(agg.indices) == place:
                return agg.value
            agg = agg.aggregate
        return extract(self, agg, place, name)

    builder.extract_value = extract_value


def keep_structures_as_values(proxy: type[Any]) -> None:
    """Write a structure that has a value into memory only if somebody wants it to be there.

    It is written where numba would have written it, so that it is there on all ways that come by.
    """
    make, get_item, get_value, get_missing = (
        proxy.__init__,
        proxy.__getitem__,
        proxy._getvalue,  # noqa: SLF001
        proxy.__getattr__,
    )

    def __init__(  # noqa: N807
        self: Any, context: Any, builder: Any, value: Any = None, ref: Any = None
    ) -> None:
        if value is None or ref is not None or not isinstance(self, ValueStructProxy):
            make(self, context, builder, value, ref)
            return
        self._context, self._builder = context, builder
        self._datamodel = context.data_model_manager[self._fe_type]
        self._be_type = self._get_be_type(self._datamodel)
        if value.type != self._be_type:
            raise AssertionError(f"bad value type: expected {self._be_type}, got {value.type}")
        self._kept, self._place = value, (builder.block, _last(builder))

    def __getattr__(self: Any, field: str) -> Any:  # noqa: N807
        if field in _IN_MEMORY and _is_kept(self):
            _write(self)
            return self.__dict__[field]
        return get_missing(self, field)

    def __getitem__(self: Any, index: int) -> Any:  # noqa: N807
        if index >= len(self):  # by which numba, iterating over one, finds its end
            raise IndexError(index)
        if _is_kept(self):
            return self._builder.extract_value(self._kept, index)
        return get_item(self, index)

    def _getvalue(self: Any) -> Any:
        return self._kept if _is_kept(self) else get_value(self)

    proxy.__init__, proxy.__getattr__ = __init__, __getattr__
    proxy.__getitem__, proxy._getvalue = __getitem__, _getvalue  # noqa: SLF001


def _is_kept(structure: Any) -> bool:
    """Return whether a structure is a value, and nowhere in memory."""
    return "_kept" in structure.__dict__


def _write(structure: Any) -> None:
    """Write a structure into memory, from where on it is read and changed."""
    value, builder = structure.__dict__.pop("_kept"), structure._builder  # noqa: SLF001
    pointer = cgutils.alloca_once(builder, value.type)
    structure._value = structure._outer_ref = pointer  # noqa: SLF001
    _store_after(builder, structure._place, value, pointer)  # noqa: SLF001


def _last(builder: Any) -> Any:
    """Return the instruction that the builder writes after; None: it begins the block."""
    at = builder._anchor  # noqa: SLF001
    return builder.block.instructions[at - 1] if at else None


def _store_after(builder: Any, place: tuple[Any, Any], value: Any, pointer: Any) -> None:
    """Store a value after an instruction of a block, and leave the builder where it is."""
    block, after = place
    here, at = builder.block, builder._anchor  # noqa: SLF001
    if after is None:
        builder.position_at_start(block)
    else:
        builder.position_after(after)
    is_before = here is block and builder._anchor <= at  # noqa: SLF001
    builder.store(value, pointer)
    builder._block, builder._anchor = here, at + is_before  # noqa: SLF001


def make_array_classes_once(module: Any) -> None:
    """Make one class of structures for each type of array, which reads the shape as a value."""
    original = module.make_array

    @functools.cache
    def make_array(array_type: Any) -> Any:
        numbas: Any = original(array_type)

        class Array(numbas):  # type: ignore[misc]
            @property
            def shape(self) -> Any:
                return self[self._datamodel.get_field_position("shape")]

        return Array

    def make_array_of(array_type: Any) -> Any:
        return make_array(array_type) if compiles_kernel() else original(array_type)

    for known in list(sys.modules.values()):
        if vars(known).get("make_array") is original:
            known.make_array = make_array_of  # type: ignore[attr-defined]


def keep_arguments_as_values(lower: type[Any]) -> None:
    """Let a variable that holds an argument and nothing else be the argument.

    Who calls a function holds what it hands over until it is back, so nobody counts that, either.
    """
    allocate, load, store, delete, assign = (
        lower._alloca_var,  # noqa: SLF001
        lower.loadvar,
        lower.storevar,
        lower.delvar,
        lower.lower_assign,
    )

    def arguments(self: Any) -> dict[str, Any]:
        if "_arguments" not in self.__dict__:
            self._arguments = dict.fromkeys(_lasting_arguments(self))
        found: dict[str, Any] = self._arguments
        return found

    def _alloca_var(self: Any, name: str, fetype: Any) -> None:
        if name not in arguments(self):
            allocate(self, name, fetype)

    def loadvar(self: Any, name: str) -> Any:
        return arguments(self)[name] if name in arguments(self) else load(self, name)

    def storevar(self: Any, value: Any, name: str, argidx: int | None = None) -> None:
        if name in arguments(self):
            arguments(self)[name] = value
        else:
            store(self, value, name, argidx)

    def delvar(self: Any, name: str) -> None:
        if name not in arguments(self):
            delete(self, name)

    def lower_assign(self: Any, ty: Any, inst: Any) -> Any:
        if inst.target.name not in arguments(self):
            return assign(self, ty, inst)
        self.incref = lambda *_: None
        try:
            return assign(self, ty, inst)
        finally:
            del self.incref

    lower._alloca_var, lower.loadvar = _alloca_var, loadvar  # noqa: SLF001
    lower.storevar, lower.delvar, lower.lower_assign = storevar, delvar, lower_assign


def _lasting_arguments(lower: Any) -> set[str]:
    """Names of the variables of a function that hold an argument and are assigned nothing else."""
    function = lower.func_ir
    if function.is_generator or lower._disable_sroa_like_opt:  # noqa: SLF001  # for a debugger
        return set()
    of_arguments, others = set(), set()
    for block in function.blocks.values():
        for assigned in block.find_insts(ir.Assign):
            name = assigned.target.name
            if isinstance(assigned.value, ir.Arg) and name not in of_arguments:
                of_arguments.add(name)
            else:
                others.add(name)
    return of_arguments - others


def leave_plain_variables(lower: type[Any]) -> None:
    """Neither read a variable before it is written nor clear it, if it holds no reference."""
    store, delete = lower.storevar, lower.delvar

    def is_plain(self: Any, name: str) -> bool:
        if self._disable_sroa_like_opt:  # variables can be looked at in a debugger
            return False
        model = self.context.data_model_manager[self.typeof(name)]
        return not (self.context.enable_nrt and model.contains_nrt_meminfo())

    def storevar(self: Any, value: Any, name: str, argidx: int | None = None) -> None:
        if not is_plain(self, name):
            store(self, value, name, argidx)
        elif name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def delvar(self: Any, name: str) -> None:
        if not is_plain(self, name):
            delete(self, name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    lower.storevar, lower.delvar = storevar, delvar


def count_references_only(runtime: type[Any]) -> None:
    """Look for references to memory only in members that have some."""

    def get_meminfos(self: Any, builder: Any, ty: Any, val: Any) -> list[Any]:
        models = self._context.data_model_manager
        found = []
        if models[ty].has_nrt_meminfo():
            found.append((ty, models[ty].get_nrt_meminfo(builder, val)))
        for of_member, get in models[ty].traverse(builder):
            if models[of_member].contains_nrt_meminfo():
                found += get_meminfos(self, builder, of_member, get(val))
        return found

    _ = runtime.get_meminfos  # an AttributeError if there is none
    runtime.get_meminfos = get_meminfos


def name_briefly(context: type[Any]) -> None:
    """Name a function by a digest of its arguments' types, which numba writes out in full.

    That is some thousand characters for each mention of a function that takes a block.
    """
    mangle = context.mangler

    def mangler(self: Any, name: str, types: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
        digest = hashlib.sha256(repr(tuple(types)).encode()).hexdigest()[:20]
        brief: str = mangle(self, name, (), abi_tags=(*abi_tags, digest), uid=uid)
        return brief

    context.mangler = mangler
