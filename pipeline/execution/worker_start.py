"""What a worker process of a local cluster does first: importing this does it."""

import signal

from pipeline.garbage import collect_rarely

# An interrupt at the terminal reaches all processes; the run ends its workers itself.
signal.signal(signal.SIGINT, signal.SIG_IGN)
collect_rarely()
