"""Classes by their names: the package's own, those registered by hand, those of entry points."""

import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from tclose.errors import UsageError
from tclose.model.registry import Registrable, Registry

GROUP = "tclose.toys"
MODULE = """
from typing import Literal
from tclose.model.registry import Registrable
class Toy(Registrable):
    name: Literal["toy"]
import toy_registry
toy_registry.REGISTRY.register(Toy)
"""


class Ball(Registrable):
    name: Literal["ball"]


class OtherBall(Registrable):
    name: Literal["ball"] = "ball"


class Nameless(Registrable):
    name: str


def install(folder: Path, module: str, monkeypatch: pytest.MonkeyPatch) -> Registry[Any]:
    """A distribution with an entry point, as an installer leaves it; the registry it is for."""
    registry: Registry[Any] = Registry(GROUP, ())
    (folder / "toys.py").write_text(module)
    (folder / "toy_registry.py").write_text("")
    about = folder / "toys-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\ntoy = toys\n")
    monkeypatch.syspath_prepend(folder)
    for name in ("toys", "toy_registry"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import toy_registry

    monkeypatch.setattr(toy_registry, "REGISTRY", registry, raising=False)
    return registry


def test_entry_points_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = install(tmp_path, MODULE, monkeypatch)
    found = registry.find("toy")
    assert found is not None
    assert found.__module__ == "toys"
    assert list(registry.classes()) == ["toy"]


@pytest.mark.parametrize("module", ["import no_such_module", MODULE * 2])
def test_entry_point_that_cannot_be_loaded(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = install(tmp_path, module, monkeypatch)
    with pytest.raises(UsageError, match=r"entry point 'toy' of tclose\.toys: toys cannot be"):
        registry.classes()


def test_name_is_taken_once() -> None:
    registry: Registry[Any] = Registry(GROUP, ())
    assert registry.register(Ball) is Ball
    assert registry.register(Ball) is Ball
    with pytest.raises(ValueError, match="'ball' is registered already"):
        registry.register(OtherBall)
    registry.unregister("ball")
    assert registry.find("ball") is None


class Numbered(Registrable):
    name: Literal[7]  # type: ignore[assignment]


def test_class_needs_one_name() -> None:
    """As a text: manifests and policies have no other."""
    registry: Registry[Any] = Registry(GROUP, ())
    for registered in (Nameless, Numbered):
        with pytest.raises(ValueError, match=f"{registered.__name__} needs a field"):
            registry.register(registered)


@pytest.mark.parametrize("name", [None, 3, ["ball"], "cube"])
def test_no_such_name(name: object) -> None:
    assert Registry[Any](GROUP, ()).find(name) is None


def test_what_failed_to_load_fails_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = install(tmp_path, "raise RuntimeError('no licence')", monkeypatch)
    for _ in range(2):
        with pytest.raises(UsageError, match=r"entry point 'toy' .*\(no licence\)"):
            registry.classes()
