"""Classes of rows that come file by file: all of a class are counted together, or it is said."""

from fractions import Fraction
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.tables.random_tables import distribution_of
from tclose.assess.auditing.class_checker import ClassChecker, NotInOrderError
from tclose.assess.auditing.released_rows import Rows
from tclose.passes.verify.class_checks import ClassChecks
from tclose.privacy.bound_models import NO_MODELS

# Two class keys and a confidential value.
Row = tuple[int, int, int]
rows_of_files = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12)


def as_rows(rows: list[Row], codes: np.ndarray) -> Rows:
    first, second, _ = np.array(rows).T
    return Rows([first, second], codes[np.newaxis])


def count_classes(checks: ClassChecks) -> tuple[list[list[int]], tuple[float, ...]]:
    return checks.size_counts.tolist(), checks.largest


@example([(0, 1, 0), (0, 0, 0)], False, set())  # in order by the first key alone
@given(rows_of_files, st.booleans(), st.sets(st.integers(1, 11)))
def test_rows_of_files_are_those_of_the_table(
    rows: list[Row], is_sorted: bool, cuts: set[int]
) -> None:
    """Wherever files begin; in another order than that of the keys nothing is counted."""
    rows = sorted(rows) if is_sorted else rows
    table, codes = distribution_of([value for _, _, value in rows])
    ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    files = [as_rows(rows[a:b], codes[a:b]) for a, b in pairwise(ends)]
    checker = ClassChecker((table,), (Fraction(1, 3),), NO_MODELS, [])
    classes = [key for key, _ in groupby(row[:2] for row in rows)]
    if classes != sorted(set(classes)):
        with pytest.raises(NotInOrderError):
            checker.check_in_order(iter(files))
        return
    in_order = checker.check_in_order(iter(files))
    assert count_classes(in_order) == count_classes(checker.check_at_once(files))
    assert in_order.n_violating == checker.check_at_once(files).n_violating
    sizes = sorted(len(list(of_class)) for _, of_class in groupby(row[:2] for row in rows))
    assert np.repeat(*in_order.size_counts).tolist() == sizes
