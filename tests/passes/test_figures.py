"""The figures of a report: round, few, and of no value that few records have."""

import datetime
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.data.encodings import make_encoding
from tclose.data.value_counts import count_values, summarise_table
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.model.distribution import make_distribution
from tclose.passes.publish.figures import (
    MOST_LABELS,
    OTHERS,
    _describe_changes,
    _round_step,
    describe_class_sizes,
    group_values,
)
from tclose.passes.verify.class_profiles import N_STEPS, profile_distances
from tclose.releases.manifest.internal_manifest import CorrelationPair, Utility


def grouped(array: pa.Array, k: int, kind: Kind = Kind.NUMERIC):
    column = Column(Attribute("x", Role.CONFIDENTIAL, kind, max_emd=Fraction(1)), kind, array.type)
    summary, _ = summarise_table(pa.table({"x": array}), (column,), ())
    encoding = make_encoding(column, summary.columns["x"])
    counted = count_values(encoding.encode(array))
    distribution = make_distribution(counted.values, counted.counts)
    grouping = group_values(encoding, distribution, k)
    return grouping, distribution


def test_the_ends_of_the_values_are_not_told():
    values = np.r_[np.arange(1_000) * 7.3, 271_828_182.84, -314_159.26]
    grouping, distribution = grouped(pa.array(values), 5)
    told = " ".join(grouping.labels)
    assert "271" not in told
    assert "314" not in told
    assert grouping.labels[0] == "below 1,000"
    assert grouping.labels[-1] == "7,000 or more"
    shares = grouping.share(distribution.counts)
    assert shares.shares[-1] >= 0.02
    assert sum(shares.shares) == pytest.approx(1, abs=0.02)


def test_every_end_keeps_k_records_outside():
    grouping, distribution = grouped(pa.array(np.arange(40)), 15)
    sizes = np.bincount(grouping.of_value, distribution.counts)
    assert sizes[0] >= 15
    assert sizes[-1] >= 15


def test_a_k_beyond_all_records_leaves_none_outside():
    """As a manifest may say that an audit takes it from."""
    for k in (41, 2**63 - 1):
        grouping, distribution = grouped(pa.array(np.arange(40)), k)
        assert np.bincount(grouping.of_value, distribution.counts).sum() == 40


@pytest.mark.parametrize("dtype", [pa.float64(), pa.float32(), pa.decimal128(9, 1)])
def test_values_at_an_end_are_in_the_range_that_begins_with_it(dtype: pa.DataType) -> None:
    """A float of 7 times 0.2 is above 1.4, so grades of 1.4 were counted below 1.4."""
    grades = pa.array([i / 10 for i in range(10, 26) for _ in range(20)]).cast(dtype)
    grouping, distribution = grouped(grades, 5)
    assert grouping.labels[:3] == ["below 1.2", "1.2 to 1.4", "1.4 to 1.6"]
    assert grouping.labels[-1] == "2.4 or more"
    assert np.bincount(grouping.of_value, distribution.counts).tolist() == [40] * 8


def test_integers_have_ends_that_are_integers():
    """Nearly all are one of two neighbours, between which a tenth of their span is no end."""
    grouping, distribution = grouped(pa.array([0, 1] * 500 + list(range(2, 19))), 5)
    assert grouping.labels == ["below 1", "1 or more"]
    assert np.bincount(grouping.of_value, distribution.counts).tolist() == [500, 517]


def test_ends_of_large_numbers_are_told_apart():
    grouping, _ = grouped(pa.array(np.repeat(10**11 + np.arange(40), 5)), 5)
    assert grouping.labels[:2] == ["below 100,000,000,005", "100,000,000,005 to 100,000,000,010"]
    assert len(set(grouping.labels)) == len(grouping.labels)
    hours = np.repeat(np.arange(72), 5) * 3_600
    for dtype, first in (
        (pa.timestamp("s"), "1970-01-01 12:00 to 1970-01-02"),
        (pa.timestamp("s", "Europe/Berlin"), "1970-01-01 12:00 UTC to 1970-01-02 UTC"),
        (pa.duration("s"), "13:53:20 to 1 day, 3:46:40"),
    ):
        ranges, _ = grouped(pa.array(hours).cast(dtype), 5, Kind.DATE)
        assert ranges.labels[1].startswith(first)
        assert len(set(ranges.labels)) == len(ranges.labels)


def test_values_of_fewer_than_k_records_are_not_named():
    texts = pa.array(["common"] * 9 + ["canary"] * 2 + ["usual"] * 5)
    grouping, _ = grouped(texts, 3, Kind.NOMINAL)
    assert grouping.labels == ["common", "usual", OTHERS]
    numbers, _ = grouped(pa.array([1] * 9 + [777] * 2 + [3] * 5), 3)
    assert numbers.labels == ["1", "3", OTHERS]


def test_long_texts_are_cut_and_many_are_put_together():
    texts = pa.array([f"{i:03}" * 30 for i in range(50) for _ in range(4)])
    grouping, _ = grouped(texts, 3, Kind.NOMINAL)
    assert len(grouping.labels) == MOST_LABELS
    assert all(len(label) <= 40 for label in grouping.labels)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([datetime.date(1900, 1, 1) + datetime.timedelta(days=37 * i) for i in range(900)]),
        pa.array(np.datetime64("1900-01-01T05", "s") + np.arange(900) * np.timedelta64(25, "h")),
        pa.array([datetime.time(i % 24, i % 60, i % 37) for i in range(900)]),
        pa.array([datetime.timedelta(seconds=i) for i in range(900)]),
    ],
    ids=["date", "timestamp", "time", "duration"],
)
def test_dates_and_times_have_ranges(array):
    grouping, _ = grouped(array, 3, Kind.DATE)
    assert 2 <= len(grouping.labels) <= MOST_LABELS + 2
    assert grouping.labels[0].startswith("below ")


FAR = 300_000_000_000  # seconds: some thousand years after 9999


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("array", "first", "name"),
    [
        (
            pa.array(np.arange(900) - 800_000, pa.int32()).cast(pa.date32()),
            "-0221-12-",
            "-0221-09-04",
        ),
        (
            pa.array((np.arange(900) - 800_000) * 86_400_000).cast(pa.date64()),
            "-0221-12-",
            "-0221-09-04",
        ),
        (pa.array(FAR + np.arange(900) * 86_400).cast(pa.timestamp("s")), "11476-", "11476-08-15"),
        (
            pa.array(np.arange(900) * 10**15 + np.iinfo(np.int64).min).view(pa.timestamp("us")),
            "-",
            "-290308-12-21T19:59:05.224193",
        ),
        (
            pa.array(-(10**15) + np.arange(900) * 86_400).view(pa.timestamp("s", "Europe/Berlin")),
            "-31686",
            "-31686",
        ),
        (pa.array(np.arange(900) + 10**14).cast(pa.duration("s")), "100,000,000,", "100,000,000,"),
    ],
    ids=["date", "milliseconds", "timestamp", "least", "zone", "duration"],
)
def test_dates_that_python_has_none_of_have_labels(array, first, name):
    ranges, _ = grouped(array, 3, Kind.DATE)
    assert ranges.labels[0].startswith(f"below {first}")
    assert len(set(ranges.labels)) == len(ranges.labels) > 2
    named, _ = grouped(pa.concat_arrays([array[:5]] * 4), 3, Kind.DATE)
    assert named.labels[0].startswith(name)
    assert len(named.labels) == 5


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=15, max_size=60),
    st.integers(2, 9),
)
def test_any_numbers_have_few_labels(values, k):
    grouping, distribution = grouped(pa.array(values), k)
    assert 1 <= len(grouping.labels) <= 40
    assert grouping.of_value.size == distribution.values.size
    assert 0 <= grouping.of_value.min() <= grouping.of_value.max() < len(grouping.labels)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=15, max_size=60))
def test_any_integers_have_few_labels(values):
    grouping, _ = grouped(pa.array(values, pa.int64()), 2)
    assert 1 <= len(grouping.labels) <= 40


@pytest.mark.parametrize(("least", "step"), [(0.3, 0.5), (1, 1), (1.1, 2), (70, 100), (0, 1)])
def test_steps_are_round(least, step):
    assert _round_step(least) == pytest.approx(step)


def test_sizes_of_many_classes_are_ranges():
    sizes = np.arange(5, 400)
    shares = describe_class_sizes(np.array([sizes, np.full(sizes.size, 3)]))
    assert shares.labels[0] == "5 to 54"
    assert shares.labels[-1].endswith(" or more")
    assert sum(shares.shares) == pytest.approx(1, abs=0.01)
    few = describe_class_sizes(np.array([[5, 7], [1, 3]]))
    assert (few.labels, few.shares) == (["5", "7"], [0.25, 0.75])


def test_profiles_count_distances_and_keep_the_farthest_class():
    emds, codes = np.array([0.02, 0.1, 0.05, np.nan]), np.array([0, 0, 1, 2, 2, 2, 1, 0])
    starts = np.array([0, 2, 6, 8, 8])
    profile = profile_distances(emds, Fraction(1, 10), codes, starts)
    assert profile.counts.sum() == 4
    assert profile.counts[N_STEPS - 1] == 2
    assert profile.largest == 0.1
    assert profile.farthest.tolist() == [[1, 2], [1, 3]]
    nearer = profile_distances(emds[:1], Fraction(1, 10), codes[:2], starts[:2])
    for merged in (profile.merge(nearer), nearer.merge(profile)):
        assert merged.farthest.tolist() == profile.farthest.tolist()
        assert merged.counts.sum() == 5


@pytest.mark.parametrize("limit", [Fraction(0), Fraction(1, 10**320)])
def test_a_t_that_no_class_can_be_near_is_a_last_step(limit):
    emds, codes = np.array([0.0, 0.5]), np.array([0, 1])
    profile = profile_distances(emds, limit, codes, np.array([0, 1, 2]))
    assert profile.counts[[0, N_STEPS - 1]].tolist() == [1, 1]


def utility() -> Utility:
    return Utility(
        il1s=0.1,
        changes_of_means={},
        changes_of_variances={"age": -0.1234, "pay": 0.0},
        changes_of_correlations={"age and pay": -0.0567},
    )


def test_changes_are_coarse_and_not_of_few_records():
    column: Any = SimpleNamespace(name="age", role=Role.QUASI_IDENTIFIER)
    encodings = (SimpleNamespace(column=column),)
    plan: Any = SimpleNamespace(encodings=encodings, n_records=5_000)
    pair = CorrelationPair(original=-0.2, released=-0.1567)
    changes = _describe_changes(plan, utility(), {"age and pay": pair}, ())
    assert changes is not None
    assert (changes.variances, changes.correlations) == ({"age": -12}, {"age": 0.06})
    assert changes.attenuations == {"age": 0.04}
    for original, released in ((0.1, -0.2), (None, 0.1)):
        pair = CorrelationPair(original=original, released=released)
        changes = _describe_changes(plan, utility(), {"age and pay": pair}, ())
        assert changes is not None
        assert changes.attenuations == {"age": 0.0}
    few: Any = SimpleNamespace(encodings=encodings, n_records=999)
    assert _describe_changes(few, utility(), {}, ()) is None
