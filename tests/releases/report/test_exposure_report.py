"""The section on exposure over time: what releases of the same persons say, side by side."""

import html
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    QUASI,
    Released,
    people,
    policy_for,
    release,
    write_parquet,
)
from tclose.releases.manifest.internal_manifest import InternalManifest
from tclose.releases.report.exposure_report import show_exposure
from tclose.releases.report.internal_report import write_internal_report
from tclose.releases.report.left_out_report import show_left_out

N_PERSONS, N_LEAVING = 200, 20
ATTRIBUTES = {"id": "person", "age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL}


def make_month(folder: Path, number: int) -> Path:
    """Persons of a month: some leave and as many come, and the others stay as they are."""
    first = number * N_LEAVING
    everybody = people(N_PERSONS + 3 * N_LEAVING)
    table = everybody.slice(first, N_PERSONS)
    ids = pa.array([f"person-{i}" for i in range(first, first + N_PERSONS)])
    return write_parquet(folder / f"{number}.parquet", table.append_column("id", ids))


def release_months(folder: Path, **privacy: Any) -> list[Released]:
    made = []
    for number in range(3):
        document = policy_for(make_month(folder, number), attributes=ATTRIBUTES)
        document["privacy"] = {"k": 3, "t": 0.4} | privacy
        made.append(release(document))
    return made


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> list[Released]:
    return release_months(tmp_path_factory.mktemp("apart"))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> list[Released]:
    over_time = {"k": 3, "t": 0.5, "window": 4, "departures": "report"}
    return release_months(tmp_path_factory.mktemp("held"), over_time=over_time)


def read_section(made: Released) -> tuple[str, list[list[str]]]:
    """The section as text, and the rows of its table."""
    page = (made.folder / "internal" / "report.html").read_text()
    [inside] = re.findall(r'<section id="exposure".*?</section>', page, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", inside, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return html.unescape(re.sub(r"<[^>]+>", " ", inside)), cells


def test_persons_of_releases_that_are_not_held_together_are_counted(apart: list[Released]) -> None:
    text, rows = read_section(apart[2])
    assert "2 earlier releases in the output folder are about some of this one's 200" in text
    assert "One of them has 90 % of them" in text
    assert "fewer than k = 3; tclose attack measures how many" in text
    assert rows[0] == ["release", "records", "persons of this one"]
    # sketches of so few persons are exact
    assert [row[1:] for row in rows[1:]] == [["200", "160"], ["200", "180"], ["200", "200"]]
    assert [apart[0].folder.name in rows[1][0], apart[1].folder.name in rows[2][0]] == [True, True]


def test_one_earlier_release_is_said_to_be_one(apart: list[Released]) -> None:
    text, _ = read_section(apart[1])
    one = (
        "1 earlier release in the output folder is about some of this one's 200 persons and is not"
    )
    assert one in text
    assert "It has 90 % of them" in text


def test_the_first_release_has_nobody_of_earlier_ones(apart: list[Released]) -> None:
    text, rows = read_section(apart[0])
    assert "No other release in the output folder has persons of this one's 200." in text
    assert rows == []


def test_releases_of_a_series_stand_side_by_side(held: list[Released]) -> None:
    text, rows = read_section(held[2])
    assert "This is release 3 of the series people, held together with the 2 before it" in text
    assert "No other release in the output folder has persons" in text
    names = ("cells", "smallest_cell", "left_out", "stale", "leavers", "leavers_exposed")
    sections = [made.internal["over_time"] for made in held]
    said = [[f"{section.get(name, 0):,}" for name in names] for section in sections]
    assert [row[3:] for row in rows[1:]] == said
    own = sections[-1]
    assert f"{own['newcomers']:,} persons are new, {own['leavers']:,} of the release before" in text
    assert f"Its {own['cells']:,} cells have 3 persons or more each" in text


def test_persons_that_are_estimated_are_said_to_be(apart: list[Released]) -> None:
    """Beside exact numbers of who came and left they would contradict these."""
    manifest = InternalManifest.model_validate(apart[2].internal)
    assert manifest.exposure is not None
    earlier = [one.model_copy(update={"records": 2_000}) for one in manifest.exposure.earlier]
    exposure = manifest.exposure.model_copy(update={"earlier": earlier})
    page = show_exposure(manifest.model_copy(update={"exposure": exposure}))
    assert re.findall(r">(about \d+)<", page) == ["about 160", "about 180"]


def test_it_says_nothing_that_internal_manifests_do_not(held: list[Released]) -> None:
    """Neither a person nor a value; and the page is that of its manifest alone."""
    manifest = InternalManifest.model_validate_json(
        (held[2].folder / "internal" / "manifest.json").read_text()
    )
    page = (held[2].folder / "internal" / "report.html").read_text()
    assert write_internal_report(manifest) == page
    assert "person-" not in show_exposure(manifest)
    assert "exposure" not in held[2].manifest
    values = set(people(N_PERSONS + 3 * N_LEAVING)["pay"].to_pylist())
    numbers = re.findall(r"(?<![\w,.])[\d,]+(?![\w.])", show_exposure(manifest))
    assert values.isdisjoint(int(n.replace(",", "")) for n in numbers if n.strip(","))


@pytest.mark.parametrize(
    ("departures", "left_out", "forgotten", "said", "unsaid"),
    [
        ("report", 7, 1, "6 more (2.9 %) were left out, as too few of those", "who would be found"),
        ("report", 1, 1, "1 more (0.498 %) was left out, of persons who were forg", "as too few"),
        ("drop", 7, 0, "as these are above a t, or as too few left these, who would", "forgotten"),
    ],
)
def test_records_are_left_out_for_what_they_are(
    held: list[Released], departures: str, left_out: int, forgotten: int, said: str, unsaid: str
) -> None:
    manifest = InternalManifest.model_validate(held[2].internal)
    assert manifest.over_time is not None
    changed = {"departures": departures, "left_out": left_out, "forgotten": forgotten}
    over_time = manifest.over_time.model_copy(update=changed)
    manifest = manifest.model_copy(update={"over_time": over_time})
    n_read = (manifest.records_read or 0) + left_out
    section = show_left_out(manifest)
    assert said in section
    assert unsaid not in section
    assert f"{n_read} records were read" in section
    page = re.sub(r"<[^>]+>", " ", write_internal_report(manifest))
    assert re.search(rf"records read\s+{n_read}\s", page)
    assert (f"{left_out} records so that" in page) == (not forgotten)


def test_without_a_column_of_persons_it_is_not_known(tmp_path: Path) -> None:
    made = release(policy_for(write_parquet(tmp_path / "in.parquet", people())))
    text, rows = read_section(made)
    assert "Not known: the policy has no column with role person" in text
    assert rows == []
    assert "exposure" not in made.internal
