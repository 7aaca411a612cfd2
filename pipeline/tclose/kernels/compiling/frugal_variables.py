"""Less work for numba with the variables of a function that it compiles; see `frugal_compiler`."""

import copy
import operator
from collections.abc import Iterable
from typing import Any

from tclose.security.working_folder import away_from_working_folder

with away_from_working_folder():
    from numba.core import ir, transforms
    from numba.core.postproc import VariableLifetime

# What has no variable of numba's intermediate code in it, and is most of what an instruction has.
_WITHOUT_VARIABLES = frozenset(
    {str, int, float, bool, type(None), type(operator.add), ir.Loc}
    | {ir.Const, ir.Global, ir.FreeVar, ir.Arg}
)


def list_variables_quickly(instruction: type[Any]) -> None:
    """List an instruction's variables with one list, and fewer questions about what has none."""
    _ = instruction._rec_list_vars  # noqa: SLF001  # an AttributeError if there is none

    def fill(values: Iterable[Any], found: list[Any]) -> None:
        for value in values:
            kind = type(value)
            if kind is ir.Var:
                found.append(value)
            elif kind in _WITHOUT_VARIABLES:
                continue
            elif isinstance(value, ir.Inst):
                found.extend(value.list_vars())
            elif isinstance(value, list | tuple):
                fill(value, found)
            elif isinstance(value, dict):
                fill(value.values(), found)

    def list_variables(self: Any, value: Any) -> list[Any]:  # noqa: ARG001
        found: list[Any] = []
        fill((value,), found)
        return found

    instruction._rec_list_vars = list_variables  # noqa: SLF001


def follow_variables_on_demand(processor: type[Any]) -> None:
    """Find out where variables are alive only if somebody asks for it.

    numba does so after each pass that changes a function, ten times in all. It needs to know when
    it marks where variables end, which it does twice, and in generators.
    """
    run_all = processor.run

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        if function.is_generator:
            run_all(self, emit_dels, extend_lifetimes)
            return
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)
        function.generator_info = None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    processor.run = run


def rename_where_mentioned(module: Any) -> None:
    """Look for a variable that is assigned more than once in those blocks only that mention it.

    numba goes through the whole function for each such variable, twice.
    """
    run, rewrite = module._run_ssa, module._run_block_rewrite  # noqa: SLF001
    mentioned: list[dict[Any, set[str]]] = []  # by the label of the block; the innermost run's last

    def _run_ssa(blocks: dict[Any, Any]) -> Any:
        mentioned.append({label: _list_names(block) for label, block in blocks.items()})
        try:
            return run(blocks)
        finally:
            mentioned.pop()

    def _run_block_rewrite(blocks: dict[Any, Any], states: Any, handler: Any) -> dict[Any, Any]:
        names, name = mentioned[-1], states["varname"]
        some = {label: block for label, block in blocks.items() if name in names[label]}
        others = {label: copy.copy(block) for label, block in blocks.items() if label not in some}
        renamed = others | rewrite(some, states, handler)
        return {label: renamed[label] for label in blocks}

    module._run_ssa, module._run_block_rewrite = _run_ssa, _run_block_rewrite  # noqa: SLF001


def _list_names(block: Any) -> set[str]:
    return {variable.name for statement in block.body for variable in statement.list_vars()}
