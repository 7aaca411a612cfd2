"""Models and formats of other distributions that a release needs and this installation lacks."""

from collections.abc import Iterable
from dataclasses import dataclass

from tclose.data.formats.format_registry import find_format
from tclose.data.places.locations import Location
from tclose.errors import NotInstalledError
from tclose.privacy.model_registry import MODELS
from tclose.releases.manifest.public_manifest import Manifest

_MOST_LETTERS = 60
_REMEDY = "install the distribution that registers it, and audit again"


@dataclass(frozen=True)
class Lacking:
    """Names of models, and suffixes of files, that no registry has."""

    models: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """A line for each; the names are the manifest's, so anybody may have written them."""
        named = [f"the model {name[:_MOST_LETTERS]!r}" for name in self.models]
        named += [f"the format of .{suffix[:_MOST_LETTERS]} files" for suffix in self.suffixes]
        return [f"made with {name}, which is not installed here: {_REMEDY}" for name in named]

    def leave_out(self, manifest: Manifest) -> Manifest:
        """The manifest without what it says of these models."""
        if not self.models:
            return manifest
        known = [m for m in manifest.privacy.models or [] if m.name not in self.models]
        privacy = manifest.privacy.model_copy(update={"models": known})
        return manifest.model_copy(update={"privacy": privacy})

    def refuse(self, release: Location) -> None:
        """Refuse a release of which all else holds: without these nobody can tell.

        Raises
        ------
        NotInstalledError
            Anything is lacking.
        """
        if self.notes:
            notes = "; ".join(self.notes)
            raise NotInstalledError(f"{release}: {notes}. What was checked without it holds")


def find_lacking(manifest: Manifest) -> Lacking:
    """List what a manifest names and no registry has."""
    models = [entry.name for entry in manifest.privacy.models or []]
    return Lacking(
        _distinct(name for name in models if MODELS.find(name) is None),
        _distinct(
            file.path.rpartition(".")[2] for file in manifest.files if not _is_known(file.path)
        ),
    )


def _is_known(path: str) -> bool:
    try:
        find_format(path)
    except NotInstalledError:
        return False
    return True


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
