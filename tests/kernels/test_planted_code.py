"""Code that somebody else can have put into the cache is never run, and the user is told."""

import hashlib
import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tclose.kernels import compiler
from tclose.kernels.compiler import find_refusal, kernel
from tclose.methods.method import Method
from tclose.passes.plan.notices import compile_notice
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress

WHOLE = np.array([1, 2, 3])
NOBODY = 65_534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of another user")


def add(values):
    total = values[0] - values[0]
    for value in values:
        total += value
    return total


class Planted:
    """What leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def plant(folder: Path, mark: Path) -> None:
    """Put code under the name of every file there, with the digest that it has to have."""
    data = pickle.dumps(Planted(mark))
    for path in folder.glob("*.code"):
        path.unlink()
        path.write_bytes(hashlib.sha256(data).digest() + data)


@pytest.fixture
def cache(tmp_path, keep_code_in):
    """The folder that NUMBA_CACHE_DIR names, with code of `add` below it."""
    home = tmp_path / "cache"
    keep_code_in(home)
    assert kernel(add)(WHOLE) == 6
    (folder,) = home.iterdir()
    assert list(folder.glob("*.code"))
    compiler._open_cache.cache_clear()
    return folder


def load(tmp_path: Path) -> bool:
    """Whether the kernel still gives what it should, and whether planted code was run."""
    assert kernel(add)(WHOLE) == 6
    return (tmp_path / "mark").exists()


def test_planted_code_would_run_in_a_folder_that_is_ours(cache, tmp_path):
    """The test can fail: what is in a private folder is believed."""
    plant(cache, tmp_path / "mark")
    with pytest.raises(TypeError):
        kernel(add)(WHOLE)
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o1777])
def test_folder_that_others_can_write_to_is_refused(mode, cache, tmp_path):
    plant(cache, tmp_path / "mark")
    cache.chmod(mode)
    assert not load(tmp_path)
    assert f"{cache}: can be written to by others (mode {mode:04o})" in find_refusal()
    assert "NUMBA_CACHE_DIR" in find_refusal()


def test_folder_above_that_others_can_write_to_gives_nobody_a_way_in(cache, tmp_path):
    """A folder of ours in it stays believed; one that stands in its place does not."""
    cache.parent.chmod(0o777)
    assert not load(tmp_path)
    assert not find_refusal()
    compiler._open_cache.cache_clear()
    moved = cache.with_name("moved")
    cache.rename(moved)
    cache.symlink_to(moved)
    plant(moved, tmp_path / "mark")
    assert not load(tmp_path)
    assert f"{cache}: is a link that others can have made" in find_refusal()


@needs_root
def test_folder_of_another_user_is_refused(cache, tmp_path):
    plant(cache, tmp_path / "mark")
    os.chown(cache, NOBODY, NOBODY)
    assert not load(tmp_path)
    assert f"{cache}: belongs to another user (id {NOBODY})" in find_refusal()


@needs_root
@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_folder_that_another_user_made_first_is_refused(mode, cache, tmp_path):
    """In a shared folder, as TMPDIR is, under the name that ours would have."""
    plant(cache, tmp_path / "mark")
    home = cache.parent
    home.chmod(mode)
    os.chown(home, 0 if mode == 0o1777 else NOBODY, -1)
    for path in (cache, *cache.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    assert not load(tmp_path)
    assert "belongs to another user" in find_refusal()


@needs_root
def test_file_of_another_user_is_compiled_anew(cache, tmp_path):
    plant(cache, tmp_path / "mark")
    for path in cache.glob("*.code"):
        os.chown(path, NOBODY, NOBODY)
    assert not load(tmp_path)
    assert not find_refusal()
    assert kernel(add).stats.cache_hits.total() == 0


def test_file_that_others_can_write_to_is_compiled_anew(cache, tmp_path):
    plant(cache, tmp_path / "mark")
    for path in cache.glob("*.code"):
        path.chmod(0o666)
    assert not load(tmp_path)


def test_link_among_the_files_is_compiled_anew(cache, tmp_path):
    plant(cache, tmp_path / "mark")
    for path in list(cache.glob("*.code")):
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
    assert not load(tmp_path)


def test_fifo_among_the_files_is_not_waited_for(cache, tmp_path):
    for path in list(cache.glob("*.code")):
        path.unlink()
        os.mkfifo(path, 0o600)
    assert not load(tmp_path)


def test_folder_that_is_swapped_after_the_check_is_not_used(cache, tmp_path):
    kernel(add)  # opens it
    cache.rename(cache.with_name("ours"))
    cache.mkdir()
    for path in cache.with_name("ours").iterdir():
        (cache / path.name).touch()
    plant(cache, tmp_path / "mark")
    assert not load(tmp_path)


def use_as_nobody(told) -> None:
    """Call the kernel as a user who can only read the cache."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    compiler._open_cache.cache_clear()
    dispatcher = kernel(add)
    told.put((int(dispatcher(WHOLE)), sum(dispatcher.stats.cache_hits.values()), find_refusal()))


@needs_root
def test_cache_of_root_that_a_user_may_read_is_used(cache, tmp_path):
    """As an image has it: of root, and nothing for others to write to."""
    above = [p for p in tmp_path.parents if p.stat().st_mode & 0o055 != 0o055]
    for path in (*above, tmp_path, cache.parent, cache):
        path.chmod(path.stat().st_mode | 0o055)
    for path in cache.iterdir():
        path.chmod(0o644)
    fork = multiprocessing.get_context("fork")
    told = fork.Queue()
    fork.Process(target=use_as_nobody, args=(told,), daemon=True).start()
    assert told.get(timeout=300) == (6, 1, "")


def test_what_is_made_is_private_whatever_the_mask(tmp_path, keep_code_in):
    keep_code_in(tmp_path / "a" / "b")
    before = os.umask(0)
    try:
        assert kernel(add)(WHOLE) == 6
    finally:
        os.umask(before)
    below = list((tmp_path / "a").rglob("*"))
    assert [p for p in below if p.is_file()]
    assert {p.stat().st_mode & 0o077 for p in (tmp_path / "a", *below)} == {0}


def test_without_a_home_nothing_is_kept(keep_code_in, monkeypatch):
    keep_code_in("")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("tclose.kernels.compiler.os.path.expanduser", lambda path: path)
    assert compiler._open_cache.__wrapped__() is None


def test_refusal_is_told_once(cache, capsys):
    cache.chmod(0o777)
    plan = type("Plan", (), {"method": Method.model_validate({"name": "mdav"})})()
    compile_notice.report_compiling(plan, InProcess(), Progress("lines"))
    assert capsys.readouterr().err.count("can be written to by others") == 1


# Compiles with numba, and with a file that comes later.
COMPILES = """
from pathlib import Path
from tclose.kernels.compiler import config, kernel
assert not config.DISABLE_JIT
Path(".numba_config.yaml").write_text("disable_jit: 1")
import numpy as np
kernel(lambda values: values[0])(np.array([1]))
assert not config.DISABLE_JIT
"""


def test_settings_in_the_working_folder_are_not_read(tmp_path):
    (tmp_path / ".numba_config.yaml").write_text("disable_jit: 1")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", COMPILES]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, check=False, timeout=300)
    assert ended.returncode == 0
