"""Persons of all partitions, numbered in the order of their hashes, and found again by these."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tclose.errors import DataError, PolicyError
from tclose.model.array_types import UInt64
from tclose.passes.persons.person_keys import PERSON_HASHES, PERSON_PLACES, list_persons
from tclose.passes.persons.person_numbers import (
    NUMBER_TASK,
    NUMBERED,
    NumberInput,
    PersonCounts,
    find_persons,
    number_persons,
    search_hashes,
)
from tclose.passes.persons.person_sketch import sketch_persons
from tclose.policy.policy import parse_policy
from tclose.releases.composition.shared_persons import SKETCH_SIZE
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Pass, PassContext
from tclose.runtime.run import Run
from tclose.runtime.tasks import Task

pytestmark = pytest.mark.every_case  # each takes milliseconds

Records = list[tuple[int, int]]  # the hash of each record's person
LOW, MIDDLE, HIGH = (3, 1), (2**63, 8), (2**64 - 1, 4)


def write_hashes(_: Workspace, item: Records, pending: PendingFiles) -> None:
    hashes, places = np.unique(words(item), axis=0, return_inverse=True)
    persons, of_records = list_persons(hashes, places.reshape(-1))
    pending.new(PERSON_HASHES).write(persons)
    pending.new(PERSON_PLACES).write(of_records)


def words(records: Records) -> UInt64:
    return np.array(records, dtype=np.uint64).reshape(-1, 2)


WRITE_TASK = Task("summarise", "hashing", write_hashes, (PERSON_HASHES, PERSON_PLACES))


def do_nothing(_: PassContext) -> None:
    """The tests call what a pass would."""


@pytest.fixture
def context(tmp_path: Path) -> PassContext:
    document = {"name": "x", "input": {"path": "x"}, "attributes": {"a": "quasi-identifier"}}
    policy = parse_policy(document | {"privacy": {"k": 2}})
    run = Run(policy, "trial", tmp_path / "work", InProcess())
    run.workspace.create()
    both = Pass("number", "Numbers.", (), (), do_nothing, (WRITE_TASK, NUMBER_TASK))
    return PassContext(both, run, Progress("none"))


def number(context: PassContext, partitions: list[Records], k: int = 1) -> PersonCounts:
    context.map(WRITE_TASK, partitions)
    return number_persons(context, k, len(partitions), sum(map(len, partitions)))


def number_in_ranges(
    context: PassContext, partitions: list[Records], n_ranges: int
) -> PersonCounts:
    context.map(WRITE_TASK, partitions)
    items = [NumberInput(index, n_ranges, len(partitions)) for index in range(n_ranges)]
    sizes, largest, several = zip(*context.map(NUMBER_TASK, items), strict=True)
    return PersonCounts(sizes, sum(map(len, partitions)), max(largest), sum(several))


def test_persons_of_several_partitions_are_one(context: PassContext) -> None:
    counts = number(context, [[LOW, HIGH, HIGH], [], [HIGH, MIDDLE]])
    assert counts == PersonCounts(of_ranges=(3,), n_records=5, largest=3, n_several=1)
    assert counts.n_persons == 3


@pytest.mark.parametrize("n_ranges", [1, 2, 3, 7])
def test_numbers_go_on_from_range_to_range(context: PassContext, n_ranges: int) -> None:
    partitions = [[HIGH, LOW], [MIDDLE, HIGH, (2**63, 7)]]
    counts = number_in_ranges(context, partitions, n_ranges)
    assert (counts.n_persons, counts.largest, counts.n_several) == (4, 2, 1)
    assert counts.firsts.tolist() == np.cumsum([0, *counts.of_ranges])[:-1].tolist()
    first = find_persons(context.workspace, counts, 0, 2)
    assert (first.numbers.tolist(), first.n_records.tolist()) == ([3, 0], [2, 1])
    second = find_persons(context.workspace, counts, 1, 3)
    assert (second.numbers.tolist(), second.n_records.tolist()) == ([2, 3, 1], [1, 2, 1])


def test_every_record_gets_the_number_of_its_person(context: PassContext) -> None:
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 4, (60, 2)) * 2**61  # ties of the first words, and of both
    partitions = [[(int(a), int(b)) for a, b in part] for part in np.split(drawn, [7, 40])]
    counts = number_in_ranges(context, partitions, 3)
    records = [record for part in partitions for record in part]
    distinct = sorted(set(records))
    for index, part in enumerate(partitions):
        found = find_persons(context.workspace, counts, index, len(part))
        assert found.numbers.tolist() == [distinct.index(record) for record in part]
        assert found.n_records.tolist() == [Counter(records)[record] for record in part]


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([[LOW], [LOW]], r"privacy.k: 3 is more than the persons of the 2 records: there is 1 "),
        ([[LOW, HIGH] * 600], r"persons of the 1,200 records: there are 2 persons; lower it"),
        ([[]], r"persons of the 0 records: there are 0 persons"),
    ],
)
def test_fewer_persons_than_k_are_refused(
    context: PassContext, partitions: list[Records], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        number(context, partitions, k=3)


def test_as_many_persons_as_k_are_enough(context: PassContext) -> None:
    assert number(context, [[LOW, MIDDLE, HIGH]], k=3).n_persons == 3


@pytest.mark.parametrize("unknown", [(0, 0), (2**63, 7), (2**63, 9), (2**64 - 1, 5)])
def test_who_was_not_numbered_is_refused(unknown: tuple[int, int]) -> None:
    with pytest.raises(DataError, match="the input changed while it was read; run again when it"):
        search_hashes(words([LOW, MIDDLE, HIGH]).T, words([LOW, unknown]))


def test_other_records_than_were_numbered_are_refused(context: PassContext) -> None:
    counts = number(context, [[LOW, MIDDLE]])
    with pytest.raises(DataError, match="the input changed while it was read; run again when it"):
        find_persons(context.workspace, counts, 0, 3)


def test_of_no_records_there_is_nothing_to_find(context: PassContext) -> None:
    counts = number(context, [[LOW], []])
    found = find_persons(context.workspace, counts, 1, 0)
    assert found.numbers.size == found.n_records.size == 0


@pytest.mark.parametrize("n_ranges", [1, 4])
def test_a_sketch_has_the_smallest_first_words(context: PassContext, n_ranges: int) -> None:
    counts = number_in_ranges(context, [[HIGH, LOW], [MIDDLE]], n_ranges)
    sketch = sketch_persons(context.workspace, counts)
    assert sketch.persons == 3
    assert sketch.hashes == ["0000000000000003", "8000000000000000", "f" * 16]


def test_a_sketch_is_no_larger_than_it_may_be(context: PassContext) -> None:
    n_persons, step = SKETCH_SIZE + 50, 2**64 // (SKETCH_SIZE + 50)
    firsts = np.random.default_rng(3).permutation(n_persons).tolist()
    counts = number_in_ranges(context, [[(first * step, 0) for first in firsts]], 2)
    assert max(counts.of_ranges) < SKETCH_SIZE  # it is of persons of both
    sketch = sketch_persons(context.workspace, counts)
    assert sketch.persons == n_persons
    assert [int(word, 16) for word in sketch.hashes] == [i * step for i in range(SKETCH_SIZE)]


def test_a_file_of_numbers_has_each_person_once(context: PassContext) -> None:
    number(context, [[HIGH, LOW], [HIGH]])
    rows = context.workspace.file(NUMBERED, 0).read()
    assert rows.T.tolist() == [[*LOW, 1], [*HIGH, 2]]
