"""Losses side by side: figures, what is wanted of them, and one small comparison as a whole."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.loss.catalogue import (
    CLUSTER_SIZE,
    EXCESS,
    NUMERIC_LOSS,
    RATIO,
    SECTIONS,
    SUPPRESSED,
    Row,
    Section,
)
from benchmarks.loss.comparisons import Compared, find_targets, render_section
from benchmarks.loss.quality import measure_section
from benchmarks.loss.releases import METHODS, Measurement, make_release, write_document
from benchmarks.microdata import sources
from benchmarks.microdata.correlated import generate_correlated
from benchmarks.microdata.sources import Stored, generated, measure_spread, store
from tclose.errors import InfeasibleError
from tclose.policy.policy import parse_policy

SOURCE = replace(generated(2, 0.13), read=partial(generate_correlated, 300, 2, 0.13, 1))
WANTED = {RATIO: 0.5, NUMERIC_LOSS: 0.1, CLUSTER_SIZE: 5.5, EXCESS: 0, SUPPRESSED: 0}


def release(loss, seconds=1.0, **figures):
    made = Measurement(100, 20, 16, 5, 6.25, 7, (0.04, 0.03), loss, 0.08, 0.02, 6, 9.0, seconds)
    return replace(made, **figures)


def compared(**releases):
    return Compared(Row(5, 0.05, WANTED), 100, releases)


ALL = compared(
    reference=release(1.0), off=release(1.1, 2.0), fast=release(0.6, 5.0), full=release(0.5, 14.0)
)


class TestFigures:
    def test_of_full(self):
        found = {what: ALL.figure(what) for what in WANTED}
        assert found[EXCESS] == pytest.approx(-0.01)
        del found[EXCESS]
        assert found == {RATIO: 0.5, NUMERIC_LOSS: 0.08, CLUSTER_SIZE: 5.0, SUPPRESSED: 0}

    def test_fast_beside_full(self):
        assert ALL.share_reached == pytest.approx(0.8)
        assert ALL.share_of_time == pytest.approx(0.25)

    def test_nothing_to_compare(self):
        same = compared(reference=release(1.0), off=release(1), fast=release(1), full=release(1))
        assert same.share_reached is None
        assert same.share_of_time is None
        failed = compared(reference=InfeasibleError("no"), full=release(1.0))
        assert failed.ratio("full") is None
        assert failed.share_reached is None
        assert compared(full=InfeasibleError("no")).figure(CLUSTER_SIZE) is None


class TestTargets:
    def test_of_rows_and_their_mean(self):
        other = compared(reference=release(1.0), full=release(0.7, n_records=98))
        section = Section("s", SOURCE, (ALL.row, ALL.row), mean_ratio=0.61)
        targets = find_targets(section, [ALL, other])
        assert len(targets) == 2 * len(WANTED) + 1
        missed = [target.what for target in targets if not target.is_met]
        assert missed == [f"k = 5, t = 0.05: {what}" for what in (RATIO, SUPPRESSED)]
        assert targets[-1].found == pytest.approx(0.6)

    def test_no_mean_of_half_the_rows(self):
        section = Section("s", SOURCE, (ALL.row, ALL.row), mean_ratio=0.61)
        assert find_targets(section, [ALL, compared(full=release(1.0))])[-1].found is None

    def test_catalogue(self):
        assert len({section.title for section in SECTIONS}) == len(SECTIONS)
        figures = set(WANTED)
        for section in SECTIONS:
            assert all(set(row.wanted) <= figures for row in section.rows)
            assert set(section.methods) <= set(METHODS)


def test_section_says_why_there_is_no_release(tmp_path):
    one = compared(**ALL.releases | {"fast": InfeasibleError("a|b\nc")})
    section = Section("s", SOURCE, (one.row,))
    text = render_section(section, Stored(SOURCE, tmp_path, 100, 1.0), [one], "`how`")
    assert "| 5 | 0.05 | fast | none: a/b c | - |" in text
    sizes = "| 20 | 5.00 | 16 | 5 | 6.25 | 7 "
    assert f"| full {sizes}| 0.040000, 0.030000 | 2.0% | 0.5000 | 8.00% | 6 |" in text
    assert "improvement" not in text


class TestSources:
    def test_spread(self):
        table = pa.table({"a": [0, 10, 0, 10], "b": [1.5] * 4, "c": ["x"] * 4})
        assert measure_spread(table, ("a", "b")) == 0.25

    def test_policy_has_every_column(self, tmp_path):
        source = replace(sources.adult("capital-gain"))
        policy = parse_policy(write_document(source, tmp_path / "a", tmp_path, 5, 0.1))
        assert list(policy.attributes) == source.columns
        assert not policy.attributes["age"].round
        assert policy.attributes["sex"].type == "nominal"

    def test_missing_values_are_left_out(self, no_real_data):
        (no_real_data / "x.csv").write_text("a,b,c\n1,?,p\n2,q,?\n3,r,s\n")
        assert sources.read_real("x.csv", "?", None).to_pylist() == [{"a": 3, "b": "r", "c": "s"}]
        assert sources.read_real("x.csv", "?", ("a", "b"))["a"].to_pylist() == [2, 3]


def test_missing_data_are_skipped(tmp_path, no_real_data, capsys):
    section = Section("Adult", sources.adult("capital-gain"), ())
    assert measure_section(section, tmp_path, "how") == ""
    assert "skipped: Adult" in capsys.readouterr().err


def test_losses_are_those_of_the_release(tmp_path):
    """One or two large classes lose more than small ones do; the figures agree with each other."""
    stored = store(SOURCE, tmp_path, "source")
    one_class = make_release(stored, 150, 0.5, METHODS["off"], tmp_path)
    small = make_release(stored, 2, 0.5, METHODS["reference"], tmp_path)
    assert isinstance(one_class, Measurement)
    assert isinstance(small, Measurement)
    assert one_class.n_records == small.n_records == 300
    assert small.loss < one_class.loss
    assert 0 < small.numeric_loss < one_class.numeric_loss <= 1
    assert small.numeric_loss == pytest.approx(2 * small.loss / stored.numeric_spread)
    assert not (tmp_path / "releases").exists()
    assert np.isfinite(small.seconds)
