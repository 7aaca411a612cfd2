"""A command that waits where it has raw records in scratch.

Arguments of ``python -m support.faults.killed_command``: a file that is made when it waits, then
those of ``tclose``. Whoever has started it kills it then, as nothing else ends it.
"""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.passes import find_pass, replace_work
from tclose.assess import sample
from tclose.cli import main as cli


def wait_then(function: Callable[..., Any], mark: Path) -> Callable[..., Any]:
    """A function that makes the file when it has done its work, and does not return."""

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        function(*arguments, **keywords)
        mark.touch()
        threading.Event().wait()

    return wrapped


def wait_after(owner: Any, name: str, mark: Path) -> None:
    """Have a function wait when it has done its work."""
    setattr(owner, name, wait_then(getattr(owner, name), mark))


def main() -> None:
    """Run the command until it has what a kill would leave."""
    mark = Path(sys.argv[1])
    replace_work(pytest.MonkeyPatch(), "plan", wait_then(find_pass("plan").work, mark))
    wait_after(sample, "take_sample", mark)
    cli.main(sys.argv[2:])


if __name__ == "__main__":
    main()
