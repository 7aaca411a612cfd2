"""Private keys in files that a policy or the environment names: nobody else can read them."""

import os
from pathlib import Path

from tclose.errors import PolicyError
from tclose.security.trusted_paths import UntrustedError, read_own

_OF_OTHERS = 0o077  # bits of the mode that a private key of this user must not have
_OF_ROOT = 0o027  # and one of root's, as secrets are mounted for a group


def read_key_file(named: str, where: str, remedy: str) -> bytes:
    """Content of a key's file.

    Parameters
    ----------
    where : what messages begin with
    remedy : how a key is made

    Raises
    ------
    PolicyError
        It cannot be read, or could be read by others.
    """
    try:
        place = Path(named).resolve(strict=True)  # mounted secrets are links
        closed = _OF_OTHERS if place.stat().st_uid == os.geteuid() else _OF_ROOT
        return read_own(place, (0,), closed=closed)
    except UntrustedError as error:
        raise PolicyError(
            f"{where}: {error.reason}; it has to be a file of this user or of root that others "
            "cannot read (`chmod 600`)"
        ) from None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "links in a circle"
        raise PolicyError(f"{where}: cannot be read ({reason}); {remedy}") from None
