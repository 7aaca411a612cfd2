"""The user, host and versions by which a release was made.

The digest of the sources is recorded and decides nothing of a release: an edited comment changes
it. A release's id has the versions of `byte_versions`, which are raised where bytes change; golden
files of released bytes fail where one was forgotten (``tests/end_to_end/golden``).
"""

import hashlib
import os
import platform
import pwd
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from tclose.package import PACKAGE, VERSION

if TYPE_CHECKING:
    from tclose.policy.policy import Policy
    from tclose.releases.manifest.internal_manifest import GitState

OVER_TIME_VERSION = 2  # of what is released of a series alone
WEIGHTS_VERSION = 2  # of what is released where quasi-identifiers have weights alone
_CHECKOUT = PACKAGE.resolve().parents[1]  # of the repository, where the package is not installed


@lru_cache(maxsize=1)
def source_digest() -> str:
    """SHA-256 over the package's source files, by their names."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def library_versions() -> dict[str, str]:
    """Versions of the libraries that released bytes depend on."""
    import numba
    import numpy as np
    import pyarrow as pa

    return {"numpy": np.__version__, "numba": numba.__version__, "pyarrow": pa.__version__}


def code_version() -> dict[str, str]:
    """The code that made a release, as its internal manifest records it."""
    return {"tclose": VERSION, "source_sha256": source_digest()} | library_versions()


def byte_versions(policy: "Policy", passes: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Versions of all code that the bytes of a release depend on, by kind and name.

    Parameters
    ----------
    passes : version of each pass, which covers the kernels and the data types that it works with
    """
    from tclose.privacy.model_registry import MODELS

    method, output_format = policy.method, policy.output.format
    required = {one.model for one in method.require_models(policy.confidential)}
    requested = {model.name for model in policy.privacy.models}
    models = MODELS.classes()
    versions = {
        "format": {output_format.name: output_format.version},
        "method": {method.name: method.version},
        "models": {name: models[name].version for name in sorted(required | requested)},
        "passes": dict(passes),
    }
    if policy.privacy.over_time:
        versions["series"] = {"over_time": OVER_TIME_VERSION}
    if any(attribute.weight != 1 for attribute in policy.attributes.values()):
        versions["columns"] = {"weights": WEIGHTS_VERSION}
    return versions


@lru_cache(maxsize=1)
def git_state() -> "GitState | None":
    """Commit of the checkout that the package runs from, and whether it was changed since.

    Asked once: what this process runs is what it has imported.
    """
    from tclose.releases.manifest.internal_manifest import GitState

    if not (_CHECKOUT / ".git").exists():
        return None
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", "pipeline", "flows")
    return GitState(commit=commit, modified=bool(changed)) if commit else None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_CHECKOUT), *arguments]  # fixed words, no user's
    try:
        completed = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip() if completed.returncode == 0 else ""


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
