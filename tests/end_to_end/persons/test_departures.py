"""Persons who leave a series: classes that are united, cells that are dropped, room for them."""

import json
import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.cases.people import release, write_parquet
from support.cases.series_months import K, SeriesMonths, read_classes, read_groups, write_months
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.series_audit import add_series
from tclose.errors import InfeasibleError, VerificationError

pytestmark = pytest.mark.usefixtures("small_regions")
FIGURES = [
    *("cells", "smallest_cell", "newcomers", "leavers", "leavers_exposed"),
    *("leaver_groups_below_k", "smallest_leaver_group"),
]


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> SeriesMonths:
    return write_months(tmp_path_factory.mktemp("months"), 3)


@pytest.mark.nightly
def test_departures_that_are_united(months: SeriesMonths, tmp_path: Path) -> None:
    """No group of 1 to k - 1 persons is left by subtraction, of any earlier release."""
    place = SeriesMonths(tmp_path, months.files)
    made = place.publish(0, 1, 2, departures="unite")
    for n in (2, 3):
        groups = read_groups(made[:n])
        said = made[n - 1].internal["over_time"]
        assert min(groups) == said["smallest_leaver_group"] >= K
        assert said["leaver_groups_below_k"] == 0
        assert said["leavers"] > 0
        result = add_series(audit_release(made[n - 1].folder))
        assert result.findings == []
    first, last = (read_classes(one) for one in (made[0], made[2]))
    went_on: dict[Any, set[Any]] = {}
    for person in first.keys() & last.keys():
        went_on.setdefault(first[person][0], set()).add(last[person][0])
    assert {len(classes) for classes in went_on.values()} == {1}
    assert (
        "or more left each set of classes"
        in (made[2].folder / "internal" / "report.html").read_text()
    )
    path = made[2].folder / "internal" / "manifest.json"
    for name in FIGURES:
        altered = json.loads(path.read_text())
        altered["over_time"][name] += 1
        path.write_text(json.dumps(altered))
    findings = add_series(audit_release(made[2].folder)).findings
    assert [f.split()[-1] for f in findings if "the manifest says other" in f] == FIGURES
    shutil.rmtree(tmp_path / "releases" / "panel-2")
    document = place.policy(2, departures="unite") | {
        "engine": {"scheduler": "local", "workers": 2}
    }
    assert release(document).data == made[2].data


def test_unions_are_decided_by_what_is_released(
    months: SeriesMonths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tclose.passes.microaggregate.unions import cluster_series

    place = SeriesMonths(tmp_path, months.files)
    place.publish(0, departures="unite")
    monkeypatch.setattr(cluster_series, "unite_classes", lambda labels, *_: labels)
    with pytest.raises(VerificationError, match=r"departures: asked none, or at least 3 persons"):
        place.publish(1, departures="unite")
    assert not list((tmp_path / "releases").glob("panel-1/[0-9a-f]*"))


def test_cells_that_are_dropped(months: SeriesMonths, tmp_path: Path) -> None:
    """Whoever left is in a cell that holds: with all who are left out with her."""
    place = SeriesMonths(tmp_path, months.files)
    made = place.publish(0, 1, 2, departures="drop")
    assert made[2].internal["over_time"]["churn"] == 0.02  # nobody who is dropped has left by that
    said = made[1].internal["over_time"]
    assert said["leavers_exposed"] == 0
    assert said["leaver_groups_below_k"] == 0
    first, second = (read_classes(one) for one in made[:2])
    left = Counter(first[p][0] for p in first if p not in second)
    assert min(left.values()) >= K
    n_read = pq.read_metadata(months.files[1]).num_rows
    assert said["left_out"] == n_read - len(second) > n_read / 20
    percent = math.ceil(100 * said["left_out"] / n_read)
    assert made[1].manifest["left_out_over_time"] == {"percent": percent}
    for public in ("dictionary.md", "report.html"):
        told = (made[1].folder / public).read_text()
        assert f"records may have been left out, at most {percent} % of those without" in told
    assert add_series(audit_release(made[1].folder)).findings == []


def test_too_few_leave_to_be_united(months: SeriesMonths, tmp_path: Path) -> None:
    """One person in all: whatever is united, she is found."""
    table = pq.read_table(months.files[0])
    fewer = write_parquet(tmp_path / "fewer.parquet", table.slice(1))
    place = SeriesMonths(tmp_path, (months.files[0], fewer))
    place.publish(0, departures="unite")
    with pytest.raises(InfeasibleError, match="departures: 1 person in all has left the class"):
        place.publish(1, departures="unite")


def test_room_in_t_is_as_it_is_asked_for(months: SeriesMonths, tmp_path: Path) -> None:
    """Nearer to t the first classes lose less; by default they are made within 0.7 of it."""
    found, t = [], 0.12  # less than where the search ends by itself
    for share in (0.7, None, 1):
        policy = SeriesMonths(tmp_path / str(share), months.files).policy(0, made_within=share, t=t)
        policy["privacy"]["t"] = t
        first = release(policy)
        of_time = first.internal["over_time"]
        found.append(
            (of_time["largest_emd"]["income"], first.internal["information_loss"]["total"])
        )
    assert found[0] == found[1]
    assert found[0][0] <= 0.7 * t < found[2][0] <= t
    assert found[2][1] < found[0][1]


@pytest.mark.nightly
def test_room_for_the_churn(months: SeriesMonths, tmp_path: Path) -> None:
    """Classes are larger where more persons are expected to leave; then by what was seen."""
    sizes = []
    for churn in (0.0, 0.1):
        place = SeriesMonths(tmp_path / str(churn), months.files)
        [first] = place.publish(0, churn=churn)
        said = first.internal["over_time"]
        assert said["churn"] == churn
        assert said["smallest_cell"] >= said["made_k"]
        sizes.append(said["made_k"])
    assert sizes[0] == 2 * K < sizes[1]
    place = SeriesMonths(tmp_path / "seen", months.files)
    made = place.publish(0, 1, 2)
    then, later = (read_classes(one) for one in made[:2])
    assert made[0].internal["over_time"]["churn"] == 0.02
    assert made[2].internal["over_time"]["churn"] == len(then.keys() - later.keys()) / len(then)
