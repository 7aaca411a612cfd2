"""Object storage as a tree of files: read by path, written on condition.

Whatever is written is written on the condition that nothing is there, or what was seen there.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from tclose.data.places.bucket_client import code_of, filesystem, refusal, refusing
from tclose.errors import OutputError

SCHEME = "s3://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_CHANGED = ("PreconditionFailed", "412", "NoSuchKey", "404")
_AGAIN = ("ConditionalRequestConflict", "409")
# An answer without these is of another server, as a proxy's page is, and says nothing of objects.
_HEAD = ("ETag", "ContentLength")
_MORE = "IsTruncated"
_TRIES = 5
_READS = 10


class ChangedError(Exception):
    """The object at a key is not the one that a write was to replace."""


@dataclass(frozen=True)
class Size:
    """The size of an object, in bytes."""

    st_size: int


@dataclass(frozen=True)
class BucketPath:
    """A place in a bucket, with as much of `pathlib.Path` as readers of releases need."""

    bucket: str
    key: str = ""
    kind: str | None = field(default=None, compare=False)  # "file" or "folder", where it is known

    def __str__(self) -> str:
        """Return it as a policy spells it."""
        return f"{SCHEME}{self.bucket}/{self.key}".rstrip("/")

    def __truediv__(self, name: str) -> "BucketPath":
        """A place below it."""
        return BucketPath(self.bucket, "/".join(filter(None, (self.key, *name.split("/")))))

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> "BucketPath":
        """The folder that it is in; that of a bucket is the bucket."""
        return BucketPath(self.bucket, self.key.rpartition("/")[0])

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the key."""
        return tuple(self.key.split("/"))

    @property
    def _prefix(self) -> str:
        return f"{self.key}/" if self.key else ""

    def absolute(self) -> "BucketPath":
        """Itself: every place in a bucket is absolute."""
        return self

    def resolve(self) -> "BucketPath":
        """Itself: there are no links."""
        return self

    def relative_to(self, folder: "BucketPath") -> PurePosixPath:
        """Its path from a folder that it is in."""
        return PurePosixPath(self.key).relative_to(folder.key)

    def is_relative_to(self, folder: "BucketPath") -> bool:
        """Return whether the path is the folder or below it."""
        above = f"{folder.key}/" if folder.key else ""
        return self.bucket == folder.bucket and f"{self.key}/".startswith(above)

    def is_file(self) -> bool:
        """Return whether there is an object of this key."""
        return self.kind == "file" or (self.kind is None and self.tag() is not None)

    def is_dir(self) -> bool:
        """Return whether there are objects below this key."""
        if self.kind is not None:
            return self.kind == "folder"
        return bool(self._list(MaxKeys=1).get("Contents"))

    def is_symlink(self) -> bool:
        """There are none."""
        return False

    def exists(self) -> bool:
        """Return whether there is an object of this key or below it."""
        return self.is_file() or self.is_dir()

    def iterdir(self) -> Iterator["BucketPath"]:
        """List the objects and prefixes right below this key."""
        for page in self._pages(Delimiter="/"):
            for entry in page.get("CommonPrefixes", ()):
                yield BucketPath(self.bucket, entry["Prefix"].rstrip("/"), "folder")
            for entry in _objects(page):
                yield BucketPath(self.bucket, entry["Key"], "file")

    def rglob(self, pattern: str = "*") -> Iterator["BucketPath"]:
        """All objects below it."""
        del pattern
        for page in self._pages():
            for entry in _objects(page):
                yield BucketPath(self.bucket, entry["Key"], "file")

    def tags(self) -> dict[str, str]:
        """Tags of all objects below it, by their path from here."""
        return {
            entry["Key"].removeprefix(self._prefix): entry["ETag"]
            for page in self._pages()
            for entry in _objects(page)
        }

    def stat(self) -> Size:
        """Its size."""
        answer = self._head()
        if answer is None:
            raise FileNotFoundError(str(self))
        return Size(int(answer["ContentLength"]))

    def tag(self) -> str | None:
        """Return a tag that no later object of this key has; None if there is none."""
        answer = self._head()
        return None if answer is None else str(answer["ETag"])

    def read_bytes(self) -> bytes:
        """The object's content."""
        with refusing(self):
            content: bytes = filesystem().cat_file(f"{self.bucket}/{self.key}")
            return content

    def read_text(self, encoding: str = "utf-8") -> str:
        """The object's content as text."""
        return self.read_bytes().decode(encoding)

    def read_tagged(self) -> tuple[bytes, str] | None:
        """Content and tag that belong together; None where there is no object."""
        for _ in range(_READS):
            tag = self.tag()
            if tag is None:
                return None
            with contextlib.suppress(FileNotFoundError):
                content = self.read_bytes()
                if self.tag() == tag:
                    return content, tag
        raise OutputError(f"{self}: is written to all the time; see who else writes there")

    def open(self, mode: str = "rb") -> BinaryIO:
        """The object, to be read at any place."""
        with refusing(self):
            stream: BinaryIO = filesystem().open(f"{self.bucket}/{self.key}", mode)
            return stream

    def put(self, data: bytes, tag: str | None) -> str:
        """Write the object if its tag is that one, or None if there is none; return the new tag.

        An object of the same bytes is as good: a reply may have been lost.

        Raises
        ------
        ChangedError
            There is another object.
        """
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        for attempt in range(_TRIES):
            try:
                return str(self._call("put_object", Body=data, **condition)["ETag"])
            except Exception as error:
                code = code_of(error)
                if code in _AGAIN and attempt < _TRIES - 1:
                    time.sleep(0.1 * 2**attempt)
                elif code in (*_CHANGED, *_AGAIN):
                    break
                else:
                    raise refusal(self, error) from None
        answer = self.read_tagged()
        if answer is not None and answer[0] == data:
            return answer[1]
        raise ChangedError(str(self))

    def unlink(self) -> None:
        """Remove the object, if it is there."""
        with refusing(self), contextlib.suppress(FileNotFoundError):
            self._call("delete_object")

    def _head(self) -> dict[str, Any] | None:
        if not self.key:
            return None
        try:
            with refusing(self):
                answer = self._call("head_object")
                return {name: answer[name] for name in _HEAD}
        except FileNotFoundError:
            return None

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = filesystem().call_s3(
            method, Bucket=self.bucket, Key=self.key, **arguments
        )
        return answer

    def _list(self, **arguments: Any) -> dict[str, Any]:
        try:
            with refusing(self):
                answer: dict[str, Any] = filesystem().call_s3(
                    "list_objects_v2", Bucket=self.bucket, Prefix=self._prefix, **arguments
                )
                return answer | {_MORE: answer[_MORE]}
        except FileNotFoundError:
            raise OutputError(
                f"{self}: there is no bucket {self.bucket!r}; make it first"
            ) from None

    def _pages(self, **arguments: Any) -> Iterator[dict[str, Any]]:
        page = self._list(**arguments)
        yield page
        while page[_MORE]:
            page = self._list(ContinuationToken=page["NextContinuationToken"], **arguments)
            yield page


def _objects(page: dict[str, Any]) -> list[dict[str, Any]]:
    """List the objects of a page, without those by which some tools represent empty folders."""
    return [entry for entry in page.get("Contents", ()) if not entry["Key"].endswith("/")]


def parse_bucket(text: str) -> BucketPath:
    """Parse ``s3://bucket/key``.

    Raises
    ------
    OutputError
        It names no bucket, or has a part that is not allowed, such as credentials.
    """
    bucket, _, key = text.removeprefix(SCHEME).partition("/")
    parts = [part for part in key.split("/") if part]
    if not _BUCKET.fullmatch(bucket) or any(part in (".", "..") for part in parts):
        raise OutputError(
            "s3:// path: has to be s3://bucket/folder; endpoint and credentials come from the "
            "environment (AWS_ENDPOINT_URL, AWS_PROFILE, AWS_ACCESS_KEY_ID, ...)"
        )
    return BucketPath(bucket, "/".join(parts))
