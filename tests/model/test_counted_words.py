"""Numbers with words: of one another form than of more, and of none."""

import pytest

from tclose.model.counted_words import count_words


@pytest.mark.parametrize(
    ("n", "words", "said"),
    [
        (1, ("record",), "1 record"),
        (0, ("record",), "0 records"),
        (2_000, ("record",), "2,000 records"),
        (1, ("person is", "persons are"), "1 person is"),
        (21, ("person is", "persons are"), "21 persons are"),
    ],
)
def test_numbers_with_words(n: int, words: tuple[str, ...], said: str) -> None:
    assert count_words(n, *words) == said
