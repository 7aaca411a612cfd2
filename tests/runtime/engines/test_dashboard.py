"""Dask's pages, of a scheduler that is started as docs/operations.md says."""

import sys
import urllib.request
from pathlib import Path

import pytest

from deploy.stack.processes import free_port
from support.servers.clusters import clean_environment
from support.servers.loopback import answers, running

DOCS = Path(__file__).resolve().parents[3] / "docs" / "operations.md"
OPTIONS = ["--dashboard", "--dashboard-address", "127.0.0.1:8787"]


def test_pages_of_a_scheduler_are_there_with_the_extra(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    assert " ".join(OPTIONS) in DOCS.read_text()
    port = free_port()
    options = [option.replace("8787", str(port)) for option in OPTIONS]
    command = [sys.executable, "-m", "dask", "scheduler", "--host=127.0.0.1", "--port=0", *options]
    page = f"http://127.0.0.1:{port}/status"
    with (
        running(command, tmp_path / "log", lambda: answers(page), environment=clean_environment()),
        urllib.request.urlopen(page, timeout=60) as answer,
    ):
        assert "bokeh" in answer.read().decode().lower()
