"""Mondrian: against its recursive twin, what its classes are like, and real data."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cases.discharge_policies import shared_file
from support.naive import naive_kernels as naive
from support.naive import naive_partition
from support.tables.random_tables import distribution_of, quasi_identifiers, repeatable, seeds
from tclose.errors import DataError, InfeasibleError
from tclose.kernels.aggregate import group_by_label
from tclose.methods.mondrian.mondrian import partition_mondrian
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.verify.class_checks import check_classes
from tclose.privacy.bound_models import NO_MODELS
from tclose.privacy.t_closeness import find_above

Case = tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]


@st.composite
def tables(draw: st.DrawFn, max_records: int = 60) -> Case:
    """Numeric, nominal, levels of each nominal one, and confidential values."""
    n_records = draw(st.integers(1, max_records))
    numeric, nominal, n_levels = draw(quasi_identifiers(n_records))
    rng = np.random.default_rng(draw(seeds))
    confidential = rng.integers(0, draw(st.integers(1, 6)), n_records).tolist()
    return numeric, nominal, np.full(nominal.shape[0], n_levels), confidential


def columns_of(numeric: np.ndarray, nominal: np.ndarray, n_levels: np.ndarray) -> list[list[float]]:
    rows = [row.tolist() for row in numeric]
    pairs = zip(nominal, n_levels.tolist(), strict=True)
    return rows + [[int(code) / max(n - 1, 1) for code in row] for row, n in pairs]


def at_least(k: int) -> Callable[[Int64, Int64], np.ndarray]:
    return lambda order, starts: np.diff(starts) >= k


def hold_k_and_t(
    k: int, codes: np.ndarray, distribution: Distribution, t: Fraction
) -> Callable[[Int64, Int64], np.ndarray]:
    """The requirement of k-anonymity and t-closeness under the ordered distance, exact."""

    def holds(order: Int64, starts: Int64) -> np.ndarray:
        met: np.ndarray = np.diff(starts) >= k
        met[find_above(order, starts, codes[None], (distribution,), (t,))] = False
        return met

    return holds


def assert_strict(columns: list[list[float]], labels: np.ndarray) -> None:
    """Of any two classes, one is below the other in some attribute."""
    classes = naive.groups(labels.tolist())
    for a, b in combinations(classes, 2):
        ends = [([c[i] for i in a], [c[i] for i in b]) for c in columns]
        assert any(max(x) < min(y) or max(y) < min(x) for x, y in ends)


@repeatable
@given(tables(), st.integers(1, 6), st.sampled_from([0.1, 0.25, 0.4, 1]))
def test_equals_the_recursive_twin(case: Case, k: int, limit: float) -> None:
    numeric, nominal, n_levels, values = case
    t, table = Fraction(str(limit)), values
    k = min(k, len(values))
    distribution, codes = distribution_of(values)

    def holds(rows: list[int]) -> bool:
        return len(rows) >= k and naive.ordered_emd([values[i] for i in rows], table) <= t

    columns = columns_of(numeric, nominal, n_levels)
    expected = naive_partition.mondrian(columns, list(range(len(values))), holds)
    tells = hold_k_and_t(k, codes, distribution, t)
    labels = partition_mondrian(numeric, nominal, n_levels, tells)
    assert naive.groups(labels.tolist()) == expected
    assert all(holds(rows) for rows in expected)
    assert_strict(columns, labels)


@repeatable
@given(tables(), seeds, st.integers(1, 5))
def test_order_of_records_changes_nothing(case: Case, seed: int, k: int) -> None:
    numeric, nominal, n_levels, values = case
    turned = np.random.default_rng(seed).permutation(len(values))
    k = min(k, len(values))
    labels = partition_mondrian(numeric, nominal, n_levels, at_least(k))
    again = partition_mondrian(numeric[:, turned], nominal[:, turned], n_levels, at_least(k))
    assert again.tolist() == labels[turned].tolist()


def row_of(*values: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array([values]), np.empty((0, len(values)), np.int32), np.empty(0, np.int64)


@pytest.mark.parametrize(
    ("values", "k", "expected"),
    [
        ((0.0, 0.1, 0.9, 1.0), 2, [0, 0, 1, 1]),
        ((1.0, 0.9, 0.1, 0.0), 2, [1, 1, 0, 0]),
        ((0.0, 0.1, 0.2, 0.9, 1.0), 2, [0, 0, 0, 1, 1]),  # equally balanced: median is lower
        ((0.0, 0.0, 0.0, 0.0, 1.0), 1, [0, 0, 0, 0, 1]),  # the median is a mass at the lower end
        ((0.0, 1.0, 1.0, 1.0, 1.0), 1, [0, 1, 1, 1, 1]),  # or at the upper one
        ((0.0, 0.5, 0.5, 0.5, 0.9, 1.0), 2, [0, 0, 0, 0, 1, 1]),  # the more balanced side of it
        ((0.0, 0.1, 0.5, 0.5, 0.5, 1.0), 2, [0, 0, 1, 1, 1, 1]),
        ((0.0, 0.5, 0.5, 0.5, 1.0), 2, [0, 0, 0, 0, 0]),  # neither side has a strict cut
        ((0.5, 0.5, 0.5), 1, [0, 0, 0]),
    ],
)
def test_cuts_beside_the_median(values: tuple, k: int, expected: list[int]) -> None:
    assert partition_mondrian(*row_of(*values), at_least(k)).tolist() == expected


def test_the_less_balanced_side_is_tried_too() -> None:
    """Of the ends of the mass, the more balanced one parts records that have to stay together."""

    def keeps_last_two(order: Int64, starts: Int64) -> np.ndarray:
        classes = [set(part.tolist()) for part in np.split(order, starts[1:-1])]
        return np.array([len({4, 5} & c) in (0, 2) for c in classes])

    values = (0.0, 0.5, 0.5, 0.5, 0.5, 0.9, 1.0, 1.0)
    assert partition_mondrian(*row_of(*values), at_least(3)).tolist() == [0] * 5 + [1] * 3
    labels = partition_mondrian(*row_of(*values), keeps_last_two)
    assert labels[4] == labels[5]
    assert labels[0] != labels[1] == labels[4]


def test_the_widest_attribute_comes_first_and_the_next_where_it_cannot_be_cut() -> None:
    numeric = np.array([[0.0, 0.2, 0.4, 0.6], [0.0, 1.0, 0.0, 1.0]])
    none = np.empty((0, 4), np.int32), np.empty(0, np.int64)
    assert partition_mondrian(numeric, *none, at_least(2)).tolist() == [0, 1, 0, 1]
    tied = np.array([[0.0, 0.2, 0.4, 0.6], [0.0, 1.0, 1.0, 1.0]])
    assert partition_mondrian(tied, *none, at_least(2)).tolist() == [0, 0, 1, 1]


def test_spans_of_nominal_values_are_shares_of_their_levels() -> None:
    """Codes 0 and 1 of eleven span a tenth, of two everything."""
    numeric = np.array([[0.0, 0.3, 0.0, 0.3]])
    nominal = np.array([[0, 0, 1, 1]], dtype=np.int32)
    few = partition_mondrian(numeric, nominal, np.array([2]), at_least(2))
    many = partition_mondrian(numeric, nominal, np.array([11]), at_least(2))
    assert few.tolist() == [0, 0, 1, 1]
    assert many.tolist() == [0, 1, 0, 1]


def test_requirement_is_asked_level_by_level() -> None:
    """At most twice for each attribute on each level, however many classes there are."""
    numeric = np.random.default_rng(1).random((3, 4_096))
    none = np.empty((0, 4_096), np.int32), np.empty(0, np.int64)
    n_calls = 0

    def holds(order: Int64, starts: Int64) -> np.ndarray:
        nonlocal n_calls
        n_calls += 1
        return np.diff(starts) >= 4

    labels = partition_mondrian(numeric, *none, holds)
    assert labels.max() + 1 == 1_024
    assert n_calls <= 11 * 2 * 3


def test_refusals() -> None:
    with pytest.raises(InfeasibleError, match="smaller k"):
        partition_mondrian(*row_of(0.0, 1.0), at_least(3))
    with pytest.raises(DataError, match="no record"):
        partition_mondrian(*row_of(), at_least(1))


def test_no_quasi_identifier_is_one_class() -> None:
    none = np.empty((0, 3)), np.empty((0, 3), np.int32), np.empty(0, np.int64)
    assert partition_mondrian(*none, at_least(1)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("confidential", "t"), [("hours-per-week", "0.2"), ("capital-gain", "0.1")]
)
def test_classes_of_adult_meet_k_and_t(confidential: str, t: str) -> None:
    frame = pd.read_csv(shared_file("adult.csv"))
    numeric = frame[["age", "education-num"]].to_numpy(np.float64).T
    numeric = (numeric - numeric.min(axis=1)[:, None]) / np.ptp(numeric, axis=1)[:, None]
    names = [pd.factorize(frame[n], sort=True) for n in ("marital-status", "sex", "native-country")]
    nominal = np.array([codes for codes, _ in names], np.int32)
    distribution, codes = distribution_of(frame[confidential].to_numpy())
    limits = (Fraction(t),)
    holds = hold_k_and_t(5, codes, distribution, limits[0])
    labels = partition_mondrian(numeric, nominal, np.array([len(n) for _, n in names]), holds)
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    assert sorted(order.tolist()) == list(range(len(frame)))
    assert np.diff(starts).min() >= 5
    checks = check_classes(starts, codes[None, order], (distribution,), limits, NO_MODELS)
    assert checks.n_violating == (0,)
    assert starts.size - 1 > 100
