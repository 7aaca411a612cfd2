"""The speed of this machine beside the one that the constants of costs were measured on.

A short calibration (`tclose.assess.ahead.calibrate`) times fixed work, and is kept beside the
compiled kernels: they too are of one machine and of one version of the code.
"""

import contextlib
import json
import math
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tclose.data.places.process_limits import count_processors
from tclose.kernels.clustering.algorithm3 import cluster_blocks
from tclose.security.trusted_paths import TrustedFolder, UntrustedError, open_trusted

VERSION = 2
FILE = "calibration.json"
BUSY = 0.75  # share of the processors
SLOWEST = 1_000.0  # times the reference: more is no measurement


@dataclass(frozen=True)
class WorkSeconds:
    """Seconds of a processor for fixed work, or these beside the reference's.

    ``records``: reading, encoding and checking records; ``classes``: clustering; ``search``: of the
    classes.
    """

    records: float = 1.0
    classes: float = 1.0
    search: float = 1.0


NO_CALIBRATION = WorkSeconds()
# Of the machine that the constants were measured on: two cores of x86-64, nothing beside it. To be
# measured again, with the seconds of searched records, when the search changes.
REFERENCE = WorkSeconds(records=0.083, classes=0.076, search=0.18)


def read_calibration(folder: Path | None = None, *, of_quiet: bool = False) -> WorkSeconds | None:
    """Return by how much work takes longer here than on the reference's machine; None: not known.

    Not known where it was not measured, or on another machine, or by another version, or cannot be
    read; that is no error.

    Parameters
    ----------
    folder : where it is kept; by default that of the compiled kernels
    of_quiet : only one that was made while the machine did little else
    """
    folder = folder or kernel_folder()
    if folder is None:
        return None
    try:
        with _opened(folder) as opened:
            kept = json.loads(opened.read(FILE))
        if kept["version"] != VERSION or kept["machine"] != describe_processor():
            return None
        if of_quiet and kept["busy"]:
            return None
        seconds = WorkSeconds(**{one.name: float(kept["seconds"][one.name]) for one in _WORK})
    except (
        OSError, UntrustedError, ArithmeticError, ValueError, TypeError, KeyError, RecursionError,
    ):  # fmt: skip
        return None
    return _compare(seconds)


def keep_calibration(seconds: WorkSeconds, folder: Path | None) -> WorkSeconds:
    """Keep what was measured, where there is a place for it, and return it beside the reference."""
    folder = folder or kernel_folder()
    document = {
        "version": VERSION,
        "machine": describe_processor(),
        "busy": is_busy(),
        "seconds": asdict(seconds),
    }
    if folder is not None:
        content = json.dumps(document, indent=2).encode()
        with contextlib.suppress(OSError, UntrustedError), _opened(folder, make=True) as opened:
            opened.write(FILE, content)
    return _compare(seconds) or NO_CALIBRATION


def is_busy() -> bool:
    """Return whether most processors have had work to do for the last minute."""
    return os.getloadavg()[0] > BUSY * count_processors()


def kernel_folder() -> Path | None:
    """Folder that compiled kernels are written to; None where they are not kept."""
    path = getattr(cluster_blocks._cache, "cache_path", "")  # noqa: SLF001  # as `is_kept` has it
    return Path(path) if path else None


def describe_processor() -> str:
    """Name of the processor, number of those that this process may use, and Python."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = names[0] if names else name
    return f"{name}, {count_processors()} processors, Python {platform.python_version()}"


@contextlib.contextmanager
def _opened(folder: Path, *, make: bool = False) -> Iterator[TrustedFolder]:
    opened = open_trusted(folder, make=make)
    try:
        yield opened
    finally:
        os.close(opened.descriptor)


def _compare(seconds: WorkSeconds) -> WorkSeconds | None:
    """Times the reference's; None where they cannot be any that were measured."""
    times = {n: asdict(seconds)[n] / each for n, each in asdict(REFERENCE).items()}
    if not all(math.isfinite(each) and 1 / SLOWEST < each < SLOWEST for each in times.values()):
        return None
    return WorkSeconds(**times)


_WORK = fields(WorkSeconds)
