"""Slow, obvious twins: trees as nested tuples, distances and generalisation by their definitions.

A tree is a leaf's name, or ``(name, children)``. Li et al. 2007: *t-Closeness*.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

Tree = str | tuple[str, list["Tree"]]
Counted = Sequence[str] | Mapping[str, int]


@st.composite
def trees(draw: st.DrawFn, max_depth: int = 4) -> Tree:
    """Trees with a root and branches of any length, nodes of a single child among them."""
    numbers = iter(range(10**6))

    def grow(depth: int) -> Tree:
        number = next(numbers)
        if depth == max_depth or (depth and draw(st.booleans())):
            return f"v{number}"
        return f"g{number}", [grow(depth + 1) for _ in range(draw(st.integers(1, 3)))]

    return grow(0)


def to_document(tree: Tree) -> object:
    """The tree as it is written in YAML."""
    if isinstance(tree, str):
        return tree
    name, children = tree
    return {name: [to_document(child) for child in children]}


def to_rows(tree: Tree, above: tuple[str, ...] = ()) -> list[list[str]]:
    """The tree as it is written in CSV."""
    if isinstance(tree, str):
        return [[tree, *above]]
    return [row for child in tree[1] for row in to_rows(child, (tree[0], *above))]


def leaves(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else [x for child in tree[1] for x in leaves(child)]


def height(tree: Tree) -> int:
    return 0 if isinstance(tree, str) else 1 + max(height(child) for child in tree[1])


def name_of(tree: Tree) -> str:
    return tree if isinstance(tree, str) else tree[0]


def ancestors(tree: Tree, leaf: str) -> list[Tree]:
    """Subtrees that hold a leaf, the whole tree first, the leaf last."""
    if isinstance(tree, str):
        return [tree]
    below = next(child for child in tree[1] if leaf in leaves(child))
    return [tree, *ancestors(below, leaf)]


def generalised(tree: Tree, leaf: str, level: int) -> str:
    """The highest subtree around the leaf that is no higher than the level."""
    return name_of(next(node for node in ancestors(tree, leaf) if height(node) <= level))


def lowest_common(tree: Tree, a: str, b: str) -> Tree:
    return [node for node in ancestors(tree, a) if b in leaves(node)][-1]


def distance(tree: Tree, a: str, b: str) -> Fraction:
    """Li et al. 2007, section 5.2: level(v1, v2) / H."""
    return Fraction(height(lowest_common(tree, a, b)), height(tree))


def shares(values: Counted) -> dict[str, Fraction]:
    counts = Counter(values)
    return {value: Fraction(n, counts.total()) for value, n in counts.items()}


def hierarchical_emd(tree: Tree, members: Counted, table: Counted) -> Fraction:
    """The sum over inner nodes of height/H * min(pos_extra, neg_extra).

    Li et al. 2007, section 5.2.
    """
    p, q = shares(members), shares(table)
    whole = height(tree)

    def visit(node: Tree) -> tuple[Fraction, Fraction]:
        """Extra of a node, and the costs in it and below."""
        if isinstance(node, str):
            return p.get(node, Fraction(0)) - q.get(node, Fraction(0)), Fraction(0)
        visited = [visit(child) for child in node[1]]
        positive = sum((extra for extra, _ in visited if extra > 0), Fraction(0))
        negative = sum((-extra for extra, _ in visited if extra < 0), Fraction(0))
        cost = Fraction(height(node), whole) * min(positive, negative)
        return positive - negative, cost + sum(below for _, below in visited)

    return visit(tree)[1]


def equal_emd(members: Counted, table: Counted) -> Fraction:
    """Li et al. 2007, section 5.2: half the sum of |p - q|."""
    p, q = shares(members), shares(table)
    return sum((abs(p.get(value, 0) - share) for value, share in q.items()), Fraction(0)) / 2


def transport(members: Counted, table: Counted, ground: Callable[[str, str], Fraction]) -> float:
    """Least work that turns one distribution into the other, by linear programming."""
    p, q = shares(members), shares(table)
    a, b = sorted(p), sorted(q)
    costs = [float(ground(x, y)) for x in a for y in b]
    flows = np.zeros((len(a) + len(b), len(costs)))
    for i, j in product(range(len(a)), range(len(b))):
        flows[i, i * len(b) + j] = flows[len(a) + j, i * len(b) + j] = 1
    totals = [float(p[x]) for x in a] + [float(q[y]) for y in b]
    return float(linprog(costs, A_eq=flows, b_eq=totals).fun)


def minimal_generalisations(
    codes: np.ndarray, tables: Sequence[np.ndarray], holds: Callable[[list[list[int]]], bool]
) -> list[tuple[int, ...]]:
    """Nodes whose classes hold while those of no less general node do: every node is looked at."""
    nodes = list(product(*(range(len(table)) for table in tables)))
    good = [node for node in nodes if holds(classes_at(codes, tables, node))]
    return [
        node
        for node in good
        if not any(
            other != node and all(a <= b for a, b in zip(other, node, strict=True))
            for other in good
        )
    ]


def classes_at(
    codes: np.ndarray, tables: Sequence[np.ndarray], node: Sequence[int]
) -> list[list[int]]:
    """Records that share all generalised values, class by class."""
    found: dict[tuple[int, ...], list[int]] = {}
    for record in range(codes.shape[1]):
        key = tuple(
            int(table[level][column[record]])
            for table, level, column in zip(tables, node, codes, strict=True)
        )
        found.setdefault(key, []).append(record)
    return list(found.values())
