"""Reports and the site in Chromium, as wide as a screen and as a phone; skipped without one."""

from typing import Any

import pyarrow as pa
import pytest

from support.browser import find_axe, find_browser, judge_page, measure_pages
from support.cases.people import people, policy_for, release, write_parquet
from tclose.releases.site.write_site import write_site

pytestmark = pytest.mark.nightly
N_RECORDS = 1_000
LONG = ("a category of forty letters, or nearly so", "\u9577\u3044\u540d\u524d" * 10, "short")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: Any) -> list[str]:
    """Both reports, the site, and a data dictionary, of names that hardly fit."""
    find_browser()
    folder = tmp_path_factory.mktemp("people")
    names = [LONG[i % 3] for i in range(N_RECORDS)]
    days = pa.array(range(N_RECORDS), pa.timestamp("us", "Europe/Berlin"))
    table = people(N_RECORDS, a_column_with_a_very_long_name_indeed=names, day=days)
    document = policy_for(write_parquet(folder / "in.parquet", table), privacy={"k": 3, "t": 0.3})
    document["attributes"]["a_column_with_a_very_long_name_indeed"] = {
        "role": "confidential", "type": "nominal", "t": 0.5, "label": "Words " * 9,
    }  # fmt: skip
    document["attributes"]["day"] = "non-confidential"
    document["about"] = {"title": "Pay of people", "contact": "somebody-somewhere@example.org"}
    made = release(document)
    write_site(folder / "releases", folder / "site")
    paths = [made.folder / "internal" / "report.html", *(folder / "site").rglob("*.html")]
    assert len(paths) == 4
    return [path.read_text(encoding="utf-8") for path in paths]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off_or_fetched_and_no_labels_touch(pages, tmp_path, width):
    found, console = measure_pages(tmp_path, pages, width)
    assert len(found) == len(pages)
    for page in found:
        assert width - 20 <= page["width"] <= width
        assert page["wider"] == []
        assert page["touching"] == []
        assert page["fetched"] == []
    assert sum(page["smallest"] is not None for page in found) == 2  # reports have pictures
    assert all(page["smallest"] >= 12 for page in found if page["smallest"] is not None)
    assert console == ""


def test_what_is_wrong_is_found(tmp_path):
    page = "<svg><text y=9>one</text><text y=9>two</text></svg><p style='width:99rem'>wide</p>"
    [found], _ = measure_pages(tmp_path, [page], 390)
    assert (found["touching"], len(found["wider"])) == (["one / two"], 1)
    _, console = measure_pages(tmp_path, ["<script>throw new Error('told')</script>"], 390)
    assert "told" in console


def test_axe_finds_nothing(pages, tmp_path):
    axe = find_axe()
    assert [judge_page(tmp_path, page, axe) for page in pages] == [[]] * len(pages)
    assert judge_page(tmp_path, "<html><body><img src=x></body></html>", axe)
