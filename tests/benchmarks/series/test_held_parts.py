"""Whose loss it is in a held series, counted by hand."""

import numpy as np
import pyarrow as pa

from benchmarks.series.held_parts import (
    NAMES,
    NUMBERS,
    PERSON,
    Followed,
    Rows,
    share_parts,
)


def rows_of(persons: list[str], classes: list[int], insurers: list[str]) -> Rows:
    table = pa.table(
        {name: [0] * len(persons) for name in NUMBERS}
        | {name: ["a"] * len(persons) for name in NAMES}
        | {"insurer": insurers, PERSON: persons}
    )
    return Rows(persons, np.array(classes), np.arange(1.0, len(persons) + 1), table)


def test_parts_are_those_of_the_persons() -> None:
    followed = Followed()
    first = rows_of(list("abcd"), [0, 0, 1, 1], list("xxyy"))
    part, back = followed.follow(0, first, first.originals)
    assert part.tolist() == [0, 0, 0, 0]
    assert back == 0
    second = rows_of(list("acef"), [0, 0, 1, 1], list("xzxx"))  # b and d leave, c changes insurer
    part, _ = followed.follow(1, second, second.originals)
    assert part.tolist() == [3, 1, 2, 2]  # a is united with c, who was in another class
    persons, losses = share_parts(second, part, 0.5)
    assert list(persons) == [0, 0.25, 0.5, 0.25]
    assert list(losses) == [0, 2 / 4 / 0.5, (3 + 4) / 4 / 0.5, 1 / 4 / 0.5]
    third = rows_of(list("acef"), [0, 0, 1, 1], list("xzxx"))
    read = pa.table({PERSON: [*"acefb"]})  # b comes back, and is left out
    assert followed.follow(2, third, read)[1] == 1
