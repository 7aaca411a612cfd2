"""Distance-based record linkage: which released records are nearest to an original one.

An intruder who knows a person's quasi-identifiers takes the released record nearest to them
(Domingo-Ferrer and Torra, *A quantitative comparison of disclosure control methods for microdata*,
2001). Released records that share their quasi-identifiers are one point here, with a weight.
"""

import numpy as np

from tclose.kernels.compiler import kernel


@kernel
def count_covering(numeric, nominal, lows, highs, texts, covers, sizes):
    """Released records whose intervals and sets have all of a record's values: int64 (n,).

    Released records that share their quasi-identifiers are one point here, with a weight.

    Parameters
    ----------
    numeric, nominal : float64 (d, n) and int64 (q, n): keys of the original records
    lows, highs : float64 (d, c): ends of the points' intervals, both inside
    texts : int64 (q, c): the released text of each point
    covers : bool (q, t, v): whether a text covers a value
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
def count_covered(numeric, nominal, lows, highs, texts, covers):
    """Persons whose values the intervals and sets of each point all have: int64 (c,).

    The parameters are those of `count_covering`.
    """
    n_points = max(lows.shape[1], texts.shape[1])
    counts = np.zeros(n_points, dtype=np.int64)
    for c in range(n_points):
        for i in range(max(numeric.shape[1], nominal.shape[1])):
            if _covers(numeric[:, i], nominal[:, i], lows[:, c], highs[:, c], texts[:, c], covers):
                counts[c] += 1
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


# Distances are in ranges of an attribute. Two that differ by less differ by rounding alone.
SAME_DISTANCE = 1e-12
_POINTS_AT_ONCE = 512  # so that they stay in the processor's cache


@kernel
def count_candidates(numeric, nominal, weights, own, point_numeric, point_nominal, sizes):
    """Count for each record the nearest released records, among which its own is hidden.

    The squared distance is the sum of squared differences of numeric quasi-identifiers, and the
    weight of each nominal column that differs, as in the clustering (Soria-Comas et al. 2015,
    section 7). Points are scanned until one is nearer than the record's own.

    Parameters
    ----------
    numeric, nominal : float64 (d, n) and int32 (q, n): the original records
    weights : float64 (q,): what it counts that a nominal column differs
    own : int64 (n,): the point that each record was released as
    point_numeric, point_nominal : float64 (d, c) and int32 (q, c): the released points; a code that
        no record has differs from all
    sizes : int64 (c,): released records at each point

    Returns
    -------
    int64 (n,): released records at the least distance if the record's own is among them, else 0
    """
    n_records, n_points = own.size, sizes.size
    numbers, codes = np.ascontiguousarray(numeric.T), np.ascontiguousarray(nominal.T)
    point_numbers = np.ascontiguousarray(point_numeric.T)
    point_codes = np.ascontiguousarray(point_nominal.T)
    nearer, farther = np.empty(n_records), np.empty(n_records)
    for i in range(n_records):
        c = own[i]
        to_own = _square(numbers[i], codes[i], weights, point_numbers[c], point_codes[c], np.inf)
        nearer[i] = max(np.sqrt(to_own) - SAME_DISTANCE, 0.0) ** 2
        farther[i] = (np.sqrt(to_own) + SAME_DISTANCE) ** 2
    counts = np.zeros(n_records, dtype=np.int64)
    for start in range(0, n_points, _POINTS_AT_ONCE):
        stop = min(start + _POINTS_AT_ONCE, n_points)
        for i in range(n_records):
            if counts[i] < 0:
                continue
            for c in range(start, stop):
                square = _square(
                    numbers[i], codes[i], weights, point_numbers[c], point_codes[c], farther[i]
                )
                if square < nearer[i]:
                    counts[i] = -1
                    break
                if square <= farther[i]:
                    counts[i] += sizes[c]
    return np.maximum(counts, 0)


@kernel
def _square(numbers, codes, weights, point_numbers, point_codes, limit):
    """Squared distance of a record and a point; part of it, above ``limit``, once it is."""
    total = 0.0
    for j in range(codes.size):
        if codes[j] != point_codes[j]:
            total += weights[j]
    for j in range(numbers.size):
        difference = numbers[j] - point_numbers[j]
        total += difference * difference
        if total > limit:
            return total
    return total


@kernel
def count_near(numeric, nominal, weights, own, point_numeric, point_nominal, members):
    """Persons who are as near to each point as the farthest of its own records: int64 (c,).

    Parameters
    ----------
    numeric, nominal, weights, point_numeric, point_nominal : as in `count_candidates`, the persons
        in place of the records
    own : int64 (m,): the point of each record, below c
    members : float64 (d, m) and int32 (q, m): the records
    """
    numbers, codes = np.ascontiguousarray(numeric.T), np.ascontiguousarray(nominal.T)
    point_numbers = np.ascontiguousarray(point_numeric.T)
    point_codes = np.ascontiguousarray(point_nominal.T)
    member_numbers, member_codes = np.ascontiguousarray(members[0].T), members[1].T.copy()
    n_points = point_numbers.shape[0]
    limits = np.zeros(n_points)
    for i in range(own.size):
        c = own[i]
        square = _square(
            member_numbers[i], member_codes[i], weights, point_numbers[c], point_codes[c], np.inf
        )
        limits[c] = max(limits[c], (np.sqrt(square) + SAME_DISTANCE) ** 2)
    counts = np.zeros(n_points, dtype=np.int64)
    for start in range(0, n_points, _POINTS_AT_ONCE):
        stop = min(start + _POINTS_AT_ONCE, n_points)
        for i in range(numbers.shape[0]):
            for c in range(start, stop):
                square = _square(
                    numbers[i], codes[i], weights, point_numbers[c], point_codes[c], limits[c]
                )
                counts[c] += square <= limits[c]
    return counts
