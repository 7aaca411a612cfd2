"""Where compiled kernels are kept: a folder of their own for each state of the sources.

The compiler looks at one file's time only. A kernel that calls one of another module would go on
with the old one after an upgrade; with the folder named by all sources it cannot.
"""

import hashlib
import os
from pathlib import Path

from numba import config


def sources_digest() -> str:
    """BLAKE2 over the kernels' source files, by their names."""
    digest = hashlib.blake2b(digest_size=10)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()


def use_cache_of_these_sources() -> None:
    """Set the compiler's cache folder, unless the user has set one or it cannot be written."""
    if config.CACHE_DIR:  # type: ignore[attr-defined]
        return
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "tclose" / "kernels" / sources_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
