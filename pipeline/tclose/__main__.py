"""The command ``tclose`` as a process of its own, also as ``python -m tclose``."""

import os
import sys

from tclose.runtime.interrupts import hear_interrupts, ignore_interrupts
from tclose.runtime.streams import end_streams, prepare_streams, print_message

# All others remove what they have begun: a plan's scratch folder goes with it.
_GO_ON = ("run", "flow", "forget", "rollback", "prune", "warm-up")


def run_command() -> int:
    """Run the command line; interrupted, say so in one line. Returns the exit status.

    The command itself is imported here, since that takes a while and may be interrupted, too.
    Nobody else may write to what the process makes.
    """
    prepare_streams()
    hear_interrupts()
    try:
        os.umask(os.umask(0o022) | 0o022)
        from tclose.runtime.engines.garbage import tune_gc

        tune_gc()  # before all that is imported now
        from tclose.cli.main import main

        return main()
    except KeyboardInterrupt:
        ignore_interrupts()
        # Python remembers an interrupt of source text in exec (as of a dataclass), even a handled
        # one, and would end the process by that signal. The next exec forgets it.
        exec("")  # noqa: S102
        how = "go on from here" if sys.argv[1:2] and sys.argv[1] in _GO_ON else "begin anew"
        print_message(f"tclose: interrupted; run again to {how}")
        return 1
    finally:
        ignore_interrupts()
        end_streams()


if __name__ == "__main__":
    sys.exit(run_command())
