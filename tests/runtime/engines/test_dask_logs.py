"""What Dask says is in no log, by whichever logger; what others say stays."""

import logging
import subprocess
import sys
from pathlib import Path

import distributed
import pytest
from distributed.comm.core import CommClosedError

from tclose.runtime.engines.dask_logs import silence_dask_logs

HOME = Path(distributed.__file__).parent


def raised_in(place: Path, kind: str) -> BaseException:
    """An error with a traceback that leads through a file."""
    try:
        exec(compile(f"raise {kind}('x')", str(place), "exec"))
    except Exception as error:
        return error
    raise AssertionError


def after(error: BaseException) -> BaseException:
    """An error that was raised while that one was handled."""
    later = TimeoutError()
    later.__context__ = error
    return later


SAID_BY_DASK = {
    "lost its scheduler": ("Exception in callback", CommClosedError("in <TLS>: Stream is closed")),
    "any other error": ("Task exception was never retrieved", raised_in(HOME / "a.py", "KeyError")),
    "in its turn": ("Exception in callback", after(CommClosedError("closed"))),
    "no error": (f"Task was destroyed but it is pending! <coro at {HOME}/core.py:1>", None),
}
SAID_BY_OTHERS = {
    "an error": ("Exception in callback", raised_in(Path("/home/user/own.py"), "ValueError")),
    "no error": ("Executing <Task> took 3 seconds", None),
}


def is_shown(logger: str, message: str, error: BaseException | None) -> bool:
    info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord(logger, logging.ERROR, "", 0, message, None, info)
    return bool(logging.getLogger(logger).filter(record))


@pytest.mark.parametrize("logger", ["asyncio", "tornado.application", "tornado.general"])
def test_others_say_nothing_for_dask_and_all_of_their_own(logger):
    silence_dask_logs()
    for message, error in SAID_BY_DASK.values():
        assert not is_shown(logger, message, error), message
    for message, error in SAID_BY_OTHERS.values():
        assert is_shown(logger, message, error), message


def test_every_logger_of_dasks_is_silent():
    silence_dask_logs()
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    assert {"distributed.gc", "distributed.worker.memory", "distributed.protocol.core"} <= {*names}
    for name in (*names, "distributed.one_that_comes_later"):
        assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL), name


def test_import_of_dask_that_comes_later_changes_nothing():
    """It sets the levels of its loggers."""
    command = (
        "import logging; from tclose.runtime.engines.dask_logs import silence_dask_logs; "
        "silence_dask_logs(); import distributed.client; "
        "print(logging.getLogger('distributed.client').isEnabledFor(logging.CRITICAL))"
    )
    told = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True)
    assert told.stdout == b"False\n"
