"""Record linkage to a generalised release: how many released records could be a known person's."""

import numpy as np

from pipeline.kernels.compiled import kernel


@kernel
def count_covering(numeric, nominal, lows, highs, texts, covers, sizes):
    """Released records whose intervals and sets have all of a record's values: int64 (n,).

    Released records that share their quasi-identifiers are one point here, with a weight.

    Parameters
    ----------
    numeric, nominal : float64 (d, n) and int64 (q, n): keys of the original records
    lows, highs : float64 (d, c): ends of the points' intervals, both inside
    texts : int64 (q, c): the released text of each point
    covers : bool (q, t, v): whether a text stands for a value
    sizes : int64 (c,): released records at each point
    """
    n_records = max(numeric.shape[1], nominal.shape[1])
    counts = np.zeros(n_records, dtype=np.int64)
    for i in range(n_records):
        for c in range(sizes.size):
            if _covers(numeric[:, i], nominal[:, i], lows[:, c], highs[:, c], texts[:, c], covers):
                counts[i] += sizes[c]
    return counts


@kernel
def _covers(numbers, codes, lows, highs, texts, covers):
    for j in range(numbers.size):
        if not lows[j] <= numbers[j] <= highs[j]:
            return False
    for j in range(codes.size):  # noqa: SIM110 - compiled code has no generators
        if not covers[j, texts[j], codes[j]]:
            return False
    return True
