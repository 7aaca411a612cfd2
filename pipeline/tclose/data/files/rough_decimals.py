"""Decimals of more digits than floats hold, of which different ones may become the same float.

What a program wrote of a float is none, with whatever number of digits: it says of the float what
so many digits can say.
"""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LONG = r"^-?[0.]*[1-9](\.?\d){15,}"  # floats hold any number of 15 digits
_PAIR = np.dtype([("value", "<f8"), ("digest", "<i8")])  # a float, and which decimal it was
_OF_FLOAT = 0


def rough_decimals(texts: pa.Array) -> bytes:
    """Floats of such decimals among different texts that read as numbers; others of the same float.

    Returns
    -------
    Pairs of 16 bytes, of which those of several parts are put one after the other.
    """
    long = texts.filter(pc.match_substring_regex(texts, _LONG))
    values = long.cast(pa.float64())
    is_other = pc.not_equal(values.cast(pa.string()), long)
    others = long.filter(is_other).to_pylist()
    digests = np.full(len(long), _OF_FLOAT)
    digests[is_other.to_numpy(zero_copy_only=False)] = [_digest(text) for text in others]
    pairs = np.empty(len(long), dtype=_PAIR)
    pairs["value"], pairs["digest"] = values.to_numpy(zero_copy_only=False), digests
    rough = pairs["value"][digests != _OF_FLOAT]
    return np.unique(pairs[np.isin(pairs["value"], rough)]).tobytes() if rough.size else b""


def _digest(text: str) -> int:
    """A number that tells a decimal from others; 0 if it says of its float what digits can."""
    value = float(text)
    if text == f"{value:.17g}":  # the commonest, fast
        return _OF_FLOAT
    decimal = Decimal(text)
    n_digits = len("".join(map(str, decimal.as_tuple().digits)).rstrip("0"))
    is_told = decimal == Decimal(f"{value:.{n_digits - 1}e}") or decimal == Decimal(repr(value))
    return _OF_FLOAT if is_told else hash(decimal)


def count_merged(rough: bytes) -> int:
    """Return how many different decimals have the same float as another one."""
    pairs = np.unique(np.frombuffer(rough, dtype=_PAIR))
    _, times = np.unique(pairs["value"], return_counts=True)
    return int(times[times > 1].sum())
