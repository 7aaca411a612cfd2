"""What README.md and docs/*.md show is run: policies, commands and what they print, Python."""

import contextlib
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support.length import FULL
from support.pages import (
    DEPLOY,
    PAGES,
    README,
    ROOT,
    Block,
    Shown,
    blocks_of,
    commands_of,
    is_shown,
    lines_of,
)
from tclose.cli.main import _parser, main
from tclose.methods.method_registry import METHODS
from tclose.policy.policy import Policy, parse_policy
from tclose.policy.yaml_values import read_yaml
from tclose.privacy.model_registry import MODELS

# Whose releases take seconds.
LONG_PAGES = ("assessment.md", "over-time.md", "tutorial.md")
DAY = date(2026, 11, 1)
BASE = "discharges.yaml"  # the quick start's policy, which parts of policies go into
SHORT_SAMPLE = "--sample=200"
# Pages that do not go on from the quick start's release: theirs are searched less.
SHORT_SEARCHES = ("operations.md", "policy.md", "privacy-models.md", "python.md")
MOST_NOT_RUN = 3
# Others are pictures in letters; an sh block needs data or minutes that tests have not.
LANGUAGES = {"", "console", "python", "sh", "yaml"}


class Page:
    """A page being run in a folder."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.names: dict[str, Any] = {"__name__": path.stem}

    def run(self) -> None:
        """Run all blocks in their order."""
        for block in blocks_of(self.path):
            where = f"{self.path.name}, line {block.line}"
            if block.language == "yaml":
                self._plan(block)
            elif block.language == "console":
                for shown in commands_of(block):
                    self._run_command(shown, where) if block.is_run else parse_command(shown)
            elif block.language == "python":
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block.text, where, "exec"), self.names)

    def _plan(self, block: Block) -> None:
        policy, text = read_policy(block, self.folder / BASE)
        name = block.file_name or "part.yaml"
        (self.folder / name).write_text(text)
        is_there = (self.folder / "discharges").exists()  # the quick start generates it first
        if is_there and policy.engine.scheduler == "local":
            day = ["--as-of", str(DAY)] if "{as_of" in text else []
            sample = [] if FULL else [SHORT_SAMPLE]
            status, printed = call(["plan", name, "--quiet", *sample, *day])
            assert status == 0, printed

    def _run_command(self, shown: Shown, where: str) -> None:
        program, *arguments = shlex.split(shown.command, comments=True)
        if program == "make":  # its targets are looked up; the demonstration has tests of its own
            assert not shown.output
            return
        assert program == "tclose", f"{where}: {program} is not run, so the block has to be marked"
        if arguments[0] == "plan" and not FULL:
            arguments.append(SHORT_SAMPLE)
        _, printed = call(arguments)
        assert is_shown(shown.output, printed, self.folder), f"{where}: {shown.command}\n{printed}"


def call(arguments: list[str]) -> tuple[int, str]:
    """The exit status of a command, and what it prints: of errors, only the message."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(arguments)
    return status, out.getvalue() + err.getvalue() * bool(status)


def parse_command(shown: Shown) -> bool:
    """Parse the command line of tclose that is in a command; whether there is one."""
    found = re.match(r"(?:.* (?:--|prefect-worker) )?tclose (.+)", shown.command)
    if found:
        _parser().parse_args(shlex.split(found[1], comments=True))
    return found is not None


def read_policy(block: Block, base: Path) -> tuple[Policy, str]:
    """The policy that a block is, or that it is a part of, and its text."""
    document = read_yaml(block.text)
    if not block.file_name:
        whole = read_yaml(base.read_text()) | document
        with_records = "method" in document or "suppress" in document or "models" in block.text
        if with_records and "attributes" not in document:
            whole["attributes"] |= {"patient_id": "identifier"}  # which all go with
        return parse_policy(whole), Policy.model_validate(whole).model_dump_json(exclude_unset=True)
    return parse_policy(document, as_of=DAY if "{as_of" in block.text else None), block.text


@pytest.fixture(scope="module")
def quick_start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the README's quick start leaves."""
    folder = tmp_path_factory.mktemp("quick-start")
    with contextlib.chdir(folder):
        Page(README, folder).run()
    return folder


@pytest.fixture
def _forgetting() -> Iterator[None]:
    """Forget the methods and models that a page registers."""
    known = {registry: set(registry.classes()) for registry in (METHODS, MODELS)}
    yield
    for registry, names in known.items():
        for name in registry.classes().keys() - names:
            registry.unregister(name)


def test_quick_start(quick_start: Path) -> None:
    assert (quick_start / "releases" / "discharges" / "CURRENT").exists()


@pytest.mark.usefixtures("_forgetting")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.nightly if path.name in LONG_PAGES else ())
        for path in PAGES
    ],
    ids=lambda path: path.name,
)
def test_page(path: Path, quick_start: Path, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    shutil.copytree(quick_start, folder)
    if path.name in SHORT_SEARCHES and not FULL:
        with (folder / BASE).open("a") as base:
            base.write("method: {refine: lean}\n")
    with contextlib.chdir(folder):
        Page(path, folder).run()


@pytest.mark.parametrize("path", [README, *PAGES], ids=lambda path: path.name)
def test_commands_for_a_shell_are_those_of_today(path: Path) -> None:
    """They are parsed, and the files of the project that they name are there."""
    blocks = blocks_of(path)
    assert {block.language for block in blocks} <= LANGUAGES
    for line in [line for block in blocks if block.language == "sh" for line in lines_of(block)]:
        assert parse_command(Shown(line, ())) or "tclose" not in line, line
        for named in re.findall(r"\bconfig/[\w.-]+", line):
            assert (ROOT / named).is_file(), named


def test_guide_for_operators() -> None:
    """Its commands need hosts and clusters: those of tclose are parsed, and policies loaded."""
    n_parsed = 0
    for block in blocks_of(DEPLOY):
        if block.language == "yaml":
            assert parse_policy({**EXAMPLE, **read_yaml(block.text)}).engine.scheduler != "local"
        for shown in commands_of(block) if block.language == "console" else ():
            n_parsed += parse_command(shown)
    assert n_parsed >= 5


EXAMPLE = {
    "name": "discharges",
    "input": {"path": "discharges"},
    "attributes": {"age": "quasi-identifier", "charge": "confidential"},
    "privacy": {"k": 5, "t": 0.1},
}


def test_blocks_that_are_not_run_are_few_and_say_why() -> None:
    blocks = [block for page in (README, *PAGES) for block in blocks_of(page)]
    marked = [block.text.splitlines()[0] for block in blocks if not block.is_run]
    assert len(marked) <= MOST_NOT_RUN
    assert all(re.fullmatch(r"# not run by the tests( here)?[:,] .{10,}", line) for line in marked)


@pytest.mark.parametrize(
    ("output", "printed", "answer"),
    [
        (("a", "...", "b"), "a\nx\ny\nb\n", True),
        (("a", "...", "b"), "a\nb\n", True),
        (("a", "b"), "a\nx\nb\n", False),
        (("a",), "a\nb\n", False),
        (("id  " + "0" * 20,), "id " + "ab" * 10 + "\n", True),
        (("  seconds  plan 0.1",), "  seconds  plan 7.3\n", True),
        (("k 5",), "k 6\n", False),
        ((), "a\n", False),
    ],
)
def test_comparison_can_fail(output: tuple[str, ...], printed: str, answer: bool) -> None:
    assert is_shown(output, printed, Path("/nowhere")) is answer
