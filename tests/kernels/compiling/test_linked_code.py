"""Kernels that a kernel calls are linked into it, and have machine code where Python calls them."""

import gc
from pathlib import Path

import numba
import numpy as np
import pytest

from tclose.kernels import compiler
from tclose.kernels.compiler import is_kept, kernel
from tclose.kernels.compiling.linked_code import is_part

VALUES = np.array([3.0, 1.0, 2.0])


def make_chain():
    """A kernel that calls one that calls another, and fails for no values."""

    @kernel
    def smallest(values):
        if values.size == 0:
            raise ValueError("no values")
        return values.min()

    @kernel
    def doubled(values):
        return 2 * smallest(values)

    @kernel
    def whole(values):
        return doubled(values) + values.size

    return whole, doubled, smallest


def kinds(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def test_what_a_kernel_calls_is_a_part(folder):
    whole, doubled, inner = make_chain()
    assert whole(VALUES) == 5
    assert kinds(folder) == [".code", ".part", ".part"]
    assert [is_part(next(iter(k.overloads.values()))) for k in (whole, doubled, inner)] == [
        False,
        True,
        True,
    ]
    assert is_kept(whole)
    assert not is_kept(doubled)


def test_a_part_that_python_calls_is_compiled_by_itself(folder):
    whole, doubled, inner = make_chain()
    assert whole(VALUES) == 5
    assert inner(VALUES) == 1
    assert doubled(VALUES) == 2
    assert whole(VALUES) == 5
    assert kinds(folder) == [".code"] * 3 + [".part"] * 2


def test_a_kernel_that_python_called_first_is_linked_too(folder):
    whole, doubled, inner = make_chain()
    assert inner(VALUES) == 1
    assert whole(VALUES) == 5
    assert kinds(folder) == [".code", ".code", ".part"]
    assert doubled(VALUES) == 2


def test_stored_code_has_its_parts_in_it(folder):
    make_chain()[0](VALUES)
    for path in folder.glob("*.part"):
        path.unlink()
    whole, doubled, _ = make_chain()
    assert whole(VALUES) == 5
    assert sum(whole.stats.cache_hits.values()) == 1
    assert not doubled.overloads


def test_stored_parts_are_linked(folder):
    make_chain()[0](VALUES)
    (code,) = folder.glob("*.code")
    code.unlink()
    whole, doubled, inner = make_chain()
    assert whole(VALUES) == 5
    assert sum(doubled.stats.cache_hits.values()) == 1
    assert sum(whole.stats.cache_misses.values()) == 1
    assert not inner.overloads
    assert inner(VALUES) == 1


@pytest.mark.parametrize("again", [False, True])
def test_errors_of_parts_have_their_messages(folder, again):
    if again:
        make_chain()[0](VALUES)
    with pytest.raises(ValueError, match="no values"):
        make_chain()[0](np.empty(0))


def test_functions_of_others_can_be_called_from_python(folder):
    """They are parts of nothing: their own dispatchers hand them out."""

    @numba.njit
    def foreign(values):
        return values.max()

    @kernel
    def calls_it(values):
        return foreign(values)

    @numba.njit
    def calls_kernel(values):
        return calls_it(values)

    assert calls_it(VALUES) == 3
    assert foreign(VALUES) == 3
    assert calls_kernel(VALUES) == 3


def test_without_a_folder_parts_are_linked_too(monkeypatch):
    monkeypatch.setattr(compiler, "_open_cache", lambda: None)
    whole, doubled, inner = make_chain()
    assert (whole(VALUES), doubled(VALUES), inner(VALUES)) == (5, 2, 1)


def test_garbage_is_looked_for_again(folder):
    was_enabled = gc.isenabled()
    gc.enable()
    try:
        assert make_chain()[0](VALUES) == 5
        assert gc.isenabled()
    finally:
        if not was_enabled:
            gc.disable()
