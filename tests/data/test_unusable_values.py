"""Data that cannot be released are refused, with how many values of which column and why."""

from collections import Counter
from dataclasses import replace

import pytest

from support.tables.column_kinds import COLUMNS
from tclose.data.unusable_values import check_summary
from tclose.data.value_counts import ColumnSummary, TableSummary
from tclose.errors import DataError
from tclose.model.preparation import Preparation


def good_summary(**columns: ColumnSummary) -> TableSummary:
    return TableSummary(5, 5, columns, Counter({(): 5}))


class TestCheck:
    def test_all_problems_in_one_message(self):
        summary = good_summary(
            age=ColumnSummary(n_missing=1_234),
            size=ColumnSummary(n_missing=1, n_nan=2, n_infinite=3),
            grade=ColumnSummary(categories=Counter({"low": 9, "hush": 2, "hushed": 1})),
        )
        with pytest.raises(DataError) as error:
            check_summary(summary, COLUMNS, "error")
        assert str(error.value).split("\n")[:5] == [
            "the data cannot be used",
            "  column 'age': 1,234 missing values",
            "  column 'size': 1 missing value",
            "  column 'size': 2 NaN and 3 infinite values",
            "  column 'grade': 3 values outside its order",
        ]
        for remedy in ("missing: drop", "input.missing_values", "every value of an ordinal"):
            assert remedy in str(error.value)
        assert "hush" not in str(error.value)

    def test_missing_values_may_be_dropped(self):
        summary = good_summary(age=ColumnSummary(n_missing=1), size=ColumnSummary())
        check_summary(summary, COLUMNS, "drop")
        with pytest.raises(DataError, match="'age': 1 missing value\ndrop the records"):
            check_summary(summary, COLUMNS, "error")

    @pytest.mark.parametrize(
        ("imputes", "said"),
        [("median", "so there is no median"), ("class", "so there is no value that a class could")],
    )
    @pytest.mark.parametrize("missing", ["error", "drop"])
    def test_nothing_to_fill_gaps_with(self, imputes, said, missing):
        age = COLUMNS[0]
        filled = replace(age.attribute, preparation=Preparation(imputes=imputes))
        columns = (replace(age, attribute=filled),)
        with pytest.raises(DataError, match=f"'age': no record has a value, {said}.*; leave") as e:
            check_summary(good_summary(age=ColumnSummary(n_missing=5)), columns, missing)
        assert "missing: drop" not in str(e.value)

    def test_dropping_does_not_help_a_column_without_values(self):
        with pytest.raises(DataError, match="'age': no record has a value; leave") as error:
            check_summary(good_summary(age=ColumnSummary(n_missing=5)), COLUMNS, "error")
        assert "missing: drop" not in str(error.value)

    def test_nan_is_never_dropped(self):
        with pytest.raises(DataError, match="1 NaN and 0 infinite values\nNaN and infinities are"):
            check_summary(good_summary(size=ColumnSummary(n_nan=1)), COLUMNS, "drop")

    def test_no_records(self):
        with pytest.raises(DataError, match="the input has no records"):
            check_summary(TableSummary(0, 0, {}, Counter()), COLUMNS, "drop")
        with pytest.raises(DataError, match="all 1,000 records have a missing value; none is left"):
            check_summary(TableSummary(1_000, 0, {}, Counter()), COLUMNS, "drop")
