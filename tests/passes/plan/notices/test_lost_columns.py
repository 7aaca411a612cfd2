"""Columns of which next to nothing is left, however a method counts losses."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from support.tables.column_kinds import COLUMNS, QUASI, ROWS, column
from tclose.data.encodings import make_encoding
from tclose.data.keys import Encoding
from tclose.data.value_counts import ColumnSummary
from tclose.model.column_terms import Scale
from tclose.model.grouping import GroupRule
from tclose.passes.plan.notices.lost_columns import warn_of_lost

pytestmark = pytest.mark.every_case  # each takes milliseconds

AGES = np.arange(20, 70)
TASTES = ColumnSummary(categories=Counter({"apple": 3, "leek": 3}))


def ages(*, is_relative: bool) -> Encoding:
    found = ColumnSummary(low=20, high=69)
    return make_encoding(COLUMNS[0], found, AGES, has_relative_loss=is_relative)


def tastes(**more: object) -> Encoding:
    of = column("taste", QUASI, pa.string(), taxonomy=ROWS, **more)
    return make_encoding(of, TASTES)


@pytest.mark.parametrize(("share", "is_lost"), [(0.94, False), (0.96, True), (1.0, True)])
def test_numbers_in_shares_of_one_class(share: float, is_lost: bool) -> None:
    encoding = ages(is_relative=True)
    loss = share * float(np.var((AGES - 20) / 49))
    assert bool(list(warn_of_lost([encoding], [loss]))) is is_lost


def test_numbers_with_far_ones_are_not_judged_by_their_range() -> None:
    """One far number is nearly all that one class loses, and others may be kept well."""
    offsets = np.array([*AGES.repeat(20), 10_000])
    found = ColumnSummary(low=20, high=10_000)
    encoding = make_encoding(COLUMNS[0], found, offsets, has_relative_loss=True)
    assert encoding.by.kind is Scale.TRIMMED
    assert not list(warn_of_lost([encoding], [1.0]))


@pytest.mark.parametrize(("lost", "n_warnings"), [(0.94, 0), (1.0, 1)])
def test_taxonomies_of_other_methods_by_their_height(lost: float, n_warnings: int) -> None:
    warnings = list(warn_of_lost([ages(is_relative=False), tastes()], [0.08, lost]))
    assert [one.columns for one in warnings] == [["taste"]] * n_warnings


@pytest.mark.parametrize(
    ("lost", "said"), [(1.0, "every record has '*'"), (0.97, "most records have '*'")]
)
def test_groups_name_what_is_released(lost: float, said: str) -> None:
    [warning] = warn_of_lost([tastes(grouping=GroupRule(prefixes=(1,)))], [lost])
    assert said in warning.message
    assert f"loses {lost:.1%} of" in warning.message
    [expected] = warn_of_lost([tastes()], [lost], is_expected=True)
    assert "is expected to lose" in expected.message
    assert "'*'" not in expected.message
