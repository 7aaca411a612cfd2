"""The site of releases: whole pages, links that lead somewhere, nothing that is not public."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from support.cases.people import people, policy_for, release, tree, write_parquet
from support.cases.published import edit_manifest, hand_out
from support.cases.repositories import fake_id, fake_manifest, write_fake
from support.checks.html_page import Page
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.data.places.atomic_files import write_atomically
from tclose.errors import OutputError
from tclose.releases.site.write_site import LIST, write_site


@pytest.fixture(scope="module")
def releases(tmp_path_factory: Any) -> Path:
    """Two releases of one name and one of another, with a title that has markup in it."""
    folder = tmp_path_factory.mktemp("people")
    path = write_parquet(folder / "secret-input.parquet", people())
    for name, k in (("people", 3), ("people", 4), ("others", 3)):
        document = policy_for(path, name=name, privacy={"k": k, "t": 0.3})
        release(document | {"about": {"title": f"Pay <of> {name}", "description": "Of 2026."}})
    return folder / "releases"


@pytest.mark.parametrize("n_written", [0, 1, 5])
def test_a_site_whose_disk_was_full_is_written_again(releases, tmp_path, n_written, monkeypatch):
    left = n_written

    def fill_up(path: Path, *given: Any, **more: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        write_atomically(path, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr("tclose.releases.site.write_site.write_atomically", fill_up)
        with pytest.raises(OutputError, match="No space left on device"):
            write_site(releases, tmp_path / "site")
    write_site(releases, tmp_path / "site")
    write_site(releases, tmp_path / "whole")
    assert tree(tmp_path / "site") == tree(tmp_path / "whole")


def test_it_lists_every_release_with_its_pages(releases, tmp_path):
    site = write_site(releases, tmp_path / "site")
    assert (site.n_releases, site.left_out) == (3, ())
    index = (tmp_path / "site" / "index.html").read_text()
    assert "Pay &lt;of&gt; people" in index
    for place in releases.glob("*/*/manifest.json"):
        manifest = json.loads(place.read_text())
        assert manifest["release_id"] in index
        pages = tmp_path / "site" / manifest["name"] / manifest["release_id"]
        for name in ("report.html", "dictionary.md", "datapackage.json", "manifest.json"):
            assert (pages / name).read_bytes() == (place.parent / name).read_bytes()
        assert manifest["columns"][0]["treatment"] in (pages / "dictionary.html").read_text()
    assert index.count("(current)") == 2


def test_it_names_the_distance_that_the_list_of_releases_names(tmp_path):
    t = {
        "pay": {"asked": 0.3, "largest_emd": 0.25, "distance": "ordered"},
        "debt": {"asked": 0.1, "largest_emd": 0.09, "distance": "ordered"},
    }
    privacy = {"k": {"asked": 3, "achieved": 4}, "t": t}
    root = tmp_path / "releases" / "people"
    write_fake(root, fake_manifest(fake_id("d"), 8, privacy=privacy))
    write_site(tmp_path / "releases", tmp_path / "site")
    index = (tmp_path / "site" / "index.html").read_text()
    assert ">0.09 of 0.1</span>" in index
    assert "0.25 of 0.3" not in index


def test_pages_are_whole_and_their_links_lead_to_files(releases, tmp_path):
    write_site(releases, tmp_path / "site")
    for path in (tmp_path / "site").rglob("*.html"):
        page = Page(path.read_text())
        assert page.open == []
        assert not {"script", "img", "link", "iframe", "form"} & set(page.tags)
        for link in filter(None, page.values("href")):
            assert link.startswith("#") or (path.parent / unquote(link)).is_file(), link


def test_nothing_that_stays_inside_is_on_it(releases, tmp_path):
    write_site(releases, tmp_path / "site")
    written = b"".join(content or b"" for content in tree(tmp_path / "site").values())
    for inside in (str(releases.parent), "secret-input", "plan_sha256", "prosecutor", "seconds"):
        assert inside.encode() not in written
    assert not [name for name in tree(tmp_path / "site") if "internal" in name or "part-" in name]


def test_again_it_replaces_its_own_pages_and_no_other_file(releases, tmp_path):
    copied = tmp_path / "releases"
    shutil.copytree(releases, copied)
    write_site(copied, tmp_path / "site")
    before = tree(tmp_path / "site")
    (tmp_path / "site" / "CNAME").write_text("data.example.org")
    shutil.rmtree(copied / "others")
    assert write_site(copied, tmp_path / "site").n_releases == 2
    now = tree(tmp_path / "site")
    assert now["CNAME"] == b"data.example.org"
    gone = {name for name, content in before.items() if content is not None} - now.keys()
    assert gone
    assert all(name.startswith("others/") for name in gone)


@pytest.mark.parametrize(
    "harm",
    [
        lambda m: m.clear(),
        lambda m: m["figures"]["attributes"]["pay"].update(distances=[]),
        lambda m: m["privacy"]["t"].pop("pay"),
    ],
    ids=["empty", "no distances", "no t"],
)
def test_damaged_releases_are_left_out_and_named(harm, releases, tmp_path, capsys):
    copied = tmp_path / "releases"
    shutil.copytree(releases, copied)
    [place] = copied.glob("others/*/manifest.json")
    edit_manifest(place.parent, harm)
    [finding] = audit_release(hand_out(place.parent, tmp_path)).findings
    assert finding.startswith("manifest.json: is damaged")
    assert main(["site", str(copied), "--out", str(tmp_path / "site"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["releases"] == 2
    assert said["left_out"] == [f"others/{place.parent.name}"]
    assert main(["site", str(copied), "--out", str(tmp_path / "site")]) == 0
    assert re.search(r"2 releases in .*index.html", capsys.readouterr().out)


def test_folders_with_other_files_are_refused(releases, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    with pytest.raises(OutputError, match="has files and no site"):
        write_site(releases, tmp_path / "mine")
    (tmp_path / "mine" / LIST).write_text('{"files": 1}')
    with pytest.raises(OutputError, match="is damaged"):
        write_site(releases, tmp_path / "mine")
    assert (tmp_path / "mine" / "index.html").read_text() == "mine"


@pytest.mark.parametrize("place", ["others", "others/*", "others/*/manifest.json", LIST])
def test_links_are_refused_and_nothing_behind_them_is_touched(place, releases, tmp_path, capsys):
    write_site(releases, tmp_path / "site")
    [path] = (tmp_path / "site").glob(place)
    path.rename(tmp_path / "victim")
    path.symlink_to(tmp_path / "victim")
    before = tree(tmp_path)
    assert main(["site", str(releases / "people"), "--out", str(tmp_path / "site")]) == 2
    assert f"{path}: is a link, and a site has none; remove it" in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_names_of_the_sites_own_files_are_left_out_and_named(releases, tmp_path, capsys):
    copied = tmp_path / "releases"
    shutil.copytree(releases, copied)
    (copied / "others").rename(copied / "index.html")
    assert main(["site", str(copied), "--out", str(tmp_path / "site")]) == 0
    told = capsys.readouterr()
    assert "left out index.html: a file of the site has its name; rename it" in told.out + told.err


def test_a_list_that_was_edited_removes_nothing_outside(releases, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (tmp_path / "site").mkdir()
    listed = {"files": ["../outside.txt", str(outside)]}
    (tmp_path / "site" / LIST).write_text(json.dumps(listed))
    write_site(releases, tmp_path / "site")
    assert outside.read_text() == "mine"
