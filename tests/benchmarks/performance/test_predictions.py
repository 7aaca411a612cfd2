"""Predictions beside what was measured: what is near, what is counted, what disk is taken."""

from pathlib import Path

import pytest

from benchmarks.performance.predicted_tables import FURTHER, TARGETS
from benchmarks.performance.predictions import (
    PASSES,
    WHOLE,
    DiskWatcher,
    Figure,
    compare,
    count_near,
    render,
)
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.plan_document import CostEstimate, StepEstimate

STEPS = tuple(StepEstimate(name=name, seconds=1.0, megabytes=200.0) for name in PASSES)
ESTIMATE = CostEstimate(
    megabytes=300.0, seconds=7.0, on="2 workers", steps=STEPS, disk_megabytes=50.0
)
TAKEN = dict(zip(WHOLE, (8.0, 50.0, 200.0), strict=True)) | dict.fromkeys(PASSES, 1.25)


@pytest.mark.parametrize(
    ("predicted", "is_near"), [(0.75, True), (1.25, True), (0.74, False), (1.26, False)]
)
def test_near_is_within_a_quarter_of_what_was_measured(predicted: float, is_near: bool) -> None:
    figure = Figure(predicted, 1.0)
    assert figure.is_near is is_near
    assert figure.cell(2).startswith("**") is not is_near


def test_short_passes_are_shown_and_not_judged() -> None:
    short = Figure(0.1, 0.29)
    assert short.cell(2, may_be_short=True) == "0.10 / 0.29"
    one = compare(TARGETS[0], 50_000, ESTIMATE, TAKEN | {"plan": 1.0, "verify": 0.2})
    assert count_near([one])["seconds of a pass"] == (5, 6)
    hidden = compare(TARGETS[0], 50_000, _quick(), TAKEN | dict.fromkeys(PASSES, 0.2))
    assert count_near([hidden])["seconds of a pass"] == (0, 0)


def test_the_section_has_all_figures_and_counts_them() -> None:
    body = render([compare(TARGETS[0], 50_000, ESTIMATE, TAKEN)], "`command`")
    assert "| discharges 50,000 | 50,000 | k 5, t 0.1, fast | 7.0 / 8.0 | 50 / 50 |" in body
    assert "| **300 / 200** |" in body
    assert "| MB per worker | 0 of 1 |" in body
    assert "| seconds of a pass | 6 of 6 |" in body


def test_ten_tables_have_policies_and_names_of_their_own(tmp_path: Path) -> None:
    assert len(TARGETS) == 10
    assert len({target.name for target in (*TARGETS, *FURTHER)}) == 10 + len(FURTHER)
    (tmp_path / "in.parquet").touch()
    for target in (*TARGETS, *FURTHER):
        document = target.policy(tmp_path / "in.parquet", tmp_path / "out")
        asked = parse_policy(document)
        assert asked.privacy.k == target.k
        assert set(asked.attributes) == {*target.source.columns, *target.passed}


def test_disk_is_what_was_there_at_the_most(tmp_path: Path) -> None:
    with DiskWatcher(tmp_path) as disk:
        assert disk.megabytes == 0.0
        (tmp_path / "file").write_bytes(b"x" * 1_000_000)
    assert disk.megabytes >= 1.0


def _quick() -> CostEstimate:
    steps = tuple(step.model_copy(update={"seconds": 0.1}) for step in STEPS)
    return ESTIMATE.model_copy(update={"steps": steps})
