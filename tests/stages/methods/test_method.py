"""What each method is known to do: the lists agree with one another and with the policy's."""

from typing import get_args

import pytest

from pipeline import method_settings
from pipeline.stages.methods import method as methods
from pipeline.stages.methods.method import (
    AS_USUAL,
    GENERALISING,
    MAX_QUADRATIC_RECORDS,
    QUADRATIC,
    T_CLOSENESS_FIRST,
    WHOLE,
    WITHOUT_T,
    Method,
)
from pipeline.stages.methods.partition import _METHODS
from pipeline.stages.tree import count_regions

NAMES = get_args(method_settings.MethodName)


def test_every_name_of_a_policy_is_made_by_something() -> None:
    assert set(NAMES) == {T_CLOSENESS_FIRST, "incognito", *_METHODS}
    assert {*GENERALISING, *WHOLE, *QUADRATIC, *WITHOUT_T} <= set(NAMES)
    assert not set(WHOLE) & set(QUADRATIC)


@pytest.mark.parametrize("name", NAMES)
def test_what_follows_from_the_name(name: str) -> None:
    method = Method(name)
    assert method.generalises == (name in ("mondrian", "incognito", "sabre"))
    assert method.merges == (name not in ("mdav", "v-mdav", "dp-confidential"))
    is_quadratic = name in (
        "mdav", "v-mdav", "microaggregate-and-merge", "k-anonymity-first", "dp-confidential"
    )  # fmt: skip
    assert method.most_records == (MAX_QUADRATIC_RECORDS if is_quadratic else None)


def test_as_usual() -> None:
    assert AS_USUAL.name == "t-closeness-first"
    assert AS_USUAL.merges
    assert not AS_USUAL.generalises
    assert AS_USUAL.most_records is None


@pytest.mark.parametrize(("n_records", "n_regions"), [(1, 1), (100, 1), (101, 2), (201, 4)])
def test_regions_of_quadratic_methods(
    n_records: int, n_regions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as no region has more records than it may, a power of two."""
    monkeypatch.setattr(methods, "MAX_QUADRATIC_RECORDS", 100)
    assert count_regions(n_records, Method("mdav").most_records) == n_regions
