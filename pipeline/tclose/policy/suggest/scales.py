"""The order of a scale's values, where they show it themselves."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from tclose.model.column_terms import Kind
from tclose.policy.suggest.column_profile import ColumnProfile

_SHORTEST, _LONGEST = 3, 25
_RARE = 10  # records of a value, below which it is not written down
_SCALES = (
    ("very low", "low", "medium", "moderate", "high", "very high"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("xxs", "xs", "s", "m", "l", "xl", "xxl"),
    ("minor", "moderate", "major", "extreme"),
    ("none", "mild", "moderate", "severe", "critical"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("nie", "selten", "manchmal", "oft", "immer"),
    ("sehr niedrig", "niedrig", "gering", "mittel", "hoch", "sehr hoch"),
    ("faible", "moyen", "eleve"),
    ("bajo", "medio", "alto"),
)
_BAND = re.compile(r"[<>≤≥]?=? ?\d+( ?[-\u2013] ?\d+|\+| ?(to|bis) ?\d+)?( \w+)?")


def order_values(profile: ColumnProfile, column: pa.ChunkedArray) -> tuple[str, ...]:
    """Values of a scale in their order; empty where no order shows, or where a value is rare.

    Bands of numbers (18-24, 25-34, 65+) and scales of small, known words are ordered.
    """
    if profile.kind is not Kind.NOMINAL or not _SHORTEST <= profile.n_distinct <= _LONGEST:
        return ()
    if profile.rarest < _RARE:
        return ()
    texts = [str(value) for value in pc.unique(column.drop_null()).to_pylist()]
    for scale in _SCALES:
        if all(text.lower() in scale for text in texts):
            return tuple(sorted(texts, key=lambda text: scale.index(text.lower())))
    if not all(_BAND.fullmatch(text.strip()) for text in texts):
        return ()
    if 2 * sum(not text.strip().isdigit() for text in texts) < len(texts):
        return ()  # numbers without ends are codes
    return tuple(sorted(texts, key=_band_start))


def _band_start(text: str) -> tuple[int, int]:
    number = re.search(r"\d+", text)
    below = -1 if text.strip()[:1] in "<≤" else int(text.strip()[:1] in ">≥")
    return (int(number.group()) if number else 0, below)
