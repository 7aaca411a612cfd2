"""Refusals in the place of errors of pyarrow."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def refusing_arrow(refusal: Exception, *others: type[Exception]) -> Iterator[None]:
    """Raise the refusal for what pyarrow cannot do in the block, and for other kinds of errors.

    Nothing is wrong with data where memory is short: that error, which pyarrow's can be, goes on.
    """
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, *others):
        raise refusal from None
