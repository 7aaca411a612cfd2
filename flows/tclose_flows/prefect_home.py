"""Prefect's home and database: of the run's user alone.

They hold policies, paths and messages. What Prefect makes there others can read, unless the folder
says otherwise.
"""

import os
import stat
from pathlib import Path

from prefect.settings import get_current_settings
from sqlalchemy.engine import make_url

from tclose.errors import OutputError

_OF_A_DATABASE = ("", "-wal", "-shm", "-journal")  # endings of SQLite's files
_SHARED = stat.S_ISVTX  # as /tmp is: made to be written to by all


def make_home_private() -> None:
    """Leave the folder, and a database file wherever it is, to their owner.

    Raises
    ------
    OutputError
        They belong to somebody else, or the folder is made for all.
    """
    settings = get_current_settings()
    home = settings.home.expanduser().absolute()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_own(home)
        home.chmod(0o700)
        for file in _database_files(settings.server.database.connection_url):
            file.chmod(0o600)
    except OSError as error:
        raise OutputError(
            f"PREFECT_HOME {home}: cannot be kept from others ({os.strerror(error.errno or 0)}); "
            "name a folder of your own"
        ) from None


def _check_own(home: Path) -> None:
    if home.resolve() == Path(home.anchor) or home.stat().st_mode & _SHARED:
        raise OutputError(f"PREFECT_HOME {home}: is for all users; name a folder of your own")


def _database_files(secret: object) -> list[Path]:
    """Files of a SQLite database that are there; none of any other."""
    text = secret.get_secret_value() if hasattr(secret, "get_secret_value") else secret
    url = make_url(str(text)) if text else None
    if url is None or not url.drivername.startswith("sqlite") or not url.database:
        return []
    paths = [Path(url.database + ending) for ending in _OF_A_DATABASE]
    return [path for path in paths if path.is_file()]
