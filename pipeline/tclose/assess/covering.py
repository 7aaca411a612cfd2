"""Record-linkage risk of a generalised table: among how many rows a known person could be.

The intruder of `linkage` has no values to be near to here: nearest, at distance 0, are the rows
whose intervals and sets have all of a person's values. He picks one of them at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from tclose.assess.linkage import find_points, joined
from tclose.data.keys import Encoding, Keys
from tclose.errors import DataError
from tclose.kernels.record_linkage import count_covering
from tclose.methods.generalisation.generalise import ancestors_of
from tclose.methods.generalisation.intervals import EVERYTHING
from tclose.methods.generalisation.notation import parse_set, read_ends, spell_keys
from tclose.model.array_types import Int64


def measure_covering(
    originals: pa.Table, released: pa.Table, encodings: Sequence[Encoding]
) -> float:
    """Share of the original records that are linked to their own released record, as expected.

    The mean over the originals of 1 / (released records that could be theirs); their own is one.

    Parameters
    ----------
    originals : the quasi-identifiers of the records that the intruder knows, without nulls
    released : the quasi-identifiers of all records as they are released, as texts
    encodings : of the quasi-identifiers
    """
    points = read_intervals(released, encodings)
    known = [e.encode(joined(originals, e.column.name)) for e in encodings]
    counts = count_covering(*stack_known(known, encodings), *points.arrays, points.sizes)
    return float(np.mean(1.0 / counts))


@dataclass(frozen=True, eq=False)
class Intervals:
    """Distinct released combinations, as `count_covering` takes them.

    ``arrays``: its ``lows``, ``highs``, ``texts`` and ``covers``; ``sizes`` int64 (c,): rows of
    each.
    """

    arrays: tuple[NDArray[Any], ...]
    sizes: Int64

    def take(self, points: Int64) -> tuple[NDArray[Any], ...]:
        """The arrays of some of the combinations, which ``points`` int64 (q,) are the places of."""
        *by_point, covers = self.arrays
        return *(np.ascontiguousarray(array[:, points]) for array in by_point), covers


def read_intervals(released: pa.Table, encodings: Sequence[Encoding]) -> Intervals:
    """Read the intervals and sets of generalised rows.

    Raises
    ------
    DataError
        As of `find_covered`.
    """
    columns = [joined(released, e.column.name).dictionary_encode() for e in encodings]
    codes = [_codes(column) for column in columns]
    points, _, sizes = find_points(codes)
    ordered = [j for j, encoding in enumerate(encodings) if not encoding.is_nominal]
    nominal = [j for j, encoding in enumerate(encodings) if encoding.is_nominal]
    texts = [np.array(column.dictionary.to_pylist(), dtype=np.str_) for column in columns]
    ends = {j: read_ends(encodings[j], texts[j]) for j in ordered}
    covers = [find_covered(encodings[j], texts[j].tolist()) for j in nominal]
    arrays = (
        _stack([low[points[j]] for j, (low, _) in ends.items()], np.float64, sizes.size),
        _stack([high[points[j]] for j, (_, high) in ends.items()], np.float64, sizes.size),
        _stack([points[j] for j in nominal], np.int64, sizes.size),
        _stack_tables(covers),
    )
    return Intervals(arrays, sizes)


def stack_known(
    known: Sequence[Keys], encodings: Sequence[Encoding]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keys of known records as `count_covering` takes them: float64 (d, n) and int64 (q, n)."""
    n_records = known[0].size
    pairs = list(zip(known, encodings, strict=True))
    return (
        _stack([keys for keys, e in pairs if not e.is_nominal], np.float64, n_records),
        _stack([keys for keys, e in pairs if e.is_nominal], np.int64, n_records),
    )


def find_covered(encoding: Encoding, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which values of a nominal attribute each text covers: bool (texts, values).

    Raises
    ------
    DataError
        Not texts of the attribute's values, sets of them, or nodes of its taxonomy.
    """
    by_name = values_by_name(encoding)
    covered = np.ones((len(texts), len(encoding.texts)), dtype=bool)
    try:
        for place, text in zip(covered, texts, strict=True):
            if text != EVERYTHING:
                place[:] = np.any([by_name[name] for name in parse_set(text)], axis=0)
    except KeyError:
        raise DataError(
            f"column {encoding.column.name!r}: a released value is none of the attribute's; audit "
            "the file with the policy it was made by"
        ) from None
    return covered


def values_by_name(encoding: Encoding) -> dict[str, NDArray[np.bool_]]:
    """Return the values that each value and taxonomy node covers: bool (values,)."""
    n_values = len(encoding.texts)
    names = [parse_set(text)[0] for text in spell_keys(encoding, np.arange(n_values))]
    by_name = dict(zip(names, np.eye(n_values, dtype=bool), strict=True))
    ancestors = ancestors_of(encoding)
    if ancestors is not None:
        for nodes, of_level in zip(ancestors.nodes, ancestors.names, strict=True):
            for node, name in enumerate(of_level.tolist()):
                by_name[name] = by_name.get(name, False) | (nodes == node)
    return by_name


def _codes(column: pa.DictionaryArray) -> Int64:
    return cast(Int64, column.indices.to_numpy(zero_copy_only=False).astype(np.int64))


def _stack(columns: list[Keys], dtype: DTypeLike, n_rows: int) -> NDArray[Any]:
    return np.array(columns, dtype=dtype).reshape(len(columns), n_rows)


def _stack_tables(covers: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Tables of texts and values as one: (tables, texts, values) of the largest."""
    shape = [max((table.shape[side] for table in covers), default=0) for side in (0, 1)]
    stacked = np.zeros((len(covers), *shape), dtype=bool)
    for table, place in zip(covers, stacked, strict=True):
        place[: table.shape[0], : table.shape[1]] = table
    return stacked
