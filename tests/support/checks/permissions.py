"""Commands of a user whom permissions bind: root reads and writes whatever they say."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_DROP = 24  # PR_CAPBSET_DROP of prctl
_OVERRIDES = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_LIBRARY = ctypes.CDLL(None, use_errno=True)


def run_bound(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python on these arguments, by permissions alone what it may read and write.

    Parameters
    ----------
    folder : in which it works
    variables : of its environment, beside those of this process
    """
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        timeout=300,
        text=True,
        preexec_fn=_drop_overrides,
    )


def _drop_overrides() -> None:
    """Give up root's rights over files, as of the next program; others have none of them."""
    if os.geteuid() == 0:
        for capability in _OVERRIDES:
            if _LIBRARY.prctl(_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")
