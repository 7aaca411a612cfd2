"""Places as they may be shown: URLs without the users, passwords, tokens and keys in them.

Messages, manifests, lineage and what Prefect keeps have places through here; only what opens a
place has it whole. What cannot be told apart from a secret is taken for one.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

HIDDEN = "***"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_URLS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_LOCAL = ("file", "local", "memory")
_WITH_CONTAINER = ("abfs", "abfss", "wasb", "wasbs")  # container@account: no user
_WITH_QUERY = ("http", "https", "ftp", "sftp", "ssh", "webhdfs")  # elsewhere ? is a pattern's
_FILES = re.compile(r"^(?:files?|in) .*", re.MULTILINE)  # lines that name files of the input
_FOLDER_VALUE = re.compile(r"(?<=[^\s/=]=)[^/\n]*/")
_ENDS = ".,:;)]}'\""  # of a URL in a sentence


def redact(text: str) -> str:
    """A message with the URLs in it redacted."""
    return _URLS.sub(_redact_found, text)


def _redact_found(match: re.Match[str]) -> str:
    url = match[0].rstrip(_ENDS)
    return redact_place(url) + match[0][len(url) :]


def redact_folders(text: str) -> str:
    """Hide the values that folders of input files are called by, as in ``city=*/part-0.csv``."""
    return _FILES.sub(lambda line: _FOLDER_VALUE.sub("*/", line[0]), text)


def redact_place(place: str) -> str:
    """A path as it is; a URL, or chain of URLs, without who reads it and by what secret."""
    return "::".join(map(_redact_url, place.split("::"))) if "://" in place else place


def _redact_url(url: str) -> str:
    parts = _URL.fullmatch(url)
    if parts is None or parts[1].lower() in _LOCAL:
        return url
    scheme, rest = parts[1], parts[2]
    user, rest = _split_user(rest)
    if user and (":" in user or scheme.lower() not in _WITH_CONTAINER):
        user = HIDDEN
    path, sign, query = _split_query(rest)
    if query and (scheme.lower() in _WITH_QUERY or "=" in query):
        query = HIDDEN
    return f"{scheme}://{user}{'@' if user else ''}{path}{sign}{query}"


def _split_user(rest: str) -> tuple[str, str]:
    """User and password, which may have any sign in them, and what comes after."""
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        user, _, after = authority.rpartition("@")
        rest = after + rest[len(authority) :]
        return (user, rest) if ":" in user or ":" not in after else _split_at_last(user, rest)
    return _split_at_last("", rest) if ":" in authority else ("", rest)


def _split_at_last(user: str, rest: str) -> tuple[str, str]:
    """Split user and host where a password with a slash begins like a port."""
    before, at, after = rest.rpartition("@")
    return (f"{user}@{before}", after) if at else (user, rest)


def _split_query(rest: str) -> tuple[str, str, str]:
    match = re.search("[?#]", rest)
    if match is None:
        return rest, "", ""
    return rest[: match.start()], match[0], rest[match.end() :]


def file_name(place: str) -> str:
    """The last part of a path or URL, without what a URL asks for."""
    return _list_parts(place)[-1]


def name_apart(places: Sequence[str]) -> list[str]:
    """Name each of several files as `file_name`, or, if two had one name, by as much as tells.

    That is the path below the deepest folder that has all of them: no message says where on a
    machine that folder is, and the folders below it may be called by values of records.
    """
    split = [_list_parts(place) for place in places]
    names = [parts[-1] for parts in split]
    if len(set(names)) == len(names):
        return names
    levels = zip(*(parts[:-1] for parts in split), strict=False)  # down to the shortest path
    n_shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    return ["/".join(parts[n_shared:]) for parts in split]


def _list_parts(place: str) -> list[str]:
    shown = redact_place(place)
    parts = _URL.fullmatch(shown)
    if parts is not None and parts[1].lower() in _WITH_QUERY:
        shown = _split_query(shown)[0]
    return shown.rstrip("/").split("/")
