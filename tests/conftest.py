"""Fixtures of all packages: object storage for tests that use it; the final summary."""

import gc
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from nightly.counts import add_up
from support.faults.killed_run import SMALL_REGION
from support.length import FULL, shorten
from support.order import order_tests
from support.servers.s3_buckets import environment, make_bucket, running_server
from support.sizes import Sizes
from support.tables.random_tables import repeatable
from tclose.data.places.bucket_paths import BucketPath
from tclose.runtime.engines import scheduler

# What passing tests record of what they drew, and under what title it is told at the end.
TITLES = {"fault": "trials of faults"}

settings.register_profile("repeatable", repeatable)
settings.load_profile("repeatable")  # for what names no settings of its own, too
gc.disable()  # half of the time of loading modules goes into looking for garbage among them


def pytest_configure() -> None:
    """Let Ctrl-C be heard: a shell has what runs in the background ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only all trials have; put the others in an order that several soon end."""
    if not FULL:
        kept = shorten([test for test in items if not test.get_closest_marker("nightly")])
        left_out = set(items) - set(kept)
        items[:] = kept
        config.hook.pytest_deselected(items=list(left_out))
    workers = getattr(config, "workerinput", None)
    if workers is not None:
        items[:] = order_tests(items, workers["workercount"])


def pytest_collection_finish() -> None:
    """Look for garbage again, but not in what was loaded, which stays."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)  # as rarely as commands do: it took a twentieth of the time
    gc.enable()


@pytest.fixture(scope="session")
def object_store() -> Iterator[int]:
    """Port of an S3-compatible server; the environment names it to AWS clients."""
    for package in ("moto", "s3fs"):
        pytest.importorskip(package, reason="the extra s3 and moto[server] are not installed")
    with running_server() as port, pytest.MonkeyPatch.context() as patch:
        for name, value in environment(port).items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        yield port


@pytest.fixture
def bucket(object_store: int) -> BucketPath:
    """A new bucket."""
    return make_bucket()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of scratch folders, so that leftovers are detected."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def small_regions() -> Iterator[None]:
    """Regions of fewer records, so that small tables have several, as large ones do."""
    with pytest.MonkeyPatch.context() as patch:
        Sizes(patch).regions(SMALL_REGION)
        yield


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    """Sizes that the test may set."""
    return Sizes(monkeypatch)


@pytest.fixture
def answer_within(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the seconds in which a scheduler has to answer."""
    return lambda seconds: monkeypatch.setattr(scheduler, "ANSWER_SECONDS", seconds)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what passing tests have recorded of themselves."""
    for name, title in TITLES.items():
        told = [
            text
            for report in terminalreporter.stats.get("passed", [])
            for key, text in report.user_properties
            if key == name
        ]
        if told:
            terminalreporter.section(title)
            for text in told:
                terminalreporter.line(f"  {text}")
            terminalreporter.line(f"{len(told)} passed")
    counted = add_up(terminalreporter.stats.get("passed", []))
    if counted:
        terminalreporter.section("counts of trials")
        for line in counted:
            terminalreporter.line(f"  {line}")
