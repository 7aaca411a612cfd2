"""The two ways to try what has to be refused, each in a folder of its own."""

from functools import partial
from pathlib import Path

import pytest

from support.checks.refusals import Refuse, refuse_method, refuse_policy


@pytest.fixture
def refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Run a policy (a document, or YAML as text), which has to be refused; gives the message."""
    return partial(refuse_policy, tmp_path, capsys)


@pytest.fixture(name="refuse_method")
def refuse_method_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Plan and run a policy with a method, which both have to refuse; gives the message."""
    return partial(refuse_method, tmp_path, capsys)
