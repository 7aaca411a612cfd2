"""What a worker process of a local cluster does first: importing this does it.

Where workers are forked, one process does it for all of them.
"""

import gc
import importlib
import signal

from pipeline.garbage import collect_rarely

# An interrupt at the terminal reaches all processes; the run ends its workers itself.
signal.signal(signal.SIGINT, signal.SIG_IGN)
collect_rarely()
# pyarrow imports pandas with the first array that it hands to numpy.
for needed in ("distributed.nanny", "pandas", "pipeline.execution.release"):
    importlib.import_module(needed)
importlib.import_module("pipeline.kernels.compiled").load_compiler()
gc.freeze()  # what is there by now stays, and so do the pages that workers share
