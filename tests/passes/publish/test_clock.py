"""Releases are listed by their dates, so a clock that was put back is told of."""

from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from support.cases.people import people_policy, write_policy
from tclose.cli.main import main
from tclose.passes.publish import release_record


class _Ahead(datetime):
    """A clock that is a year and more ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "_Ahead":
        return super().now(tz) + timedelta(days=400)


def test_release_that_its_date_makes_the_older_one_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = people_policy(tmp_path)
    policy = write_policy(tmp_path / "policy.yaml", document)

    def run(seed: int) -> tuple[str, str]:
        assert main(["run", str(policy), "--quiet", "--set", f"seed={seed}"]) == 0
        current = (tmp_path / "releases" / "people" / "CURRENT").read_text().split()[0]
        return current, capsys.readouterr().err

    _, before = run(1)
    with monkeypatch.context() as patch:
        patch.setattr(release_record, "datetime", _Ahead)
        ahead, during = run(2)
    _, after = run(3)
    _, at_last = run(4)
    assert "clock:" not in before + during + at_last
    assert f"clock: release {ahead}, the current one until now, is of " in after
    assert "see that the clock is right" in after
