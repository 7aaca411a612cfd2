"""The reference is complete, and what it points at is there."""

import argparse
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tclose
from support.pages import (
    DEPLOY,
    PAGES,
    README,
    ROOT,
    anchors_of,
    blocks_of,
    codes_of,
    commands_of,
    links_of,
    prose_of,
    sections_of,
)
from tclose.cli.main import _parser
from tclose.methods.method import Method, registered_methods
from tclose.model.column_terms import Distance, Kind, Role
from tclose.passes.release import RELEASE
from tclose.policy.policy import policy_schema
from tclose.privacy.model_registry import MODELS
from tclose.privacy.privacy_model import Model

DOCS = ROOT / "docs"
PACKAGE = ROOT / "pipeline" / "tclose"
ALL = [README, *PAGES, DEPLOY, ROOT / "CHANGELOG.md", *sorted((ROOT / "benchmarks").glob("*.md"))]
SECTION_OF = {
    "AboutSettings": "about",
    "AttributeSettings": "attributes",
    "IntervalSettings": "attributes",
    "NoiseSettings": "attributes",
    "PercentileSettings": "attributes",
    "InputSettings": "input",
    "PrivacySettings": "privacy",
    "JointSettings": "privacy",
    "OverTimeSettings": "privacy",
    "HoldSettings": "privacy",
    "SuppressSettings": "suppress",
    "Model": "privacy",
    "Method": "method",
    "OutputSettings": "output",
    "EngineSettings": "engine",
    "TlsSettings": "engine",
    "KubernetesSettings": "engine",
    "OutputFormat": "output",
}
VALUES = {"Role": Role, "Kind": Kind, "Distance": Distance}
SYSTEM_MESSAGES = {"No space left on device"}


def keys_of(schema: dict[str, Any]) -> set[str]:
    """The keys that a section can have, of all its forms."""
    forms = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return set(schema.get("properties", {})).union(*map(keys_of, forms))


def test_policy_page_names_every_key() -> None:
    schema, sections = policy_schema(), sections_of(DOCS / "policy.md")
    wanted = {("Top level", key) for key in schema["properties"]}
    for name, section in schema["$defs"].items():
        if name in VALUES:
            wanted |= {("attributes", value.value) for value in VALUES[name]}
        else:
            wanted |= {(SECTION_OF[name], key) for key in keys_of(section)}
    assert len(wanted) > 70
    assert [pair for pair in sorted(wanted) if f"`{pair[1]}`" not in sections[pair[0]]] == []


def test_methods_page_has_the_keys_of_each_method() -> None:
    rows = sections_of(DOCS / "methods.md")
    table = (DOCS / "methods.md").read_text().split("\n## ")[0]
    for name, method in registered_methods().items():
        [row] = re.findall(rf"^\| `{name}` \|.*$", table, re.MULTILINE)
        own = method.model_fields.keys() - Method.model_fields.keys()
        keys = [*own, *["refine"] * method.refines, *["losses"] * (not method.generalises)]
        assert [key for key in sorted(keys) if f"`{key}`" not in row] == [], name
        assert re.search(rf"^\| `{name}`", rows["Times and losses on Adult"], re.MULTILINE)


def test_models_page_has_the_keys_of_each_model() -> None:
    text = (DOCS / "privacy-models.md").read_text()
    for name, model in MODELS.classes().items():
        [row] = re.findall(rf"^\|.*`{{name: {name}\b.*$", text, re.MULTILINE)
        for key in model.model_fields.keys() - Model.model_fields.keys():
            assert f"{key}: " in row


def test_commands_page_names_every_command_and_option() -> None:
    text = (DOCS / "commands.md").read_text()
    [commands] = [a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction)]
    assert len(commands.choices) > 10
    for name, command in commands.choices.items():
        assert f"`tclose {name}" in text
        for option in command._option_string_actions:
            assert option == "-h" or re.search(rf"`{option}[` ]", text), (name, option)
    assert "`--version`" in text


def test_commands_in_prose_have_the_options_that_they_are_given() -> None:
    [commands] = [a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction)]
    n_commands = 0
    for page in ALL:
        for code in codes_of(page):
            words = code.replace("[", " ").replace("]", " ").split()
            if words[0] == "tclose" and len(words) > 1 and not words[1].startswith("-"):
                known = commands.choices[words[1]]._option_string_actions
                assert [w for w in words if w.startswith("--") and w not in known] == [], code
                n_commands += 1
    assert n_commands > 40


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    for link in links_of(page):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_every_page_is_in_the_index() -> None:
    index = links_of(DOCS / "README.md")
    assert [page.name for page in PAGES if page.name not in (*index, "README.md")] == []


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named: set[str] = set()
    for page in (README, *PAGES, DEPLOY):
        consoles = [block for block in blocks_of(page) if block.language == "console"]
        lines = [shown.command for block in consoles for shown in commands_of(block)]
        texts = [*codes_of(page), *lines, *re.findall(r"`(make\s[^`]+)`", prose_of(page))]
        named |= {found[1] for text in texts if (found := re.match(r"make\s+([a-z-]+)", text))}
    assert named >= {"demo", "test", "check", "bench", "nightly", "stack"}
    assert named <= targets


# Folders that a run, a release or `make` makes, and those of machines.
PLACES = (
    "stack", "demo", "internal", "profile", "NAME", "data", "policies", ".claims", ".committing",
    ".failed", ".work", "TMPDIR", "tclose",
)  # fmt: skip


@pytest.mark.parametrize("page", [README, *PAGES, DEPLOY], ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    handed = {a.name for one in RELEASE.passes for a in (*one.reads, *one.writes, *one.files)}
    for code in codes_of(page):
        if re.fullmatch(r"[\w.*-]+(/[\w.*-]*)+", code) and code not in handed:
            first = code.split("/")[0]
            bases = [b for b in (page.parent, ROOT, PACKAGE) if (b / first).is_dir()]
            if first not in PLACES:
                assert any(list(base.glob(code)) for base in bases), code


def test_map_of_the_folders() -> None:
    """The README's map names every folder of the package, and none that is not there."""
    section = sections_of(README)["The path of the data"]
    lines = section.split("```")[1].splitlines()
    named = [n for line in lines for n in re.findall(r"([\w]+(?:/\w+)*)/", line.split("    ")[0])]
    named += [n for line in lines for n in re.findall(r"\b(\w+)/", line)]
    inner = ("policy", "data", "passes", "kernels", "runtime", "releases", "assess")
    places = [ROOT, PACKAGE, *(PACKAGE / n for n in inner)]
    places += [ROOT / folder for folder in ("benchmarks", "flows", "pipeline")]
    assert [n for n in named if not any((place / n).is_dir() for place in places)] == []
    folders = [f.name for f in (*PACKAGE.iterdir(), *(PACKAGE / "passes").iterdir()) if f.is_dir()]
    assert [f for f in folders if f not in named and not f.startswith("_")] == []


def test_readme_is_short_and_says_how_to_start() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 130
    assert "make demo" in text
    assert "make test" in text


def test_layers_are_those_of_the_contract() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = [line.replace(" | ", ", ").replace("tclose.", "") for line in contracts[0]["layers"]]
    text = " ".join(sections_of(DOCS / "developers.md")["Layers"].split())
    assert " -> ".join(layers) in text


def test_passes_are_those_of_the_release() -> None:
    rows = re.findall(
        r"^\| `([a-z]+)` \| (.*) \| (.*) \|$", (DOCS / "developers.md").read_text(), re.MULTILINE
    )
    said = [(name, *(re.findall(r"`([^`]+)`", cell) for cell in cells)) for name, *cells in rows]
    assert said == [
        (one.name, [a.name for a in one.reads], [a.name for a in (*one.writes, *one.files)])
        for one in RELEASE.passes
    ]


def test_messages_in_the_guide_are_those_of_the_code() -> None:
    table = sections_of(DEPLOY)["Failure"]
    sources = [path.read_text() for path in PACKAGE.rglob("*.py")]
    code = re.sub(r'"\s*f?"', "", "\n".join(sources))
    quoted = re.findall(r"^\|[^|]*\|[^|`]*`([^`]{12,})`", table, re.MULTILINE)
    assert len(quoted) >= 3
    assert [m for m in quoted if m not in code and m not in SYSTEM_MESSAGES] == []


@pytest.mark.parametrize("name", ["Release", "PlanSummary", "Audit", "Frontier", "Check"])
def test_python_page_names_what_results_have(name: str) -> None:
    text = (DOCS / "python.md").read_text()
    [row] = re.findall(rf"^\| `{name}` \| (.*) \|$", text, re.MULTILINE)
    result = getattr(tclose, name)
    known = {*dir(result), *getattr(result, "__dataclass_fields__", ())}
    named = re.findall(r"(?:^|, |and |by )`(\w+)(?:\(\))?`", re.sub(r"\([^()]*\)", "", row))
    assert named
    assert [attribute for attribute in named if attribute not in known] == []


@pytest.mark.parametrize("name", ["load_policy", "plan", "release", "audit", "frontier", "check"])
def test_python_page_has_the_parameters_of_each_function(name: str) -> None:
    [said] = re.findall(rf"^\| `{name}\((.*)\)` \|", (DOCS / "python.md").read_text(), re.MULTILINE)
    signature = inspect.signature(getattr(tclose, name))
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    assert f"({said})" == str(inspect.Signature(plain))
