"""What is replaced in the compiler answers as before, or is left as it is."""

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest
from llvmlite import ir as llvm_ir
from llvmlite.binding import ffi
from numba.core import errors, ir, ssa, types
from numba.core.base import BaseContext
from numba.core.cgutils import _StructProxy
from numba.core.compiler import Flags
from numba.core.inline_closurecall import InlineWorker
from numba.core.lowering import Lower
from numba.core.postproc import PostProcessor
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack
from numba.core.typing.context import BaseContext as BaseTypingContext
from numba.core.typing.templates import Signature, _OverloadFunctionTemplate
from numba.np import arrayobj, linalg

from tclose.kernels.compiler import kernel
from tclose.kernels.compiling.frugal_compiler import (
    inline_without_copies,
    make_frugal,
    no_garbage_collection,
    remember_attributes,
    remember_call_types,
    remember_sizes,
    share_functions,
)


def test_with_another_version_all_is_left_as_it_is() -> None:
    before = types.Function.get_call_type, InlineWorker.inline_function
    make_frugal((0, 1))
    assert before == (types.Function.get_call_type, InlineWorker.inline_function)


def test_with_the_locked_version_all_is_replaced() -> None:
    colours: Any = type(errors.termcolor())
    replaced = (
        types.Function.get_call_type,
        _OverloadFunctionTemplate._get_impl,
        types.Type.__eq__,
        types.Type.__hash__,
        types.Type.__reduce__,
        BaseTypingContext.find_matching_getattr_template,
        llvm_ir.Type.get_abi_size,
        InlineWorker.inline_function,
        BaseContext.get_function,
        BaseTypingContext.resolve_value_type,
        colours._markup,
    )
    assert {one.__module__ for one in replaced} == {"tclose.kernels.compiling.frugal_compiler"}
    followed = (
        ir.Inst._rec_list_vars,
        PostProcessor.run,
        ssa._run_ssa,
        ssa._run_block_rewrite,
    )
    assert {one.__module__ for one in followed} == {"tclose.kernels.compiling.frugal_variables"}
    lowered = (
        llvm_ir.IRBuilder.extract_value,
        _StructProxy.__getitem__,
        arrayobj.make_array,
        vars(linalg)["make_array"],
        Lower.storevar,
        Lower.lower_assign,
        NRTContext.get_meminfos,
        BaseContext.mangler,
    )
    assert {one.__module__ for one in lowered} == {"tclose.kernels.compiling.frugal_lowering"}
    assert not ffi.lib._lock._cblist


class TestCallTypes:
    def test_are_resolved_once_for_each_kind_of_call(self) -> None:
        calls = []

        class Function:
            def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
                calls.append(args)
                return Signature(args[0], args, None)

        remember_call_types(Function)
        function, context = Function(), object()
        one, other = (types.int64, types.int64), (types.float64, types.int64)
        first = function.get_call_type(context, one, {})
        assert function.get_call_type(context, list(one), ()) is first
        assert function.get_call_type(context, other, {}).return_type == types.float64
        assert function.get_call_type(context, one, {"out": types.int64}) is not first
        assert Function().get_call_type(context, one, {}) is not first
        assert calls == [one, other, one, one]

    def test_that_are_not_found_are_sought_again(self) -> None:
        answers = iter([None, "found"])

        class Function:
            def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
                return next(answers)

        remember_call_types(Function)
        function = Function()
        assert function.get_call_type(None, (), {}) is None
        assert function.get_call_type(None, (), {}) == "found"


def test_numbas_functions_are_compiled_once_for_callers_of_other_flags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[Any] = []

    class Template:
        context, _impl_cache = object(), {}

        def _build_impl(self, key: Any, args: Any, kws: Any) -> Any:
            built.append((args, kws))
            self._impl_cache[key] = len(built), args
            return self._impl_cache[key]

        def _get_impl(self, args: Any, kws: Any) -> Any: ...

    share_functions(Template)
    flags: Any = Flags()
    monkeypatch.setattr(ConfigStack, "top_or_none", lambda: flags)
    first = Template()._get_impl((types.int64,), {})
    flags.release_gil = flags.no_cpython_wrapper = True
    assert Template()._get_impl((types.int64,), {}) is first
    assert Template()._get_impl((types.float64,), {}) is not first
    flags.nrt = True
    assert Template()._get_impl((types.int64,), {}) is not first
    assert len(built) == 3


def test_a_types_attribute_is_looked_for_until_it_is_found() -> None:
    asked: list[Any] = []

    class Context:
        def find_matching_getattr_template(self, typ: Any, attr: str) -> Any:
            asked.append((typ, attr))
            return {"template": attr} if len(asked) > 1 else None

    remember_attributes(Context)
    context: Any = Context()
    answers = [context.find_matching_getattr_template(types.int64, "real") for _ in range(3)]
    assert answers == [None, {"template": "real"}, {"template": "real"}]
    assert context.find_matching_getattr_template(types.float64, "real") is not answers[1]
    assert len(asked) == 3


def test_types_compare_as_before_and_are_stored_without_their_hash() -> None:
    """The hash of a text is another one in the process that reads the type."""
    rows = types.Array(types.float64, 2, "C")
    pairs = types.UniTuple(rows, 2)
    hash(pairs)
    stored = pickle.dumps(pairs)
    assert b"_hash" not in stored
    assert pickle.loads(stored) is pairs
    assert pairs == types.UniTuple(types.Array(types.float64, 2, "C"), 2)
    assert pairs not in (types.UniTuple(rows, 3), types.Array(types.float64, 2, "F"), "pairs")


def test_a_type_is_measured_once_unless_it_has_a_name() -> None:
    measured = []

    class Type:
        def __init__(self, text: str) -> None:
            self.text = text

        def __str__(self) -> str:
            return self.text

        def get_abi_size(self, target_data: Any, context: Any = None) -> int:
            measured.append(self.text)
            return len(self.text)

    remember_sizes(Type)
    sizes = [Type(text).get_abi_size("here") for text in ("i64", "i64", "%named", "%named")]
    assert sizes == [3, 3, 6, 6]
    assert Type("i64").get_abi_size("elsewhere") == 3
    assert measured == ["i64", "%named", "%named", "i64"]


def test_sizes_are_those_of_the_processor() -> None:
    data = cpu_target.target_context.target_data
    pair = llvm_ir.LiteralStructType([llvm_ir.IntType(8), llvm_ir.DoubleType()])
    assert [pair.get_abi_size(data), llvm_ir.IntType(32).get_abi_size(data)] == [16, 4]


def test_what_is_inlined_is_not_copied_and_can_be_afterwards() -> None:
    class Block:
        pass

    class Made:
        blocks = {0: Block(), 1: Block()}  # noqa: RUF012

    class Worker:
        def run_untyped_passes(self, function: Any) -> Any:
            return Made

        def inline_ir(self, *args: Any, arg_typs: Any = None) -> Any:
            made = args[3]
            return args[:3], [copy.deepcopy(b) for b in made.blocks.values()], args[4], arg_typs

    inline_without_copies(Worker)
    worker: Any = Worker()
    caller, blocks, free, given = worker.inline_function(1, 2, 3, lambda: None, arg_typs=4)
    assert (caller, free, given) == ((1, 2, 3), (), 4)
    assert blocks == list(Made.blocks.values())
    assert copy.deepcopy(Made.blocks[0]) is not Made.blocks[0]


def test_a_function_that_is_inlined_several_times_is_itself_each_time() -> None:
    @kernel(inline="always")
    def lower_half(values: Any, bound: Any) -> Any:
        total = 0
        for value in values:
            if value < bound:
                total += value
        return total

    @kernel
    def sums(values: Any) -> Any:
        return lower_half(values, 3), lower_half(values, 5), lower_half(values[1:], 5)

    assert sums(np.arange(6)) == (3, 10, 10)
    assert lower_half(np.arange(6), 4) == 6


def test_garbage_is_looked_for_again_afterwards() -> None:
    with no_garbage_collection():
        assert not gc.isenabled()
        with no_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
