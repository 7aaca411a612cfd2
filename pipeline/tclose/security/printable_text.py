"""Text as it may be printed: no character in it moves, hides or turns what is shown."""


def printable(text: str) -> str:
    """The text with an escape for each character that would move, hide or turn what is shown."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def printable_lines(text: str) -> str:
    """The same of each line of a text."""
    return "\n".join(printable(line) for line in text.split("\n"))
