"""Set-up of a worker process of a local cluster, which importing this module does.

Where workers are forked, one process does it for all of them.
"""

import importlib
import signal
import sys
from types import TracebackType

from tclose.runtime.engines.garbage import end_start, tune_gc


def _tell_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Say nothing of a process that ends as those are gone which it needs: the run says it."""
    if not isinstance(error, (OSError, EOFError)):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _tell_uncaught
# An interrupt at the terminal reaches all processes; the run ends its workers itself.
signal.signal(signal.SIGINT, signal.SIG_IGN)
tune_gc()
# pyarrow imports pandas with the first array that it hands to numpy.
for needed in ("distributed.nanny", "pandas", "tclose.passes.release"):
    importlib.import_module(needed)
importlib.import_module("tclose.runtime.engines.steady_clock").use_steady_clock()
importlib.import_module("tclose.runtime.engines.dask_logs").silence_dask_logs()
importlib.import_module("tclose.kernels.compiler").load_compiler()
end_start()  # what is there by now stays, and so do the pages that workers share
