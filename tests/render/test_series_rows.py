"""What a table says of a release together with the earlier ones of its series."""

import pytest

from tclose.releases.manifest.inside_sections import SeriesSection
from tclose.render.series_rows import series_rows


@pytest.mark.parametrize(
    ("departures", "left", "others"),
    [
        ("report", "37 persons of the release before, 9 of them found by subtraction (report)", []),
        (
            "unite",
            "37 persons of the release before, 9 of them found by a value that lasts (unite)",
            [("  by subtraction", "0 groups below 5, the smallest of 6 persons")],
        ),
    ],
)
def test_leavers_of_united_classes_are_not_found_by_subtraction(
    departures: str, left: str, others: list[tuple[str, str]]
) -> None:
    series = SeriesSection.model_construct(
        series="panel", number=2, window=12, k=5, t={"income": 0.1}, departures=departures,
        cells=112, smallest_cell=10, largest_emd={"income": 0.09}, left_out=0, leavers=37,
        forgotten=0, leavers_exposed=9, releases=["panel-1/a", "panel-2/b"],
        leaver_groups_below_k=0, smallest_leaver_group=6,
    )  # fmt: skip
    rows = series_rows(series)
    assert rows[0] == ("over time", "release 2 of panel, window 12, after panel-2/b")
    assert ("  left", left) in rows
    assert [row for row in rows if row[0] == "  by subtraction"] == others


def test_nobody_has_left_before_the_first_release() -> None:
    series = SeriesSection.model_construct(
        series="panel", number=1, window=12, k=5, t={}, departures="report", cells=112,
        smallest_cell=10, largest_emd={}, left_out=0, leavers=0, leavers_exposed=0, releases=[],
        stale=0, forgotten=0,
    )  # fmt: skip
    rows = series_rows(series)
    assert rows[0] == ("over time", "release 1 of panel, window 12")
    assert [row for row in rows if row[0] == "  left"] == []


@pytest.mark.parametrize(
    ("departures", "left_out", "forgotten", "said"),
    [
        ("report", 5, 0, "5 records so that cells hold"),
        ("drop", 316, 0, "316 records so that cells hold and nobody who left is found"),
        (
            "unite", 1, 1,
            "0 records so that cells hold, and 1 of persons who were forgotten on request",
        ),
    ],
)  # fmt: skip
def test_records_are_left_out_for_what_they_are(
    departures: str, left_out: int, forgotten: int, said: str
) -> None:
    series = SeriesSection.model_construct(
        series="panel", number=1, window=12, k=5, t={}, departures=departures, cells=112,
        smallest_cell=10, largest_emd={}, left_out=left_out, forgotten=forgotten, leavers=0,
        leavers_exposed=0, releases=[], stale=0, smallest_leaver_group=None,
    )  # fmt: skip
    assert series_rows(series)[2:] == [("  left out", said)]


def test_one_of_each_is_said_in_the_singular() -> None:
    series = SeriesSection.model_construct(
        series="panel", number=2, window=12, k=5, t={}, departures="unite", cells=112,
        smallest_cell=10, largest_emd={}, left_out=1, forgotten=0, leavers=1, leavers_exposed=0,
        releases=["panel-1/a"], stale=1, stalest=1, leaver_groups_below_k=1,
        smallest_leaver_group=1,
    )  # fmt: skip
    assert series_rows(series)[2:] == [
        ("  left out", "1 record so that cells hold"),
        (
            "  left",
            "1 person of the release before, 0 of them found by a value that lasts (unite)",
        ),
        ("  by subtraction", "1 group below 5, the smallest of 1 person"),
        ("  held", "1 record of others who left, for up to 1 release"),
    ]


def test_a_release_that_stands_alone_has_none() -> None:
    assert series_rows(None) == []
