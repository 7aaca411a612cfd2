"""What the pass tells of the search."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from support.cases.people import people, policy_for, write_parquet
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress


def test_rounds_that_save_nothing_that_counts_are_not_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_parquet(tmp_path / "people.parquet", people(200))
    run_release(parse_policy(policy_for(source, method={"refine": "fast"})), Progress("lines"))
    told = re.findall(r"(start|round \d+): loss ([\d.e-]+), largest EMD", capsys.readouterr().err)
    names, losses = [name for name, _ in told], [float(loss) for _, loss in told]
    assert names[0] == "start"
    assert int(names[-1].removeprefix("round ")) > 2 * len(told)  # the last round is told of
    assert all(after < 0.995 * before for before, after in pairwise(losses[:-1]))
    assert losses[-1] <= losses[-2]
