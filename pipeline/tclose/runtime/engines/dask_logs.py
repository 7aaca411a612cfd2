"""One rule for Dask's log: none of it is shown, whoever writes it, as tclose tells what failed.

Its records quote the arguments of failed tasks, and say at length what a run that was interrupted,
or a worker that died, means to it. It writes them itself, or has tornado and asyncio do it, which
other parts of a process may use, too: of those, only what Dask's own code raised is dropped.
"""

import importlib
import logging
from pathlib import Path

SILENT = logging.CRITICAL + 1  # Dask has tracebacks among what is critical
# The same as Dask's configuration, which sets these levels anew in each process.
QUIET_LOGGING = dict.fromkeys(
    ("distributed", "distributed.client", "distributed.gc", "distributed.worker"), SILENT
)
_DASKS = "distributed"
_OTHERS = ("asyncio", "tornado.application", "tornado.general")


def silence_dask_logs() -> None:
    """Keep what Dask says out of every log of this process."""
    importlib.import_module(_DASKS)  # which sets levels of its own
    known = [name for name in logging.root.manager.loggerDict if name.startswith(f"{_DASKS}.")]
    for logger in map(logging.getLogger, (_DASKS, *known)):
        if logger.level != SILENT:  # setting it takes a while: all loggers forget what they knew
            logger.setLevel(SILENT)
    for name in _OTHERS:
        logging.getLogger(name).addFilter(_is_of_others)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Return whether a record is of no error that passed through Dask's code, nor names a part."""
    home = str(Path(str(importlib.import_module(_DASKS).__file__)).parent)
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return home not in record.getMessage()
    while error is not None:
        if type(error).__module__.split(".")[0] == _DASKS or _passed_through(error, home):
            return False
        error = error.__cause__ or error.__context__
    return True


def _passed_through(error: BaseException, home: str) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(home):
            return True
        trace = trace.tb_next
    return False
