"""Quasi-identifiers as kernels take them: numbers in ranges, categories as codes with a weight."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tclose.data.category_trees import code_levels
from tclose.data.keys import Encoding, Keys
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import ANCESTOR
from tclose.model.column_terms import Scale

# In times a column's weight, what a search counts that a record differs where all of its class lose
# by it: a single stray of k records costs k times what it does by itself, each of several less, and
# where classes cannot share a value it is all in vain. By twelve times some tables lose far less,
# and others more.
FAVOUR = 3.0


@dataclass(frozen=True, eq=False)
class Scaled:
    """Quasi-identifiers of n records; their squared distance is a sum over all columns.

    ``numeric`` float64 (d, n): each on its scale, by default divided by its range (ordinal: by its
    ranks), times the root of its weight. ``nominal`` int32
    (q, n): codes; a plain attribute is one column, one with a taxonomy of height H is H adjacent
    ones, its nodes at the levels 0 to H-1. ``n_levels``: more than any code, at least 1.
    ``weights`` float64 (q,): what it counts that a nominal column differs, its weight or 1/H of it;
    ``heights`` int64 (q,): H, or 1 of a plain one. ``ranges`` float64 (d,): what numbers are
    divided by to be lost as by their range, or by ranks where that is the scale, 0 of one value;
    None if all are 1. ``released`` float64 (q,): weights as losses of a release are told; None if
    they are ``weights``.
    ``is_whole`` bool (q,): whether a class releases the lowest node above all of its values, so
    that at each level all of its records lose or none; None if no column is.
    """

    numeric: Float64
    nominal: NDArray[np.int32]
    n_levels: int
    weights: Float64
    heights: Int64
    ranges: Float64 | None = None
    released: Float64 | None = None
    is_whole: NDArray[np.bool_] | None = None


def scale_columns(encodings: list[Encoding], keys: list[Keys]) -> Scaled:
    """Original or released keys (n,) of each quasi-identifier as kernels take them.

    Shares of what one class loses are in units of `find_unit`. A released node of a taxonomy has
    the code -1 at the levels lower than it, which no value has: it is at its own height, divided by
    H, from every value below it.
    """
    n_records = keys[0].size
    pairs = list(zip(encodings, keys, strict=True))
    unit = find_unit(encodings)
    numeric = [e.scale(k) * sqrt(unit * e.weight) for e, k in pairs if not e.is_nominal]
    ranges = [_measure_range(encoding) for encoding in encodings if not encoding.is_nominal]
    nominal: list[NDArray[np.int32]] = []
    weights, released, levels = [np.empty(0)], [np.empty(0)], [1]
    heights, is_whole = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
    for encoding, column in pairs:
        if not encoding.is_nominal:
            continue
        codes = code_levels(encoding)
        nominal.extend(codes[:, column.astype(np.int64)])
        height = codes.shape[0]
        weights.append(np.full(height, unit * encoding.weight / height))
        lost = encoding.table_loss
        of_release = 1.0 if lost is None else lost.on_scale / lost.by_range
        released.append(weights[-1] * of_release)
        heights.append(np.full(height, height))
        is_whole.append(np.full(height, encoding.column.aggregate == ANCESTOR))
        levels.append(int(codes.max(initial=0)) + 1)
    return Scaled(
        np.array(numeric, dtype=np.float64).reshape(len(numeric), n_records),
        np.array(nominal, dtype=np.int32).reshape(len(nominal), n_records),
        max(levels),
        np.concatenate(weights),
        np.concatenate(heights),
        np.array(ranges),
        np.concatenate(released),
        np.concatenate(is_whole),
    )


def scale_for_search(encodings: list[Encoding], keys: list[Keys]) -> Scaled:
    """The keys as by `scale_columns`, weighed as by `favour_wholes`."""
    return favour_wholes(scale_columns(encodings, keys))


def favour_wholes(scaled: Scaled) -> Scaled:
    """The same as searches weigh them: columns of which all records of a class lose count more.

    Other weights are lowered by as much, as none may be more than the policy's (see `find_unit`).
    """
    if scaled.is_whole is None or not scaled.is_whole.any():
        return scaled
    ranges = np.ones(scaled.numeric.shape[0]) if scaled.ranges is None else scaled.ranges
    return replace(
        scaled,
        numeric=scaled.numeric / sqrt(FAVOUR),
        weights=np.where(scaled.is_whole, scaled.weights, scaled.weights / FAVOUR),
        ranges=ranges / sqrt(FAVOUR),
        released=scaled.weights if scaled.released is None else scaled.released,
    )


def find_unit(encodings: Sequence[Encoding]) -> float:
    """The weight of a share of what one class loses: the least of these losses, 1 if none counts.

    So no weight is more than the policy's: a search gives up any loss for what a limit is exceeded
    by, which has a price.
    """
    return min((e.table_loss.on_scale for e in encodings if e.table_loss is not None), default=1.0)


def find_shares_lost(encodings: Sequence[Encoding], losses: Iterable[float]) -> dict[str, float]:
    """Losses, by eq. (5), as shares of what one class loses, by column; only where these count."""
    return {
        encoding.column.name: float(lost) / encoding.table_loss.by_range
        for encoding, lost in zip(encodings, losses, strict=True)
        if encoding.table_loss is not None
    }


def _measure_range(encoding: Encoding) -> float:
    """The length of the range on the scale; in shares of one class, beside what is lost by it.

    Ranks are no multiples of the values: what is lost by them is compared as it is.
    """
    low, high = encoding.scale(np.array([encoding.low, encoding.high]))
    if encoding.by.kind is Scale.RANK:
        return float(high > low)
    lost = encoding.table_loss
    return float(high - low) * (1.0 if lost is None else sqrt(lost.by_range / lost.on_scale))


def take_scaled(scaled: Scaled, rows: Int64) -> Scaled:
    """Some records, by their rows."""
    numeric, nominal = scaled.numeric[:, rows], scaled.nominal[:, rows]
    return replace(
        scaled, numeric=np.ascontiguousarray(numeric), nominal=np.ascontiguousarray(nominal)
    )
