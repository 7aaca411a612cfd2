"""Centres that classes of a series release: decided as in the release before.

A class whose records are as they were is to be released as it was, byte for byte, whatever other
records there are by now. The table decides three things of it otherwise: which category wins a tie,
as the commoner one does; whether tails are heavy, so that a number is released as the lower median;
and the order in which floats are added. So a register keeps the first two, categories as keyed
hashes, and means are sums in the order of the values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tclose.data.keys import Encoding
from tclose.passes.compare.keyed_hashes import derive_key
from tclose.passes.compare.record_digests import hash_values
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.releases.series.register_file import Centre


def describe_centres(encodings: Sequence[Encoding], key: bytes) -> tuple[Centre, ...]:
    """Describe for a register what a release's classes release of each quasi-identifier.

    Parameters
    ----------
    key : of the persons' hashes
    """
    return tuple(
        Centre(encoding.column.name, encoding.column.attribute.aggregate, _rank(encoding, key))
        for encoding in encodings
    )


def keep_centres(
    encodings: Sequence[Encoding],
    before: Sequence[Centre],
    asked: Mapping[str, AttributeSettings],
    key: bytes,
) -> tuple[Encoding, ...]:
    """The encodings of a series' release; what the policy names is as it says.

    Parameters
    ----------
    before : of the release before; none of the first, or of one whose register has none
    asked : the policy's attributes by their names
    """
    centres = {centre.name: centre for centre in before}
    series_encodings = []
    for own in encodings:
        encoding, name = replace(own, sums_in_order=True), own.column.name
        if name in centres and encoding.priority is not None:
            encoding = replace(encoding, priority=_keep_order(encoding, centres[name].order, key))
        elif name in centres and asked[name].aggregate is None:
            attribute = replace(encoding.column.attribute, aggregate=centres[name].aggregate)
            encoding = replace(encoding, column=replace(encoding.column, attribute=attribute))
        series_encodings.append(encoding)
    return tuple(series_encodings)


def _keep_order(encoding: Encoding, order: Sequence[str], key: bytes) -> np.ndarray:
    """Rank the categories for ties: those of the release before in its order, then others."""
    place = {category: i for i, category in enumerate(order)}
    places = np.array([place.get(one, len(place)) for one in _hash_categories(encoding, key)])
    assert encoding.priority is not None
    priority = np.empty_like(encoding.priority)
    priority[np.lexsort((encoding.priority, places))] = np.arange(priority.size)
    return priority


def _rank(encoding: Encoding, key: bytes) -> tuple[str, ...]:
    if encoding.priority is None:
        return ()
    hashes = _hash_categories(encoding, key)
    return tuple(hashes[i] for i in np.argsort(encoding.priority))


def _hash_categories(encoding: Encoding, key: bytes) -> list[str]:
    """Keyed hashes of the categories, 64 bits each: rare ones are nobody's to read."""
    purpose = f"category {encoding.column.name}"
    texts = pa.array(encoding.texts, pa.string())
    hashes = hash_values(texts, encoding.column.name, derive_key(key, purpose), as_values=True)
    return [f"{word:016x}" for word in hashes[:, 0].tolist()]
