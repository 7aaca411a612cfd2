"""Parts of a pool: its records are cut into classes, which then move and exchange records.

All of it goes by the distances between the records of the pool, which are computed once: the loss
of a class is the sum of them over its pairs, divided by its size.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel

# Records of a pool at most.
MOST_POOLED = 128
# Classes of a pool at most, once it is cut anew.
MOST_PARTS = 10
# Sweeps over the records of a pool at most: whatever numbers do, they end.
MOST_SWEEPS = 50
# Gains below this share of the loss of the pool as one class are rounding.
ROUNDING = 1e-12

# The records of a pool and their parts.
#   rows int64 (s,), part int64 (s,)   the records, and the part of each; -1: none yet
#   apart float64 (s, s)               squared distances
#   sums float64 (s, parts)            of the distances of each record to those of each part
#   sizes int64 (parts,), within float64 (parts,)   records, and the sum over their pairs
Pool = namedtuple("Pool", "rows part apart sums sizes within")


@kernel
def make_pool():
    """Allocate a pool."""
    return Pool(
        np.empty(MOST_POOLED, dtype=np.int64),
        np.empty(MOST_POOLED, dtype=np.int64),
        np.empty((MOST_POOLED, MOST_POOLED)),
        np.empty((MOST_POOLED, MOST_PARTS)),
        np.empty(MOST_PARTS, dtype=np.int64),
        np.empty(MOST_PARTS),
    )


@kernel(borrows=True)
def measure_apart(values, levels, weights, pool, n_records):
    """Fill in the distances between the records of a pool."""
    apart, rows = pool.apart, pool.rows
    for i in range(n_records):
        apart[i, i] = 0.0
        for j in range(i):
            distance = 0.0
            for f in range(values.shape[1]):
                difference = values[rows[i], f] - values[rows[j], f]
                distance += difference * difference
            for f in range(levels.shape[1]):
                if levels[rows[i], f] != levels[rows[j], f]:
                    distance += weights[f]
            apart[i, j] = distance
            apart[j, i] = distance


@kernel(borrows=True)
def sum_parts(pool, n_records, n_parts):
    """Fill in what is known of the parts, and return the loss of them all."""
    part, apart, sums, sizes, within = pool.part, pool.apart, pool.sums, pool.sizes, pool.within
    for p in range(n_parts):
        sizes[p], within[p] = 0, 0.0
    for i in range(n_records):
        sizes[part[i]] += 1
        for p in range(n_parts):
            sums[i, p] = 0.0
        for j in range(n_records):
            sums[i, part[j]] += apart[i, j]
        within[part[i]] += 0.5 * sums[i, part[i]]
    loss = 0.0
    for p in range(n_parts):
        loss += within[p] / sizes[p]
    return loss


@kernel(borrows=True)
def grow_parts(pool, n_records, n_parts, k, first):
    """Cut a pool into parts of k records, but for the last one, which takes all others.

    The first grows around the record ``first``, each other one around the record that is farthest
    from the average of those left, by the next nearest to all that it has.
    """
    part, apart, sums = pool.part, pool.apart, pool.sums
    for i in range(n_records):
        part[i] = n_parts - 1
        sums[i, 0] = 0.0
        for j in range(n_records):
            sums[i, 0] += apart[i, j]
    for p in range(n_parts - 1):
        chosen = first if p == 0 else -1
        for i in range(n_records):
            sums[i, 1] = 0.0
            if p and part[i] == n_parts - 1 and (chosen < 0 or sums[i, 0] > sums[chosen, 0]):
                chosen = i
        for _ in range(k):
            part[chosen] = p
            nearest = -1
            for i in range(n_records):
                if part[i] == n_parts - 1:
                    sums[i, 0] -= apart[i, chosen]
                    sums[i, 1] += apart[i, chosen]
                    if nearest < 0 or sums[i, 1] < sums[nearest, 1]:
                        nearest = i
            chosen = nearest


@kernel(borrows=True)
def settle_parts(pool, n_records, n_parts, k):
    """Move and exchange records among the parts until nothing is saved; return the loss."""
    part, apart, sums, sizes, within = pool.part, pool.apart, pool.sums, pool.sizes, pool.within
    sum_parts(pool, n_records, n_parts)
    least = 0.0
    for i in range(n_records):
        for p in range(n_parts):
            least += sums[i, p]
    least *= ROUNDING / n_records
    for _ in range(MOST_SWEEPS):
        is_changed = False
        for x in range(n_records):
            for y in range(-n_parts, x):  # below 0: x moves to that part, and no record comes back
                a = part[x]
                b = part[y] if y >= 0 else y + n_parts
                if a == b or (y < 0 and sizes[a] == k):
                    continue
                if y >= 0:
                    of_a = sums[y, a] - sums[x, a] - apart[x, y]
                    of_b = sums[x, b] - sums[y, b] - apart[x, y]
                    change = of_a / sizes[a] + of_b / sizes[b]
                else:
                    of_a, of_b = -sums[x, a], sums[x, b]
                    change = (within[a] + of_a) / (sizes[a] - 1) - within[a] / sizes[a]
                    change += (within[b] + of_b) / (sizes[b] + 1) - within[b] / sizes[b]
                if not change < -least:
                    continue
                is_changed = True
                within[a] += of_a
                within[b] += of_b
                part[x] = b
                if y >= 0:
                    part[y] = a
                else:
                    sizes[a] -= 1
                    sizes[b] += 1
                for i in range(n_records):
                    moved = apart[i, x] - (apart[i, y] if y >= 0 else 0.0)
                    sums[i, a] -= moved
                    sums[i, b] += moved
        if not is_changed:
            break
    return sum_parts(pool, n_records, n_parts)
