"""Compiled code on disk: used again, never that of another signature, and never needed."""

import contextlib
import errno
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import llvmlite
import numba
import numpy as np
import pytest
from numba.core.errors import TypingError
from numba.core.registry import cpu_target

from tclose.kernels import compile_lock, compiler
from tclose.kernels.compile_lock import hold_compile_lock
from tclose.kernels.compiler import find_refusal, is_kept, kernel
from tclose.security.trusted_paths import TrustedFolder, open_trusted

TESTS = Path(__file__).parents[1]
WHOLE, REAL = np.array([1, 2, 3]), np.array([0.5, 0.25])


def add(values):
    total = values[0] - values[0]
    for value in values:
        total += value
    return total


@contextlib.contextmanager
def turn_at(path: Path):
    """Have the turn of a path."""
    opened = open_trusted(path.parent)
    try:
        with hold_compile_lock(path.name, opened.descriptor):
            yield
    finally:
        os.close(opened.descriptor)


def counts(dispatcher) -> tuple[int, int]:
    """How many signatures were loaded, and how many compiled."""
    return sum(dispatcher.stats.cache_hits.values()), sum(dispatcher.stats.cache_misses.values())


def compile_both(folder: Path) -> dict[str, Path]:
    """Files of both signatures."""
    first = kernel(add)
    first(WHOLE)
    (whole,) = folder.iterdir()
    first(REAL)
    (real,) = set(folder.iterdir()) - {whole}
    return {"whole": whole, "real": real}


class TestKept:
    def test_each_signature_is_compiled_once(self, folder):
        compile_both(folder)
        again = kernel(add)
        assert (again(WHOLE), again(REAL)) == (6, 0.75)
        assert counts(again) == (2, 0)
        assert is_kept(again)

    def test_constants_and_variables_have_one_code(self, folder):
        @kernel
        def times(value, factor):
            return value * factor

        @kernel
        def both(value):
            return times(value, 3) + times(value, value)

        assert both(2) == 10
        assert len(times.overloads) == 1
        assert len(list(folder.glob("*.part"))) == 1

    @pytest.mark.parametrize(
        ("name", "value"), [("CPU_NAME", "x86-64"), ("BOUNDSCHECK", True), ("OPT", 1)]
    )
    def test_other_processors_and_settings_have_their_own(self, folder, name, value, monkeypatch):
        """What is kept for another one is neither used nor taken for what is there."""
        kernel(add)(WHOLE)
        if name == "CPU_NAME":
            codegen = cpu_target.target_context.codegen()
            monkeypatch.setattr(codegen, "_get_host_cpu_name", lambda: value)
        else:
            monkeypatch.setattr(numba.config, name, value)
        other = kernel(add)
        assert not is_kept(other)
        assert other(WHOLE) == 6
        assert counts(other) == (0, 1)
        assert is_kept(other)
        assert len(list(folder.iterdir())) == 2

    def test_nothing_but_finished_files_is_left(self, folder):
        files = compile_both(folder)
        assert set(folder.iterdir()) == set(files.values())

    def test_other_functions_of_a_name_have_their_own(self, folder):
        compile_both(folder)

        def add(values):
            return values[0] * 100

        other = kernel(add)
        assert other(WHOLE) == 100
        assert counts(other) == (0, 1)

    def test_what_is_flushed_is_gone(self, folder):
        compile_both(folder)
        dispatcher = kernel(add)
        dispatcher._cache.flush()
        assert not is_kept(dispatcher)


def compile_in(folder: Path, start, told) -> None:
    """Compile when all have started, and tell what was done."""
    opened = open_trusted(folder)
    compiler._open_cache = lambda: opened  # type: ignore[assignment]
    dispatcher = kernel(add)
    start.wait(300)
    told.put((dispatcher(WHOLE), *counts(dispatcher)))


def hold_turn(path: Path, held) -> None:
    """Have a turn until killed."""
    with turn_at(path):
        held.set()
        multiprocessing.Event().wait()


@pytest.fixture
def held_turn(folder):
    """The turn of a signature that another process has, which is killed in the end."""
    kernel(add)(WHOLE)
    (code,) = folder.iterdir()
    code.unlink()
    spawn = multiprocessing.get_context("spawn")
    held = spawn.Event()
    path = code.with_suffix(".turn")
    holder = spawn.Process(target=hold_turn, args=(path, held), daemon=True)
    holder.start()
    assert held.wait(300)
    yield path, holder
    holder.kill()
    holder.join()


@pytest.mark.nightly
def test_codes_of_several_processes_call_what_they_were_compiled_with(tmp_path):
    """Their names for functions of the library are their own: of one name the first would count."""

    def call(*names: str, others: int = 0) -> list[str]:
        ended = subprocess.run(
            [sys.executable, "-m", "support.checks.sorting_kernels", str(others), *names],
            env=os.environ | {"PYTHONPATH": str(TESTS), "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        return ended.stdout.splitlines()

    # After so many others the sort of positions has the number that the sort of values had.
    alone = [*call("ascending"), *call("positions", others=3)]
    assert alone == [str([*range(1_000, 1_040)]), str([*range(39, -1, -1)])]
    assert call("ascending", "positions") == alone
    assert call("positions", "ascending") == alone[::-1]


class TestFolderOfSources:
    """Code is found by those sources, and that compiler, alone that it was made of."""

    @pytest.mark.parametrize(
        ("module", "name"),
        [*((one, "__version__") for one in (numba, llvmlite, np)), (sys, "version_info")],
        ids=lambda one: getattr(one, "__name__", one),
    )
    def test_other_versions_have_another(self, module, name, monkeypatch):
        before = compiler._sources_digest()
        monkeypatch.setattr(module, name, (9, 9, 9) if module is sys else "9.9.9")
        assert compiler._sources_digest() != before

    def test_a_source_that_was_moved_has_another(self, tmp_path, monkeypatch):
        monkeypatch.setattr(compiler, "__file__", str(tmp_path / "compiler.py"))
        (tmp_path / "emd").mkdir()
        (tmp_path / "emd" / "sums.py").touch()
        before = compiler._sources_digest()
        (tmp_path / "emd").rename(tmp_path / "distances")
        assert compiler._sources_digest() != before


class TestTurns:
    def test_one_of_those_that_want_it_compiles(self, folder):
        spawn = multiprocessing.get_context("spawn")
        start, told = spawn.Barrier(3), spawn.Queue()
        for _ in range(3):
            spawn.Process(target=compile_in, args=(folder, start, told), daemon=True).start()
        found = sorted(told.get(timeout=300) for _ in range(3))
        assert found == [(6, 0, 1), (6, 1, 0), (6, 1, 0)]
        assert len(list(folder.glob("*.code"))) == 1

    @pytest.mark.nightly
    def test_who_has_waited_for_long_compiles(self, folder, held_turn, monkeypatch):
        monkeypatch.setattr(compile_lock, "LONGEST_WAIT", 0.5)
        dispatcher, start = kernel(add), time.monotonic()
        assert dispatcher(WHOLE) == 6
        assert time.monotonic() - start > 0.5
        assert counts(dispatcher) == (0, 1)

    @pytest.mark.nightly
    def test_who_was_killed_has_no_turn_any_more(self, folder, held_turn):
        path, holder = held_turn
        threading.Timer(0.5, holder.kill).start()
        dispatcher = kernel(add)
        assert dispatcher(WHOLE) == 6
        assert not holder.is_alive()
        assert counts(dispatcher) == (0, 1)
        path.with_suffix(".code").unlink()
        assert kernel(add)(WHOLE) == 6
        assert list(folder.iterdir()) == [path.with_suffix(".code")]

    def test_a_turn_that_cannot_be_removed_hinders_nobody(self, folder, monkeypatch):
        def refuse(path, *, dir_fd=None):
            raise PermissionError(path)

        with monkeypatch.context() as patch:
            patch.setattr("tclose.kernels.compile_lock.os.unlink", refuse)
            with turn_at(folder / "add.turn"):
                pass
        with turn_at(folder / "add.turn"):
            pass
        assert not list(folder.iterdir())

    def test_what_cannot_be_compiled_keeps_no_turn(self, folder):
        with pytest.raises(TypingError):
            kernel(add)("no numbers")
        assert not list(folder.iterdir())


class TestNotAsItSays:
    def test_code_under_the_name_of_another_signature(self, folder):
        """What the compiler's own cache may be left with after two processes compiled at once."""
        files = compile_both(folder)
        files["real"].write_bytes(files["whole"].read_bytes())
        again = kernel(add)
        assert again(REAL) == 0.75
        assert counts(again) == (0, 1)
        assert kernel(add)(REAL) == 0.75

    @pytest.mark.parametrize("n_bytes", [0, 10, 1000, -1])
    def test_code_that_was_cut_off(self, folder, n_bytes):
        files = compile_both(folder)
        files["whole"].write_bytes(files["whole"].read_bytes()[:n_bytes])
        again = kernel(add)
        assert again(WHOLE) == 6
        assert counts(again) == (0, 1)

    def test_one_changed_bit(self, folder):
        files = compile_both(folder)
        stored = bytearray(files["whole"].read_bytes())
        stored[len(stored) // 2] ^= 1
        files["whole"].write_bytes(stored)
        again = kernel(add)
        assert again(WHOLE) == 6
        assert counts(again) == (0, 1)


class TestCompiledAhead:
    """Code in a folder that is only read, as that of an image."""

    @pytest.fixture
    def ahead(self, tmp_path, keep_code_in, read_code_in):
        """That folder with code of one signature, all of it closed; what is new is kept beside."""
        ready = tmp_path / "ready"
        keep_code_in(ready)
        kernel(add)(WHOLE)
        (folder,) = ready.iterdir()
        read_code_in(ready)
        keep_code_in(tmp_path / "own")
        return folder

    def test_is_not_compiled_again(self, ahead, tmp_path):
        dispatcher = kernel(add)
        assert is_kept(dispatcher)
        assert dispatcher(WHOLE) == 6
        assert counts(dispatcher) == (1, 0)
        assert not list((tmp_path / "own").glob("*/*"))

    def test_what_is_not_there_is_kept_beside_it(self, ahead, tmp_path):
        there = set(ahead.iterdir())
        assert kernel(add)(REAL) == 0.75
        again = kernel(add)
        assert again(REAL) == 0.75
        assert counts(again) == (1, 0)
        assert set(ahead.iterdir()) == there
        assert len(list((tmp_path / "own").glob("*/*.code"))) == 1
        again._cache.flush()
        assert set(ahead.iterdir()) == there
        assert not list((tmp_path / "own").glob("*/*"))

    def test_damaged_code_is_compiled_again(self, ahead):
        (path,) = ahead.iterdir()
        path.write_bytes(path.read_bytes()[:-1])
        dispatcher = kernel(add)
        assert dispatcher(WHOLE) == 6
        assert counts(dispatcher) == (0, 1)

    def test_without_another_folder_nothing_is_written(self, ahead, tmp_path, keep_code_in):
        (tmp_path / "file").write_text("")
        keep_code_in(tmp_path / "file")
        there = set(ahead.iterdir())
        dispatcher = kernel(add)
        assert (dispatcher(WHOLE), dispatcher(REAL)) == (6, 0.75)
        assert counts(dispatcher) == (1, 1)
        assert set(ahead.iterdir()) == there

    def test_folder_that_others_can_write_to_is_refused(self, ahead):
        ahead.chmod(0o777)
        assert not is_kept(kernel(add))
        refusal = find_refusal()
        assert refusal.startswith("kernels that were compiled ahead are not read: ")
        assert f"{ahead}: can be written to by others (mode 0777)" in refusal
        assert refusal.endswith("or take TCLOSE_KERNELS out of the environment")

    def test_folder_that_is_not_there_is_told_and_not_made(
        self, tmp_path, keep_code_in, read_code_in
    ):
        keep_code_in(tmp_path / "own")
        read_code_in(tmp_path / "missing")
        assert kernel(add)(WHOLE) == 6
        refusal = find_refusal()
        assert refusal.startswith(f"TCLOSE_KERNELS {tmp_path / 'missing'}: is no folder, so no ")
        assert refusal.endswith("or take TCLOSE_KERNELS out of the environment")
        assert not (tmp_path / "missing").exists()

    def test_kernels_of_another_version_are_told_and_not_read(self, ahead):
        assert find_refusal() == ""
        (ahead.parent / "0123456789abcdef0123").mkdir()
        ahead.rename(ahead.parent / "of another version")
        compiler._open_ready.cache_clear()
        assert not is_kept(kernel(add))
        refusal = find_refusal()
        assert refusal.startswith(f"TCLOSE_KERNELS {ahead.parent}: has no kernels of this version ")
        assert "NUMBA_CACHE_DIR=FOLDER tclose warm-up` and name that one, or take" in refusal


class TestNowhereToKeep:
    def test_a_folder_that_is_no_folder(self, tmp_path, keep_code_in):
        (tmp_path / "file").write_text("")
        keep_code_in(tmp_path / "file")
        assert compiler._open_cache.__wrapped__() is None
        assert "compiled kernels are not kept: there is no folder for them" in find_refusal()

    def test_it_is_compiled_each_time(self, monkeypatch):
        monkeypatch.setattr(compiler, "_open_cache", lambda: None)
        dispatcher = kernel(add)
        assert dispatcher(WHOLE) == 6
        assert not is_kept(dispatcher)

    def test_a_folder_that_has_vanished(self, folder):
        folder.rmdir()
        assert kernel(add)(WHOLE) == 6
        assert not folder.exists()

    def test_a_full_disk_is_remembered(self, folder, monkeypatch):
        def refuse(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(compiler, "_failed_writes", [])
        assert compiler.find_failed_write() == ""
        monkeypatch.setattr(TrustedFolder, "write", refuse)
        assert kernel(add)(WHOLE) == 6
        refusal = compiler.find_failed_write()
        assert f"{folder} cannot be written (No space left on device); make room" in refusal

    def test_the_user_names_the_folder(self, tmp_path, keep_code_in):
        keep_code_in(tmp_path / "mine")
        found = compiler._open_cache.__wrapped__()
        assert isinstance(found, TrustedFolder)
        assert found.path.parent == tmp_path / "mine"
        assert found.path.stat().st_mode & 0o777 == 0o700
