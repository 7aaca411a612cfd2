"""The pages of the documentation: their blocks, what consoles in them show, their links.

`docs/README.md` says how pages are written so that they can be checked.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DEPLOY = ROOT / "deploy" / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
NOT_RUN = "# not run by the tests"

_BLOCK = re.compile(r"^( *(?:\d\. )?)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# What may differ between the page and a run.
_VARIABLE = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"\b[0-9a-f]{20}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"), "TIME"),
    (re.compile(r"\S+@\S+"), "USER"),
    (re.compile(r"^ *seconds .*$", re.MULTILINE), "seconds"),
    (re.compile(r"\b[\d.]+ [kM]B\b"), "SIZE"),  # the library that compresses differs by processor
    (re.compile(r"[ \t]+"), " "),
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line on which it begins."""

    language: str
    text: str
    line: int

    @property
    def is_run(self) -> bool:
        """True if it is not marked as one that the tests do not run."""
        return not self.text.startswith(NOT_RUN)

    @property
    def file_name(self) -> str:
        """Name of the file that it is, from its first line; empty of a part."""
        found = re.match(r"# ([\w-]+\.yaml)\n", self.text)
        return found[1] if found else ""


@dataclass(frozen=True)
class Shown:
    """A command as a console shows it, and the lines that it shows of what is printed."""

    command: str
    output: tuple[str, ...]


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    text = page.read_text()
    found = []
    for match in _BLOCK.finditer(text):
        indent = len(match[1])
        content = "\n".join(line[indent:] for line in match[3].split("\n"))
        found.append(Block(match[2], content, text.count("\n", 0, match.start()) + 1))
    return found


def prose_of(page: Path) -> str:
    """The text of a page without its blocks."""
    return _BLOCK.sub("", page.read_text())


def commands_of(block: Block) -> list[Shown]:
    """The commands of a console; lines that end in a backslash go on."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and not line.startswith(NOT_RUN):
            found[-1][1].append(line)
    return [Shown(command, tuple(output)) for command, output in found]


def lines_of(block: Block) -> list[str]:
    """The command lines of a shell's block, which shows no output; backslashes join some."""
    return [line.strip() for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]


def is_shown(output: tuple[str, ...], printed: str, folder: Path) -> bool:
    """Return whether a page shows the printed output; ``...`` stands for any lines."""
    text = _unvaried(printed.replace(f"{folder}/", ""))
    parts = [
        r"(?:.*\n)*?" if line == "..." else re.escape(_unvaried(line).rstrip()) + r" *\n"
        for line in output
    ]
    return re.fullmatch("".join(parts), text.rstrip("\n") + "\n") is not None


def _unvaried(text: str) -> str:
    for pattern, name in _VARIABLE:
        text = pattern.sub(name, text)
    return text


def links_of(page: Path) -> list[str]:
    """List the targets of a page's links, without those to other sites."""
    return [link for link in _LINK.findall(prose_of(page)) if "://" not in link]


def anchors_of(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked to."""
    headings = (_HEADING.findall(prose_of(page))) if page.suffix == ".md" else []
    kept = (re.sub(r"[^\w\s-]", "", heading.replace("`", "")) for heading in headings)
    return {heading.strip().lower().replace(" ", "-") for heading in kept}


def codes_of(page: Path) -> list[str]:
    """List the texts in backquotes in a page's prose."""
    return _CODE.findall(prose_of(page))


def sections_of(page: Path) -> dict[str, str]:
    """The text under each heading of the second level, by the heading."""
    parts = re.split(r"^## (.+)$", page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
