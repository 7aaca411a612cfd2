"""Generalised values of classes for their quasi-identifiers, and the loss of generalising them.

Numbers, dates and ordinal values become the interval from a class's smallest value to its largest,
"[low, high]"; nominal ones the set of its values, "{a, b}", or the lowest node of a taxonomy that
covers them. A value that all records of a class share is itself the text. Texts that could be
mistaken for such notation (with a comma, a bracket, a quote, blanks around) are quoted as in JSON.

Records of class i are ``order[starts[i]:starts[i + 1]]``; no class is empty.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Encoding, Keys
from tclose.data.taxonomy import taxonomy_of
from tclose.methods.generalisation.notation import Texts, quote_text, spell_keys
from tclose.model.array_types import Float64, Int64


@dataclass(frozen=True, eq=False)
class Ancestors:
    """A taxonomy of a nominal attribute, level by level, the lowest first.

    ``nodes`` int64 (levels, n_values): node of each category; ``names``: those of each level's
    nodes, as the policy spells them: objects (u,) each.
    """

    nodes: Int64
    names: tuple[NDArray[np.object_], ...]


def ancestors_of(encoding: Encoding) -> Ancestors | None:
    """The taxonomy of a nominal attribute over its categories; None where it has none."""
    rows = encoding.column.attribute.taxonomy
    if not rows or not encoding.is_nominal:
        return None
    taxonomy = taxonomy_of(rows)
    leaves = taxonomy.encode(encoding.texts, encoding.column.name)
    nodes, names = [], []
    for level in range(1, taxonomy.height + 1):
        of_level, dense = np.unique(taxonomy.levels[level][leaves], return_inverse=True)
        nodes.append(dense)
        names.append(np.array([taxonomy.name(int(node)) for node in of_level], dtype=object))
    return Ancestors(np.array(nodes), tuple(names))


@dataclass(frozen=True, eq=False)
class Generalised:
    """The generalised values of classes for one quasi-identifier, and their losses; all (c,).

    ``texts``; ``low`` and ``high``: smallest and largest key of each class; ``spans`` float64: the
    normalised certainty penalty, 0 for one value and 1 for all. That is the interval's share of the
    attribute's range; for nominal ones (values covered - 1) / (values - 1), a node of a taxonomy
    covering all values below it.
    """

    texts: Texts
    low: Keys
    high: Keys
    spans: Float64

    @property
    def middles(self) -> Float64:
        """Middle of each interval, float64 (c,)."""
        return np.asarray(self.low + (self.high - self.low) / 2, dtype=np.float64)


def generalise_column(
    encoding: Encoding, keys: Keys, order: Int64, starts: Int64, ancestors: Ancestors | None = None
) -> Generalised:
    """Generalise one quasi-identifier of each class.

    Parameters
    ----------
    keys : int64 or float64 (n,), by ``encoding``
    ancestors : of a nominal attribute, where it has a taxonomy; where no node covers a class's
        values, they are released as a set
    """
    low, high = find_ends(keys, order, starts)
    if encoding.is_nominal:
        texts, spans = _cover_values(encoding, keys.astype(np.int64), order, starts, ancestors)
        return Generalised(texts, low, high, spans)
    lows, highs = spell_keys(encoding, low), spell_keys(encoding, high)
    both = [a if a == b else f"[{a}, {b}]" for a, b in zip(lows, highs, strict=True)]
    span = float(encoding.high - encoding.low)
    spans = (high - low) / span if span else np.zeros(low.size)
    return Generalised(np.array(both, dtype=np.str_), low, high, spans)


def find_ends(keys: Keys, order: Int64, starts: Int64) -> tuple[Keys, Keys]:
    """Smallest and largest key of each class: (c,) each."""
    members = keys[order]
    return np.minimum.reduceat(members, starts[:-1]), np.maximum.reduceat(members, starts[:-1])


def measure_generalisation(
    encoding: Encoding, keys: Keys, starts: Int64, generalised: Generalised
) -> Float64:
    """Squared normalised differences of records to what they are released as: float64 (n,).

    To the middle of an interval, divided by the attribute's range; comparable to the loss of
    Soria-Comas et al. 2015, eq. (5). A nominal value has no middle: it loses the squared span of
    its class. ``keys``: class by class.
    """
    sizes = np.diff(starts)
    if encoding.is_nominal:
        return (generalised.spans**2).repeat(sizes)
    span = float(encoding.high - encoding.low)
    if span == 0:
        return np.zeros(keys.size)
    low = generalised.low
    from_low = keys - low.repeat(sizes)
    difference = (from_low - ((generalised.high - low) / 2).repeat(sizes)) / span
    squares: Float64 = difference * difference
    return squares


def _cover_values(
    encoding: Encoding, codes: Int64, order: Int64, starts: Int64, ancestors: Ancestors | None
) -> tuple[Texts, Float64]:
    """Texts of a nominal attribute's classes and their spans: a value, a node or a set."""
    assert encoding.categories is not None
    n_values, n_classes = len(encoding.categories), starts.size - 1
    of_class = np.repeat(np.arange(n_classes), np.diff(starts))
    pairs = np.unique(of_class * n_values + codes[order])
    values, covered = pairs % n_values, np.bincount(pairs // n_values, minlength=n_classes)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(covered)])
    names = spell_keys(encoding, np.arange(n_values))
    texts = np.array([names[i] for i in values[ends[:-1]].tolist()], dtype=object)
    is_open = covered > 1
    if ancestors is not None:
        is_open, covered = _cover_by_nodes(ancestors, values, ends, (texts, covered))
    for c in np.flatnonzero(is_open).tolist():
        inside = values[ends[c] : ends[c + 1]].tolist()
        texts[c] = "{" + ", ".join(names[i] for i in inside) + "}"
    return texts.astype(np.str_), (covered - 1) / max(n_values - 1, 1)


def _cover_by_nodes(
    ancestors: Ancestors, values: Int64, ends: Int64, sets: tuple[NDArray[np.object_], Int64]
) -> tuple[NDArray[np.bool_], Int64]:
    """Enter the lowest node above all values of each class with several; which have none, too."""
    texts, covered = sets[0], sets[1].copy()
    is_open = covered > 1
    for nodes, names in zip(ancestors.nodes, ancestors.names, strict=True):
        low = np.minimum.reduceat(nodes[values], ends[:-1])
        meets = is_open & (low == np.maximum.reduceat(nodes[values], ends[:-1]))
        texts[meets] = np.array([quote_text(name) for name in names], dtype=object)[low[meets]]
        covered[meets] = np.bincount(nodes)[low[meets]]
        is_open &= ~meets
    return is_open, covered
