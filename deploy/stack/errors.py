"""What stops the stack: one message with the remedy."""


class StackError(Exception):
    """A part is missing, did not start, or the release was not published."""
