"""Record-linkage risk of a released table: how often its nearest records give a person away.

Domingo-Ferrer and Torra, *A quantitative comparison of disclosure control methods for microdata*
(2001): the intruder has the original quasi-identifiers and takes the nearest released record.
Where several are equally near, all records of a class among them, he picks one at random.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tclose.data.key_rows import find_distinct
from tclose.data.keys import Encoding, Keys
from tclose.kernels.record_linkage import count_candidates
from tclose.methods.scaling import scale_columns
from tclose.model.array_types import Float64, Int64


def measure_linkage(
    originals: pa.Table, own: Int64, released: pa.Table, encodings: Sequence[Encoding]
) -> float:
    """Share of the original records that are linked to their own released record, as expected.

    The mean over the originals of 1 / (released records at the least distance) where the record's
    own is among these, else of 0. Classes have at least k records, so it is at most 1/k.

    Parameters
    ----------
    originals : the quasi-identifiers of the records that the intruder knows, without nulls
    own : int64 (originals,): the row of ``released`` that each of them became
    released : the quasi-identifiers of all records as they are released
    encodings : of the quasi-identifiers, by whose scales and weights distances are
    """
    names = [encoding.column.name for encoding in encodings]
    known = [e.encode(joined(originals, n)) for e, n in zip(encodings, names, strict=True)]
    rows = [released_keys(e, joined(released, n)) for e, n in zip(encodings, names, strict=True)]
    points, point_of, sizes = find_points(rows)
    original = scale_columns(list(encodings), known)
    point = scale_columns(list(encodings), points)
    counts = count_candidates(
        original.numeric, original.nominal, original.weights, point_of[own],
        point.numeric, point.nominal, sizes,
    )  # fmt: skip
    return float(np.sum(1.0 / counts[counts > 0])) / own.size


def joined(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    return table[name].combine_chunks()


def released_keys(encoding: Encoding, values: pa.Array) -> Keys:
    """Keys of released values on the scale of the original ones, fractions among them."""
    if encoding.categories is not None or encoding.release_type == encoding.type:
        return encoding.encode(values)
    keys: Float64 = values.to_numpy(zero_copy_only=False).astype(np.float64)
    return keys * 10.0**encoding.type.scale if pa.types.is_decimal(encoding.type) else keys


def find_points(rows: Sequence[Keys]) -> tuple[list[Keys], Int64, Int64]:
    """Distinct released combinations: their keys, which one each row has, and how many rows."""
    keys, point_of = find_distinct(rows)
    return keys, point_of, np.bincount(point_of)
