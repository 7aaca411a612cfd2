"""Blocks of whole classes: what is known of them, and what stays true as records change class."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_refine
from support.tables.classed_records import (
    MARGIN,
    ClassedRecords,
    check_state,
    classed_records,
    classes_of,
)
from support.tables.random_tables import distribution_of, repeatable
from tclose.kernels.refinement.block import (
    SPARE,
    add_record,
    exchange,
    measure_block,
    remove_record,
)


class TestGathering:
    @repeatable
    @given(classed_records(), st.data())
    def test_some_classes(self, records: ClassedRecords, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.integers(0, records.n_classes - 1), min_size=1, unique=True))
        block, rows = records.gather(chosen)
        expected = [records.classes[c] for c in chosen]
        assert rows.tolist() == [row for members in expected for row in members]
        assert block.sizes.tolist() == [len(members) for members in expected]
        assert block.members.shape[2] == max(block.sizes) + SPARE
        assert block.values.tolist() == records.numeric.T[rows].tolist()
        for of_block, of_all in zip(block.levels.T, records.nominal, strict=True):
            pairs = set(zip(of_block.tolist(), of_all[rows].tolist(), strict=True))
            assert len(pairs) == len(set(of_all[rows].tolist())) == len(set(of_block.tolist()))

    @repeatable
    @given(classed_records())
    def test_state_is_what_the_definitions_say(self, records: ClassedRecords) -> None:
        block, rows = records.gather()
        assert classes_of(block, rows) == records.classes
        for c, members in enumerate(records.classes):
            ordered = records.codes[records.ordered or slice(1)]
            for codes, of_block in zip(ordered, block.members, strict=bool(ordered.size)):
                ranked = rows[of_block[c, : len(members)]]
                assert codes[ranked].tolist() == sorted(codes[members].tolist())
            totals = [sum(column[members].tolist()) for column in records.numeric]
            assert block.totals[c].tolist() == totals  # multiples of 1/64: without rounding
            for j, column in enumerate(records.nominal):
                counts = [len(list(run)) for _, run in groupby(sorted(column[members].tolist()))]
                assert sorted(n for n in block.counts[c, j].tolist() if n) == sorted(counts)
                assert block.squares[c, j] == sum(n * n for n in counts)
            excess = naive_refine.excess(records, [members])
            assert block.excess[c] == pytest.approx(float(excess), abs=MARGIN)
            columns = [*records.numeric, *records.nominal]
            assert block.alike[c] == all(len(set(v[members].tolist())) == 1 for v in columns)

    @repeatable
    @given(classed_records())
    def test_loss_is_that_of_a_release(self, records: ClassedRecords) -> None:
        block, _ = records.gather()
        expected = naive_refine.released_loss(records, records.classes)
        assert measure_block(block) == pytest.approx(float(expected), abs=1e-11)


class TestExchange:
    @repeatable
    @given(classed_records(), st.randoms(use_true_random=False))
    def test_many_leave_a_block_as_if_gathered_anew(self, records: ClassedRecords, random) -> None:
        block, rows = records.gather()
        expected = [set(members) for members in records.classes]
        cap = block.members.shape[2]
        for _ in range(12):
            a, b = random.sample(range(records.n_classes), 2)
            x = random.randrange(block.sizes[a]) if block.sizes[b] < cap else -1
            y = random.randrange(block.sizes[b]) if block.sizes[a] < cap else -1
            one_sided = random.choice(["", "", "x", "y"])
            if (one_sided == "x" and block.sizes[a] > 1) or y < 0:
                y = -1
            elif one_sided == "y" and block.sizes[b] > 1:
                x = -1
            if (y < 0 and block.sizes[a] < 2) or (x < 0 and block.sizes[b] < 2):
                continue
            x = int(block.members[0, a, x]) if x >= 0 else -1
            y = int(block.members[0, b, y]) if y >= 0 else -1
            exchange(block, a, b, x, y)
            if x >= 0:
                expected[a].remove(rows[x])
                expected[b].add(rows[x])
            if y >= 0:
                expected[b].remove(rows[y])
                expected[a].add(rows[y])
            assert [set(members) for members in classes_of(block, rows)] == expected
        check_state(block, rows, records)

    @repeatable
    @given(classed_records())
    def test_that_is_taken_back_leaves_no_trace(self, records: ClassedRecords) -> None:
        block, rows = records.gather()
        x, y = block.members[0, :2, 0].tolist()
        exchange(block, 0, 1, x, y)
        exchange(block, 0, 1, y, x)
        assert classes_of(block, rows) == records.classes
        check_state(block, rows, records)

    def test_to_the_last_free_place(self) -> None:
        """A class takes in as many as there is room for, in every attribute."""
        records = classed_example()
        block, rows = records.gather()
        cap = block.members.shape[2]
        while block.sizes[0] < cap:
            exchange(block, 1, 0, int(block.members[0, 1, block.sizes[1] - 1]), -1)
        assert block.sizes.tolist() == [cap, records.n_records - cap]
        moved = classes_of(block, rows)
        assert sorted(moved[0] + moved[1]) == list(range(records.n_records))
        for c in range(2):
            codes = records.codes[0][rows[block.members[0, c, : block.sizes[c]]]]
            assert (np.diff(codes) >= 0).all()

    def test_a_record_that_leaves_and_returns_stands_after_its_equals(self) -> None:
        block, _ = classed_example().gather()
        first = int(block.members[0, 0, 0])
        remove_record(block, 0, first)
        add_record(block, 0, first)
        z = block.record_terms[0, :, 0]
        members = block.members[0, 0, : block.sizes[0]]
        equals = [i for i in members if z[i] == z[first]]
        assert equals[-1] == first
        assert block.ranks[0, members].tolist() == list(range(members.size))


def classed_example() -> ClassedRecords:
    """Two classes of eight and ten records, three values, one nominal quasi-identifier."""
    rng = np.random.default_rng(3)
    table, codes = distribution_of(rng.integers(0, 3, 18))
    return ClassedRecords(
        rng.integers(0, 65, (1, 18)) / 64,
        rng.integers(0, 3, (1, 18), dtype=np.int32),
        3,
        codes[np.newaxis],
        (table,),
        (0.1,),
        np.repeat([0, 1], [8, 10]),
        2,
    )
