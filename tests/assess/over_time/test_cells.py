"""Cells of several releases and the values in them, next to all worlds that publish the same."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.naive.naive_series import (
    ABSENT,
    cells_of,
    naive_candidates_of_persons,
    naive_values,
    publish,
)
from tclose.assess.over_time.candidate_values import (
    CellValues,
    count_class_values,
    follow_values,
    no_values,
)
from tclose.assess.over_time.cells import (
    MOST_CELLS,
    Membership,
    PersonCells,
    count_candidates_of_cells,
    first_cell,
    place_persons,
    refine_cells,
)

N_VALUES = 50


def membership_of(choices: Sequence[Sequence[int]]) -> Membership:
    present = [p for p, classes in enumerate(choices) if classes != [ABSENT]]
    offsets = np.cumsum([0, *(len(choices[p]) for p in present)])
    classes = np.array([c for p in present for c in choices[p]], dtype=np.int64)
    return place_persons(len(choices), np.array(present, dtype=np.int64), offsets, classes)


def attack(
    releases: Sequence[Sequence[Sequence[int]]],
    classes: Sequence[Sequence[int]],
    values: Sequence[int],
) -> tuple[PersonCells, CellValues]:
    """The cells and values that are left after all releases, whose rows are those of `classes`."""
    cells, known = first_cell(len(values)), no_values()
    for choices, true in zip(releases, classes, strict=True):
        rows = [(c, v) for c, v in zip(true, values, strict=True) if c != ABSENT]
        pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
        published = count_class_values(pairs[:, 0], pairs[:, 1], N_VALUES)
        after = refine_cells(cells, membership_of(choices))
        known = follow_values(known, cells, after, published, N_VALUES)
        cells = after
    return cells, known


def values_of(person: int, cells: PersonCells, known: CellValues) -> set[int] | None:
    """What a person can have, or None if nothing is known."""
    mine = cells.cell[cells.person == person]
    if known.is_open[mine].any():
        return None
    return set(known.entries.value[np.isin(known.entries.group, mine)].tolist())


@st.composite
def series(draw: st.DrawFn, *, certain: bool, distinct: bool) -> tuple:
    """Persons in classes of some releases, and in which classes they could be."""
    n_persons = draw(st.integers(1, 4 if not certain else 5))
    n_releases = draw(st.integers(1, 3 if certain else 2))
    one = st.integers(ABSENT, 2)
    classes = [
        draw(st.lists(one, min_size=n_persons, max_size=n_persons)) for _ in range(n_releases)
    ]
    if distinct:
        values = draw(st.permutations(range(n_persons)))
    else:
        values = draw(st.lists(st.integers(0, 2), min_size=n_persons, max_size=n_persons))
    releases = []
    for true in classes:
        more = [
            draw(st.sets(st.integers(0, 2), max_size=1)) if not certain else set() for _ in true
        ]
        releases.append(
            [
                [c] if c == ABSENT else sorted({c, *other})
                for c, other in zip(true, more, strict=True)
            ]
        )
    return releases, classes, values


@given(series(certain=True, distinct=False))
def test_cells_are_those_of_the_definition(drawn: tuple) -> None:
    releases, classes, values = drawn
    cells, _ = attack(releases, classes, values)
    assert cells.is_certain.all()
    found = {tuple(cells.person[cells.cell == c].tolist()) for c in range(cells.parent.size)}
    assert found == {tuple(persons) for persons in cells_of(classes)}
    sizes = {p: len(persons) for persons in cells_of(classes) for p in persons}
    assert count_candidates_of_cells(cells).tolist() == [sizes[p] for p in range(len(values))]


@given(series(certain=False, distinct=False))
def test_candidates_are_those_who_share_a_possible_cell(drawn: tuple) -> None:
    releases, classes, values = drawn
    cells, _ = attack(releases, classes, values)
    assert count_candidates_of_cells(cells).tolist() == naive_candidates_of_persons(releases)


@given(series(certain=True, distinct=False))
def test_no_value_that_a_person_can_have_is_ruled_out(drawn: tuple) -> None:
    check_sound(*drawn)


@given(series(certain=False, distinct=False))
@settings(max_examples=30)
def test_no_value_is_ruled_out_where_classes_are_not_certain(drawn: tuple) -> None:
    check_sound(*drawn)


def check_sound(releases, classes, values) -> None:
    cells, known = attack(releases, classes, values)
    possible = naive_values(releases, [publish(one, values) for one in classes])
    for person, held in enumerate(possible):
        found = values_of(person, cells, known)
        assert found is None or held <= found


@given(series(certain=True, distinct=True))
def test_distinct_values_are_told_up_to_the_cell(drawn: tuple) -> None:
    """The worst case: each value links rows, so cells are exactly what is left."""
    releases, classes, values = drawn
    cells, known = attack(releases, classes, values)
    for persons in cells_of(classes):
        for person in persons:
            found = values_of(person, cells, known)
            if all(one[person] == ABSENT for one in classes):
                assert found is None
            else:
                assert found == {values[p] for p in persons}


def test_leaver_and_newcomer_are_found_by_subtraction() -> None:
    classes = [[0, 0, 0, ABSENT], [0, 0, ABSENT, 0]]
    releases = [[[c] for c in one] for one in classes]
    cells, known = attack(releases, classes, [7, 7, 7, 8])
    assert [values_of(p, cells, known) for p in range(4)] == [{7}, {7}, {7}, {8}]
    cells, known = attack(releases, classes, [7, 8, 9, 9])
    assert values_of(0, cells, known) == {7, 8, 9}
    cells, known = attack(releases, classes, [7, 8, 9, 5])
    assert [values_of(p, cells, known) for p in range(4)] == [{7, 8}, {7, 8}, {9}, {5}]


def test_person_with_too_many_cells_is_among_all_and_in_every_cell() -> None:
    wide = list(range(MOST_CELLS + 1))
    cells = refine_cells(first_cell(3), membership_of([wide, [0], [1]]))
    assert cells.is_lost.tolist() == [True, False, False]
    assert count_candidates_of_cells(cells).tolist() == [3, 2, 2]
    assert not cells.is_certain.any()
