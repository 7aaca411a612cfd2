"""Who and what made a release: user, host; version, digest of the sources, git state if any."""

import hashlib
import os
import platform
import pwd
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import tclose

PACKAGE = Path(tclose.__file__).resolve().parent


@lru_cache(maxsize=1)
def source_digest() -> str:
    """SHA-256 over the package's source files, by their names."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def code_version() -> dict[str, str]:
    """What decides the bytes that the code makes."""
    import numba
    import numpy as np
    import pyarrow as pa

    return {
        "tclose": tclose.__version__,
        "source_sha256": source_digest(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "pyarrow": pa.__version__,
    }


def git_state() -> dict[str, Any] | None:
    """Commit of the checkout that the package runs from, and whether it was changed since."""
    if not (PACKAGE.parent / ".git").exists():
        return None
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", "pipeline", "flows")
    return {"commit": commit, "modified": bool(changed)} if commit else None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(PACKAGE.parent), *arguments]  # fixed words, no user's
    try:
        found = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


def who() -> dict[str, str]:
    """The user of this process, as the system knows him, and the host."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user may have no name
        user = f"uid {os.getuid()}"
    return {"user": user, "host": platform.node()}


def runtime() -> dict[str, str]:
    """The interpreter and the system."""
    return {"python": platform.python_version(), "system": platform.platform()}
