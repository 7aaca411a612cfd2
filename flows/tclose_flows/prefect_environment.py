"""The environment in which Prefect and its embedded server run.

A variable of Prefect that is empty, as an unset one becomes in a file of settings for containers,
means that nothing was chosen. Prefect itself takes an empty address for one, and then starts a
server that answers every user of the machine.
"""

import os
from collections.abc import Mapping, MutableMapping
from importlib.util import find_spec
from pathlib import Path
from urllib.request import getproxies_environment

from tclose.errors import UsageError

_QUIET: Mapping[str, str] = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_LOGGING_LEVEL": "WARNING",
}
_LOOPBACK = ("127.0.0.1", "localhost")
_ALL_HOSTS = "*"
_OF_CLIENTS = ("http", "https", "all")  # proxies that Prefect's client looks for


def drop_empty_settings(environment: MutableMapping[str, str]) -> None:
    """Take variables of Prefect without a value out of the environment."""
    for name in [name for name, value in environment.items() if not value.strip()]:
        if name.upper().startswith("PREFECT_"):
            del environment[name]


def set_preferences(environment: MutableMapping[str, str]) -> None:
    """Set what tclose prefers where the user has not; the embedded server is behind no proxy."""
    for name, value in _QUIET.items():
        environment.setdefault(name, value)
    hosts = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    listed = [host.strip() for host in hosts.split(",")]
    if _ALL_HOSTS not in listed:
        added = [host for host in _LOOPBACK if host not in listed]
        hosts = ",".join(filter(None, [*listed, *added]))
    # Both spellings: libraries differ in which of them comes first.
    environment["NO_PROXY"] = environment["no_proxy"] = hosts


def check_environment() -> None:
    """Refuse an environment in which Prefect cannot be imported, or its client cannot be made.

    Raises
    ------
    UsageError
        No home folder is known, Prefect's own is closed to this user, or a proxy is of a kind that
        Prefect's client cannot use.
    """
    try:
        Path.home()
    except RuntimeError:
        raise UsageError(
            f"HOME: is not set, and the system knows no home folder of user {os.geteuid()}, "
            "without which Prefect does not start; set it to a folder of this user's own"
        ) from None
    _check_home(Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser())
    proxies = getproxies_environment()
    of_socks = [kind for kind in _OF_CLIENTS if proxies.get(kind, "").startswith("socks")]
    if of_socks and proxies.get("no") != _ALL_HOSTS and find_spec("socksio") is None:
        raise UsageError(
            f"{of_socks[0].upper()}_PROXY: names a SOCKS proxy, which Prefect's client cannot use "
            "without the package socksio; install it, or take the variable out of the environment"
        )


def _check_home(home: Path) -> None:
    """Refuse a folder that Prefect cannot look into, as it does when it is imported."""
    try:
        (home / "profiles.toml").stat()
    except PermissionError as error:
        raise UsageError(
            f"PREFECT_HOME {home}: cannot be read ({error.strerror}); set it, or HOME, to a folder "
            "of this user's own"
        ) from None
    except OSError:  # it is not there yet
        return
