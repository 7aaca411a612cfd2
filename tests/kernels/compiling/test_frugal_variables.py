"""What the compiler finds out about a function's variables is what it found before."""

from inspect import getclosurevars
from typing import Any

import numpy as np
import pytest
from numba.core import ir, ssa
from numba.core.compiler import run_frontend

from tclose.kernels.compiling.frugal_variables import list_variables_quickly


def test_variables_are_listed_in_the_same_order() -> None:
    place = ir.Loc("file", 1)
    scope = ir.Scope(None, place)
    a, b, c = (ir.Var(scope, name, place) for name in "abc")

    class Nested(ir.Inst):
        def list_vars(self) -> list[Any]:
            return [b, c]

    class Plain(ir.Inst):
        def _rec_list_vars(self, val: Any) -> list[Any]:  # as numba has it
            if isinstance(val, ir.Var):
                return [val]
            if isinstance(val, ir.Inst):
                return val.list_vars()
            parts = val.values() if isinstance(val, dict) else val
            if isinstance(val, list | tuple | dict):
                return [found for part in parts for found in self._rec_list_vars(part)]
            return []

    class Quick(Plain):
        pass

    list_variables_quickly(Quick)
    value = {"x": [a, (b, None, "c")], "y": Nested(), "z": {"w": c, "v": 1.5}, "u": place, "t": {a}}
    assert Quick()._rec_list_vars(value) == Plain()._rec_list_vars(value) == [a, b, b, c, c]


def mix(values: np.ndarray, k: int) -> float:
    """Variables that are assigned in some blocks, read in others, and in loops within loops."""
    total, last = 0.0, 1.0
    for i in range(k):
        if values[i] > last:
            total += values[i]
            last = values[i]
        else:
            for j in range(i):
                total -= values[j]
                if total < 0.0:
                    last, total = -total, last
                    break
        k -= 1
    return total * last


def rename_all(*, again: bool) -> dict[Any, list[str]]:
    """The statements of `mix` by their blocks, once its variables are renamed, or twice."""
    renamed = ssa.reconstruct_ssa(run_frontend(mix))
    if again:  # as after functions were inlined
        renamed = ssa.reconstruct_ssa(renamed)
    return {label: [str(one) for one in block.body] for label, block in renamed.blocks.items()}


@pytest.mark.parametrize("again", [False, True])
def test_renamed_variables_are_the_same(monkeypatch: pytest.MonkeyPatch, again: bool) -> None:
    """In whatever blocks they are, and with the same names."""
    quick = rename_all(again=again)
    for name, numbas in (("_run_ssa", "run"), ("_run_block_rewrite", "rewrite")):
        replaced = getclosurevars(getattr(ssa, name)).nonlocals[numbas]
        assert replaced.__module__ == ssa.__name__
        monkeypatch.setattr(ssa, name, replaced)
    assert quick == rename_all(again=again)
    assert any("phi" in statement for statements in quick.values() for statement in statements)
