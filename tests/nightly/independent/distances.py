"""Earth mover's distances by their definitions, as fractions.

Li, Li and Venkatasubramanian, *t-Closeness* (ICDE 2007), section 5: ordered (5.1), equal and
hierarchical (5.2).
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

Tree = tuple[str, tuple["Tree", ...]]


def ordered(members: Iterable[Any], table: Iterable[Any], places: Sequence[Any]) -> Fraction:
    """Work of moving shares along the values, which are ascending in ``places``.

    The sum of the differences up to each; multiplied by both numbers of records, a sum of integers.
    """
    inside, whole = Counter(members), Counter(table)
    if len(places) < 2:
        return Fraction(0)
    size, total, surplus, work = inside.total(), whole.total(), 0, 0
    for value in places:
        surplus += inside[value] * total - whole[value] * size
        work += abs(surplus)
    return Fraction(work, size * total * (len(places) - 1))


def equal(members: Iterable[Hashable], table: Iterable[Hashable]) -> Fraction:
    """Half the sum of the differences of shares."""
    inside, whole = Counter(members), Counter(table)
    size, total = inside.total(), whole.total()
    work = sum(abs(inside[v] * total - whole[v] * size) for v in inside.keys() | whole.keys())
    return Fraction(work, 2 * size * total)


def hierarchical(members: Iterable[str], table: Iterable[str], tree: Tree) -> Fraction:
    """Each node moves what its children have too much to those that have too little."""
    inside, whole = Counter(members), Counter(table)
    size, total, top = inside.total(), whole.total(), height(tree)

    def visit(node: Tree) -> tuple[Fraction, Fraction]:
        name, children = node
        if not children:
            return Fraction(inside[name], size) - Fraction(whole[name], total), Fraction(0)
        found = [visit(child) for child in children]
        more = sum((extra for extra, _ in found if extra > 0), Fraction(0))
        less = sum((-extra for extra, _ in found if extra < 0), Fraction(0))
        below = sum((work for _, work in found), Fraction(0))
        return more - less, below + Fraction(height(node), top) * min(more, less)

    return visit(tree)[1]


def read_tree(document: Any) -> Tree:
    """A taxonomy as nested keys and lists."""
    if isinstance(document, dict):
        ((name, below),) = document.items()
        children = below if isinstance(below, list) else [{n: b} for n, b in below.items()]
        return str(name), tuple(read_tree(child) for child in children)
    return str(document), ()


def height(tree: Tree) -> int:
    """Steps to the deepest leaf."""
    return 1 + max(map(height, tree[1])) if tree[1] else 0


def path_to(tree: Tree, leaf: str) -> list[str]:
    """Names from the root to a leaf; none where it is not there."""
    name, children = tree
    if not children:
        return [name] if name == leaf else []
    for child in children:
        below = path_to(child, leaf)
        if below:
            return [name, *below]
    return []


def lowest_above(tree: Tree, leaves: Iterable[str]) -> str:
    """The lowest node above all of these values, or the value itself."""
    paths = [path_to(tree, leaf) for leaf in set(leaves)]
    common = [names[0] for names in zip(*paths, strict=False) if len(set(names)) == 1]
    return str(common[-1])
