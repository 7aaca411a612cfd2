"""Locations of releases: a folder of a file system or of a bucket."""

from pathlib import Path
from urllib.parse import urlsplit

from tclose.data.places.bucket_paths import SCHEME, BucketPath, parse_bucket
from tclose.errors import OutputError

Location = Path | BucketPath
INTERNAL = "internal"  # next to the data of a release in a folder
HIDDEN = ".internal"  # in a bucket: the internal parts of all releases of a name


def parse_location(text: str) -> Location:
    """Parse a path or URL as a location.

    Raises
    ------
    OutputError
        A URL of another kind than ``s3://``.
    """
    if text.startswith(SCHEME):
        return parse_bucket(text)
    if "://" in text:
        raise OutputError(
            f"{urlsplit(text).scheme}://: releases are stored in a folder or in s3://; "
            "name one of these"
        )
    return Path(text)


def is_utf8(path: str) -> bool:
    """Return whether a path is text in UTF-8, as all that is written about it has to be."""
    return show_name(path) == path


def show_name(path: str) -> str:
    """A path as messages show it, also where its bytes are not UTF-8."""
    return path.encode("utf-8", "backslashreplace").decode()


def internal_of(release: Location) -> Location:
    """Return the location of a release's internal part.

    In a bucket it is outside the release, so that a prefix can be handed out by a bucket policy.
    """
    if isinstance(release, BucketPath):
        return release.parent / HIDDEN / release.name
    return release / INTERNAL
