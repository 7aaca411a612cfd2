"""Records without a value of a quasi-identifier, which count in no aggregate of their class.

They are clustered by the centre of the column. What their class releases is the aggregate of the
records that have a value; only where none of them has one it is that of all, which is the centre.
"""

from dataclasses import dataclass

import numpy as np

from tclose.model.array_types import Bools, Int64


@dataclass(frozen=True, eq=False)
class Gaps:
    """Flags of the records of a region that lack a value of a quasi-identifier.

    ``lacking``: of each quasi-identifier bool (n,), None where no record lacks it; none at all
    where no record lacks any.
    """

    lacking: tuple[Bools | None, ...] = ()

    def find_known(self, place: int, order: Int64) -> Bools | slice:
        """Find the records that have the quasi-identifier at a place: bool (m,), or all of them."""
        lacking = self.lacking[place] if self.lacking else None
        return slice(None) if lacking is None else ~lacking[order]

    def find_complete(self, order: Int64) -> Bools | slice:
        """Find the records that have every quasi-identifier: bool (m,), or all of them."""
        known = [lacking for lacking in self.lacking if lacking is not None]
        return ~np.logical_or.reduce(known)[order] if known else slice(None)

    def keep_known(self, place: int, by_class: tuple[Int64, Int64]) -> tuple[Int64, Int64]:
        """The records of each class that its aggregate is of, in their order.

        Parameters
        ----------
        by_class : ``order`` and ``starts`` of the classes: those of class i are
            ``order[starts[i]:starts[i + 1]]``
        """
        order, starts = by_class
        known = self.find_known(place, order)
        if isinstance(known, slice):
            return by_class
        sizes = np.diff(starts)
        class_of = np.repeat(np.arange(sizes.size), sizes)
        n_known = np.bincount(class_of[known], minlength=sizes.size)
        is_kept = known | (n_known == 0)[class_of]
        ends = np.cumsum(np.where(n_known == 0, sizes, n_known))
        return order[is_kept], np.concatenate([np.zeros(1, np.int64), ends])

    def select(self, rows: Int64) -> "Gaps":
        """The same of some records."""
        return Gaps(tuple(None if one is None else one[rows] for one in self.lacking))


NO_GAPS = Gaps()
