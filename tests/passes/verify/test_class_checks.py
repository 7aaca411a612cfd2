"""Verification: counts that merge, and a verdict that passes only what is proved."""

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    class_sizes,
    confidential_values,
    distribution_of,
    repeatable,
    starts_of,
)
from tclose.model.verification import Achieved, AttributeResult, ClassSizes, Failure, Verdict
from tclose.passes.verify.class_checks import ClassChecks, check_classes, decide
from tclose.privacy.bound_models import NO_MODELS, PrivacyModels
from tclose.privacy.privacy_model import PrivacyModel

TINY = Fraction(1, 10**18)


def check(values: list[list[int]], sizes: list[int], limits: list[Fraction]) -> ClassChecks:
    """Checks of a whole table, class by class, against its own distributions."""
    tables = [distribution_of(of_attribute) for of_attribute in values]
    codes = np.array([codes for _, codes in tables], dtype=np.int64).reshape(len(values), -1)
    return check_classes(
        starts_of(sizes), codes, tuple(t for t, _ in tables), tuple(limits), NO_MODELS
    )


def verdict(checks: ClassChecks, **changes: Any) -> Verdict:
    """The verdict of a table of six records with one attribute, unless something is changed."""
    asked: dict[str, Any] = {
        "k": 3,
        "names": ("income",),
        "max_emds": (Fraction(1, 5),),
        "n_expected": 6,
        "n_changed": {},
        "privacy_models": NO_MODELS,
    }
    return decide(checks, **(asked | changes))


def as_values(checks: ClassChecks) -> tuple:
    """All that the checks hold, comparable; NaN is equal to itself."""
    largest = tuple("NaN" if np.isnan(emd) else emd for emd in checks.largest)
    return checks.n_records, checks.size_counts.tolist(), largest, checks.n_violating


# Two classes of three, each at distance 1/10 from the table.
GOOD = check([[1, 3, 5, 2, 4, 6]], [3, 3], [Fraction(1, 5)])

emds = st.one_of(st.just(float("nan")), st.floats(0, 1))
class_checks = st.builds(
    ClassChecks,
    st.integers(0, 100),
    st.dictionaries(st.integers(0, 9), st.integers(1, 9), max_size=5).map(
        lambda counts: np.array(sorted(counts.items()), dtype=np.int64).reshape(-1, 2).T
    ),
    st.tuples(emds, emds),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
)


class TestChecks:
    @repeatable
    @given(confidential_values, st.fractions(0, 1), st.data())
    def test_count_by_the_definition(
        self, values: list[int], limit: Fraction, data: st.DataObject
    ) -> None:
        sizes = data.draw(class_sizes(len(values)))
        other = [i % 3 for i in range(len(values))]
        checks = check([values, other], sizes, [limit, 1 - limit])
        bounds = pairwise(starts_of(sizes).tolist())
        parts = [slice(a, b) for a, b in bounds]
        assert checks.n_records == len(values)
        assert dict(checks.size_counts.T.tolist()) == {s: sizes.count(s) for s in sizes}
        for a, (of_attribute, max_emd) in enumerate([(values, limit), (other, 1 - limit)]):
            exact = [naive.ordered_emd(of_attribute[part], of_attribute) for part in parts]
            assert checks.n_violating[a] == sum(emd > max_emd for emd in exact)
            assert checks.largest[a] == pytest.approx(float(max(exact)), rel=1e-13, abs=1e-13)

    @repeatable
    @given(confidential_values, st.data())
    def test_of_ranges_merge_to_those_of_the_whole(
        self, values: list[int], data: st.DataObject
    ) -> None:
        starts = starts_of(data.draw(class_sizes(len(values))))
        limit = data.draw(st.fractions(0, 1))
        table, codes = distribution_of(values)

        def check_range(first: int, last: int) -> ClassChecks:
            begin, end = starts[first], starts[last]
            piece = starts[first : last + 1] - begin
            return check_classes(piece, codes[np.newaxis, begin:end], (table,), (limit,), NO_MODELS)

        n_classes = starts.size - 1
        cuts = data.draw(st.sets(st.integers(1, max(1, n_classes - 1)), max_size=3))
        ends = [0, *sorted(cut for cut in cuts if cut < n_classes), n_classes]
        pieces = [check_range(a, b) for a, b in pairwise(ends)]
        whole = check_range(0, n_classes)
        assert as_values(reduce(ClassChecks.merge, pieces)) == as_values(whole)
        assert as_values(reduce(ClassChecks.merge, pieces[::-1])) == as_values(whole)

    @repeatable
    @given(class_checks, class_checks, class_checks)
    def test_merge_is_associative_and_commutative(
        self, a: ClassChecks, b: ClassChecks, c: ClassChecks
    ) -> None:
        merged = as_values(a.merge(b).merge(c))
        assert merged == as_values(a.merge(b.merge(c)))
        assert merged == as_values(c.merge(a).merge(b))

    def test_nan_outlives_every_merger(self) -> None:
        nan = replace(GOOD, largest=(float("nan"),))
        for merged in (nan.merge(GOOD), GOOD.merge(nan), GOOD.merge(GOOD.merge(nan))):
            assert np.isnan(merged.largest[0])

    def test_without_confidential_attributes(self) -> None:
        checks = check_classes(np.array([0, 2, 5]), np.empty((0, 5), np.int64), (), (), NO_MODELS)
        assert as_values(checks) == (5, [[2, 3], [1, 1]], (), ())


class TestVerdict:
    def test_good_table_passes(self) -> None:
        found = verdict(GOOD)
        assert found.passed
        assert found == Verdict(
            3,
            6,
            ClassSizes(2, 3, 3, 3.0),
            (AttributeResult("income", Fraction(1, 5), GOOD.largest[0], 0),),
            (),
            discernibility=3 * 3 + 3 * 3,
        )

    @pytest.mark.parametrize(
        ("checks", "changes", "failures"),
        [
            (GOOD, {"n_expected": 7}, [("records", "7", "6")]),
            (GOOD, {"n_expected": 5}, [("records", "5", "6")]),
            (GOOD, {"k": 4}, [("k", "at least 4 records", "2 smaller classes")]),
            (
                GOOD,
                {"n_changed": {"income": 2}},
                [("distribution of income", "that of the table", "2 values with another count")],
            ),
            (
                replace(GOOD, n_violating=(1,), largest=(0.25,)),
                {},
                [("t of income", "at most 0.2", "1 class above, the largest 0.250000")],
            ),
            (
                replace(GOOD, largest=(float("nan"),)),
                {},
                [("t of income", "at most 0.2", "0 classes above, the largest nan")],
            ),
            (
                replace(GOOD, largest=(float("inf"),)),
                {},
                [("t of income", "at most 0.2", "0 classes above, the largest inf")],
            ),
            (
                replace(GOOD, size_counts=np.array([[1, 5], [1, 1]]), n_violating=(2,)),
                {"n_expected": 9, "n_changed": {"income": 1}},
                [
                    ("records", "9", "6"),
                    ("k", "at least 3 records", "1 smaller classes"),
                    (
                        "t of income",
                        "at most 0.2",
                        f"2 classes above, the largest {GOOD.largest[0]:.6f}",
                    ),
                    ("distribution of income", "that of the table", "1 value with another count"),
                ],
            ),
        ],
    )
    def test_every_violation_is_named(
        self, checks: ClassChecks, changes: dict[str, Any], failures: list[tuple[str, str, str]]
    ) -> None:
        found = verdict(checks, **changes)
        assert not found.passed
        assert found.failures == tuple(Failure(*failure) for failure in failures)

    def test_other_columns_counts_do_not_matter(self) -> None:
        assert verdict(GOOD, n_changed={"income": 0, "age": 3}).passed

    def test_no_class_never_passes(self) -> None:
        nothing = ClassChecks(0, np.empty((2, 0), np.int64), (0.0,), (0,))
        found = verdict(nothing, n_expected=0, k=1)
        assert [failure.what for failure in found.failures] == ["k"]
        assert found.sizes == ClassSizes(0, 0, 0, 0.0)

    def test_empty_class_never_passes(self) -> None:
        table, codes = distribution_of([1, 3, 5, 2, 4, 6])
        starts = np.array([0, 3, 3, 6])
        checks = check_classes(starts, codes[np.newaxis], (table,), (Fraction(1),), NO_MODELS)
        found = verdict(checks, max_emds=(Fraction(1),))
        assert [failure.what for failure in found.failures] == ["k", "t of income"]
        assert checks.n_violating == (1,)
        assert np.isnan(checks.largest[0])

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("achieved", "found"),
        [
            (Achieved(2, 0, 3.0, 3.0), None),
            (Achieved(2, 1, 1.0, 3.0), "1 class fails, the worst has 1"),
            (Achieved(1, 0, 3.0, 3.0), "1 of 2 classes checked"),
            (Achieved(3, 0, 3.0, 3.0), "3 of 2 classes checked"),
            (Achieved(), "0 of 2 classes checked"),
        ],
    )
    def test_every_class_has_to_be_measured_by_every_model(
        self, achieved: Achieved, found: str | None
    ) -> None:
        asked = PrivacyModels((PrivacyModel("distinct-l-diversity", "income", Fraction(2)),))
        failures = verdict(replace(GOOD, models=(achieved,)), privacy_models=asked).failures
        named = [Failure("distinct-l-diversity of income", "l = 2", found)] if found else []
        assert list(failures) == named

    def test_smaller_classes_are_counted_over_sizes(self) -> None:
        checks = replace(GOOD, size_counts=np.array([[1, 2, 3], [4, 5, 6]]), n_records=32)
        found = verdict(checks, n_expected=32)
        assert found.failures == (Failure("k", "at least 3 records", "9 smaller classes"),)
        assert found.sizes == ClassSizes(15, 1, 3, 32 / 15)


class TestLimit:
    @repeatable
    @given(confidential_values, st.data())
    def test_at_t_passes_and_a_hair_above_does_not(
        self, values: list[int], data: st.DataObject
    ) -> None:
        sizes = data.draw(class_sizes(len(values)))
        parts = [values[a:b] for a, b in pairwise(starts_of(sizes).tolist())]
        largest = max(naive.ordered_emd(part, values) for part in parts)
        asked = {"k": 1, "n_expected": len(values)}
        at = check([values], sizes, [largest])
        assert verdict(at, max_emds=(largest,), **asked).passed
        above = check([values], sizes, [largest - TINY])
        found = verdict(above, max_emds=(largest - TINY,), **asked)
        assert [failure.what for failure in found.failures] == ["t of income"]

    def test_no_float_says_a_third(self) -> None:
        # Of the values 1 .. 4, one of each: the class 1, 2 is at distance exactly 1/3.
        values, third = [1, 2, 3, 4], Fraction(1, 3)
        assert check([values], [2, 2], [third]).n_violating == (0,)
        assert check([values], [2, 2], [third - TINY]).n_violating == (2,)
        assert check([values], [2, 2], [Fraction(0.3333333333333333)]).n_violating == (2,)
