"""Garbage-collector tuning for tclose's own processes: fewer collections, and none at the end.

Imports make two hundred thousand objects that stay. By Python's own threshold of seven hundred the
collector runs some three hundred times meanwhile, and even few collections look at all of them: a
tenth of a run's start.
"""

import atexit
import gc

# Of objects made and not freed.
_WHILE_STARTING = 1_000_000
_AFTERWARDS = 100_000


def tune_gc() -> None:
    """Let the process start and end sooner; memory of arrays is freed by count, at once, as ever.

    An ending interpreter looks for cycles among all modules, several times, before its memory goes
    back as a whole: most of a second.
    """
    gc.set_threshold(_WHILE_STARTING)
    atexit.register(gc.freeze)


def end_start() -> None:
    """Collect what is made from now on; what is there stays, and is not looked at again.

    A process that `tune_gc` did not start is the user's own, and is left as it is.
    """
    if gc.get_threshold()[0] == _WHILE_STARTING:
        gc.freeze()
        gc.set_threshold(_AFTERWARDS)
