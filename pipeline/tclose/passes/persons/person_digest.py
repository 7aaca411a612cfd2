"""A digest of whose values are whose, the same for records in any order and in any pieces."""

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.splitmix import STEP, finalise
from tclose.model.array_types import Int64

WORD = 2**64


def digest_persons(persons: Int64, codes: Int64) -> int:
    """Sum over records, modulo 2^64, of a hash of the person and the confidential values.

    Parameters
    ----------
    persons : int64 (n,): numbers of persons
    codes : int64 (p, n): confidential values as positions in their distributions
    """
    hashes = mix_words(persons.astype(np.uint64))
    for values in codes:
        hashes = mix_words(hashes ^ values.astype(np.uint64))
    return int(hashes.sum(dtype=np.uint64))


def mix_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A step of splitmix64 and its finaliser; every bit changes all others: uint64 (n,)."""
    return finalise(words + STEP)
