"""Compiled code on disk: used again, never that of another signature, and never needed."""

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from pipeline.kernels import compiled, turns
from pipeline.kernels.compiled import is_kept, kernel
from pipeline.kernels.turns import end_turn, take_turn

WHOLE, REAL = np.array([1, 2, 3]), np.array([0.5, 0.25])


def add(values):
    total = values[0] - values[0]
    for value in values:
        total += value
    return total


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where code is kept meanwhile."""
    monkeypatch.setattr(compiled, "_find_folder", lambda: tmp_path)
    return tmp_path


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
    compiled._find_folder = lambda: folder
    dispatcher = kernel(add)
    start.wait()
    told.put((dispatcher(WHOLE), *counts(dispatcher)))


def hold_turn(path: Path, started) -> None:
    """Have a turn until killed."""
    take_turn(path)
    started.set()
    multiprocessing.Event().wait()


class TestTurns:
    def test_one_of_those_that_want_it_compiles(self, folder):
        spawn = multiprocessing.get_context("spawn")
        start, told = spawn.Barrier(3), spawn.Queue()
        started = [spawn.Process(target=compile_in, args=(folder, start, told)) for _ in range(3)]
        for process in started:
            process.start()
        found = sorted(told.get(timeout=60) for _ in started)
        for process in started:
            process.join()
        assert found == [(6, 0, 1), (6, 1, 0), (6, 1, 0)]
        assert len(list(folder.iterdir())) == 1

    def test_who_was_killed_has_no_turn_any_more(self, tmp_path):
        spawn = multiprocessing.get_context("spawn")
        started = spawn.Event()
        holder = spawn.Process(target=hold_turn, args=(tmp_path / "add.turn", started))
        holder.start()
        assert started.wait(60)
        holder.kill()
        descriptor = take_turn(tmp_path / "add.turn")
        holder.join()
        assert descriptor is not None
        end_turn(tmp_path / "add.turn", descriptor)
        assert not list(tmp_path.iterdir())

    def test_who_has_waited_for_long_compiles(self, folder, monkeypatch):
        kernel(add)(WHOLE)
        (code,) = folder.iterdir()
        code.unlink()
        descriptor = take_turn(code.with_suffix(".turn"))
        monkeypatch.setattr(turns, "LONGEST_WAIT", 0.1)
        dispatcher = kernel(add)
        assert dispatcher(WHOLE) == 6
        assert counts(dispatcher) == (0, 1)
        end_turn(code.with_suffix(".turn"), descriptor)
        assert list(folder.iterdir()) == [code]

    def test_what_cannot_be_compiled_keeps_nobody_waiting(self, folder):
        dispatcher = kernel(add)
        for _ in range(2):
            with pytest.raises(TypingError):
                dispatcher("no numbers")
        assert kernel(add)(WHOLE) == 6


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


class TestNowhereToKeep:
    def test_a_folder_that_is_no_folder(self, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        monkeypatch.setattr(compiled.config, "CACHE_DIR", str(tmp_path / "file"))
        assert compiled._find_folder.__wrapped__() is None

    def test_it_is_compiled_each_time(self, monkeypatch):
        monkeypatch.setattr(compiled, "_find_folder", lambda: None)
        dispatcher = kernel(add)
        assert dispatcher(WHOLE) == 6
        assert not is_kept(dispatcher)

    def test_a_folder_that_has_vanished(self, folder):
        folder.rmdir()
        assert kernel(add)(WHOLE) == 6
        assert not folder.exists()

    def test_the_user_names_the_folder(self, tmp_path, monkeypatch):
        monkeypatch.setattr(compiled.config, "CACHE_DIR", str(tmp_path / "mine"))
        found = compiled._find_folder.__wrapped__()
        assert found.parent == tmp_path / "mine"
        assert os.access(found, os.W_OK)
