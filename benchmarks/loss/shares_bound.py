"""A bound from below on what classes lose whose values keep their shares.

Given are the classes, and of each the values that its records have, with what the class loses by
releasing each. Chosen is one value of each class, so that the records released of all values are
apart from those wanted by a total variation of at most ``APART``. For any number y of each value

    sum over classes of min over its values v of (loss of v + size * y_v)
        - sum over values of y_v * wanted_v - (largest y - smallest y) * allowed

is no more than what any such choice loses, where ``allowed`` records may be of other values than
are wanted: the dual of the linear programme in which a class may release several values in part.
"""

import numpy as np

from tclose.kernels.apportion import Apportionment
from tclose.model.array_types import Float64, Int64
from tclose.passes.microaggregate.shares.representatives import Representatives

APART = 0.005
N_STEPS = 2_000
FIRST_STEP = 0.2


def bound_loss(column: Representatives) -> float:
    """What the classes lose at least, in records: the largest of the dual's values found.

    The dual is climbed along its subgradients.
    """
    classes, wanted = column.classes, column.wanted
    losses = classes.costs / column.unit
    allowed = APART * wanted.sum()
    numbers, best = np.zeros(wanted.size), 0.0
    for step in range(N_STEPS):
        least, chosen = _choose(classes, losses, numbers)
        top, bottom = int(np.argmax(numbers)), int(np.argmin(numbers))
        span = numbers[top] - numbers[bottom]
        best = max(best, least - float(numbers @ wanted) - span * allowed)
        slope = np.bincount(classes.values[chosen], classes.sizes, wanted.size) - wanted
        slope[top] -= allowed
        slope[bottom] += allowed
        numbers += FIRST_STEP / np.sqrt(1 + step) * slope / max(np.abs(slope).max(), 1.0)
    return best


def _choose(classes: Apportionment, losses: Float64, numbers: Float64) -> tuple[float, Int64]:
    """The least of each class's losses with those numbers, summed, and the entries that have it."""
    sizes = np.repeat(classes.sizes, np.diff(classes.starts))
    priced = losses + sizes * numbers[classes.values]
    least = np.minimum.reduceat(priced, classes.starts[:-1])
    has_least = np.flatnonzero(priced == np.repeat(least, np.diff(classes.starts)))
    _, first = np.unique(classes.class_of[has_least], return_index=True)
    return float(least.sum()), has_least[first]
