"""Identifiers of invented persons: unique, reproducible, and silent about the order of records."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.model.array_types import Int64

MAX_NUMBERS = 2**36


def name_numbers(numbers: Int64, seed: int, letter: str) -> pa.Array:
    """An identifier for each number: its image in a keyed permutation of 0 .. MAX_NUMBERS - 1.

    Four Feistel rounds on two halves of 18 bits; ``letter`` and 11 digits. ``numbers`` int64 (n,).
    """
    half = np.uint64(2**18 - 1)
    number = numbers.astype(np.uint64)
    left, right = number >> np.uint64(18), number & half
    for key in np.random.SeedSequence(seed).generate_state(4, np.uint64):
        mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        left, right = right, left ^ ((mixed >> np.uint64(40)) & half)
    number = (left << np.uint64(18)) | right
    digits = pc.utf8_lpad(pa.array(number).cast(pa.string()), 11, "0")
    return pc.binary_join_element_wise(letter, digits, "")
