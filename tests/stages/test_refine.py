"""Refinement of a region: k and t hold after every round, and rounds end when they should."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain, pairwise
from math import ceil
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.kernels.emd import ERROR_PER_STEP
from pipeline.model import Int64
from pipeline.stages import refine
from pipeline.stages.effort import (
    FAST,
    FAST_RECORDS,
    FULL,
    FULL_RECORDS,
    LEAN,
    OFF,
    WIDE,
    Effort,
    choose_effort,
)
from pipeline.stages.refine import (
    MAX_SEARCHED,
    ROUNDS_BEFORE_MERGING,
    Refiner,
    Round,
    make_refiner,
    merge_rounds,
    orthonormal,
)
from pipeline.stages.scaling import Scaled
from support import naive, naive_refine
from support.classed import (
    MARGIN,
    ClassedRecords,
    classed_records,
    draw_attribute,
    ground_over,
    relabel,
    star_over,
)
from support.tables import distribution_of, repeatable, seeds, unweighted

fewer = settings(repeatable, max_examples=40)

regions = classed_records(n_classes=st.integers(1, 9), max_size=6)
efforts = st.builds(
    Effort,
    n_rounds=st.integers(1, 4),
    block_classes=st.integers(2, 6),
    n_neighbours=st.integers(1, 4),
    n_sweeps=st.integers(1, 2),
    n_together=st.sampled_from([0, 0, 2, 3]),
    least_exchange=st.sampled_from([0.0, 0.01]),
)


def refiner_of(records: ClassedRecords, max_emds: tuple[Fraction, ...] | None = None) -> Refiner:
    return make_refiner(
        Scaled(records.numeric, records.nominal, records.n_levels, records.column_weights),
        records.codes,
        records.tables,
        tuple(float(t) for t in (records.max_emds if max_emds is None else max_emds)),
        records.k,
        (1, 0, 0),
    )


def keep(labels: Int64) -> Int64:
    """Merge nothing."""
    return labels


def run(refiner: Refiner, records: ClassedRecords, effort: Effort) -> list[ClassedRecords]:
    """The records after no round, after one, and so on, nothing merged."""
    after = [records]
    for n_rounds in range(1, effort.n_rounds + 1):
        shorter = replace(effort, n_rounds=n_rounds)
        labels, _ = refiner.refine(records.labels, shorter, keep, 1.0)
        after.append(replace(records, labels=labels))
    return after


def largest_emds(records: ClassedRecords) -> list[Fraction]:
    """Of each attribute over all classes."""
    by_class = [naive_refine.class_emds(records, rows) for rows in records.classes]
    return [max(emds) for emds in zip(*by_class, strict=True)]


@st.composite
def regions_within(draw: st.DrawFn, hundredths: int = 0) -> ClassedRecords:
    """Every class is within t, most where it is the next hundredth, or the one after, and so on."""
    records = draw(regions)
    limits = []
    for emd in largest_emds(records):
        percent = min(100, ceil(emd * 100) + hundredths + draw(st.integers(0, 20)))
        limits.append(percent / 100 - MARGIN)
    return replace(records, limits=tuple(limits))


class TestRefinement:
    @fewer
    @given(regions, efforts)
    def test_gives_a_partition_of_classes_of_k(
        self, records: ClassedRecords, effort: Effort
    ) -> None:
        before = records.labels.copy()
        labels, _ = refiner_of(records).refine(records.labels, effort, keep, 1.0)
        assert records.labels.tolist() == before.tolist()
        sizes = np.bincount(labels)
        assert labels.size == records.n_records
        assert sizes.size == records.n_classes
        assert sizes.min() >= records.k

    @fewer
    @given(regions_within(), efforts)
    def test_classes_within_t_stay_within(self, records: ClassedRecords, effort: Effort) -> None:
        """By the definition, in fractions, and after every round."""
        for after in run(refiner_of(records), records, effort):
            for emd, limit in zip(largest_emds(after), records.max_emds, strict=True):
                assert emd <= limit

    @fewer
    @given(regions, efforts)
    def test_classes_at_exactly_t_stay_within(
        self, records: ClassedRecords, effort: Effort
    ) -> None:
        limits = tuple(largest_emds(records))
        for after in run(refiner_of(records, limits), records, effort):
            for emd, limit in zip(largest_emds(after), limits, strict=True):
                assert emd <= limit

    @fewer
    @given(regions_within(1), efforts)
    def test_loses_less_from_round_to_round(self, records: ClassedRecords, effort: Effort) -> None:
        """If all are within the limits, which are a margin below t, or further."""
        refiner = refiner_of(records)
        _, rounds = refiner.refine(records.labels, effort, keep, 1.0)
        for before, after in pairwise(rounds):
            assert after.loss <= before.loss + 1e-12
        released = [
            naive_refine.released_loss(records, after.classes)
            for after in run(refiner, records, effort)
        ]
        assert all(b <= a for a, b in pairwise(released))

    @fewer
    @given(regions, efforts)
    def test_comes_no_farther_above_t(self, records: ClassedRecords, effort: Effort) -> None:
        after = run(refiner_of(records), records, effort)
        excess = [naive_refine.excess(records, r.classes) for r in after]
        assert all(b <= a + Fraction(MARGIN) for a, b in pairwise(excess))

    @fewer
    @given(regions, efforts)
    def test_measures_each_round(self, records: ClassedRecords, effort: Effort) -> None:
        refiner = refiner_of(records)
        labels, rounds = refiner.refine(records.labels, effort, keep, 1.0)
        assert 2 <= len(rounds) <= effort.n_rounds + 1
        ends = (records, replace(records, labels=labels))
        for measured, state in zip((rounds[0], rounds[-1]), ends, strict=True):
            assert measured == refiner.measure(state.labels)
            loss = naive_refine.released_loss(state, state.classes)
            assert measured.loss == pytest.approx(float(loss), abs=1e-11)
            largest = max(largest_emds(state), default=Fraction(0))
            assert measured.largest_emd == pytest.approx(float(largest), abs=MARGIN)

    @fewer
    @given(regions, efforts)
    def test_gives_the_same_again(self, records: ClassedRecords, effort: Effort) -> None:
        first = refiner_of(records).refine(records.labels, effort, keep, 1.0)
        again = refiner_of(records).refine(records.labels.copy(), effort, keep, 1.0)
        assert again[0].tolist() == first[0].tolist()
        assert again[1] == first[1]

    @fewer
    @given(regions, efforts)
    def test_longer_goes_on_where_shorter_ends(
        self, records: ClassedRecords, effort: Effort
    ) -> None:
        refiner = refiner_of(records)
        _, rounds = refiner.refine(records.labels, effort, keep, 1.0)
        shorter = replace(effort, n_rounds=effort.n_rounds - 1)
        _, fewer_rounds = refiner.refine(records.labels, shorter, keep, 1.0)
        assert rounds[: len(fewer_rounds)] == fewer_rounds


def test_limits_leave_room_for_what_sums_can_err() -> None:
    """By steps: of a class's records, or of a tree's nodes where these are more."""
    for n_values in (5, 3_000):
        ground = star_over(n_values)
        table, codes, _ = draw_attribute(np.random.default_rng(3), ground, 20_000)
        ordered, places = distribution_of(codes)
        assert table.metric is not None
        refiner = make_refiner(
            unweighted(np.zeros((1, codes.size))),
            np.array([codes, places]), (table, ordered), (0.3, 0.4), 2, (1,),
        )  # fmt: skip
        margin = ERROR_PER_STEP * max(2 * MAX_SEARCHED, table.metric.below.size)
        assert refiner.trees.limits.tolist() == [0.3 - margin]
        assert refiner.limits.tolist() == [0.4 - margin]
        assert margin >= MARGIN


def test_the_order_of_nominal_values_forbids_nothing() -> None:
    """Two siblings stand at the ends of the order: classes of one of them are near by the tree."""
    tree = ("any", [("g", [("h", ["a", "b"])]), "c"])
    ground = replace(ground_over(tree), leaves=("a", "c", "b"))
    codes = np.array([0, 2, 1, 0, 2, 1])
    table, _ = distribution_of(codes)
    records = ClassedRecords(
        np.array([[0, 1, 0.5, 0, 1, 0.5]]), np.empty((0, 6), np.int32), 1, codes[np.newaxis],
        (ground.measure(table),), (), np.array([0, 0, 0, 1, 1, 1]), 3, (ground,),
    )  # fmt: skip
    t = Fraction(2, 10)
    assert records.emd(0, [0, 3, 2]) == Fraction(1, 9) < t
    assert naive.ordered_emd([0, 0, 1], codes.tolist()) == Fraction(1, 3) > t
    labels, rounds = refiner_of(records, (t,)).refine(records.labels, Effort(1), keep)
    assert labels[0] == labels[3] != labels[1] == labels[4]
    assert [round(r.loss, 9) for r in rounds] == [1.0, round(1 / 3, 9)]


class TestBudget:
    """On a region on which every round finds something."""

    def region(self, n_records: int = 600) -> ClassedRecords:
        rng = np.random.default_rng(11)
        table, codes = distribution_of(rng.integers(0, 50, n_records))
        return ClassedRecords(
            rng.random((3, n_records)),
            np.empty((0, n_records), np.int32),
            1,
            codes[np.newaxis],
            (table,),
            (0.25,),
            rng.permutation(np.arange(n_records) % (n_records // 4)),
            4,
        )

    def refine(self, effort: Effort, merge=keep, share: float = 1.0):
        records = self.region()
        return refiner_of(records).refine(records.labels, effort, merge, share)

    def test_none_returns_what_it_got(self) -> None:
        records = self.region()
        labels, rounds = refiner_of(records).refine(records.labels, OFF, keep, 1.0)
        assert labels is records.labels
        assert rounds == ()

    @pytest.mark.parametrize("n_rounds", [1, 2, 5])
    def test_number_of_rounds(self, n_rounds: int) -> None:
        _, rounds = self.refine(choose_effort(n_rounds, 1))
        assert len(rounds) == n_rounds + 1
        assert rounds[-1].loss < 0.7 * rounds[0].loss

    def test_little_gain_ends_it(self) -> None:
        """Two rounds have to save twice the share; they are looked at once classes were merged."""
        _, rounds = self.refine(Effort(10, least_gain=0.5))
        assert len(rounds) == ROUNDS_BEFORE_MERGING + 2
        _, rounds = self.refine(Effort(30, least_gain=0.01))
        assert ROUNDS_BEFORE_MERGING + 2 < len(rounds) < 31
        losses = [r.loss for r in rounds]
        assert losses[-3] - losses[-1] <= 0.02 * losses[-3]
        assert losses[-4] - losses[-2] > 0.02 * losses[-4]

    @pytest.mark.parametrize(("share", "n_rounds"), [(1.0, 4), (0.5, 2), (0.1, 0), (0.0, 0)])
    def test_time_ends_it(self, share: float, n_rounds: int, monkeypatch) -> None:
        """Ten seconds; the clock says two more each time it is looked at."""
        ticks = iter(range(100, 1_000, 2))
        monkeypatch.setattr(refine, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
        labels, rounds = self.refine(choose_effort("10s", 1), share=share)
        assert len(rounds) == n_rounds + 1
        monkeypatch.undo()
        expected, _ = self.refine(Effort(n_rounds))
        assert labels.tolist() == expected.tolist()

    def test_real_time_ends_it(self) -> None:
        start = refine.time.monotonic()
        _, rounds = self.refine(choose_effort("0.05s", 1))
        assert len(rounds) > 1
        assert refine.time.monotonic() - start < 20

    def test_merging_comes_once_after_the_second_round(self) -> None:
        seen = []

        def merge(labels: Int64) -> Int64:
            seen.append(labels.copy())
            return np.maximum(labels - 1, 0)  # the first two classes are one

        labels, rounds = self.refine(Effort(4), merge)
        assert len(seen) == 1
        after_two, _ = self.refine(Effort(2))
        assert seen[0].tolist() == after_two.tolist()
        assert np.bincount(labels).size == 149
        assert rounds[2].loss > self.refine(Effort(2))[1][2].loss

    def test_no_merging_before_the_second_round(self) -> None:
        self.refine(Effort(1), merge=lambda labels: pytest.fail("too early"))


class TestGroups:
    @fewer
    @given(classed_records(n_classes=st.integers(2, 30), max_size=4), st.integers(1, 9), seeds)
    def test_are_a_partition_of_those_searched(
        self, records: ClassedRecords, block_classes: int, seed: int
    ) -> None:
        refiner = refiner_of(records)
        rng = np.random.default_rng(seed)
        n_axes = refiner.values.shape[1], refiner.levels.shape[1]
        points = (
            rng.random((records.n_classes, n_axes[0])),
            rng.integers(0, records.n_levels, (records.n_classes, n_axes[1]), dtype=np.int32),
        )
        searched = np.flatnonzero(rng.random(records.n_classes) < 0.8)
        if searched.size < 2:
            return
        classes, starts = refiner._group_classes(points, searched, block_classes, rng)
        assert sorted(classes.tolist()) == searched.tolist()
        assert starts[0] == 0
        assert starts[-1] == searched.size
        sizes = np.diff(starts)
        assert sizes.min() >= 1
        assert sizes.max() <= block_classes

    def test_large_classes_are_left_as_they_are(self) -> None:
        rng = np.random.default_rng(2)
        sizes = [MAX_SEARCHED + 1, MAX_SEARCHED, 3, 5, 4]
        n_records = sum(sizes)
        records = ClassedRecords(
            rng.random((2, n_records)),
            np.empty((0, n_records), np.int32),
            1,
            np.empty((0, n_records), np.int64),
            (),
            (),
            rng.permutation(np.repeat(np.arange(5), sizes)),
            3,
        )
        labels, _ = refiner_of(records).refine(records.labels, Effort(2), keep, 1.0)
        assert np.flatnonzero(labels == 0).tolist() == records.classes[0]
        for c in range(1, 5):
            assert np.flatnonzero(labels == c).tolist() != records.classes[c]
        # Two that are too large: there is none to search.
        pair = relabel(records, [records.classes[0], list(chain(*records.classes[1:]))])
        kept, _ = refiner_of(pair).refine(pair.labels, Effort(2), keep, 1.0)
        assert kept.tolist() == pair.labels.tolist()

    @repeatable
    @given(st.integers(1, 8), seeds)
    def test_axes_are_orthonormal(self, n_axes: int, seed: int) -> None:
        rows = np.random.default_rng(seed).standard_normal((n_axes, n_axes))
        made = orthonormal(rows)
        np.testing.assert_allclose(made @ made.T, np.eye(n_axes), rtol=0, atol=1e-14)
        # Row by row as Gram-Schmidt has it: numpy's decomposition, with signs that point along.
        q, r = np.linalg.qr(rows.T)
        expected = (q * np.sign(np.diag(r))).T
        np.testing.assert_allclose(made, expected, rtol=0, atol=1e-9)


losses = st.floats(0, 1e6)
regions_of_rounds = st.lists(
    st.lists(st.builds(Round, losses, st.floats(0, 1)), max_size=5).map(tuple), max_size=5
)


class TestRounds:
    @repeatable
    @given(regions_of_rounds)
    def test_of_regions_are_merged(self, of_regions: list[tuple[Round, ...]]) -> None:
        merged = merge_rounds(of_regions)
        there = [rounds for rounds in of_regions if rounds]
        assert len(merged) == max(map(len, there), default=0)
        for r, total in enumerate(merged):
            padded = [(*rounds, *rounds[-1:] * 5)[r] for rounds in there]
            assert total.loss == pytest.approx(sum(one.loss for one in padded))
            assert total.largest_emd == max(one.largest_emd for one in padded)

    def test_example(self) -> None:
        """A region that stopped early stays as it was; one that was not refined says nothing."""
        long = (Round(8.0, 0.3), Round(4.0, 0.1), Round(2.0, 0.1))
        short = (Round(1.0, 0.2),)
        total = (Round(9.0, 0.3), Round(5.0, 0.2), Round(3.0, 0.2))
        assert merge_rounds([long, (), short]) == total
        assert merge_rounds([]) == merge_rounds([(), ()]) == ()


class TestEffort:
    @pytest.mark.parametrize(("said", "effort"), [("off", OFF), ("fast", FAST), ("full", WIDE)])
    def test_named(self, said: str, effort: Effort) -> None:
        assert choose_effort(said, 1) is effort

    def test_fast_is_leaner_for_tables_that_would_take_long(self) -> None:
        assert choose_effort("fast", FAST_RECORDS) is FAST
        assert choose_effort("fast", FAST_RECORDS + 1) is LEAN

    def test_full_is_wide_where_that_takes_minutes(self) -> None:
        assert choose_effort("full", FULL_RECORDS) is WIDE
        assert choose_effort("full", FULL_RECORDS + 1) is FULL

    def test_names_are_in_order(self) -> None:
        assert OFF.n_rounds == 0 < FAST.n_rounds <= FULL.n_rounds
        assert FAST.seconds is FULL.seconds is WIDE.seconds is None

    @pytest.mark.parametrize("n_rounds", [0, 1, 17])
    def test_rounds(self, n_rounds: int) -> None:
        assert choose_effort(n_rounds, 1) == Effort(n_rounds)

    @pytest.mark.parametrize(
        ("said", "seconds"),
        [
            ("30s", 30),
            ("30 s", 30),
            ("10min", 600),
            ("10 min", 600),
            ("1.5 h", 5_400),
            ("2h", 7_200),
            ("0.25min", 15),
            ("0s", 0),
        ],
    )
    def test_times(self, said: str, seconds: float) -> None:
        effort = choose_effort(said, 1)
        assert effort.seconds == seconds
        assert effort.n_rounds >= 1_000
        assert effort.least_gain == 0.0


def excess_of(records: ClassedRecords) -> float:
    """By how much all classes are above their t, all attributes together."""
    above = 0.0
    for rows in records.classes:
        for emd, t in zip(naive_refine.class_emds(records, rows), records.max_emds, strict=True):
            above += max(0.0, float(emd - t))
    return above


class TestMending:
    @fewer
    @given(regions)
    def test_excess_never_grows_and_sizes_stay(self, records: ClassedRecords) -> None:
        ends = np.array([0, records.n_classes])
        labels = refiner_of(records).mend(records.labels, ends)
        mended = replace(records, labels=labels)
        assert sorted(np.unique(labels).tolist()) == list(range(records.n_classes))
        smallest = min(len(rows) for rows in records.classes)
        assert min(len(rows) for rows in mended.classes) >= min(records.k, smallest)
        assert excess_of(mended) <= excess_of(records) + 1e-9

    def test_works_off_what_exchanges_can(self) -> None:
        """Two classes of one value each, of a table half and half: one swap each way is needed."""
        values = [0] * 4 + [1] * 4
        table, codes = distribution_of(values)
        numeric = np.array([[0.0] * 4 + [1.0] * 4])
        refiner = make_refiner(unweighted(numeric), np.array([codes]), (table,), (0.1,), 2, (1,))
        labels = np.repeat(np.arange(2), 4)
        assert refiner.measure(labels).largest_emd == 0.5
        mended = refiner.mend(labels, np.array([0, 2]))
        assert refiner.measure(mended).largest_emd <= 0.1
        assert np.bincount(mended).min() >= 2

    def test_classes_of_other_blocks_are_left_alone(self) -> None:
        values = [0, 0, 1, 1]
        table, codes = distribution_of(values)
        refiner = make_refiner(
            unweighted(np.array([[0.0, 0, 1, 1]])),
            np.array([codes]), (table,), (0.1,), 2, (1,),
        )  # fmt: skip
        labels = np.array([0, 0, 1, 1])
        assert refiner.mend(labels, np.array([0, 1, 2])).tolist() == labels.tolist()
