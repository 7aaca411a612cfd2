"""The client of object storage, and what is said of its failures.

Endpoint and credentials come from where AWS clients look for them (``AWS_ENDPOINT_URL``,
``AWS_PROFILE``, ``AWS_ACCESS_KEY_ID``, ``~/.aws`` and so on): they are in no path, no policy and no
message.

s3fs is the client. obstore keeps to conditional writes just as well, but reads no profiles and no
``~/.aws``, hangs in a process that was forked after its first request, and would be a second client
beside fsspec's, which inputs are read with.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclose.errors import ForbiddenError, OutputError, StoreError

if TYPE_CHECKING:
    from s3fs import S3FileSystem

_OPTIONS = {"use_listings_cache": False, "default_block_size": 1 << 23}


def filesystem() -> "S3FileSystem":
    """The client of this process.

    Raises
    ------
    OutputError
        It is not installed.
    """
    import fsspec

    try:
        return fsspec.filesystem("s3", **_OPTIONS)
    except ImportError:
        raise OutputError(
            "s3:// needs the package s3fs; install it with: pip install 'tclose[s3]'"
        ) from None


@contextlib.contextmanager
def refusing(place: object) -> Iterator[None]:
    """Turn any failure of a request into one error; the caller reports missing objects."""
    try:
        yield
    except (OutputError, FileNotFoundError):
        raise
    except Exception as error:  # botocore's and aiohttp's own among them
        raise refusal(place, error) from None


def refusal(place: object, error: Exception) -> StoreError:
    """The reason by its code or type: servers' own words may quote requests."""
    name, code = type(error).__name__, code_of(error)
    if code == "RequestTimeTooSkewed":  # which the client takes for a permission that lacks
        return StoreError(
            f"{place}: the clocks of this machine and the object store differ too much ({code}); "
            "set this one, then run again"
        )
    if isinstance(error, PermissionError):
        return ForbiddenError(
            f"{place}: no permission ({code or name}); see that the AWS credentials of this "
            "environment may list, read, write and delete there, then run again"
        )
    if "Credential" in name or "Profile" in name or "Token" in name:
        return StoreError(
            f"{place}: no usable AWS credentials ({name}); give AWS_PROFILE, or AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY, in the environment"
        )
    return StoreError(
        f"{place}: the object store does not answer as it should ({code or name}); see "
        "AWS_ENDPOINT_URL and the network, then run again"
    )


def code_of(error: BaseException) -> str:
    """The server's code for what went wrong, if it gave one."""
    response = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
    return str((response or {}).get("Error", {}).get("Code", ""))
