"""What LLVM is spared is not missed: values, references and errors are as numba has them."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from llvmlite import ir as llvm_ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

from tclose.kernels.compiler import kernel
from tclose.kernels.compiling.frugal_lowering import extract_what_was_inserted


class Pair(NamedTuple):
    """What kernels take as one argument."""

    numbers: Any
    factor: float


@kernel
def walk(pair: Any, others: Any, first: int) -> Any:
    """Do what kernels do: index from both ends, cut, assign, unpack, loop, change an argument."""
    numbers, factor = pair
    found = np.zeros(others.shape)
    for i in range(others.shape[0] - 1, -1, -2):
        for j in range(others.shape[1]):
            found[i, -1 - j] = others[-1 - i, j] * factor
    if first < 0:
        first += numbers.size
        others = others[:1]
    part = numbers[first:]
    part[0] = 7
    best, at = (part.max(), 0) if first else (numbers[-1], 1)
    while first < numbers.size and numbers[first] != best:
        first += 1
    return found, others, (best, at, first)


def _walk(pair: Pair, others: Any, first: int) -> list[Any]:
    numbers = pair.numbers.copy()
    result = walk(Pair(numbers, pair.factor), others, first)
    assert numbers is not result[1]
    return [numbers, *result[:2], np.array(result[2])]


@pytest.mark.parametrize("first", [0, 2, -2])
def test_a_kernel_does_what_python_does(first: int) -> None:
    pair, others = Pair(np.array([3.0, 9.0, 4.0, 8.0]), 0.5), np.arange(12.0).reshape(4, 3)
    numbers = pair.numbers.copy()
    expected = walk.py_func(Pair(numbers, 0.5), others, first)
    for found, known in zip(
        _walk(pair, others, first),
        [numbers, *expected[:2], np.array(expected[2])],
        strict=True,
    ):
        np.testing.assert_array_equal(found, known)


@kernel
def pass_through(array: Any, times: int) -> Any:
    """Return an argument, or an array made of it, after keeping it under other names."""
    kept = (array, array)
    for i in range(times):
        if i % 2:
            kept = (kept[1], array + i)
        else:
            array = kept[0]
    return kept[1] if times else array


@pytest.mark.parametrize("times", [0, 1, 5])
def test_references_are_counted(times: int) -> None:
    pass_through(np.ones(3), 1)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    given = np.ones(3)
    results = [pass_through(given, times) for _ in range(3)]
    np.testing.assert_array_equal(results[0], pass_through.py_func(given, times))
    del results
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.mi_alloc > before.mi_alloc
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
    np.testing.assert_array_equal(given, 1)


@intrinsic
def _change_if(typing_context: Any, condition: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        structure = cgutils.create_struct_proxy(signature.args[1])(context, builder, args[1])
        with builder.if_then(args[0]):
            structure.real = context.get_constant(types.float64, 5)
        total = builder.fadd(structure.real, structure.imag)
        structure.imag = total
        return structure._getvalue()

    return types.complex128(types.boolean, types.complex128), generate


def test_what_is_changed_on_one_way_is_as_it_was_on_the_other() -> None:
    @kernel(borrows=True)
    def change(condition: Any, number: Any) -> Any:
        return _change_if(condition, number)  # type: ignore[call-arg]

    assert [change(c, 1 + 2j) for c in (False, True)] == [1 + 3j, 5 + 7j]


def test_a_structure_of_another_type_is_refused() -> None:
    function = llvm_ir.Function(
        llvm_ir.Module(), llvm_ir.FunctionType(llvm_ir.VoidType(), ()), "function"
    )
    builder = llvm_ir.IRBuilder(function.append_basic_block())
    make = cgutils.create_struct_proxy(types.complex128)
    with pytest.raises(AssertionError, match="bad value type"):
        make(cpu_target.target_context, builder, llvm_ir.IntType(1)(0))


def test_what_was_inserted_is_extracted_without_an_instruction() -> None:
    class Builder(llvm_ir.IRBuilder):  # type: ignore[misc]
        pass

    extract_what_was_inserted(Builder)
    inner = llvm_ir.LiteralStructType([llvm_ir.IntType(8)])
    pair = llvm_ir.LiteralStructType([llvm_ir.IntType(8), inner])
    function = llvm_ir.Function(
        llvm_ir.Module(), llvm_ir.FunctionType(llvm_ir.VoidType(), (pair, inner)), "function"
    )
    builder = Builder(function.append_basic_block())
    given, part = function.args
    changed = builder.insert_value(given, part, 1)
    n_instructions = len(builder.block.instructions)
    assert builder.extract_value(changed, 1) is part
    assert len(builder.block.instructions) == n_instructions
    assert builder.extract_value(changed, [0]).aggregate is given
    assert builder.extract_value(changed, (1, 0)).aggregate is changed
