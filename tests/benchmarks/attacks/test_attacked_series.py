"""The intruder on drawn series: nobody is found better than 1 / k; independent releases fail."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.attacks import attacked_series
from benchmarks.attacks.attacked_series import (
    Attacked,
    attack_many,
    attack_series,
    count_candidates,
    cut_classes,
    draw_panel,
    hold_series,
    link_nearest_class,
    make_release,
    render,
)
from nightly.counts import Record, report
from tclose.passes.series.series_verdict import HOLD, SeriesVerdict

SEED = 20_261_123


def assert_found_as_promised(counts: Attacked) -> None:
    assert counts.better == 0
    assert counts.persons > 100 * counts.series
    assert counts.releases > 2 * counts.series  # the second of most is published
    assert counts.leavers_better > counts.leavers / 2  # who are reported, as this shows
    assert counts.cases > 0.3 * counts.both
    assert counts.found >= 0.9 * counts.cases
    assert counts.alone_found >= 0.9 * counts.alone > 0


def test_nobody_is_found_in_some_series() -> None:
    assert_found_as_promised(attack_many(SEED, 30))


def test_nobody_is_found_where_records_are_held() -> None:
    """Who left is told by nothing that is published, though the intruder knows that she did."""
    counts, n_held = attack_many(SEED, 20, HOLD), 0
    for number in range(20):
        panel = replace(draw_panel(SEED, number), departures=HOLD)
        for month, one in enumerate(hold_series(panel)):
            n_held += int((~panel.is_there[month] & (one.classes >= 0)).sum())
    assert counts.better == 0
    assert counts.releases > 2 * counts.series
    assert n_held > 10 * counts.series


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_nobody_is_found_in_ten_thousand_series(record_property: Record) -> None:
    counts = attack_many(SEED, 10_000)
    assert_found_as_promised(counts)
    tried = {"tried": counts.series, "releases": counts.releases, "persons": counts.persons}
    report(record_property, "attacked series", tried | {"found better than 1 / k": counts.better})


def test_without_the_verdict_persons_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the test proves nothing: releases that forget who was together are broken."""
    monkeypatch.setattr(
        attacked_series, "keep_records", lambda table, window, cells, k, **_: table.persons >= 0
    )
    monkeypatch.setattr(
        attacked_series,
        "judge_series",
        lambda *_: SeriesVerdict(0, 0, {"value": 0.0}, 0, 0, 0),
    )
    assert sum(attack_series(draw_panel(SEED, i)).better for i in range(10)) > 0


def test_values_in_the_classes_of_a_person_are_candidates() -> None:
    known = [np.array([0, 0, 0, 1, -1]), np.array([0, 0, 1, 1, 1])]
    values = np.array([7, 8, 9, 5, 6])
    published = [
        np.array([of[of >= 0], values[of >= 0]])[:, ::-1]  # in no order that tells whose they are
        for of in known
    ]
    assert count_candidates(known, published).tolist() == [2, 2, 1, 1, 1]


def test_classes_have_a_value_of_each_quantile() -> None:
    rng = np.random.default_rng(3)
    for n_records, size in ((50, 5), (53, 5), (9, 5), (4, 5)):
        labels = cut_classes(rng.permutation(n_records), rng.uniform(size=n_records), size)
        sizes = np.bincount(labels)
        assert sizes.size == max(1, n_records // size)
        assert sizes.min() >= min(size, n_records)


def test_series_is_a_function_of_its_number() -> None:
    first, second = (hold_series(draw_panel(SEED, 4)) for _ in range(2))
    assert len(first) == len(second) > 0
    for one, other in zip(first, second, strict=True):
        assert (one.classes == other.classes).all()


def test_nearest_class_is_that_of_the_mean() -> None:
    panel = replace(
        draw_panel(SEED, 0),
        quasi=np.array([[0.0, 0.2, 0.8, 1.0, 0.5]]),
        values=np.arange(5),
        t=Fraction(1),
    )
    release = make_release(panel, np.arange(4), np.array([0, 0, 1, 1]))
    assert link_nearest_class(panel, 0, release).tolist() == [0, 0, 1, 1, -1]


def test_table() -> None:
    lines = render(Attacked(series=3, cases=10, found=9, both=20, linked=5)).splitlines()
    assert "| in cells below k, of these found among fewer than k | 10, 90.0% |" in lines
    assert "| alone in their cell, of these found | 0 |" in lines
