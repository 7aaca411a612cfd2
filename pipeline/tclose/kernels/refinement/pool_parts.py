"""Parts of a pool: its records are cut into classes, which then move and exchange records.

All of it goes by the distances between the records of the pool, which are computed once: the loss
of a class is the sum of them over its pairs, divided by its size.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel

# Records that a pool may have: so many times k, but at least and at most so many. What it takes
# grows with their square, and of larger ones no more is saved.
POOLED_PER_K, LEAST_POOLED, MOST_POOLED = 12, 64, 128
# Classes of a pool at most, once it is cut anew.
MOST_PARTS = 10
# Sweeps over the records of a pool at most: whatever numbers do, they end.
MOST_SWEEPS = 50
# Gains below this share of the loss of the pool as one class are rounding.
ROUNDING = 1e-12

# The records of a pool and their parts. What there is of each record stands side by side, so that
# it is gone through several records at a time.
#   rows int64 (s,), part int64 (s,)   the records, and the part of each
#   columns float64 (d, s), codes int32 (q, s)   their values
#   apart float64 (s, s)               squared distances
#   sums float64 (parts, s)            of the distances of each record to those of each part
#   sizes int64 (parts,), within, losses float64 (parts,)   records, the sum over their pairs, and
#                                      that divided by them
#   own, shares float64 (s,)           of each record: its sum to its own part, its share of that
#   to_parts float64 (parts,)          room for the sums of a record
#   changes float64 (s,)               room for what its exchanges with others would change
Pool = namedtuple(
    "Pool", "rows part columns codes apart sums sizes within losses own shares to_parts changes"
)


@kernel
def make_pool(n_columns, n_codes):
    """Allocate a pool of records with so many numbers and so many codes."""
    return Pool(
        np.empty(MOST_POOLED, dtype=np.int64),
        np.empty(MOST_POOLED, dtype=np.int64),
        np.empty((n_columns, MOST_POOLED)),
        np.empty((n_codes, MOST_POOLED), dtype=np.int32),
        np.empty((MOST_POOLED, MOST_POOLED)),
        np.empty((MOST_PARTS, MOST_POOLED)),
        np.empty(MOST_PARTS, dtype=np.int64),
        np.empty(MOST_PARTS),
        np.empty(MOST_PARTS),
        np.empty(MOST_POOLED),
        np.empty(MOST_POOLED),
        np.empty(MOST_PARTS),
        np.empty(MOST_POOLED),
    )


@kernel(borrows=True)
def measure_apart(values, levels, weights, pool, n_records):
    """Fill in the distances between the records of a pool."""
    for i in range(n_records):
        for f in range(values.shape[1]):
            pool.columns[f, i] = values[pool.rows[i], f]
        for f in range(levels.shape[1]):
            pool.codes[f, i] = levels[pool.rows[i], f]
    for i in range(n_records):
        distances = pool.apart[i, :n_records]
        for j in range(n_records):
            distances[j] = 0.0
        for f in range(values.shape[1]):
            column = pool.columns[f, :n_records]
            value = column[i]
            for j in range(n_records):
                difference = value - column[j]
                distances[j] += difference * difference
        for f in range(levels.shape[1]):
            codes, weight = pool.codes[f, :n_records], weights[f]
            code = codes[i]
            for j in range(n_records):
                distances[j] += 0.0 if codes[j] == code else weight


@kernel(borrows=True)
def _add_distances(pool, i, n_records, sums):
    """Add what each record is away from record i."""
    distances = pool.apart[i, :n_records]
    for j in range(n_records):
        sums[j] += distances[j]


@kernel(borrows=True)
def sum_parts(pool, n_records, n_parts):
    """Fill in what is known of the parts, and return the loss of them all."""
    part, sums, sizes, within = pool.part, pool.sums, pool.sizes, pool.within
    for p in range(n_parts):
        sizes[p], within[p] = 0, 0.0
        for i in range(n_records):
            sums[p, i] = 0.0
    for i in range(n_records):
        sizes[part[i]] += 1
        _add_distances(pool, i, n_records, sums[part[i]])
    for i in range(n_records):
        within[part[i]] += 0.5 * sums[part[i], i]
    loss = 0.0
    for p in range(n_parts):
        pool.losses[p] = within[p] / sizes[p]
        loss += pool.losses[p]
    return loss


@kernel(borrows=True)
def grow_parts(pool, n_records, n_parts, k, first):
    """Cut a pool into parts of k records, but for the last one, which takes all others.

    The first grows around the record ``first``, each other one around the record that is farthest
    from the average of those left, by the next nearest to all that it has.
    """
    part, left, grown = pool.part, pool.sums[0], pool.sums[1]
    for i in range(n_records):
        part[i], left[i] = n_parts - 1, 0.0
    for i in range(n_records):
        _add_distances(pool, i, n_records, left)
    for p in range(n_parts - 1):
        chosen = first if p == 0 else -1
        for i in range(n_records):
            grown[i] = 0.0
            if p and part[i] == n_parts - 1 and (chosen < 0 or left[i] > left[chosen]):
                chosen = i
        for _ in range(k):
            part[chosen] = p
            distances = pool.apart[chosen, :n_records]
            for i in range(n_records):
                left[i] -= distances[i]
                grown[i] += distances[i]
            chosen = -1
            for i in range(n_records):
                if part[i] == n_parts - 1 and (chosen < 0 or grown[i] < grown[chosen]):
                    chosen = i


@kernel(borrows=True)
def settle_parts(pool, n_records, n_parts, k):
    """Move and exchange records among the parts until nothing is saved; return the loss."""
    sum_parts(pool, n_records, n_parts)
    least = 0.0
    for i in range(n_records):
        for p in range(n_parts):
            least += pool.sums[p, i]
    least *= ROUNDING / n_records
    _note_own(pool, n_records)
    for _ in range(MOST_SWEEPS):
        is_changed = False
        for x in range(n_records):
            moved = _move(pool, n_records, n_parts, k, x, -least)
            exchanged = _exchange(pool, n_records, n_parts, x, -least)
            is_changed = is_changed or moved or exchanged
        if not is_changed:
            break
    return sum_parts(pool, n_records, n_parts)


@kernel(borrows=True)
def _note_own(pool, n_records):
    """Fill in the sum of each record to its own part, and the record's share of that part."""
    for i in range(n_records):
        pool.own[i] = pool.sums[pool.part[i], i]
        pool.shares[i] = 1.0 / pool.sizes[pool.part[i]]


@kernel(borrows=True)
def _move(pool, n_records, n_parts, k, x, most):
    """Move a record to each part in turn that changes the loss by less than ``most``."""
    part, sums, sizes, within, losses = pool.part, pool.sums, pool.sizes, pool.within, pool.losses
    is_changed = False
    a = part[x]
    left = (within[a] - sums[a, x]) / (sizes[a] - 1) - losses[a] if sizes[a] > k else 0.0
    for b in range(n_parts):
        if sizes[a] <= k:
            break
        change = left + ((within[b] + sums[b, x]) / (sizes[b] + 1) - losses[b])
        if a == b or not change < most:
            continue
        is_changed = True
        within[a] -= sums[a, x]
        within[b] += sums[b, x]
        sizes[a] -= 1
        sizes[b] += 1
        losses[a], losses[b] = within[a] / sizes[a], within[b] / sizes[b]
        part[x] = b
        distances, of_left, of_joined = pool.apart[x, :n_records], sums[a], sums[b]
        for i in range(n_records):
            of_left[i] -= distances[i]
            of_joined[i] += distances[i]
        _note_own(pool, n_records)
        a = b
        left = (within[a] - sums[a, x]) / (sizes[a] - 1) - losses[a]
    return is_changed


@kernel(borrows=True)
def _exchange(pool, n_records, n_parts, x, most):
    """Exchange a record for each one before it that changes the loss by less than ``most``."""
    part, sums, within, losses = pool.part, pool.sums, pool.within, pool.losses
    is_changed = False
    y = _find_exchange(pool, n_parts, x, 0, most)
    while y < x:
        is_changed = True
        a, b = part[x], part[y]
        within[a] += sums[a, y] - sums[a, x] - pool.apart[x, y]
        within[b] += sums[b, x] - sums[b, y] - pool.apart[x, y]
        losses[a], losses[b] = within[a] / pool.sizes[a], within[b] / pool.sizes[b]
        part[x], part[y] = b, a
        of_x, of_y = pool.apart[x, :n_records], pool.apart[y, :n_records]
        of_a, of_b = sums[a], sums[b]
        for i in range(n_records):
            moved = of_x[i] - of_y[i]
            of_a[i] -= moved
            of_b[i] += moved
        _note_own(pool, n_records)
        y = _find_exchange(pool, n_parts, x, y + 1, most)
    return is_changed


@kernel(borrows=True)
def _find_exchange(pool, n_parts, x, first, most):
    """The first record y, of those from ``first`` on, to exchange x for; x if there is none."""
    a, to_parts, changes = pool.part[x], pool.to_parts, pool.changes
    for p in range(n_parts):
        to_parts[p] = pool.sums[p, x]
    share, of_x, n_others = 1.0 / pool.sizes[a], to_parts[a], x - first
    to_parts[a] = np.inf  # no exchange within a part
    part, own, shares = pool.part[first:x], pool.own[first:x], pool.shares[first:x]
    distances, to_a = pool.apart[x, first:x], pool.sums[a, first:x]
    # Loops apart, so that all but the first and the last take several records at a time.
    for i in range(n_others):
        changes[i] = to_parts[part[i]]
    for i in range(n_others):
        of_a = to_a[i] - of_x - distances[i]
        of_b = changes[i] - own[i] - distances[i]
        changes[i] = of_a * share + of_b * shares[i]
    n_found = 0
    for i in range(n_others):
        n_found += changes[i] < most
    for i in range(n_others if n_found else 0):
        if changes[i] < most:
            return first + i
    return x
