"""Whose loss it is in a held series, counted by hand; its bound next to all partitions."""

from itertools import combinations

import numpy as np
import pyarrow as pa

from benchmarks.series.held_parts import (
    NAMES,
    NUMBERS,
    PERSON,
    Followed,
    Rows,
    bound_newcomers,
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
    part, is_other, back = followed.follow(0, first, first.originals)
    assert part.tolist() == [0, 0, 0, 0]
    assert (int(is_other.sum()), back) == (0, 0)
    second = rows_of(list("acef"), [0, 0, 1, 1], list("xzxx"))  # b and d leave, c changes insurer
    sorted_out = followed.follow(1, second, second.originals)
    assert sorted_out[0].tolist() == [3, 1, 2, 2]  # a is united with c, who was in another class
    assert np.flatnonzero(sorted_out[1]).tolist() == [1]
    persons, losses = share_parts(second, sorted_out, 0.5)
    assert list(persons) == [0, 0.25, 0.5, 0.25]
    assert list(losses) == [0, 2 / 4 / 0.5, (3 + 4) / 4 / 0.5, 1 / 4 / 0.5]
    third = rows_of(list("acef"), [0, 0, 1, 1], list("xzxx"))
    read = pa.table({PERSON: [*"acefb"]})  # b comes back, and is left out
    assert followed.follow(2, third, read)[2] == 1


def test_bound_is_below_every_partition() -> None:
    rng = np.random.default_rng(5)
    numbers = {name: rng.integers(0, 50, 6) for name in NUMBERS}
    names = {name: rng.choice(["a", "b"], 6) for name in NAMES}
    table = pa.table({name: pa.array(values) for name, values in (numbers | names).items()})
    losses = []
    for first in combinations(range(6), 3):
        loss = 0.0
        for group in (list(first), [i for i in range(6) if i not in first]):
            for values in numbers.values():
                scaled = values / np.ptp(values)
                loss += float(((scaled[group] - scaled[group].mean()) ** 2).sum())
            for texts in names.values():
                loss += 3 - np.unique(texts[group], return_counts=True)[1].max()
        losses.append(loss / 6 / 6)
    bound = bound_newcomers(table, np.ones(6, dtype=bool), 3)
    assert 0 < bound <= min(losses)
