"""Chromium, where there is one: pages are laid out at a width and measured, without any network."""

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

_AXE = "TCLOSE_AXE"  # the variable that names axe.min.js, of the npm package axe-core
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# In frames of the width: how far a page, or a table that scrolls, is wider than that; labels of a
# picture that touch; what was fetched.
_MEASURE = """
addEventListener("load", () => {
  const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  const found = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, all = s => [...page.querySelectorAll(s)];
    return {
      width: page.documentElement.clientWidth,
      wider: [page.documentElement, ...all(".wide")]
        .map(one => one.scrollWidth - one.clientWidth).filter(by => by > 1),
      touching: all("svg").flatMap(picture => {
        const texts = [...picture.querySelectorAll("text")];
        return texts.flatMap((a, i) => texts.slice(i + 1)
          .filter(b => touch(a.getBoundingClientRect(), b.getBoundingClientRect()))
          .map(b => a.textContent + " / " + b.textContent));
      }),
      smallest: Math.min(...all("svg text").map(one => one.getBoundingClientRect().height)),
      fetched: frame.contentWindow.performance.getEntriesByType("resource").map(one => one.name),
    };
  });
  document.getElementById("found").textContent = JSON.stringify(found);
});
"""
# A second of the browser's own, virtual time later: pages of the documentation have scripts.
_JUDGE = """
addEventListener("load", () => setTimeout(() => axe.run(document).then(found => {
  const said = found.violations.map(one => [one.id, one.nodes.map(node => node.html)]);
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = JSON.stringify(said);
}), 1000));
"""


def find_browser() -> str:
    """Return Chromium's path; the test is skipped where there is none."""
    for name in _NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip(f"no browser is installed: {', '.join(_NAMES)}")


def find_axe() -> Path:
    """Return the path of axe-core's script; the test is skipped where none is named."""
    path = Path(os.environ.get(_AXE, ""))
    if not path.is_file():
        pytest.skip(f"{_AXE} names no axe.min.js (npm install axe-core)")
    return path


def measure_pages(folder: Path, pages: Sequence[str], width: int) -> tuple[list[Any], str]:
    """What was measured of each page at that width, and what the browser's console said."""
    frames = "".join(
        f'<iframe width="{width}" height="800" style="border:0" srcdoc="{html.escape(page)}">'
        "</iframe>"
        for page in pages
    )
    return _open(folder, f"<!DOCTYPE html><pre id=found></pre>{frames}<script>{_MEASURE}</script>")


def judge_page(folder: Path, page: str, axe: Path) -> list[Any]:
    """What axe-core finds in a page, which forbids scripts otherwise."""
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    script = f"<script>{axe.read_text(encoding='utf-8')}</script><script>{_JUDGE}</script>"
    return _open(folder, open_page.replace("</body>", f"{script}</body>"))[0]


def _open(folder: Path, page: str) -> tuple[list[Any], str]:
    path = folder / "opened.html"
    path.write_text(page, encoding="utf-8")
    command = [
        *(find_browser(), "--headless=new", "--disable-gpu", "--enable-logging=stderr"),
        *("--virtual-time-budget=20000", "--dump-dom", f"--user-data-dir={folder / 'profile'}"),
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]
    ended = subprocess.run(
        [*command, path.as_uri()],
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    [found] = re.findall(r'<pre id="found">(.*?)</pre>', ended.stdout, re.DOTALL)
    said = "\n".join(line for line in ended.stderr.splitlines() if "CONSOLE" in line)
    return json.loads(html.unescape(found)), said
