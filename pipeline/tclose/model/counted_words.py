"""Numbers with the words that go with them: of one another form than of more."""


def count_words(n: int, one: str, many: str = "") -> str:
    """A number and its words: ``1 record has``, ``2,000 records have``.

    Parameters
    ----------
    many : the words of other numbers than 1; by default those of one with an s
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
