"""Which k and t a frontier tries."""

from typing import Any

import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for
from tclose.assess.frontier_grid import USUAL_RECORDS, make_grid, read_sampling
from tclose.errors import UsageError
from tclose.policy.policy import Policy, parse_policy

pytestmark = pytest.mark.usefixtures("small_regions")


def policy(k: int = 5, t: float | None = 0.1, **changes: Any) -> Policy:
    privacy = {"k": k} if t is None else {"k": k, "t": t}
    return parse_policy(policy_for("people.csv", privacy=privacy, **changes))


@pytest.mark.parametrize(
    ("k", "t", "ks", "ts"),
    [
        (5, 0.1, (2, 5, 10), (0.025, 0.05, 0.1, 0.2, 0.4)),
        (2, 0.05, (2, 4, 8), (0.0125, 0.025, 0.05, 0.1, 0.2)),
        (3, 0.3, (3, 6, 12), (0.075, 0.15, 0.3, 0.6)),
        (40, 1.0, (20, 40, 80), (0.25, 0.5, 1.0)),
        (7, 0.123456, (3, 7, 14), (0.0309, 0.0617, 0.123456, 0.247, 0.494)),
    ],
)
def test_lies_around_the_policy(k, t, ks, ts):
    grid = make_grid(policy(k, t))
    assert grid.ks == ks
    assert grid.ts == ts
    assert (k, t) in list(grid.points())


def test_what_is_asked_for_and_always_the_policy():
    grid = make_grid(policy(), "20,2,2", ".3,0.02")
    assert (grid.ks, grid.ts) == ((2, 5, 20), (0.02, 0.1, 0.3))
    assert len(list(grid.points())) == 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_text": "1"}, "--k 1: has to be whole numbers from 2"),
        ({"k_text": "2,,5"}, "--k 2,,5"),
        ({"k_text": "2.5"}, "--k 2.5"),
        ({"k_text": "2,3,4,6,7,8,9"}, "--k 2,3,4,6,7,8,9: has to be at most 7"),
        ({"t_text": "0"}, "--t 0: has to be numbers above 0, at most 1"),
        ({"t_text": "0.1,1.5"}, "--t 0.1,1.5"),
        ({"t_text": "nan"}, "--t nan"),
        ({"t_text": ""}, "--t : has to be"),
    ],
)
def test_refuses_what_is_no_grid(options, message):
    with pytest.raises(UsageError, match=message):
        make_grid(policy(), **options)


def test_one_t_takes_any_number_of_class_sizes():
    assert len(make_grid(policy(), "2,3,4,6,7,8,9,10", ".1").ks) == 9


@pytest.mark.parametrize("t", [None, 0.1])
def test_has_no_t_where_nothing_follows_it(t):
    own = {"age": QUASI, "pay": {"role": CONFIDENTIAL, "t": 0.2}}
    given = policy(t=t, attributes=own)
    assert make_grid(given).ts == (None,)
    assert (5, None) in list(make_grid(given).points())
    with pytest.raises(UsageError, match="nothing to vary"):
        make_grid(given, t_text=".1")


def test_sampling():
    assert read_sampling(policy(seed=9), None, None) == (USUAL_RECORDS, 9)
    assert read_sampling(policy(seed=9), 50, 0) == (50, 0)
    with pytest.raises(UsageError, match="--sample 1"):
        read_sampling(policy(), 1, None)
    with pytest.raises(UsageError, match="--seed -1"):
        read_sampling(policy(), None, -1)
