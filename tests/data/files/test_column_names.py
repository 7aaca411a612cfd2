"""Column names of wide tables: what comparing them costs is counted, not timed."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from tclose.data.files.column_names import check_distinct_names, compare_names, name_positions
from tclose.errors import DataError
from tclose.passes.summarise.source import released_attributes
from tclose.policy.policy import parse_policy

WIDE = 20_000


class Counted(str):
    """A name that counts how often any is compared with another, or hashed."""

    __slots__ = ()
    n_looks = 0

    def __eq__(self, other: object) -> bool:
        Counted.n_looks += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        Counted.n_looks += 1
        return str.__hash__(self)


@pytest.fixture(autouse=True)
def fresh_count() -> Iterator[None]:
    Counted.n_looks = 0
    yield
    Counted.n_looks = 0


def counted(n_names: int = WIDE) -> list[str]:
    return [Counted(f"column {i}") for i in range(n_names)]


def refuse(check: Callable[[], Any]) -> str:
    with pytest.raises(DataError) as refusal:
        check()
    return str(refusal.value)


def test_names_are_looked_at_a_few_times_each() -> None:
    names, others = counted(), counted()
    check_distinct_names(names, "a.csv")
    compare_names(names, others, ("a.csv", "b.csv"), set(names))
    message = refuse(lambda: check_distinct_names([*names, names[7]], "a.csv"))
    assert "columns 8 and 20,001 of 20,001 have the same name" in message
    message = refuse(lambda: compare_names(names, others[:-1], ("a.csv", "b.csv"), names))
    assert "column 'column 19999' is in a.csv only" in message
    message = refuse(lambda: compare_names(names, [*others, "x"], ("a.csv", "b.csv"), names))
    assert "column 20,001 of 20,001 in b.csv" in message
    assert WIDE < Counted.n_looks < 60 * WIDE  # by pairs it would be 400 million


class Schema:
    """A schema that counts how often its names are listed."""

    def __init__(self, names: list[str]) -> None:
        self._names, self.n_lists = names, 0

    @property
    def names(self) -> list[str]:
        self.n_lists += 1
        return self._names


def policy_of(names: list[str], **keys: Any) -> Any:
    attributes = dict.fromkeys(names, "non-confidential") | {names[0]: "quasi-identifier"}
    document = {"name": "wide", "input": {"path": "wide.csv"}, "attributes": attributes}
    return parse_policy(document | {"privacy": {"k": 2}} | keys)


def test_names_of_a_policy_are_looked_up_at_once() -> None:
    plain = [f"column {i}" for i in range(2_000)]
    schema: Any = Schema([Counted(name) for name in plain])
    found = released_attributes(policy_of(plain), schema)
    assert [a.name for a in found] == plain
    assert schema.n_lists < 5
    assert Counted.n_looks < 30 * len(plain)


def test_messages_about_thousands_of_columns_stay_short() -> None:
    names = [f"column {i}" for i in range(3_000)]
    schema = pa.schema([(name, pa.string()) for name in names])
    for policy, fragment in (
        (policy_of([f"other {i}" for i in range(3_000)]), "and 2,995 more, which the policy names"),
        (policy_of(names[:1]), "columns 2, 3, 4, 5, 6 and 2,994 more of 3,000 are not in the pol"),
    ):
        message = refuse(partial(released_attributes, policy, schema))
        assert fragment in message
        assert len(message) < 500


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([2], "column 3 of 9"),
        ([0, 8], "columns 1 and 9 of 9"),
        ([0, 1, 2, 3, 4], "columns 1, 2, 3, 4 and 5 of 9"),
        ([0, 1, 2, 3, 4, 5], "columns 1, 2, 3, 4, 5 and 1 more of 9"),
    ],
)
def test_positions(indices: list[int], text: str) -> None:
    assert name_positions(indices, 9) == text
