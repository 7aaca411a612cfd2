"""What is replaced in the compiler answers as before, or is left as it is."""

import gc
import os
from typing import Any

import pytest
from numba.core.compiler import Flags
from numba.core.targetconfig import TargetConfig

from tclose.kernels.frugal_compiler import (
    Bodies,
    compare_flags_quickly,
    make_comparing_cheap,
    no_garbage_collection,
    without_highlighting,
)


def test_flags_have_the_values_that_the_compiler_collects() -> None:
    flags: Any = Flags()
    flags.nrt, flags.release_gil = True, True
    assert "values" in vars(Flags)
    assert flags.values() == TargetConfig.values(flags)
    assert list(flags.values()) == list(TargetConfig.values(flags))


def test_flags_are_equal_and_hash_alike_whether_defaults_are_set_or_not() -> None:
    plain: Any = Flags()
    set_to_default: Any = Flags()
    other: Any = Flags()
    set_to_default.nrt = plain.nrt
    other.nrt = not plain.nrt
    assert plain == set_to_default
    assert hash(plain) == hash(set_to_default)
    assert plain != other


def test_flags_that_answer_otherwise_are_left_as_they_are() -> None:
    class Changed(Flags):
        def values(self) -> dict[str, Any]:
            return {"of a later version": True}

    compare_flags_quickly(Changed)
    assert Changed().values() == {"of a later version": True}


def test_flags_of_another_make_are_left_as_they_are() -> None:
    class Other:
        pass

    make_comparing_cheap(Other)
    assert not hasattr(Other, "values")


def test_only_functions_with_code_are_optimised() -> None:
    class Function:
        def __init__(self, declared: bool) -> None:
            self.is_declaration = declared

    class Module:
        data_layout = ""
        functions = (Function(True), Function(False))

    module = Module()
    bodies = Bodies(module)
    bodies.data_layout = "e"
    assert module.data_layout == "e" == bodies.data_layout
    assert bodies.functions == [module.functions[1]]


def test_garbage_is_looked_for_again_afterwards() -> None:
    with no_garbage_collection():
        assert not gc.isenabled()
        with no_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize("before", [None, "0"])
def test_the_setting_of_the_colours_is_as_before(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"
    monkeypatch.delenv(name, raising=False)
    if before is not None:
        monkeypatch.setenv(name, before)
    with without_highlighting():
        assert os.environ[name] == "1"
    assert os.environ.get(name) == before
