"""Links of persons to published classes by quasi-identifiers: the nearest class, or all that cover.

Every record is compared with every class, some records at a time.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.assess.covering import find_covered
from tclose.assess.linkage import joined, released_keys
from tclose.assess.over_time.other_notations import find_other_covered, read_other_ends
from tclose.data.keys import Encoding, Keys, widen_decimals
from tclose.kernels.record_linkage import SAME_DISTANCE
from tclose.methods.generalisation.notation import Texts, read_ends
from tclose.methods.scaling import Scaled, scale_columns
from tclose.model.array_types import Int64

_PAIRS_AT_ONCE = 1 << 21


def link_nearest(originals: pa.Table, classes: pa.Table, encodings: Sequence[Encoding]) -> Int64:
    """The class whose released quasi-identifiers are nearest to each original record: int64 (n,).

    Distances as in `count_candidates`; of several classes at the least distance, up to rounding,
    the first.

    Parameters
    ----------
    originals : the quasi-identifiers of the records that the intruder knows, without nulls
    classes : the quasi-identifiers of each class as they are released
    encodings : of the quasi-identifiers
    """
    names = [encoding.column.name for encoding in encodings]
    known = [e.encode(joined(originals, n)) for e, n in zip(encodings, names, strict=True)]
    rows = [released_keys(e, joined(classes, n)) for e, n in zip(encodings, names, strict=True)]
    records, points = scale_columns(list(encodings), known), scale_columns(list(encodings), rows)
    return find_nearest_points(records, points)


def find_nearest_points(records: Scaled, points: Scaled) -> Int64:
    """The point nearest to each record, of several the first: int64 (n,)."""
    n_records, n_points = records.numeric.shape[1], points.numeric.shape[1]
    return np.concatenate(
        [_find_nearest(records, points, piece) for piece in _cut(n_records, n_points)]
    )


def _find_nearest(records: Scaled, points: Scaled, piece: slice) -> Int64:
    squares = np.zeros((piece.stop - piece.start, points.numeric.shape[1]))
    for codes, others, weight in zip(records.nominal, points.nominal, records.weights, strict=True):
        squares += weight * (codes[piece, None] != others[None, :])
    for numbers, others in zip(records.numeric, points.numeric, strict=True):
        differences = numbers[piece, None] - others[None, :]
        squares += differences * differences
    least = np.sqrt(squares.min(axis=1)) + SAME_DISTANCE
    nearest: Int64 = np.argmax(squares <= (least * least)[:, None], axis=1)
    return nearest


def find_covering(
    originals: pa.Table, classes: pa.Table, encodings: Sequence[Encoding], *, is_foreign: bool
) -> tuple[Int64, Int64]:
    """The classes that have all values of each record: offsets (n + 1,), and classes, ascending.

    Parameters
    ----------
    originals, encodings : as of `link_nearest`
    classes : the quasi-identifiers of each class as they are released, as texts
    is_foreign : by another tool, see `other_notations`

    Raises
    ------
    DataError
        Texts that are in no notation, or not of the attribute's values.
    """
    readers = (find_other_covered, read_other_ends) if is_foreign else (find_covered, read_ends)
    columns = [_Cover(e, originals, classes, *readers) for e in encodings]
    counts, covering_classes = [], []
    for piece in _cut(len(originals), len(classes)):
        is_covered = np.ones((piece.stop - piece.start, len(classes)), dtype=bool)
        for column in columns:
            is_covered &= column.covers(piece)
        counts.append(is_covered.sum(axis=1))
        covering_classes.append(np.nonzero(is_covered)[1])
    offsets = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
    return offsets, np.concatenate(covering_classes)


class _Cover:
    """A quasi-identifier: keys of the records, and the keys that each class stands for."""

    def __init__(
        self,
        encoding: Encoding,
        originals: pa.Table,
        classes: pa.Table,
        find_values: Callable[[Encoding, list[str]], NDArray[np.bool_]],
        find_ends: Callable[[Encoding, Texts], tuple[Keys, Keys]],
    ) -> None:
        name = encoding.column.name
        self.keys = encoding.encode(joined(originals, name))
        listed = widen_decimals(joined(classes, name)).dictionary_encode()
        texts = [str(text) for text in listed.dictionary.to_pylist()]
        codes = listed.indices.to_numpy(zero_copy_only=False)
        self.table: NDArray[np.bool_] | None = None
        if encoding.is_nominal:
            self.table = find_values(encoding, texts)[codes]
        else:
            low, high = find_ends(encoding, np.array(texts, dtype=np.str_))
            self.low, self.high = low[codes], high[codes]

    def covers(self, piece: slice) -> NDArray[np.bool_]:
        """Tell of each class if it has each record's value: bool (records, classes)."""
        keys = self.keys[piece]
        if self.table is not None:
            return self.table.T[keys.astype(np.int64)]
        inside: NDArray[np.bool_] = (self.low <= keys[:, None]) & (keys[:, None] <= self.high)
        return inside


def _cut(n_records: int, n_classes: int) -> Iterator[slice]:
    """Records to compare with all classes at a time."""
    size = max(1, _PAIRS_AT_ONCE // max(1, n_classes))
    for start in range(0, n_records, size):
        yield slice(start, min(start + size, n_records))
