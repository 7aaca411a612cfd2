"""What all tests of runs have in common."""

from collections.abc import Iterator

import pytest

from pipeline.stages import tree
from support.killed_run import SMALL_REGION


@pytest.fixture(scope="module", autouse=True)
def small_regions() -> Iterator[None]:
    """Regions of fewer records, so that small tables have several, as large ones do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "MIN_REGION_RECORDS", SMALL_REGION)
        yield
