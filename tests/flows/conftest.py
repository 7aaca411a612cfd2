"""Prefect's server: slow to start, so one for these tests, with a database and a home of its own.

It runs on PostgreSQL; where that is not to be had it keeps a file, and the test that asks for
PostgreSQL is skipped. Flows on the embedded server are what ``test_command.py`` is about.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.servers.loopback import (
    PrefectServer,
    find_postgres,
    running_postgres,
    running_prefect,
)
from tclose.data.synthetic import generate_rows


@pytest.fixture(scope="package")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A server, as a deployment has it; flows that tests call report to it, too."""
    folder = tmp_path_factory.mktemp("prefect")
    programs = find_postgres()
    with contextlib.ExitStack() as stack:
        database = None
        if programs is not None:
            database = stack.enter_context(running_postgres(programs, folder / "postgres.log"))
        server = stack.enter_context(running_prefect(folder, database))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("DO_NOT_TRACK", "PREFECT_SERVER_ANALYTICS_ENABLED", "PREFECT_LOGGING_LEVEL"):
            patch.setenv(name, server.environment[name])
        from prefect import settings

        here = {settings.PREFECT_HOME: server.home, settings.PREFECT_API_URL: server.url}
        stack.enter_context(settings.temporary_settings(here))
        assert settings.PREFECT_LOCAL_STORAGE_PATH.value().is_relative_to(server.home)
        yield server


@pytest.fixture(scope="package")
def prefect_home(prefect_server: PrefectServer) -> Path:
    """Folder of the files that Prefect keeps."""
    return prefect_server.home


N_RECORDS = 3_000


@pytest.fixture(scope="session")
def discharges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated records in three row groups."""
    path = tmp_path_factory.mktemp("input") / "discharges.parquet"
    pq.write_table(generate_rows(0, N_RECORDS, 5), path, row_group_size=1_000)
    return path
