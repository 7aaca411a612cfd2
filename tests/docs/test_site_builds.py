"""The documentation as a site: it is built, and a link that leads nowhere fails it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tclose
from support.browser import find_axe, find_browser, judge_page
from support.pages import ROOT
from tclose.policy.policy import policy_schema

pytest.importorskip("mkdocs")
pytest.importorskip("material")
NEEDED = (
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "mkdocs.yml",
    "docs",
    "benchmarks",
    "deploy",
    "config",
)


def build(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a copy of the project."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [*command, "--config-file", root / "mkdocs.yml", "--site-dir", target],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip


def check_reference(folder: Path) -> None:
    """Every section with each of its keys, and every public name, is on the pages that are made."""
    page = (folder / "reference-policy.html").read_text()
    schema, parts = policy_schema(), re.split(r"<h2 ", page)
    tables = [set(re.findall(r"<tr>\n<td><code>(\w+)</code></td>", part)) for part in parts]
    sections = [schema, *schema["$defs"].values()]
    forms = [
        form for one in sections for form in (one, *one.get("anyOf", ()), *one.get("oneOf", ()))
    ]
    wanted = [set(form["properties"]) for form in forms if "properties" in form]
    assert len(wanted) > 20
    assert [keys for keys in wanted if keys not in tables] == []
    text = (folder / "reference-python.html").read_text()
    names = set(tclose.__all__) - {"__version__"}
    assert [one for one in names if not re.search(rf"<h2[^>]*><code>{one}</code>", text)] == []
    assert "<code>Release.to_pandas</code>" in text


def copy_project(folder: Path) -> None:
    """Copy what the site is made of."""
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copyfile(source, folder / name)
    shutil.copytree(ROOT / "pipeline" / "tclose" / "releases", folder / "pipeline/tclose/releases")


def test_links_that_lead_nowhere_are_all_that_is_warned_of_and_are_errors(tmp_path: Path) -> None:
    copy_project(tmp_path)
    page = tmp_path / "docs" / "storage.md"
    page.write_text(page.read_text() + "\n[gone](nowhere.md), [moved](policy.md#no-such-heading)\n")
    made = build(tmp_path, tmp_path / "site")
    assert made.returncode != 0
    one, other = [line for line in made.stderr.splitlines() if "WARNING" in line]
    assert "no-such-heading" in one + other
    assert "'nowhere.md'" in one + other
    assert "Aborted with 2 warnings" in made.stdout + made.stderr
    check_pages(tmp_path / "site")


def check_pages(site: Path) -> None:
    """All pages are there, and need nothing from elsewhere."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    names = {page.with_suffix(".html").name for page in pages if page.stem != "README"}
    found = {page.name for page in (site / "docs").glob("*.html")}
    made_pages = {"reference-policy.html", "reference-python.html"}
    assert found == {*names, *made_pages, "index.html"}
    check_reference(site / "docs")
    first = (site / "index.html").read_text()
    assert "docs/policy.html" in first
    assert 'src="https:' not in first  # nothing is fetched from elsewhere
    assert 'href="https://fonts' not in first
    for name in ("site.css", "site.js"):
        assert f"docs/site/{name}" in first
        assert (site / "docs" / "site" / name).is_file()
    tables = (site / "benchmarks" / "RESULTS.html").read_text()
    assert not re.search(r"<th[^>]*></th>", tables)


@pytest.mark.nightly
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    made = build(ROOT, tmp_path / "site")
    assert made.returncode == 0, made.stderr
    assert "WARNING" not in made.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["index", "docs/choices", "docs/reference-policy", "docs/tutorial"]
)
def test_axe_finds_nothing_in_the_site(name: str, tmp_path: Path) -> None:
    find_browser()
    axe = find_axe()
    assert build(ROOT, tmp_path / "site").returncode == 0
    page = tmp_path / "site" / f"{name}.html"
    assert judge_page(page.parent, page.read_text(), axe) == []
