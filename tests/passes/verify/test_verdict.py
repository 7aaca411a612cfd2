"""Key ranges of a release: no class is in two of them, or its records were counted apart."""

from contextlib import nullcontext

import pytest

from tclose.errors import VerificationError
from tclose.passes.verify.key_range_task import KeyRangeResult
from tclose.passes.verify.verdict import _check_range_order

pytestmark = pytest.mark.every_case  # each takes milliseconds

Key = tuple[int, int]
EMPTY = (None, None)


@pytest.mark.parametrize(
    ("ends", "is_whole"),
    [
        ([((1, 1), (1, 5)), ((1, 6), (2, 0))], True),
        ([((1, 1), (1, 1)), ((1, 2), (1, 2))], True),  # one class each
        ([((1, 1), (1, 5)), ((1, 5), (2, 0))], False),  # the last of one is the first of the next
        ([((1, 6), (2, 0)), ((1, 1), (1, 5))], False),
        ([((1, 1), (1, 5)), EMPTY, ((1, 5), (2, 0))], False),
        ([((1, 1), (1, 5)), EMPTY, ((1, 6), (2, 0))], True),
    ],
)
def test_no_class_is_in_two_key_ranges(
    ends: list[tuple[Key | None, Key | None]], is_whole: bool
) -> None:
    refused = pytest.raises(VerificationError, match="not in order across key ranges")
    with nullcontext() if is_whole else refused:
        _check_range_order([KeyRangeResult(None, [], first, last) for first, last in ends])
