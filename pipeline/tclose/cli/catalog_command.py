"""Commands of the register: ``releases``, ``show``, ``diff``, ``rollback``, ``prune``, ``site``."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import OutputError, UsageError

if TYPE_CHECKING:
    from tclose.data.places.locations import Location

AddCommand = Callable[[str, str, str], argparse.ArgumentParser]

_PLACE = "folder of a release or of a name; the beginning of an id is enough"


def add_register_commands(add: AddCommand) -> None:
    """Add the commands; ``add`` makes a parser of a name, what it is for, and an example."""
    releases = add("releases", "list the releases of a name, or of all names of an output folder",
                   "tclose releases releases/demo")  # fmt: skip
    releases.add_argument("place", metavar="PLACE", type=as_place,
                          help="folder of a name, or output folder")  # fmt: skip
    show = add("show", "show one release: policy, privacy, classes, loss, columns, files",
               "tclose show releases/demo             # the current release\n"
               "  tclose show releases/demo/1f0c")  # fmt: skip
    show.add_argument("release", metavar="RELEASE", type=as_place, help=_PLACE)
    diff = add("diff", "show the differences between two releases' manifests",
               "tclose diff releases/demo/1f0c releases/demo/92ab\n\n"
               "  exit status 0: nothing differs, 1: something does, others as below")  # fmt: skip
    for name in ("first", "second"):
        diff.add_argument(name, metavar=name.upper(), type=as_place, help=_PLACE)
    rollback = add("rollback", "make an earlier release the current one, after an audit of it",
                   "tclose rollback releases/demo         # to the one before\n"
                   "  tclose rollback releases/demo 1f0c")  # fmt: skip
    rollback.add_argument("folder", metavar="FOLDER", type=as_place, help="folder of a name")
    rollback.add_argument("id", metavar="ID", nargs="?",
                          help="release to go to, or the beginning of its id (default: the one "
                          "published before, past those that a rollback has left)")  # fmt: skip
    prune = add("prune", "remove the oldest releases, never the current one",
                "tclose prune releases/demo --keep 12 --dry-run")  # fmt: skip
    prune.add_argument("folder", metavar="FOLDER", type=as_place, help="folder of a name")
    prune.add_argument("--keep", type=int, required=True, metavar="N",
                       help="number of newest releases to keep; the current one stays, with 0 "
                            "alone")  # fmt: skip
    prune.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    site = add("site", "write a static site of the releases, from their public manifests",
               "tclose site releases --out site")  # fmt: skip
    site.add_argument("place", metavar="PLACE", type=as_place,
                      help="folder of a name, or output folder")  # fmt: skip
    site.add_argument("--out", type=Path, required=True, metavar="FOLDER",
                      help="a new or empty folder, or one with a site")  # fmt: skip
    for command in (releases, show, diff, rollback, prune, site):
        command.add_argument("--json", action="store_true", help="print the result as JSON")


def as_place(text: str) -> "Location":
    """The place that an argument names."""
    from tclose.data.places.locations import parse_location

    try:
        return parse_location(text)
    except OutputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _releases(arguments: argparse.Namespace) -> tuple[str, int]:
    from tclose.releases.catalog.catalog import find_repositories
    from tclose.render.catalog_listing import describe_repository
    from tclose.render.catalog_tables import report_repository

    described = [
        describe_repository(repository) for repository in find_repositories(arguments.place)
    ]
    if arguments.json:
        return _as_json([listing.to_json() for listing in described]), 0
    return "\n\n".join(report_repository(repository) for repository in described), 0


def _show(arguments: argparse.Namespace) -> tuple[str, int]:
    from tclose.releases.catalog.catalog import find_release
    from tclose.releases.repository.repository import read_manifest
    from tclose.render.catalog_listing import describe_release
    from tclose.render.catalog_tables import report_one

    release = find_release(arguments.release)
    manifest = read_manifest(release)
    if manifest is None:
        raise OutputError(f"{release}: its manifest is missing or damaged; run its policy again")
    described = describe_release(release, manifest, is_current=_is_current(release))
    return _as_json(described.to_json()) if arguments.json else report_one(described), 0


def _is_current(release: "Location") -> bool:
    """Return whether a release is the current one of the repository that it is in."""
    from tclose.releases.catalog.catalog import open_repository

    try:
        repository = open_repository(release.resolve().parent)
    except OutputError:
        return False
    return repository.current() == release.resolve().name


def _diff(arguments: argparse.Namespace) -> tuple[str, int]:
    from tclose.releases.catalog.catalog import find_release
    from tclose.releases.catalog.diff import compare_releases
    from tclose.render.catalog_tables import describe_diff, report_diff

    first, second = find_release(arguments.first), find_release(arguments.second)
    comparison = compare_releases(first, second)
    status = 1 if comparison.differences else 0
    if arguments.json:
        return _as_json(describe_diff(first, second, comparison)), status
    return report_diff(first, second, comparison), status


def _rollback(arguments: argparse.Namespace) -> tuple[str, int]:
    from tclose.assess.rollback import roll_back
    from tclose.releases.catalog.catalog import open_repository

    repository = open_repository(arguments.folder)
    move = roll_back(repository, arguments.id)
    if arguments.json:
        described = {"name": repository.name, "from": move.previous, "to": move.current}
        return _as_json(described | {"skipped": move.skipped}), 0
    over = [f"passed over {name}: left by an earlier rollback" for name in move.skipped]
    moved = f"CURRENT of {repository.name} moved from {move.previous or 'none'} to {move.current}"
    return "\n".join([f"{move.current} passes the audit", *over, moved]), 0


def _prune(arguments: argparse.Namespace) -> tuple[str, int]:
    from tclose.releases.catalog.catalog import open_repository
    from tclose.releases.catalog.prune import plan_pruning, prune

    if arguments.keep < 0:
        raise UsageError(f"--keep {arguments.keep}: has to be at least 0")
    repository = open_repository(arguments.folder)
    pruning = (plan_pruning if arguments.dry_run else prune)(repository, arguments.keep)
    if arguments.json:
        described = {
            "name": repository.name,
            "dry_run": arguments.dry_run,
            "removed": pruning.removed,
        }
        return _as_json(described | {"kept": pruning.kept, "spared": dict(pruning.skipped)}), 0
    verb = "would remove" if arguments.dry_run else "removed"
    lines = [f"{verb} {name}" for name in pruning.removed] or [f"{verb} nothing"]
    lines += [f"kept {name}: {reason}" for name, reason in pruning.skipped]
    return "\n".join([*lines, f"kept the newest: {len(pruning.kept)}"]), 0


def _site(arguments: argparse.Namespace) -> tuple[str, int]:
    from tclose.model.counted_words import count_words
    from tclose.releases.site.write_site import write_site

    site = write_site(arguments.place, arguments.out)
    if arguments.json:
        described = {"folder": str(site.folder), "releases": site.n_releases}
        return _as_json(described | {"left_out": site.left_out + site.unlinked + site.taken}), 0
    lines = [f"left out {name}: its manifest cannot be read" for name in site.left_out]
    lines += [f"left out {name}: its name is not UTF-8; rename it" for name in site.unlinked]
    lines += [f"left out {name}: a file of the site has its name; rename it" for name in site.taken]
    return "\n".join(
        [*lines, f"{count_words(site.n_releases, 'release')} in {site.folder / 'index.html'}"]
    ), 0


def _as_json(described: Any) -> str:
    return json.dumps(described, indent=2)


ANSWERS: dict[str, Callable[[argparse.Namespace], tuple[str, int]]] = {
    "releases": _releases,
    "show": _show,
    "diff": _diff,
    "rollback": _rollback,
    "prune": _prune,
    "site": _site,
}
