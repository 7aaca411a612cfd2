"""Settings files of the working folder that Prefect reads: not believed if others can write them.

They can name the server that policies are sent to, and modules that Prefect imports. Whoever stands
in a shared folder has not chosen them. One's own files, and root's, are believed, where nobody else
can put more: Prefect, and the server that it starts, look again and again.
"""

import os
import tomllib
from pathlib import Path

from tclose.errors import UsageError
from tclose.security.trusted_paths import UntrustedError, check_closed, read_own


def check_prefect_files() -> None:
    """See that Prefect would read no settings of others; before it is imported, when it reads them.

    Raises
    ------
    UsageError
        A file with settings for Prefect belongs to another user, or can be written to by others, or
        others can put one there at any time.
    """
    try:
        check_closed(Path.cwd())
    except UntrustedError as error:
        raise UsageError(
            f"{error}, and Prefect would take settings from files there; run in a folder that "
            "nobody else can write to"
        ) from None
    for name in (".env", "prefect.toml", "pyproject.toml"):
        path = Path.cwd() / name
        reason = _distrust(path) if path.is_file() else None
        if reason and _has_settings(path):
            raise UsageError(
                f"{path}: {reason}, and Prefect would take settings from it; run in another "
                "folder, or make it a file of your own that others cannot write to"
            )


def _distrust(path: Path) -> str | None:
    """Return why a file is not believed; None if it is."""
    try:
        if path.is_symlink() and path.lstat().st_uid in (0, os.geteuid()):
            path = path.resolve(strict=True)
        read_own(path, (0,))
    except UntrustedError as error:
        return error.reason
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None


def _has_settings(path: Path) -> bool:
    """Return whether Prefect would find settings; also where only it could tell."""
    try:
        text = path.read_text("utf-8")
        if path.name == ".env":
            return "prefect_" in text.lower()
        return path.name == "prefect.toml" or "prefect" in tomllib.loads(text).get("tool", {})
    except (OSError, ValueError, TypeError):
        return True
