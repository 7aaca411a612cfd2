"""Further models: what is asked, found in the values, and decided as its definition says."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_requirements as naive
from support.tables.model_classes import Classes, classified
from support.tables.random_tables import distribution_of, repeatable, starts_of
from tclose.errors import PolicyError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.model.distribution import make_distribution
from tclose.privacy.bound_models import bind, check_counts, meet_all, privacy_model_of
from tclose.privacy.class_counts import ClassMeasures
from tclose.privacy.models.diversity_models import DistinctDiversity
from tclose.privacy.privacy_model import PrivacyModel
from tclose.privacy.value_groups import Grouping, cut_value_ranges, find_groups, similar_values

K = 5
EXAMPLES = [
    PrivacyModel("distinct-l-diversity", "pay", Fraction(2)),
    PrivacyModel("distinct-l-diversity", "pay", Fraction(4)),
    PrivacyModel("entropy-l-diversity", "pay", Fraction(2)),
    PrivacyModel("entropy-l-diversity", "pay", Fraction(5, 2)),
    PrivacyModel("recursive-cl-diversity", "pay", Fraction(3), 2),
    PrivacyModel("recursive-cl-diversity", "pay", Fraction(1, 2), 3),
    PrivacyModel("p-sensitive-k-anonymity", "pay", Fraction(2), 5),
    PrivacyModel("ratio-closeness", "pay", Fraction(2)),
    PrivacyModel("ratio-closeness", "pay", Fraction(3, 2)),
]


NOTHING: Any = None  # these models look at classes alone


def column(kind: Kind, dtype: pa.DataType, **more: Any) -> Column:
    return Column(Attribute("pay", Role.CONFIDENTIAL, **more), kind, dtype)


def measures(requirement: PrivacyModel, classes: Classes):
    return check_counts(requirement, classes.counts, classes.table)


@repeatable
@given(classified(), st.sampled_from(EXAMPLES))
def test_classes_meet_what_the_definition_says(classes, requirement):
    found = measures(requirement, classes)
    table = classes.codes.tolist()
    assert found.meets.tolist() == [naive.meets(requirement, m, table) for m in classes.members]


@repeatable
@given(classified(), st.sampled_from(EXAMPLES), st.integers(0, 8))
def test_unions_of_classes_that_meet_it_do(classes, requirement, i):
    before = measures(requirement, classes).meets
    i %= max(before.size - 1, 1)
    if before.size > 1 and before[i] and before[i + 1]:
        merged = classes.merged(i)
        assert measures(requirement, merged).meets[i]


def test_all_have_to_be_met_each_by_its_own_attribute():
    many, one = [0, 1, 0, 1, 2, 3], [0, 0, 0, 1, 0, 1]
    bound = [
        bind(PrivacyModel("distinct-l-diversity", "a", Fraction(2)), 0, NOTHING, NOTHING, ()),
        bind(PrivacyModel("distinct-l-diversity", "b", Fraction(2)), 1, NOTHING, NOTHING, ()),
    ]
    of_all = [distribution_of(values) for values in (many, one)]
    codes = np.array([codes for _, codes in of_all])
    found = meet_all(bound, starts_of([2, 2, 2]), codes, [d for d, _ in of_all])
    assert found.tolist() == [False, True, True]
    assert meet_all(bound[:1], starts_of([2, 2, 2]), codes, [d for d, _ in of_all]).all()
    swapped = meet_all(bound, starts_of([2, 2, 2]), codes[::-1], [d for d, _ in of_all[::-1]])
    assert swapped.tolist() == [False, True, True]  # whichever comes last


@pytest.mark.parametrize(
    "requirement",
    [
        *EXAMPLES,
        PrivacyModel("n-t-closeness", "pay", Fraction("0.1"), 1_000),
        PrivacyModel("ratio-closeness", "pay", Fraction(2), buckets=3),
        PrivacyModel("ratio-closeness", "pay", Fraction(2), buckets=(("a", "b"), ("c",))),
    ],
)
def test_manifest_gives_back_what_was_asked(requirement):
    found = privacy_model_of(requirement.model, "pay", requirement.parameters, K)
    assert found is not None
    assert (found.model, found.name, found.limit) == (requirement.model, "pay", requirement.limit)
    assert (found.count, found.buckets) == (requirement.count, requirement.buckets)


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("stochastic-t-closeness", {"t": 2.0}),
        ("distinct-l-diversity", {}),
        ("distinct-l-diversity", {"l": 2, "k": 3}),
        ("distinct-l-diversity", {"l": 2.5}),
        ("distinct-l-diversity", {"l": "value"}),
        ("distinct-l-diversity", {"l": -3}),
        ("entropy-l-diversity", {"l": 0.5}),
        ("recursive-cl-diversity", {"c": 0.0, "l": 2}),
        ("p-sensitive-k-anonymity", {"p": 2, "k": K + 1}),
        ("p-sensitive-k-anonymity", {"p": 2, "k": -1}),
        ("n-t-closeness", {"n": 0, "t": 0.1}),
        ("ratio-closeness", {"t": 0.5}),
        ("ratio-closeness", {"t": 2.0, "buckets": 3.5}),
        ("ratio-closeness", {"t": 2.0, "buckets": [[]], "l": 3}),
    ],
)
def test_manifest_with_other_parameters_is_refused(model, asked):
    assert privacy_model_of(model, "pay", asked, K) is None


def test_a_model_that_there_is_not():
    with pytest.raises(ValueError, match="is not a privacy model"):
        privacy_model_of("l-diversity", "pay", {"l": 2}, K)


@pytest.mark.parametrize("kind", [KeyError, TypeError, ValueError])
def test_a_fault_of_the_models_own_code_is_let_through(kind, monkeypatch):
    def stumble(_: object) -> None:
        raise kind("Mrs Doe")

    monkeypatch.setattr(DistinctDiversity, "describe_parameters", stumble)
    with pytest.raises(kind, match="Mrs Doe"):
        privacy_model_of("distinct-l-diversity", "pay", {"l": 2}, K)


@repeatable
@given(st.lists(st.integers(1, 50), min_size=2, max_size=30), st.integers(2, 8))
def test_value_ranges_are_those_of_the_twin(counts, n_groups):
    table = make_distribution(np.arange(len(counts)), counts)
    if len(counts) < n_groups:
        with pytest.raises(PolicyError, match="ask for fewer"):
            cut_value_ranges(n_groups, table)
        return
    groups = cut_value_ranges(n_groups, table).of_values(len(counts)).tolist()
    assert groups == naive.value_ranges(counts, n_groups)
    assert sorted(set(groups)) == list(range(n_groups))


def test_one_value_that_rules_leaves_no_range_empty():
    table = make_distribution(np.arange(4), [92, 3, 3, 2])
    assert cut_value_ranges(3, table).of_values(4).tolist() == [0, 1, 1, 2]


class TestNamedGroups:
    def find(self, names, values, kind, dtype, texts=(), **more):
        table, _ = distribution_of(values)
        found = find_groups(names, column(kind, dtype, **more), table, texts, "here")
        return found.of_values(table.values.size).tolist()

    def test_texts(self):
        names = [("flu", "cold"), ("cancer", "none of them")]
        texts = ["cancer", "cold", "flu"]
        found = self.find(names, [0, 1, 2, 2], Kind.NOMINAL, pa.string(), texts)
        assert found == [1, 0, 0]

    def test_numbers_decimals_and_dates(self):
        assert self.find([("3", "1"), ("2",)], [1, 2, 3], Kind.NUMERIC, pa.int64()) == [0, 1, 0]
        assert self.find([("0.5",), ("2",)], [0.5, 2.0], Kind.NUMERIC, pa.float64()) == [0, 1]
        days = [("1970-01-02",), ("1970-01-03",)]
        assert self.find(days, [1, 2], Kind.DATE, pa.date32()) == [0, 1]

    def test_ordered_values_and_booleans(self):
        more = {"order": ("low", "middle", "high")}
        found = self.find([("high",), ("low",)], [0, 2], Kind.ORDINAL, pa.string(), **more)
        assert found == [1, 0]
        assert self.find([("True",), ("false",)], [0, 1], Kind.BOOLEAN, pa.bool_()) == [1, 0]

    def test_what_is_left_out_is_counted_and_not_named(self):
        with pytest.raises(PolicyError, match="here: 2 of its values are in no bucket") as refused:
            self.find([("1",), ("2",)], [1, 2, 86, 87], Kind.NUMERIC, pa.int64())
        assert "86" not in str(refused.value)

    def test_one_bucket_says_nothing(self):
        with pytest.raises(PolicyError, match="all its values are in one bucket"):
            self.find([("1", "2"), ("3",)], [1, 2], Kind.NUMERIC, pa.int64())

    def test_no_number_is_refused(self):
        with pytest.raises(PolicyError, match="no value of type int64"):
            self.find([("one",), ("2",)], [1, 2], Kind.NUMERIC, pa.int64())


def test_similar_values():
    plain, numbers = column(Kind.NOMINAL, pa.string()), column(Kind.NUMERIC, pa.int64())
    table, _ = distribution_of(range(100))
    assert similar_values(numbers, table, ()).of_values(100).tolist() == [
        i // 10 for i in range(100)
    ]
    few, _ = distribution_of([1, 2, 2])
    assert similar_values(numbers, few, ()).of_values(2).tolist() == [0, 1]
    rows = (("apple", "fruit", "any"), ("pear", "fruit", "any"), ("fly", "animal", "any"))
    grown = column(Kind.NOMINAL, pa.string(), taxonomy=rows)
    three, _ = distribution_of([0, 1, 2])
    groups = similar_values(grown, three, ["apple", "fly", "pear"]).of_values(3).tolist()
    assert groups[0] == groups[2] != groups[1]
    assert similar_values(plain, three, ["a", "b", "c"]).of_values(3).tolist() == [0, 1, 2]


@repeatable
@given(st.lists(st.integers(1, 9), min_size=2, max_size=30), st.data())
def test_groups_of_codes_and_of_the_table_are_those_of_its_values(counts, data):
    groups = data.draw(st.lists(st.integers(0, 3), min_size=len(counts), max_size=len(counts)))
    groups = np.unique(groups, return_inverse=True)[1]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    grouping = Grouping(starts, groups[starts], "drawn")
    table = make_distribution(np.arange(len(counts)), counts)
    assert grouping.of_values(len(counts)).tolist() == groups.tolist()
    codes = np.array(data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=20)), np.int64)
    assert grouping.of_codes(codes).tolist() == groups[codes].tolist()
    expected = np.bincount(groups, weights=counts)
    assert grouping.of_table(table).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("values", "meets"),
    [
        ([0.5, 0.5], [True]),
        ([0.5], [True, True]),
        ([0.5, 0.5], [1, 1]),
        ([0.5, float("nan")], [True, True]),
        ([[0.5, 0.5]], [[True, True]]),
    ],
)
def test_measures_are_of_each_class(values: list[Any], meets: list[Any]) -> None:
    """One that was not measured would seem to meet the limit."""
    with pytest.raises(ValueError, match="a number and a truth for each class"):
        ClassMeasures(np.array(values), np.array(meets))
