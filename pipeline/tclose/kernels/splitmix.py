"""Words that hardly differ as words that differ in every bit: splitmix64, of numpy arrays.

Steele, Lea and Flood 2014, *Fast splittable pseudorandom number generators*.
"""

import numpy as np
from numpy.typing import NDArray

STEP = np.uint64(0x9E3779B97F4A7C15)


def finalise(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return words after the finaliser, a bijection, which is run in place: uint64 (n,)."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
