"""Parts of some work, each done once, whatever the number of threads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.runtime.engines.thread_parts import map_parts


@repeatable
@given(st.integers(0, 200), st.integers(1, 5))
def test_parts_are_all_items_in_their_order(n_items: int, n_threads: int) -> None:
    parts = map_parts(lambda part: list(range(n_items))[part], n_items, n_threads)
    assert [item for part in parts for item in part] == list(range(n_items))


@pytest.mark.timeout(60)
def test_an_error_of_a_part_is_that_of_the_whole() -> None:
    def fail(part: slice) -> None:
        if part.start:
            raise ValueError("of a part")

    with pytest.raises(ValueError, match="of a part"):
        map_parts(fail, 9, 3)
