"""The role that each column is suggested for, and why; whatever could name a person is left out."""

from collections.abc import Sequence
from dataclasses import dataclass

from tclose.model.column_terms import Kind, Role
from tclose.policy.suggest.column_profile import ColumnProfile
from tclose.policy.suggest.column_words import (
    CONFIDENTIAL,
    KNOWN,
    NAMES_OF_THINGS,
    NUMBERED,
    PERSON,
    find_word,
    split_name,
    weighs_records,
)

MOST_CONFIDENTIAL = 3
_FREE_WORDS = 4.0  # in a text, from which it is free
_NEARLY_ALL = 0.9
_MANY = 0.5
_HEAVY_TIES = 0.6
_STRONG_SKEW = 3.0
_FEW_ROWS = 20  # of a person, on average
_UNKNOWN_TEXTS = 50
MUCH_MISSING = 0.05  # above which a value for all of them would change a column
_CODE_LENGTHS = (4, 8)  # of codes that begin with what groups them, such as postcodes


@dataclass(frozen=True)
class Suggestion:
    """A column's suggested role and the reason for it.

    ``repeats``: records of one value, on average, where the column numbers persons.
    """

    profile: ColumnProfile
    role: Role
    reason: str
    repeats: float = 0.0


def suggest_roles(profiles: Sequence[ColumnProfile]) -> tuple[Suggestion, ...]:
    """Suggest a role for every column; at least one quasi-identifier where any column is left."""
    first = [_suggest(profile) for profile in profiles]
    return tuple(_balance(first))


def _suggest(profile: ColumnProfile) -> Suggestion:
    left_out = _find_identifier(profile)
    if left_out is not None:
        is_number = left_out.startswith("numbers persons")
        repeats = profile.n_present / profile.n_distinct if is_number else 0.0
        return Suggestion(profile, Role.IDENTIFIER, left_out, repeats)
    known, secret = find_word(profile.name, KNOWN), find_word(profile.name, CONFIDENTIAL)
    if known is not None and (secret is None or split_name(profile.name)[-1:] == (known,)):
        return Suggestion(profile, Role.QUASI_IDENTIFIER, f"others may know it (name: {known})")
    if secret is not None:
        return Suggestion(profile, Role.CONFIDENTIAL, f"may be secret (name: {secret})")
    return Suggestion(
        profile, Role.QUASI_IDENTIFIER, "no sign of a secret, so taken as known to others"
    )


def _find_identifier(profile: ColumnProfile) -> str | None:
    """Return why a column should not be read at all; None if it may be."""
    if profile.kind is None:
        return "a type that no release holds"
    if profile.n_distinct <= 1:
        return "one value or none: it tells nothing"
    if profile.pattern is not None:
        return f"{profile.pattern}"
    person = find_word(profile.name, PERSON)
    if person is not None and not _names_a_thing(profile, person):
        return f"names or reaches a person (name: {person})"
    if not profile.name.strip() or profile.name == "__null_dask_index__":
        return "has no name, which a released column needs"
    if weighs_records(profile.name):
        return "a sampling weight: many of them single a record out"
    return _find_number(profile) or (_find_text(profile) if profile.kind is Kind.NOMINAL else None)


def _names_a_thing(profile: ColumnProfile, word: str) -> bool:
    """Return whether it is the name of a country, say, and there are few."""
    words = set(split_name(profile.name))
    return word in ("name", "nom", "nombre", "nome") and bool(words & set(NAMES_OF_THINGS.split()))


def _find_number(profile: ColumnProfile) -> str | None:
    """Return why the column seems to number records or persons; None if it does not."""
    if profile.kind not in (Kind.NUMERIC, Kind.NOMINAL):
        return None
    is_whole = profile.is_integer or profile.kind is Kind.NOMINAL
    numbered = find_word(profile.name, NUMBERED)
    is_known = find_word(profile.name, CONFIDENTIAL) or find_word(profile.name, KNOWN)
    if is_whole and numbered and profile.distinct > _NEARLY_ALL:
        return f"numbers records: nearly every one has its own (name: {numbered})"
    if is_whole and profile.is_sequence and profile.distinct > _NEARLY_ALL:
        return "counts the records"
    if is_whole and numbered and profile.distinct * _FEW_ROWS > 1 and not is_known:
        return f"numbers persons, who have several records (name: {numbered})"
    is_own = profile.is_even and profile.distinct == 1 and profile.n_present >= _UNKNOWN_TEXTS
    if is_own and not is_known:
        return "every record has its own whole number, spread as numbers are that are given out"
    is_drawn = profile.is_even or not profile.is_integer
    is_long = profile.has_one_length and profile.n_distinct > _UNKNOWN_TEXTS and not is_known
    is_long = is_long and is_drawn
    if is_whole and is_long and profile.distinct * _FEW_ROWS > 1:
        return "numbers persons or things: many values of one length"
    return None


def _find_text(profile: ColumnProfile) -> str | None:
    """Return why texts may say who somebody is; None if they are categories."""
    if profile.n_words >= _FREE_WORDS and profile.n_distinct > _UNKNOWN_TEXTS:
        return "free text, in which there may be names"
    if profile.distinct > _MANY and profile.n_distinct > _UNKNOWN_TEXTS / 2:
        return "most records have a text of their own"
    if profile.is_faulty or find_word(profile.name, KNOWN):
        return None
    many = profile.n_distinct > _UNKNOWN_TEXTS and profile.distinct * _FEW_ROWS > 1
    return "many different texts, which may be names" if many else None


def _balance(suggested: list[Suggestion]) -> list[Suggestion]:
    """Leave few confidential columns, and of every table some of both roles."""
    secret = [s for s in suggested if s.role is Role.CONFIDENTIAL]
    secret.sort(key=lambda s: max(s.profile.mode, _HEAVY_TIES))
    known = [s for s in suggested if s.role is Role.QUASI_IDENTIFIER]
    if not secret and len(known) > 1:
        numbers = [s for s in known if _may_be_measured(s)]
        chosen = max(numbers, key=lambda s: s.profile.n_distinct, default=known[-1])
        why = "no name says what is secret; this column has the most to tell"
        return _replace(suggested, [chosen], Role.CONFIDENTIAL, why)
    n_most = min(MOST_CONFIDENTIAL, len(secret) if known else max(len(secret) - 1, 0))
    why = f"may be secret too, but a release holds few columns to t: {n_most} are chosen"
    return _replace(suggested, secret[n_most:], Role.QUASI_IDENTIFIER, why)


def _may_be_measured(suggestion: Suggestion) -> bool:
    profile = suggestion.profile
    is_own = profile.is_integer and profile.distinct == 1
    return profile.kind is Kind.NUMERIC and not is_own and "name:" not in suggestion.reason


def _replace(
    suggested: list[Suggestion], chosen: list[Suggestion], role: Role, reason: str
) -> list[Suggestion]:
    return [Suggestion(s.profile, role, reason) if s in chosen else s for s in suggested]


def suggest_prefixes(suggestion: Suggestion) -> tuple[int, ...]:
    """Numbers of characters that codes of one length are grouped by; none of other values."""
    profile = suggestion.profile
    if suggestion.role is not Role.QUASI_IDENTIFIER or profile.kind is not Kind.NOMINAL:
        return ()
    shortest, longest = _CODE_LENGTHS
    has_length = shortest <= profile.length <= longest and profile.n_words <= 1
    is_code = profile.is_padded or profile.is_integer or profile.n_distinct > _UNKNOWN_TEXTS
    has_many = profile.n_distinct > _FEW_ROWS
    return tuple(range(2, profile.length - 1)) if has_length and is_code and has_many else ()


def suggest_centre(suggestion: Suggestion, kind: Kind | None) -> str | None:
    """The centre that few missing values may get, by the type that is declared; None for others.

    Without one these records are left out, and with them their other values.
    """
    profile = suggestion.profile
    if suggestion.role is not Role.QUASI_IDENTIFIER or not 0 < profile.missing <= MUCH_MISSING:
        return None
    if profile.is_faulty:  # no category, but numbers or dates that are still to be corrected
        return None
    return "mode" if kind in (Kind.NOMINAL, Kind.BOOLEAN) else "median"


def describe_spread(profile: ColumnProfile) -> list[str]:
    """Tell in words and shares why a confidential column's values make closeness dear."""
    notes = []
    if profile.mode > _HEAVY_TIES:
        notes.append(f"{profile.mode:.0%} of the records share one value")
    if profile.kind is Kind.NUMERIC and abs(profile.skew) > _STRONG_SKEW:
        notes.append("few values are far from all others")
    if profile.kind is Kind.NUMERIC and profile.distinct > _NEARLY_ALL:
        notes.append("nearly all values differ: who knows one finds its record")
    return notes
