"""Values of the records of generalised classes, as who has only the release would take them.

Records are spread evenly over what their class may be: an interval, a set, or what a node of the
taxonomy covers. Their order is that of a Kronecker sequence, another one for each column, so that
the columns of a class do not move together; nothing is drawn.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tclose.data.category_trees import CategoryTree
from tclose.data.keys import Encoding, Keys
from tclose.data.taxonomy import taxonomy_of
from tclose.methods.generalisation.generalise import Generalised
from tclose.methods.generalisation.intervals import EVERYTHING
from tclose.methods.generalisation.notation import parse_set, quote_text, spell_keys
from tclose.model.array_types import Float64, Int64

_MOST_WHOLE = np.nextafter(2.0**63, 0)  # ends are floats, and the next one is no int64


def spread_values(
    encoding: Encoding, generalised: Generalised, sizes: Int64, column: int
) -> tuple[Keys, NDArray[np.bool_]]:
    """A value of each record, and whether its class has but this one: (n,) each, class by class.

    Parameters
    ----------
    sizes : records of the classes, int64 (c,)
    column : the number of the column
    """
    steps = _step(sizes, column)
    if encoding.is_nominal:
        return _spread_categories(encoding, generalised, sizes, steps)
    low, high = generalised.low.repeat(sizes), generalised.high.repeat(sizes)
    alone = low == high
    if encoding.has_float_keys:
        return low + (high - low) * steps, alone
    first, last = _to_whole(low), _to_whole(high)
    width = (last - first).astype(np.float64) + 1  # of unsigned integers, which no range exceeds
    return (first + (width * steps).astype(np.uint64)).astype(np.int64), alone


def _to_whole(ends: Keys) -> NDArray[np.uint64]:
    """Ends of intervals modulo 2**64; floats beyond what an integer holds are moved into it."""
    if ends.dtype != np.int64:
        ends = np.clip(ends, -(2.0**63), _MOST_WHOLE).astype(np.int64)
    return ends.astype(np.uint64)


def _step(sizes: Int64, column: int) -> Float64:
    """Place each record in its class's range, 0 to 1 in equal steps: float64 (n,)."""
    starts = np.cumsum(sizes) - sizes
    steps = np.empty(int(sizes.sum()))
    for size in np.unique(sizes).tolist():
        places = np.arange(size)
        order = np.argsort((places * sqrt(_irrational_square(column))) % 1.0)
        of_class = np.empty(size)
        of_class[order] = (places + 0.5) / size
        steps[starts[sizes == size, np.newaxis] + places] = of_class
    return steps


def _irrational_square(column: int) -> int:
    """A number whose root is irrational, another one for each column: 2, 5, 10, 17, ..."""
    return (column + 1) ** 2 + 1


def _spread_categories(
    encoding: Encoding, generalised: Generalised, sizes: Int64, steps: Float64
) -> tuple[Int64, NDArray[np.bool_]]:
    texts, of_class = np.unique(generalised.texts, return_inverse=True)
    covered = _list_covered(encoding, [str(text) for text in texts])
    return _place_evenly(covered, of_class.repeat(sizes), steps)


def spread_groups(tree: CategoryTree, released: Keys, sizes: Int64, column: int) -> Int64:
    """A value of each record of classes that release nodes of a taxonomy: int64 (n,).

    Parameters
    ----------
    released : categories of the classes, int64 (c,): values, or nodes above them
    sizes : records of the classes, int64 (c,)
    column : the number of the column
    """
    nodes, of_class = np.unique(released.astype(np.int64), return_inverse=True)
    below = tree.list_below()
    covered = [below[node] for node in nodes.tolist()]
    return _place_evenly(covered, of_class.repeat(sizes), _step(sizes, column))[0]


def _place_evenly(
    covered: list[Int64], of_record: Int64, steps: Float64
) -> tuple[Int64, NDArray[np.bool_]]:
    """A category of each record's group by its place in it, and whether the group has but one."""
    n_covered = np.array([len(values) for values in covered])
    first = np.cumsum(n_covered) - n_covered
    place = first[of_record] + (steps * n_covered[of_record]).astype(np.int64)
    return np.concatenate(covered)[place], (n_covered == 1)[of_record]


def _list_covered(encoding: Encoding, texts: list[str]) -> list[Int64]:
    """Categories that each released text covers: of a value, a node, a set or everything."""
    every = np.arange(len(encoding.texts))
    values = spell_keys(encoding, every)
    covered = {EVERYTHING: every} | _list_nodes(encoding)
    covered |= {text: every[i : i + 1] for i, text in enumerate(values)}
    place_of = {parse_set(text)[0]: i for i, text in enumerate(values)}
    return [
        covered[text]
        if text in covered
        else np.array([place_of[value] for value in parse_set(text)], dtype=np.int64)
        for text in texts
    ]


def _list_nodes(encoding: Encoding) -> dict[str, Int64]:
    """Categories below each node of the taxonomy, by its name as it is released."""
    rows = encoding.column.attribute.taxonomy
    if not rows:
        return {}
    taxonomy = taxonomy_of(rows)
    nodes = taxonomy.levels[:, taxonomy.encode(encoding.texts, encoding.column.name)]
    return {
        quote_text(taxonomy.name(node)): np.flatnonzero((nodes == node).any(axis=0))
        for node in np.unique(nodes).tolist()
    }
