"""A confidential attribute and its buckets, which classes are made by, and released as."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tclose.data.keys import Encoding
from tclose.methods.generalisation.notation import spell_keys
from tclose.model.array_types import Int64
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.privacy.bucket_cuts import BucketCut, cut_buckets, name_buckets


@dataclass(frozen=True, eq=False)
class Bucketing:
    """The buckets of an attribute's values.

    ``source``: encodes the values; ``released``: decodes the buckets, an ordinal attribute of b
    texts; ``of_code`` int64 (m,): bucket of each value; ``sizes`` int64 (b,): records of each;
    ``ratio``: the t that classes are held to in them (Domingo-Ferrer and Soria-Comas 2015,
    Definition 4); ``n_requested``: the buckets that were asked for, of which some may be one.
    """

    source: Encoding
    released: Encoding
    of_code: Int64
    sizes: Int64
    ratio: Fraction
    n_requested: int


def bucketize(
    encoding: Encoding, distribution: Distribution, n_buckets: int, ratio: Fraction
) -> Bucketing:
    """The buckets of an attribute, at most as many as its equal values allow.

    The ends of the table are left open: its smallest and largest value are often one person's.
    """
    cut = cut_buckets(distribution, n_buckets)
    names = tuple(_name(encoding, distribution, cut))
    column = encoding.column
    attribute = replace(
        column.attribute, kind=Kind.ORDINAL, order=names, distance=None, taxonomy=()
    )
    places = np.arange(len(names))
    released = Encoding(
        replace(column, attribute=attribute, kind=Kind.ORDINAL, type=pa.string()),
        0,
        len(names) - 1,
        pa.array(names),
        places,
        places,
    )
    return Bucketing(encoding, released, cut.of_code, cut.sizes, ratio, n_buckets)


def _name(encoding: Encoding, distribution: Distribution, cut: BucketCut) -> list[str]:
    """Intervals of ordered values; of nominal ones the set of those in a bucket, or one alone."""
    keys = distribution.values
    if encoding.column.kind is not Kind.NOMINAL:
        return name_buckets(cut, lambda code: spell_keys(encoding, keys[[code]])[0])
    spelled = spell_keys(encoding, np.arange(keys.size))
    inside = [np.flatnonzero(cut.of_code == b) for b in range(cut.sizes.size)]
    listed = [", ".join(spelled[c] for c in codes) for codes in inside]
    return [
        "{" + text + "}" if codes.size > 1 else text
        for text, codes in zip(listed, inside, strict=True)
    ]
