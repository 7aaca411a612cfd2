"""Slow, obvious twins of Mondrian and SABRE: one class, one record, one fraction at a time."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from support.naive import naive_kernels as naive

Rows = list[int]
Step = Callable[[int, int], Fraction]  # distance of two values


def mondrian(
    columns: Sequence[Sequence[float]], rows: Rows, holds: Callable[[Rows], bool]
) -> list[Rows]:
    """Classes, those of lower halves first: LeFevre et al. (ICDE 2006), strict, by recursion."""

    def span(column: Sequence[float]) -> float:
        inside = [column[i] for i in rows]
        return max(inside) - min(inside)

    for column in sorted(columns, key=span, reverse=True):  # stable: of equal ones the first
        ranked = sorted(column[i] for i in rows)
        median = ranked[(len(rows) - 1) // 2]
        upto = [i for i in rows if column[i] <= median], [i for i in rows if column[i] > median]
        below = [i for i in rows if column[i] < median], [i for i in rows if column[i] >= median]
        for halves in sorted([upto, below], key=lambda pair: abs(len(pair[0]) - len(pair[1]))):
            if all(halves) and all(holds(half) for half in halves):
                return [rows for half in halves for rows in mondrian(columns, half, holds)]
    return [rows]


def worst_within(counts: Sequence[int], bucket: Sequence[int], step: Step) -> Fraction:
    """The most that a class of the bucket's values can be away from it: all have one of them."""
    total = sum(counts[v] for v in bucket)

    def work(to: int) -> Fraction:
        return sum((Fraction(counts[v], total) * step(v, to) for v in bucket), Fraction(0))

    return max(map(work, bucket))


def ordered_buckets(counts: Sequence[int], max_emd: Fraction) -> list[list[int]]:
    """Cut the range and place that lowers the sum of shares times worst distances most."""
    n_steps = max(len(counts) - 1, 1)

    def cost(bucket: Sequence[int]) -> Fraction:
        share = Fraction(sum(counts[v] for v in bucket), sum(counts))
        return share * worst_within(counts, bucket, lambda a, b: Fraction(abs(a - b), n_steps))

    buckets = [list(range(len(counts)))]
    while sum(map(cost, buckets)) > max_emd:
        cuts = [(bucket, at) for bucket in buckets for at in range(1, len(bucket))]
        bucket, at = min(
            cuts, key=lambda c: (cost(c[0][: c[1]]) + cost(c[0][c[1] :]) - cost(c[0]), c[0][0])
        )
        place = buckets.index(bucket)
        buckets[place : place + 1] = [bucket[:at], bucket[at:]]
    return buckets


def share_out(
    sizes: Sequence[int], k: int, fits: Callable[[Sequence[int]], bool]
) -> list[list[int]]:
    """Leaves of the tree that halves the buckets' sizes, by recursion."""
    lower, total, given = [], 0, 0
    for size in sizes:
        total += size
        lower.append(total // 2 - given)
        given = total // 2
    upper = [size - half for size, half in zip(sizes, lower, strict=True)]
    if all(sum(half) >= k and fits(half) for half in (lower, upper)):
        return [*share_out(lower, k, fits), *share_out(upper, k, fits)]
    return [list(sizes)]


def draw(
    points: Sequence[naive.Point],
    buckets: Sequence[int],
    seeds: Rows,
    taken: Sequence[Sequence[int]],
) -> list[int]:
    """Class of each record: the first seed left, and the nearest records of each bucket to it."""
    left, labels = set(seeds), [-1] * len(seeds)
    for label, of_class in enumerate(taken):
        seed = next(i for i in seeds if i in left and of_class[buckets[i]] > 0)
        for bucket, n_taken in enumerate(of_class):
            inside = [i for i in left if buckets[i] == bucket]
            inside.sort(key=lambda i: (naive.distance(*points[i], *points[seed]), i))
            for i in inside[:n_taken]:
                labels[i] = label
                left.remove(i)
    return labels


def equal_emd(members: Sequence[int], table: Sequence[int]) -> Fraction:
    """Half the sum of the differences: Li et al. 2007, section 5.2."""
    return (
        sum(
            (
                abs(
                    Fraction(members.count(v), len(members))
                    - Fraction(list(table).count(v), len(table))
                )
                for v in set(table)
            ),
            Fraction(0),
        )
        / 2
    )


def hierarchical_emd(
    members: Sequence[int], table: Sequence[int], ancestors: Sequence[Sequence[int]]
) -> Fraction:
    """Sum over inner nodes of height/H * min(positive extra, negative extra) of its children.

    Li et al. 2007.

    Section 5.2; ``ancestors`` are the nodes of each value, level by level from the values up.
    """
    values = sorted(set(table))
    extra = {
        v: Fraction(members.count(v), len(members)) - Fraction(list(table).count(v), len(table))
        for v in values
    }
    height, cost = len(ancestors) - 1, Fraction(0)
    for level in range(1, height + 1):
        for node in {ancestors[level][v] for v in values}:
            below = [v for v in values if ancestors[level][v] == node]
            children = {ancestors[level - 1][v] for v in below}
            extras = [
                sum(extra[v] for v in below if ancestors[level - 1][v] == child)
                for child in children
            ]
            positive = sum(e for e in extras if e > 0)
            negative = -sum(e for e in extras if e < 0)
            cost += Fraction(level, height) * min(positive, negative)
    return cost
