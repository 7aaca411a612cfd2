"""What analysts do with releases: features of released rows, models, and the rows of the table."""

from argparse import Namespace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.analyses import __main__ as analyses
from benchmarks.analyses.__main__ import COLUMNS, Table, measure
from benchmarks.analyses.features import make_features, read_categories, read_numbers
from benchmarks.analyses.trained_models import score_categories, score_numbers
from benchmarks.loss.side_by_side.tables import discharges
from benchmarks.microdata.sources import Source


def asked(*methods: str) -> Namespace:
    return Namespace(methods=list(methods), t=0.3)


def test_of_intervals_the_middle_is_taken() -> None:
    assert read_numbers(pa.array(["[1, 4]", "7", "[-2.5, 0]"])).tolist() == [2.5, 7.0, -1.25]
    days = pa.array(["[1970-01-02, 1970-01-04]", "1970-01-11"])
    assert read_numbers(days).tolist() == [2.0, 10.0]
    assert read_numbers(pa.array([date(1970, 1, 3)])).tolist() == [2.0]


def test_of_sets_one_value_after_the_other() -> None:
    found = read_categories(pa.array(["{a, c}", "b", "{a, c}", "{a, c}", "x"]), ["a", "b", "c"])
    assert found[:4].tolist() == [0.0, 1.0, 2.0, 0.0]
    assert np.isnan(found[4])
    table = pa.table({"n": [3, 4], "c": ["b", "a"]})
    features = make_features(table, ["n"], {"c": ["a", "b"]})
    assert features.tolist() == [[3.0, 1.0], [4.0, 0.0]]


@pytest.mark.nightly
def test_models_learn_what_there_is() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(1)
    features = np.column_stack([rng.normal(size=600), rng.integers(0, 3, 600)])
    number = features[:, 0] + 2 * features[:, 1]
    code = (features[:, 1] == 2).astype(float)
    train, test = slice(0, 400), slice(400, 600)
    assert score_numbers((features[train], number[train]), (features[test], number[test]), 1) > 0.9
    assert score_categories((features[train], code[train]), (features[test], code[test]), 1) == 1
    noise = rng.normal(size=600)
    assert score_numbers((features[train], noise[train]), (features[test], noise[test]), 1) < 0.1


@pytest.mark.nightly
def test_rows_are_as_wide_as_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for has in (True, False):
        monkeypatch.setattr(analyses, "has_sklearn", lambda has=has: has)
        if has:
            pytest.importorskip("sklearn")
        table = Table("t", discharges(600, 1), "discharge_status")
        rows = list(measure(table, 1, asked("off", "mondrian")))
        assert [row[1] for row in rows] == ["originals", "off", "mondrian"]
        assert {len(row) for row in rows} == {len(COLUMNS)}
        assert (rows[0][-1] == "-") is not has


def test_data_that_are_not_at_hand_are_skipped(capsys: Any) -> None:
    def missing() -> pa.Table:
        raise FileNotFoundError("x is not there")

    table = Table("t", Source("", partial(missing), ("a",), ("b",)), "c")
    assert list(measure(table, 1, asked("off"))) == []
    assert "skipped: t: x is not there" in capsys.readouterr().err
