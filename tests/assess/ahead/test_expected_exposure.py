"""Persons whom a planned release and an earlier one leave alone together, by trial releases."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for, release
from tclose.assess.ahead import expected_exposure
from tclose.assess.ahead.expected_exposure import _attack, _Shares
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.data.synthetic.panel_files import write_panel
from tclose.policy.policy import parse_policy
from tclose.releases.composition.shared_persons import SharedPersons
from tclose.releases.manifest.plan_document import PlanDocument, PlannedExposure
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")
K = 3
ATTRIBUTES: dict[str, Any] = {
    "person_id": "person", "age": QUASI, "zip": QUASI, "income": CONFIDENTIAL,
    "cost": {"role": CONFIDENTIAL, "persistent": False},
}  # fmt: skip


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two months of a panel, of which the first is released."""
    folder = tmp_path_factory.mktemp("months")
    paths = list(map(Path, write_panel(folder / "panel", 900, 3, range(2), churn=0.1)))
    release(make_document(paths, 0))
    return paths


def make_document(months: list[Path], month: int, **changes: Any) -> dict[str, Any]:
    keys = {
        "name": f"month-{month}",
        "attributes": ATTRIBUTES,
        "unlisted": "drop",
        "privacy": {"k": K, "t": 0.3},
        "output": {"path": str(months[0].parent / "releases")},
    }
    return policy_for(months[month], **(keys | changes))


def look_ahead(document: dict[str, Any], n_sampled: int = 10_000) -> PlanDocument:
    return plan_ahead(parse_policy(document), Progress("none"), n_sampled)[0]


def told(planned: PlanDocument) -> tuple[PlannedExposure | None, str]:
    messages = [one.message for one in planned.warnings if one.code == "TC-W008"]
    return planned.expected_exposure, " ".join(messages)


def test_plan_says_how_many_both_releases_leave_alone(months: list[Path]) -> None:
    exposure, message = told(look_ahead(make_document(months, 1)))
    assert exposure is not None
    assert exposure.alone is not None
    assert exposure.below_k is not None
    assert exposure.release.startswith("month-0/")
    assert abs(exposure.persons - 810) <= 40
    assert exposure.of_sample is not None
    assert abs(exposure.of_sample - 735) <= 60  # of 900 drawn: 810 / 990 are in both
    assert 0 < exposure.alone < exposure.below_k <= 1
    assert set(exposure.one_value) == {"income"}  # a cost is drawn anew
    assert f"by estimate {exposure.alone:.1%} of those in both alone" in message
    assert f"{exposure.below_k:.1%} among fewer than k = {K}" in message
    assert f"{exposure.one_value['income']:.1%} with one income left" in message
    assert f"of those in one of them {exposure.alone_in_one:.1%} alone" in message


def test_nothing_is_estimated_beside_no_earlier_release(months: list[Path], tmp_path: Path) -> None:
    elsewhere = {"path": str(tmp_path / "releases")}
    assert told(look_ahead(make_document(months, 1, output=elsewhere))) == (None, "")
    exposure, message = told(look_ahead(make_document(months, 1), 0))  # nor without a sample
    assert exposure is None
    assert message.endswith("or alone")


@pytest.mark.parametrize(
    ("privacy", "most", "least", "reason"),
    [
        ({"over_time": {"k": K, "t": 0.3}}, 900, 1, "classes of a series"),
        ({}, 900, 801, "persons are in both"),
        ({"k": 400, "t": 0.9}, 300, 1, "a trial release failed: "),
    ],
)
def test_plan_says_why_nothing_is_estimated(
    privacy: dict[str, Any],
    most: int,
    least: int,
    reason: str,
    months: list[Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expected_exposure, "LEAST_IN_BOTH", least)
    monkeypatch.setattr(expected_exposure, "MOST_SAMPLED", most)
    exposure, message = told(
        look_ahead(make_document(months, 1, privacy={"k": K, "t": 0.3} | privacy))
    )
    assert exposure is not None
    assert exposure.alone is None
    assert exposure.reason is not None
    assert reason in exposure.reason
    assert f"how many of them was not estimated: {exposure.reason}" in message


def test_persons_with_several_records_are_said_to_have_some(
    months: list[Path], tmp_path: Path
) -> None:
    month = pq.read_table(months[1])
    path = tmp_path / "twice.parquet"
    pq.write_table(pa.concat_tables([month, month.slice(0, 5)]), path)
    exposure, message = told(look_ahead(make_document([months[0], path], 1)))
    assert exposure is not None
    assert "persons have several records here" in message


@pytest.mark.parametrize(
    ("n_own", "shared", "of", "expected"),
    [(100, 80, 100, (1 / 6, 2 / 3)), (100, 100, 100, (0, 1)), (100, 100, 400, (0, 1 / 4)),
     (100, 120, 110, (0, 10 / 11))],
)  # fmt: skip
def test_shares_of_the_trials_are_those_of_the_releases(
    n_own: int, shared: int, of: int, expected: tuple[float, float]
) -> None:
    """Also where the estimate of the shared persons is above what there are."""
    shares = _Shares.of(n_own, SharedPersons("a", shared, of))
    assert (shares.first, shares.both) == pytest.approx(expected)
    first, second = shares.split(20_000, 1)
    assert np.mean(first & second) == pytest.approx(expected[1], abs=0.02)
    assert np.mean(first & ~second) == pytest.approx(expected[0], abs=0.02)
    assert (first | second).all()


def test_persons_are_counted_in_what_both_classes_have_in_common(months: list[Path]) -> None:
    """Beside a count of pairs of classes, of persons who are in both and in one."""
    rng, n = np.random.default_rng(1), 60
    policy = parse_policy(make_document(months, 1))
    records = pa.table({"income": rng.permutation(n), "cost": rng.permutation(n)})
    members = rng.random(n) < 0.9, rng.random(n) < 0.9
    members[1][:] |= ~members[0]
    classes = [rng.integers(0, 8, int(is_in.sum())) for is_in in members]
    found = _attack(policy, records, members, classes)
    pairs = np.full((n, 2), -1)
    for side, (is_in, of) in enumerate(zip(members, classes, strict=True)):
        pairs[is_in, side] = of
    sizes = Counter(map(tuple, pairs.tolist()))
    candidates = np.array([sizes[tuple(pair)] for pair in pairs.tolist()])
    both = members[0] & members[1]
    for who, exposure in ((both, found.stayed), (~both, found.changed)):
        assert exposure.persons == who.sum()
        assert exposure.alone == np.sum(candidates[who] == 1)
        assert exposure.below_k == np.sum(candidates[who] < K)
    [income] = found.stayed.values
    assert income.right == income.persons >= found.stayed.alone
