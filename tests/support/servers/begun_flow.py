"""The command ``tclose flow`` as a process of its own, and what it starts."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from support.cases.discharge_policies import discharge_document
from support.cases.people import write_policy

_COMMAND = (  # as the console script, which has no folder of the user on its path
    "import sys; del sys.path[0]; from tclose.__main__ import run_command; sys.exit(run_command())"
)


def own_environment(**more: str) -> dict[str, str]:
    """For a process of its own: Prefect reads its environment once."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    return kept | more


@contextlib.contextmanager
def begun_flow(
    discharges: Path, folder: Path, standing: Path | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """The command, in a session of its own, when its first pass has begun.

    ``standing``: the working folder, which is not on its path, as with the console script.
    """
    policy = discharge_document(discharges, folder / "releases", engine={"workers": 2})
    file = write_policy(folder / "policy.yaml", policy)
    with subprocess.Popen(
        [sys.executable, "-c", _COMMAND, "flow", str(file)],
        cwd=standing,
        env=own_environment(PREFECT_HOME=str(folder / "prefect")),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        assert command.stderr is not None
        for line in command.stderr:
            if line.startswith("summarising"):
                break
        yield command


def processes_of(group: int) -> list[psutil.Process]:
    """The processes of a group that still run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def command_lines(group: int) -> list[str]:
    """Command lines of those."""
    lines = []
    for process in processes_of(group):
        with contextlib.suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return lines
