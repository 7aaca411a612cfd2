"""The formats that a policy can have its releases written in."""

from typing import Any

from tclose.errors import NotInstalledError
from tclose.model.registry import Decorated, Registry, name_of

DEFAULT_FORMAT = "parquet"
# In the order of messages; modules of other distributions: entry points of the group.
FORMATS: Registry[Any] = Registry("tclose.formats", ("tclose.data.formats.parquet_format",))


def register_format(output_format: Decorated) -> Decorated:
    """Make a format known by the value of its field ``name``; a decorator.

    A process that is started for a run imports modules that the entry points ``tclose.formats``
    name; what is registered by hand is known to the process alone.

    Raises
    ------
    ValueError
        It lacks what a format has, or its name or suffix is another one's.
    """
    added: Any = FORMATS.register(output_format)
    for name, other in FORMATS.classes().items():
        if other.suffix == added.suffix and other is not added:
            FORMATS.unregister(name_of(added))
            raise ValueError(f"files of {name!r} end in .{added.suffix}, too")
    return output_format


def find_format(path: str) -> Any:
    """The registered format of a released file, by how its name ends.

    Raises
    ------
    NotInstalledError
        No format's files end so.
    """
    suffix = path.rpartition(".")[2]
    for output_format in FORMATS.classes().values():
        if output_format.suffix == suffix:
            return output_format
    raise NotInstalledError(
        f"the format of .{suffix[:20]} files is not installed here; install the distribution that "
        "registers it"
    )
