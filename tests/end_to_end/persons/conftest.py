"""A small series that is published once; what changes it works on a copy."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.cases.people import Released
from support.cases.series_months import SeriesMonths, read_classes, write_months


@pytest.fixture(scope="session")
def months(tmp_path_factory: pytest.TempPathFactory) -> SeriesMonths:
    return write_months(tmp_path_factory.mktemp("months"), 4)


@pytest.fixture(scope="session")
def made(months: SeriesMonths) -> list[Released]:
    """The first three months."""
    return months.publish(0, 1, 2)


@pytest.fixture
def copied(months: SeriesMonths, made: list[Released], tmp_path: Path) -> SeriesMonths:
    """The same in a folder of its own."""
    shutil.copytree(months.folder / "releases", tmp_path / "releases")
    return SeriesMonths(tmp_path, months.files)


@pytest.fixture
def person(made: list[Released], months: SeriesMonths) -> str:
    """Somebody who is in all releases, and in the month to come."""
    named = [set(read_classes(one)) for one in made]
    named.append(set(pq.read_table(months.files[3])["person_id"].to_pylist()))
    return min(set.intersection(*named))
