"""How often suggestions are right: types and formats nine times of ten, identifiers always."""

from pathlib import Path

import pytest

from benchmarks.suggestions.__main__ import render
from benchmarks.suggestions.accuracy import Accuracy, hide_names, measure_accuracy
from benchmarks.suggestions.known_tables import known_tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "first-policy.md"
WEIGHTS = {"survey with weights", "UCI Adult", "CASC Census"}  # which only their names give away


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Accuracy]:
    folder = tmp_path_factory.mktemp("tables")
    return [measure_accuracy(table, folder) for table in known_tables()]


def share_right(measured: list[Accuracy]) -> float:
    """Share of all types and formats that were found."""
    return sum(m.n_right for m in measured) / sum(m.n_facts for m in measured)


@pytest.mark.nightly
def test_types_and_formats(measured) -> None:
    assert len(measured) >= 8
    assert share_right(measured) >= 0.9
    assert min(m.n_right / m.n_facts for m in measured) >= 0.8


def test_no_identifier_is_suggested_for_release(measured) -> None:
    assert {m.table.name: m.released for m in measured if m.released} == {}
    assert sum(len(m.table.identifiers) for m in measured) > 10


@pytest.mark.nightly
def test_names_that_say_nothing(tmp_path) -> None:
    """Values alone tell types and identifiers, all but weights."""
    hidden = [measure_accuracy(hide_names(table), tmp_path) for table in known_tables()]
    assert share_right(hidden) >= 0.9
    assert {m.table.name for m in hidden if m.released} <= WEIGHTS


def test_page_has_what_is_measured(measured) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [row for row in render(measured, measured).split("\n")[2:-4] if row not in page] == []
