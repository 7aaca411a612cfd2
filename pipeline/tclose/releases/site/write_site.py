"""Writing of a static site of releases: files that any web server shows, and a browser without one.

Pages are made from public manifests anew; no other file of a release is read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tclose.data.places.atomic_files import write_atomically
from tclose.data.places.locations import Location, is_utf8, show_name
from tclose.errors import OutputError
from tclose.releases.catalog.catalog import find_repositories, list_releases
from tclose.releases.documents import make_documents
from tclose.releases.repository.contents import read_content
from tclose.releases.repository.repository import ReleaseRepository, read_manifest
from tclose.releases.site.site_pages import ListedPage, write_dictionary_page, write_index

LIST = "tclose-site.json"  # of the files that the last site had, which the next one may remove
INDEX = "index.html"


@dataclass(frozen=True)
class Site:
    """A site that was written: its folder, and how many releases it shows.

    ``left_out``: those whose manifest cannot be read; ``unlinked``: folders of a name that is not
    UTF-8, to which no page can have a link; ``taken``: those whose name is that of a file of the
    site itself.
    """

    folder: Path
    n_releases: int
    left_out: tuple[str, ...]
    unlinked: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()


def write_site(place: Location, folder: Path) -> Site:
    """Write a site of the releases of a name, or of all names of an output folder.

    Parameters
    ----------
    folder : a new one, an empty one, or one that has a site, whose pages are replaced

    Raises
    ------
    OutputError
        There are no releases, or the folder has other files, or links in the place of its own.
    """
    before = _find_site(folder)
    files: dict[str, bytes] = {}
    names: list[tuple[str, Sequence[ListedPage]]] = []
    left_out: list[str] = []
    unlinked: list[str] = []
    taken: list[str] = []
    for repository in find_repositories(place):
        if not is_utf8(repository.name):
            unlinked.append(show_name(repository.name))
            continue
        if repository.name in (INDEX, LIST):
            taken.append(repository.name)
            continue
        listed = _list_pages(repository, left_out)
        if listed:
            names.append((repository.name, listed))
        for one in listed:
            files |= _make_pages(repository, one)
    if not names:
        raise OutputError(f"{place}: has no release that can be read, so there is nothing to show")
    files[INDEX] = write_index(show_name(place.resolve().name), names).encode()
    _refuse_links(folder, {*before, *files, LIST})
    _replace_files(folder, before, files)
    n_releases = sum(len(listed) for _, listed in names)
    return Site(folder, n_releases, tuple(left_out), tuple(unlinked), tuple(taken))


def _list_pages(repository: ReleaseRepository, left_out: list[str]) -> list[ListedPage]:
    """The releases of a name, the newest first; those that cannot be shown are noted."""
    current, listed = repository.current(), []
    for entry in reversed(list_releases(repository)):
        place = f"{repository.name}/{entry.release_id}"
        manifest = read_manifest(repository.release(entry.release_id))
        if manifest is None or not entry.is_readable:
            left_out.append(place)
        else:
            listed.append(ListedPage(manifest, place, entry.release_id == current))
    return listed


def _make_pages(repository: ReleaseRepository, listed: ListedPage) -> Mapping[str, bytes]:
    """The files of a release, by their places on the site."""
    manifest = listed.manifest
    pages = dict(make_documents(manifest))
    pages["dictionary.html"] = write_dictionary_page(manifest).encode()
    release = repository.release(PurePosixPath(listed.place).name)
    pages["manifest.json"] = read_content(release)
    return {f"{listed.place}/{name}": content for name, content in pages.items()}


def _find_site(folder: Path) -> tuple[str, ...]:
    """Files of the site that the folder has.

    Raises
    ------
    OutputError
        It has others and no site, or is none.
    """
    if not folder.exists():
        return ()
    if not folder.is_dir():
        raise OutputError(f"{folder}: is no folder; name another by --out")
    try:
        written = json.loads((folder / LIST).read_text(encoding="utf-8"))
        return tuple(str(name) for name in written["files"])
    except FileNotFoundError:
        if any(folder.iterdir()):
            raise OutputError(
                f"{folder}: has files and no site; name an empty folder by --out"
            ) from None
        return ()
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(
            f"{folder / LIST}: is damaged; remove the folder, or name another by --out"
        ) from None


def _refuse_links(folder: Path, names: set[str]) -> None:
    """Refuse links in the folder, through which files of others would be replaced or removed."""
    inside = [PurePosixPath(name) for name in names if _is_inside(name)]
    places = {part for path in inside for part in (path, *path.parents)} - {PurePosixPath()}
    for place in sorted(places):
        if (folder / place).is_symlink():
            raise OutputError(
                f"{folder / place}: is a link, and a site has none; remove it, or name another "
                "folder by --out"
            )


def _replace_files(folder: Path, before: Sequence[str], files: Mapping[str, bytes]) -> None:
    """Write the pages, then remove those that only the site before had.

    Files are listed before they are written, so that the folder is one of a site if that fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_file(folder / LIST, _list_files({*before, *files}))
        for name, content in files.items():
            _write_file(folder / name, content)
        for name in before:
            if name not in files and _is_inside(name):
                (folder / name).unlink(missing_ok=True)
        _write_file(folder / LIST, _list_files(set(files)))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None


def _list_files(names: set[str]) -> bytes:
    return (json.dumps({"files": sorted(names)}, indent=2) + "\n").encode()


def _write_file(path: Path, content: bytes) -> None:
    """Write a file that web servers may read: whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content, mode=0o666, is_forced=False)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
