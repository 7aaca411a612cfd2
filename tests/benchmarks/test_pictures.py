"""Pictures of the pages: small, whole, in a page with words beside them, and drawn again alike."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

import tclose
from benchmarks.pictures.__main__ import draw_pictures
from benchmarks.pictures.quick_start import cumulate, measure_emd
from benchmarks.pictures.shapes import picture, words
from support.pages import PAGES, README, ROOT

FOLDER = ROOT / "docs" / "pictures"
PICTURES = sorted(FOLDER.glob("*.svg"))
MOST_BYTES = 60_000


def test_each_is_small_and_whole_and_has_words() -> None:
    assert len(PICTURES) >= 4
    for path in PICTURES:
        assert path.stat().st_size <= MOST_BYTES
        drawn = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        title, description, card = list(drawn)[:3]
        assert title.text
        assert description.text
        assert card.get("fill") == "#ffffff"  # dark pages shine through nothing
        assert not re.search(r"<(script|image|style)|href|url\(", path.read_text())


def test_each_is_shown_by_a_page_with_words_in_its_place() -> None:
    shown = {
        name: alt
        for page in (README, *PAGES)
        for alt, name in re.findall(r"!\[(.*?)\]\((?:docs/)?pictures/(.*?)\)", page.read_text())
    }
    assert shown.keys() == {path.name for path in PICTURES}
    assert all(len(alt) > 40 for alt in shown.values())


def test_texts_are_escaped() -> None:
    drawn = picture(10, 10, "a < b", "c & d", [words(0, 0, "<rect/>")])
    assert [one.text for one in ElementTree.fromstring(drawn) if one.text and one.text.strip()] == [
        "a < b", "c & d", "<rect/>",
    ]  # fmt: skip


def test_distance_is_that_of_a_check() -> None:
    table = pd.DataFrame({"class": [0, 0, 1, 1, 1], "value": [4.0, 8.0, 1.0, 2.0, 2.0]})
    of = table["value"]
    classes = [rows["value"] for _, rows in table.groupby("class")]
    assert cumulate(classes[0], of).tolist() == [0, 0, 0.5, 1]
    checked = tclose.check(table, ["class"], ["value"], k=2, t=1)
    distances = [measure_emd(values, of) for values in classes]
    assert max(distances) == pytest.approx(checked.largest_emd["value"], abs=1e-12)


@pytest.mark.nightly
def test_they_are_drawn_again_alike(tmp_path: Path) -> None:
    drawn = dict(draw_pictures(tmp_path))
    assert drawn.keys() == {path.name for path in PICTURES}
    for path in PICTURES:
        assert drawn[path.name] == path.read_text(encoding="utf-8"), path.name
