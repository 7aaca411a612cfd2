"""Numbers of 128-bit words in the order in which they are first seen."""

import numpy as np

from tclose.kernels.compiler import kernel


@kernel
def number_words(words, known, places, n_known, numbers):
    """Number words, those that were seen before as they were.

    Words are looked for by linear probing, so they have to be spread evenly, as hashes are.

    Parameters
    ----------
    words : uint64 (n, 2)
    known : uint64 (m, 2): the words that were seen, the first ``n_known``; room for n more
    places : int64 (2^b,): of the word with a number, more than n_known + n; -1 of none
    numbers : int64 (n,): filled in

    Returns
    -------
    How many different words were seen by then; ``known`` and ``places`` have them
    """
    mask = np.uint64(places.size - 1)
    for i in range(numbers.size):
        high, low = words[i, 0], words[i, 1]
        at = high & mask
        while True:
            number = places[at]
            if number < 0:
                number = places[at] = n_known
                known[number, 0], known[number, 1] = high, low
                n_known += 1
                break
            if known[number, 0] == high and known[number, 1] == low:
                break
            at = (at + np.uint64(1)) & mask
        numbers[i] = number
    return n_known
