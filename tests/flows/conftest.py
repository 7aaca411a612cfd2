"""Prefect's test server: slow to start, so one for the session, in a home of its own."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of everything that Prefect keeps: database, result storage. Its server runs."""
    home = tmp_path_factory.mktemp("prefect")
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DO_NOT_TRACK", "1")
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("PREFECT_LOGGING_LEVEL", "WARNING")
        patch.delenv("PREFECT_API_URL", raising=False)
        from prefect import settings
        from prefect.testing.utilities import prefect_test_harness

        stack.enter_context(settings.temporary_settings({settings.PREFECT_HOME: home}))
        assert settings.PREFECT_LOCAL_STORAGE_PATH.value().is_relative_to(home)
        with pytest.MonkeyPatch.context() as aside:
            aside.setattr(tempfile, "tempdir", str(home))  # where the harness puts its database
            stack.enter_context(prefect_test_harness(server_startup_timeout=120))
        yield home
