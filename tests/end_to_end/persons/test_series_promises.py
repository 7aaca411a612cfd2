"""The verdict of an attack on a series is about what the series promises; the rest is told."""

import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

import tclose
from support.cases.people import Released, release
from support.cases.series_months import K, SeriesMonths, read_classes
from tclose.assess.over_time.attack import attack_releases
from tclose.assess.over_time.attack_result import AttackResult, RefinementCheck
from tclose.assess.over_time.published import Published, read_release
from tclose.assess.over_time.series_promise import find_promise
from tclose.cli.main import main
from tclose.errors import StrictError
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.inside_sections import SeriesSection
from tclose.releases.repository.contents import read_internal
from tclose.render.attack_tables import report_attack
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


def attack(made: list[Released], months: SeriesMonths, **asked: Any) -> AttackResult:
    numbers = [int(one.folder.parent.name.partition("-")[2]) for one in made]
    policies = [parse_policy(months.policy(number)) for number in numbers]
    places = [one.folder for one in made]
    return attack_releases(places, policies, None, ["income"], Progress("none"), **asked)


def check(made: list[Released], months: SeriesMonths, **asked: Any) -> RefinementCheck:
    refinement = attack(made, months, **asked).refinement
    assert refinement is not None
    return refinement


def section_of(made: Released) -> SeriesSection:
    internal = read_internal(made.folder)
    assert internal is not None
    assert internal.over_time is not None
    return internal.over_time


def count_cells(made: list[Released]) -> dict[tuple[Any, ...], int]:
    """Persons of each cell, by the classes that rows say they are in."""
    classes = [{person: c for person, (c, _) in read_classes(one).items()} for one in made]
    persons = set().union(*classes)
    return dict(Counter(tuple(of.get(person) for of in classes) for person in persons))


def test_persons_who_left_are_told_and_no_part_of_the_verdict(
    made: list[Released], months: SeriesMonths
) -> None:
    found, cells = check(made, months), count_cells(made)
    newest = {cell: n for cell, n in cells.items() if cell[-1] is not None}
    gone = {cell: n for cell, n in cells.items() if cell[-1] is None}
    assert found.passed
    assert (found.series, found.departures) == ("panel", "report")
    section = section_of(made[2])
    assert found.cells == len(newest) == section.cells
    assert found.smallest == min(newest.values()) == section.smallest_cell >= K
    [income] = found.distances
    assert income.largest_emd == pytest.approx(section.largest_emd["income"])
    assert found.left is not None
    assert (found.left.persons, found.left.cells) == (sum(gone.values()), len(gone))
    assert found.left.found >= sum(n for n in gone.values() if n < K) > 0
    of_two, left = check(made[:2], months), section_of(made[1])  # of whom the manifest counts all
    assert of_two.left is not None
    assert (of_two.left.persons, of_two.left.found) == (left.leavers, left.leavers_exposed)


def test_persons_of_the_newest_are_held_to_what_is_asked(
    made: list[Released], months: SeriesMonths
) -> None:
    """The newest is the one that was published last, in whichever order they are given."""
    assert check(made[::-1], months) == check(made, months)
    found = check(made, months, k=30)
    newest = [n for cell, n in count_cells(made).items() if cell[-1] is not None]
    assert found.below_k == sum(n < 30 for n in newest) > 0
    assert not found.passed


def test_departures_that_are_dropped_are_promised(months: SeriesMonths, tmp_path: Path) -> None:
    place = SeriesMonths(tmp_path, months.files)
    dropped = place.publish(0, 1, departures="drop")
    found = check(dropped, place)
    assert found.passed
    assert found.left is None
    assert found.cells == len(count_cells(dropped))
    told = " ".join(report_attack(attack(dropped, place)).split())
    assert "all releases together PASS asked k and t of all cells, of which series panel" in told


@pytest.mark.parametrize("departures", ["drop", "report"])
def test_newcomers_who_are_not_released_are_no_cell(
    months: SeriesMonths, tmp_path: Path, departures: str
) -> None:
    """Fewer than k newcomers are left out, so nothing is told of them that could be found."""
    before = pq.read_table(months.files[0])
    later = pq.read_table(months.files[1])
    is_known = pc.is_in(later["person_id"], value_set=before["person_id"].combine_chunks())
    newcomers = later.filter(pc.invert(is_known)).slice(0, K - 1)
    pq.write_table(pa.concat_tables([before, newcomers]), tmp_path / "later.parquet")
    place = SeriesMonths(tmp_path, (months.files[0], tmp_path / "later.parquet"))
    published = place.publish(0, 1, departures=departures)
    assert section_of(published[1]).left_out == len(newcomers) > 0
    found = check(published, place)
    assert found.passed
    assert found.left is None
    assert found.cells == len(count_cells(published))


def read_published(made: list[Released], **changes: Any) -> list[Published]:
    return [replace(read_release(one.folder), **changes) for one in made]


def test_other_releases_promise_nothing_together(
    made: list[Released], copied: SeriesMonths, months: SeriesMonths, tmp_path: Path
) -> None:
    assert find_promise(read_published(made)) is not None
    twice = [*read_published(made[:1]), *read_published(made[:1])]
    assert find_promise(twice) is None
    assert find_promise([*read_published(made), *read_published(made[:1], release=None)]) is None
    elsewhere = copied.folder / "releases" / "panel-2" / made[2].folder.name
    moved = [*read_published(made[:2]), read_release(elsewhere)]
    assert find_promise(moved) is None
    short = SeriesMonths(tmp_path / "short", months.files)
    of_two = short.publish(0, 1, 2, window=2)  # a window without the first
    assert find_promise(read_published(of_two)) is None
    assert find_promise(read_published(of_two[1:])) is not None
    found = check(of_two, short)
    assert found.series is None
    assert not found.passed
    assert found.cells == len(count_cells(of_two))


def test_attribute_that_the_newest_has_no_longer(months: SeriesMonths, tmp_path: Path) -> None:
    """It is held to what it was, as in the run, which finds the same persons by subtraction."""
    rng = random.Random(4)
    for month in (0, 1):
        table = pq.read_table(months.files[month])
        job = pa.array([rng.choice("abc") for _ in range(len(table))])
        pq.write_table(table.append_column("job", job), tmp_path / f"{month}.parquet")
    place = SeriesMonths(tmp_path, (tmp_path / "0.parquet", tmp_path / "1.parquet"))
    policies = [place.policy(month) for month in (0, 1)]
    policies[0]["attributes"] |= {"job": {"role": "confidential", "t": 0.31}}
    published = [release(one) for one in policies]
    section = section_of(published[1])

    def check_both(**asked: Any) -> RefinementCheck:
        places, parsed = [one.folder for one in published], [parse_policy(one) for one in policies]
        found = attack_releases(places, parsed, None, ["income"], Progress("none"), **asked)
        assert found.refinement is not None
        return found.refinement

    found = check_both()
    assert {one.attribute: one.t for one in found.distances} == {"income": 0.3, "job": 0.31}
    assert found.left is not None
    assert found.left.found == section.leavers_exposed
    asked = check_both(t=Fraction(1, 20))
    assert {one.attribute: one.t for one in asked.distances} == {"income": 0.05, "job": 0.05}
    assert all(one.cells_above for one in asked.distances)


def test_weaker_release_is_warned_of(copied: SeriesMonths) -> None:
    """In the window of an earlier one, also where its own window has left that."""
    copied.publish(3)
    less = copied.policy(3, k=2, window=2)
    accepted = {"strict": True, "accepted_warnings": ["TC-W008", "TC-W017"]}
    with pytest.raises(StrictError, match="warnings\n  TC-W019: less is asked over time"):
        release(less | {"name": "panel-4", "engine": accepted})
    for name in ("panel-4", "panel-5"):
        policy = less | {"name": name, "seed": 1}
        planned = read_weaker(tclose.plan(None, policy).details.to_json())
        assert read_weaker(release(policy).internal) == planned
        assert re.search(
            r"k 3 in panel-3/\w+, 2 now; over_time.window 12 in panel-3/\w+, 2 now: ", planned
        )


def read_weaker(document: dict[str, Any]) -> str:
    [told] = [one["message"] for one in document["warnings"] if one["code"] == "TC-W019"]
    return str(told)


def test_command_says_what_is_promised(
    made: list[Released], months: SeriesMonths, tmp_path: Path, capsys: Any
) -> None:
    policies = []
    for month in (0, 1, 2):
        path = tmp_path / f"{month}.yaml"
        path.write_text(yaml.safe_dump(months.policy(month)))
        policies.append(str(path))
    places = [str(one.folder) for one in made]
    command = ["attack", *places, "--originals", *policies, "--verify", "--quiet"]
    assert main(command) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "all releases together PASS for the persons of the newest asked k and t of cells" in told
    assert "below 3 or above a t: told, and no part of the verdict (departures: report)" in told
    assert main([*command, "--k", "30"]) == 3
    assert "all releases together FAIL for" in " ".join(capsys.readouterr().out.split())
    copies = [shutil.copytree(place, tmp_path / Path(place).name) for place in places]
    for copy in copies:
        (copy / "internal" / "register.parquet").unlink()
    assert main([*command[:1], *map(str, copies), *command[4:]]) == 3
    told = " ".join(capsys.readouterr().out.split())
    assert "all releases together not decided: the class of each person is not known" in told
    assert "`tclose audit --series` decides what a series holds" in told
