"""House rules that no tool checks: a name of the package has one meaning, and so one definition."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted([*ROOT.glob("pipeline/tclose/**/*.py"), *ROOT.glob("flows/tclose_flows/**/*.py")])
ENTRIES = 14  # modules of a folder, at most
WITH_FOLDERS = 17  # modules and folders: the package itself has its layers

# Flows are named by the public function that each runs as a Prefect deployment.
SHARED_FUNCTIONS = {"audit", "release"}


def repeated(names: Iterator[str]) -> set[str]:
    """The names that come more than once."""
    return {name for name, count in Counter(names).items() if count > 1}


def defined(kind: type[ast.ClassDef | ast.FunctionDef]) -> Iterator[str]:
    """Public names that modules define."""
    for module in MODULES:
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                yield node.name


def test_every_class_name_is_defined_once() -> None:
    assert repeated(defined(ast.ClassDef)) == set()


def test_every_public_function_name_is_defined_once() -> None:
    assert repeated(defined(ast.FunctionDef)) == SHARED_FUNCTIONS


def test_every_file_name_is_used_once() -> None:
    assert repeated(m.name for m in MODULES if not m.name.startswith("__")) == set()
    for folder in ("benchmarks", "tests"):
        names = (module.name for module in (ROOT / folder).rglob("*.py"))
        assert repeated(names) <= {"__init__.py", "__main__.py", "conftest.py"}


def test_folders_are_small() -> None:
    folders = Counter(module.parent for module in MODULES if module.name != "__init__.py")
    assert {folder.name for folder, n in folders.items() if n > ENTRIES} == set()


def test_folders_have_few_entries() -> None:
    """Modules and folders together, of the package and of the benchmarks."""
    modules = [*MODULES, *ROOT.glob("benchmarks/**/*.py")]
    places = {m for m in modules if m.name != "__init__.py"} | {m.parent for m in modules}
    entries = Counter(place.parent for place in places)
    assert {folder.name for folder, n in entries.items() if n > WITH_FOLDERS} == set()
