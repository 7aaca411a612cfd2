"""The catalog: the releases of a folder, told apart by their manifests alone.

No file of the data is opened here: whether one has changed is what an audit finds out.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from tclose.data.places.locations import Location
from tclose.errors import OutputError
from tclose.releases.repository.name_folders import list_folders, reading_place
from tclose.releases.repository.operations_log import find_removal
from tclose.releases.repository.repository import ReleaseRepository, open_store, read_manifest
from tclose.releases.stores.filesystem import ID


@dataclass(frozen=True)
class Entry:
    """A release of a name. ``published_at`` is None where no manifest says it of this release."""

    release_id: str
    published_at: datetime | None

    @property
    def is_readable(self) -> bool:
        """True if the manifest is present, intact, and that of this release."""
        return self.published_at is not None


def list_releases(repository: ReleaseRepository) -> tuple[Entry, ...]:
    """The releases of a name, the oldest first; those that cannot be read before them."""
    entries = [Entry(name, _read_date(repository, name)) for name in repository.store.ids()]
    return tuple(sorted(entries, key=lambda e: (e.published_at is not None, _rank(e))))


def _rank(entry: Entry) -> tuple[str, str]:
    date = entry.published_at
    return (date.astimezone(UTC).isoformat() if date else "", entry.release_id)


def _read_date(repository: ReleaseRepository, release_id: str) -> datetime | None:
    """Return a release's time of publication, if its public manifest is intact and its own."""
    manifest = read_manifest(repository.release(release_id))
    if manifest is None or manifest.release_id != release_id:
        return None
    date = manifest.published
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _is_release(location: Location) -> bool:
    with reading_place(location):
        return (location / "manifest.json").is_file()


def _is_repository(location: Location) -> bool:
    """Return whether the folder is a repository of one name, or of a first run in progress."""
    with reading_place(location):
        if not location.is_dir() or _is_release(location):
            return False
        if (location / "CURRENT").is_file() or (location / ".lock").is_file():
            return True
    return any(_is_release(location / name) for name in open_store(location).ids())


def open_repository(location: Location) -> ReleaseRepository:
    """The releases of one name, by their folder.

    Raises
    ------
    OutputError
        It is none.
    """
    if _is_repository(location):
        absolute = location.resolve()
        return ReleaseRepository(absolute.parent, absolute.name)
    if not location.exists():
        raise OutputError(f"{location}: no such folder")
    if _is_release(location):
        raise OutputError(f"{location}: is a single release; give the folder that holds it")
    folders = list_folders(location) if location.is_dir() else []
    names = [path.name for path in folders if _is_repository(path)]
    if names:
        raise OutputError(f"{location}: holds releases of {', '.join(names)}; name one, as in "
                          f"{location / names[0]}")  # fmt: skip
    raise OutputError(f"{location}: is neither a release nor a folder of releases")


def find_repositories(location: Location) -> tuple[ReleaseRepository, ...]:
    """The releases of a name, or of all names of an output folder, by name.

    Raises
    ------
    OutputError
        There are none.
    """
    if not _is_release(location) and not _is_repository(location) and location.is_dir():
        entries = tuple(
            open_repository(path) for path in list_folders(location) if _is_repository(path)
        )
        if entries:
            return entries
    return (open_repository(location),)


def find_release(location: Location) -> Location:
    """A release: by its folder, its id cut short or not, or by that of its name (the current one).

    The beginning of an id is enough where no other release of the name begins like it.

    Raises
    ------
    OutputError
        There is no such release, or more than one.
    """
    if _is_release(location):
        return location
    if not location.exists() and _is_repository(location.parent):
        repository = open_repository(location.parent)
        return location.parent / pick_id(repository, location.name)
    if ID.fullmatch(location.name) and location.is_dir():
        raise OutputError(f"{location}: is not a release (it has no manifest.json)")
    repository = open_repository(location)
    return location / current_id(repository)


def pick_id(repository: ReleaseRepository, id_prefix: str) -> str:
    """The id of the one release that begins so.

    Raises
    ------
    OutputError
        None does, or several do.
    """
    fitting = [name for name in repository.store.ids() if name.startswith(id_prefix)]
    if len(fitting) == 1:
        return fitting[0]
    at = None if fitting or not id_prefix else find_removal(repository, id_prefix)
    if at is not None:
        raise OutputError(
            f"{repository.root}: the release that begins with {id_prefix!r} was removed by tclose "
            f"prune ({at}); see `tclose releases {repository.root}`"
        )
    if not fitting:
        raise OutputError(
            f"{repository.root}: no such release, none begins with {id_prefix!r}; "
            f"see `tclose releases {repository.root}`"
        )
    raise OutputError(
        f"{repository.root}: {id_prefix!r} is ambiguous, {len(fitting)} releases begin with it: "
        f"{', '.join(fitting)}"
    )


def current_id(repository: ReleaseRepository) -> str:
    """The id of the current release, which is there.

    Raises
    ------
    OutputError
        No release is current, or the one that is has gone.
    """
    current = repository.current()
    if current is None:
        raise OutputError(
            f"{repository.root}: no release is current; name one by its id "
            "(`tclose rollback FOLDER ID` makes it the current one)"
        )
    if not ID.fullmatch(current) or not repository.release(current).is_dir():
        raise OutputError(
            f"{repository.root}: CURRENT names a release that is not there; run its policy "
            "again, or "
            "name one by its id (`tclose rollback FOLDER ID` makes it the current one)"
        )
    return current
