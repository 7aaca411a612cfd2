"""Random numbers that are functions of what they are for, and spells of geometric length.

A stream of random numbers has to be drawn from its beginning. Here each number is a hash of a key
and a counter (SplitMix64: Steele, Lea, Flood, *Fast splittable pseudorandom number generators*,
OOPSLA 2014), so that any of them can be had alone.
"""

from typing import NamedTuple

import numpy as np

from tclose.kernels.splitmix import STEP, finalise
from tclose.model.array_types import Float64, Int64

MAX_SPELLS = 2**8  # of one person or seat; a counter has room for so many


class Spells(NamedTuple):
    """The spells that last in a month: how many ended before each, and its first month."""

    number: Int64
    start: Int64


def make_key(seed: int, purpose: int) -> np.uint64:
    """The key of a seed's numbers for one purpose."""
    stream = np.random.SeedSequence(seed, spawn_key=(purpose,))
    key: np.uint64 = stream.generate_state(1, np.uint64)[0]
    return key


def draw_uniforms(key: np.uint64, persons: Int64, spells: Int64 | int = 0) -> Float64:
    """A number in [0, 1) for each person and spell, below MAX_SPELLS, of 53 bits: float64 (n,)."""
    mixed = finalise(((persons * MAX_SPELLS + spells).astype(np.uint64) + key) * STEP)
    uniforms: Float64 = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return uniforms


def draw_waits(uniforms: Float64, rate: float) -> Int64:
    """Months until an event of this rate a month: geometric, 1 or more."""
    waits: Int64 = 1 + np.floor(np.log1p(-uniforms) / np.log1p(-rate)).astype(np.int64)
    return waits


def find_spells(key: np.uint64, persons: Int64, months: Int64, rate: float) -> Spells:
    """The spell of each person in a month, where one ends and the next begins at a rate a month.

    Parameters
    ----------
    months : int64 (n,): since the person's first spell began, below MAX_SPELLS
    rate : above 0, below 1
    """
    number, start = np.zeros_like(persons), np.zeros_like(persons)
    left = np.arange(persons.size)
    while left.size:
        ends = start[left] + draw_waits(draw_uniforms(key, persons[left], number[left]), rate)
        is_over = ends <= months[left]
        left, ends = left[is_over], ends[is_over]
        start[left] = ends
        number[left] += 1
    return Spells(number, start)
