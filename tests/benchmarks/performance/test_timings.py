"""Figures that follow from times, and the tables that show them."""

import sys

import pytest
import yaml

from benchmarks.performance.measure import Measured, measure, time_command
from benchmarks.performance.run import make_document
from benchmarks.performance.timings import (
    COLUMNS,
    HAND_COLUMNS,
    Case,
    Result,
    find_targets,
    hand_cells,
    render_timings,
)
from tclose.policy.policy import parse_policy

MANIFEST = {
    "seconds": {"plan": 1.25, "verify": 2.0},
    "classes": {"n_classes": 1234},
    "privacy": {"t": {"charge": {"largest_emd": 0.049}}},
    "exact_information_loss": {"total": 0.125},
}


def result(n_rows, refine, workers, seconds, memory="auto", reference=10.0):
    beside = Measured(reference, 100.0, 100.0) if reference else None
    case = Case(n_rows, 5, 0.05, workers, refine, memory)
    return Result(case, Measured(seconds, 2000.0, 900.0), MANIFEST, beside)


RESULTS = [
    result(100, "off", 2, 5.0),
    result(100, "lean", 2, 6.0),
    result(100, "fast", 2, 8.0),
    result(1000, "fast", 2, 500.0, memory="1.5GiB"),
    result(1000, "off", 2, 40.0),
    result(1000, "off", 1, 80.0),
    result(1000, "lean", 2, 48.0),
    result(1000, "fast", 2, 120.0),
]


def test_targets():
    found = [target.found for target in find_targets(RESULTS, 1000, 100)]
    assert found[:2] == pytest.approx([4.0, 0.8])  # off
    assert found[2:4] == pytest.approx([4.8, 0.8])  # lean
    assert found[4:] == pytest.approx([12.0, 1.5])  # fast
    met = [target.is_met for target in find_targets(RESULTS, 1000, 100)]
    assert met == [False, True, True, True, False, False]


def test_nothing_measured_meets_nothing():
    assert not any(target.is_met for target in find_targets([], 1000, 100))


def test_section():
    text = render_timings(RESULTS, find_targets(RESULTS, 1000, 100), "`command` on a machine")
    assert text.startswith("`command` on a machine: medians over the runs,")
    row = "| 1,000 | 5 | 0.05 | off | 2 | auto | 1 | 10.00 | 40.00 | 4.0x | 100 | 2,000 | 900 "
    assert f"{row}| 1,234 | 0.049000 | 0.125000 |" in text
    assert "| 1,000 | 5 | 0.05 | fast | 2 | 1.5GiB | plan 1.2, verify 2.0 |" in text
    assert "| lean: time in times of the reference, 2 workers | at most 5 | 4.8 | met |" in text
    tables = [line for line in text.splitlines() if line.startswith("| 1,000")]
    assert tables[0].count("|") == len(COLUMNS) + 1


def test_row_by_hand():
    cells = hand_cells(result(1000, "10s", 2, 40.0, reference=None), "python", "a machine")
    assert len(cells) == len(HAND_COLUMNS)
    assert dict(zip(HAND_COLUMNS, cells, strict=True))["refine"] == "10s"


def test_memory_is_watched_where_it_is_asked_for():
    python = [sys.executable, "-c"]
    measured = measure([*python, "import time; x = b'1' * 50_000_000; time.sleep(2)"])
    assert 50 < measured.largest_megabytes <= measured.megabytes < 200
    assert measured.seconds > 2
    assert time_command([*python, "import time; time.sleep(0.2)"]) > 0.2


@pytest.mark.parametrize("run", [measure, time_command])
def test_what_fails_is_not_measured(run):
    with pytest.raises(SystemExit, match="failed:\nno"):
        run([sys.executable, "-c", "print('no'); exit(1)"])


@pytest.mark.parametrize(("refine", "asked"), [("off", "off"), ("3", 3), ("10s", "10s")])
def test_policy(refine, asked, tmp_path):
    case = Case(1000, 5, 0.05, 2, refine, "1.5GiB")
    document = make_document(case, tmp_path / "data", tmp_path)
    policy = parse_policy(yaml.safe_load(yaml.safe_dump(document)))
    assert policy.method.refine == asked
    assert policy.engine.memory_per_worker == "1.5GiB"
