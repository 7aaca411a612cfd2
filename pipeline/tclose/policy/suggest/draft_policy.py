"""The draft of a policy: what a sample of the input suggests, with the reasons."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.keys import is_text
from tclose.model.column_terms import Kind, Role
from tclose.policy.suggest.column_profile import ColumnProfile, profile_column
from tclose.policy.suggest.column_words import DAYS, drop_accents, find_word
from tclose.policy.suggest.doubtful_values import (
    describe_centuries,
    describe_exponents,
    describe_garbled,
    describe_placeholders,
    describe_refused,
)
from tclose.policy.suggest.input_sample import InputSample, read_sample
from tclose.policy.suggest.scales import order_values
from tclose.policy.suggest.spellings import Spellings, find_spellings
from tclose.policy.suggest.suggest_roles import (
    MUCH_MISSING,
    Suggestion,
    describe_spread,
    suggest_centre,
    suggest_prefixes,
    suggest_roles,
)
from tclose.security.redaction import redact_place

_MANY_CATEGORIES = 100
_SENTINELS = (-9, -99, -999, -9999, 99, 999, 9999, 99999)


@dataclass(frozen=True, eq=False)
class Draft:
    """Suggestions for an input, and what somebody should look at.

    ``orders``: values of ordinal columns; ``dropped``: share of the sample's records that have a
    gap in a column that may have none; ``notes``: sentences, those of a column begin with its name.
    """

    sample: InputSample
    spellings: Spellings
    suggestions: tuple[Suggestion, ...]
    orders: dict[str, tuple[str, ...]]
    dropped: float
    notes: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """A name for the release, from the input's."""
        stem = PurePosixPath(redact_place(self.sample.path).rstrip("/")).name
        stem = stem.rpartition(".")[0] or stem
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", drop_accents(stem))
        return plain.strip("._-")[:100] or "release"

    def of_role(self, role: Role) -> tuple[Suggestion, ...]:
        """The columns that have a role suggested."""
        return tuple(s for s in self.suggestions if s.role is role)

    def kind_of(self, suggestion: Suggestion) -> Kind | None:
        """The type that the policy declares."""
        return _kind_of(suggestion, self.orders)


def _kind_of(suggestion: Suggestion, orders: Mapping[str, tuple[str, ...]]) -> Kind | None:
    return Kind.ORDINAL if suggestion.profile.name in orders else suggestion.profile.kind


def draft_policy(path: str) -> Draft:
    """Read a sample of an input and suggest a policy for it.

    Raises
    ------
    DataError
        The input cannot be read, has no header or no records.
    """
    sample = read_sample(path)
    table = sample.table
    spellings = Spellings()
    if sample.dialect is not None:
        spellings = find_spellings(table, sample.dialect.delimiter)
    profiles = [_profile(name, sample, spellings) for name in sample.names]
    suggestions = suggest_roles(profiles)
    orders: dict[str, tuple[str, ...]] = {}
    for suggestion in suggestions:
        name = suggestion.profile.name
        if suggestion.role is Role.QUASI_IDENTIFIER and is_text(table[name].type):
            order = order_values(suggestion.profile, _without(table[name], spellings.tokens))
            orders |= {name: order} if order else {}
    needed = [
        s
        for s in suggestions
        if s.role is not Role.IDENTIFIER and suggest_centre(s, _kind_of(s, orders)) is None
    ]
    dropped = _share_with_gaps(table, needed, spellings.tokens)
    notes = tuple(_find_notes(suggestions, spellings, table))
    return Draft(sample, spellings, suggestions, orders, dropped, notes)


def _profile(name: str, sample: InputSample, spellings: Spellings) -> ColumnProfile:
    if name not in sample.table.column_names:
        n_records = len(sample.table)
        return ColumnProfile(name, None, n_records, n_records, n_records)
    tokens = spellings.tokens
    return profile_column(name, sample.table[name], spellings.of(name), tokens)


def _without(column: pa.ChunkedArray, tokens: tuple[str, ...]) -> pa.ChunkedArray:
    is_token = pc.is_in(column, value_set=pa.array(tokens, column.type))
    return pc.if_else(is_token, pa.scalar(None, column.type), column)


def _share_with_gaps(
    table: pa.Table, needed: Sequence[Suggestion], tokens: tuple[str, ...]
) -> float:
    """Share of the records with a gap in a column that needs a value."""
    gaps = None
    for suggestion in needed:
        column = table[suggestion.profile.name]
        if is_text(column.type):
            column = _without(column, tokens)
        missing = column.is_null()
        gaps = missing if gaps is None else pc.or_(gaps, missing)
    return 0.0 if gaps is None else float(pc.mean(gaps.cast(pa.int8())).as_py() or 0.0)


def _find_notes(
    suggestions: tuple[Suggestion, ...], spellings: Spellings, table: pa.Table
) -> Iterator[str]:
    """Sentences on what a run would go wrong by or what would cost much, one for a column."""
    for suggestion in suggestions:
        name = suggestion.profile.name
        notes = _notes_of_spelling(suggestion, spellings)
        if suggestion.role is not Role.IDENTIFIER:
            notes += _notes_of(suggestion, table[name])
        if notes:
            yield f"{name}: {'; '.join(notes)}"


def _notes_of_spelling(suggestion: Suggestion, spellings: Spellings) -> list[str]:
    """What of a column's spelling may have made its role, or that of another column."""
    profile, notes = suggestion.profile, []
    if suggestion.repeats > 1:
        notes.append(
            f"a value has {suggestion.repeats:.1f} records on average, and k counts records: "
            "if it says whose a record is, give it the role person, and k counts persons"
        )
    if profile.name in spellings.ambiguous:
        notes.append(f"{spellings.ambiguous[profile.name]}; check which is right")
    if profile.has_blanks:
        notes.append(
            "numbers or dates with blanks before or after them, which are read as texts: take "
            "the blanks out of the data, and say its type"
        )
    if profile.has_signs:
        notes.append(
            "numbers with plus or percent signs, units or brackets, which are read as texts: take "
            "them out of the data, and say its type"
        )
    if profile.has_mixed_dates:
        notes.append(
            "texts that look like dates, of no one format: write all in one, months as numbers, "
            "and say its type"
        )
    if profile.has_times:
        notes.append(
            "texts that look like times of day, or durations: write numbers of hours or minutes, "
            "or date and time together, and say its type"
        )
    if _may_be_days(suggestion):
        notes.append(
            "numbers that may be days as spreadsheets have them (45658 is 2025-01-01): if so, "
            "write dates in the data"
        )
    if profile.has_mixed_marks:
        notes.append(
            "numbers, some with a decimal comma and some with a point, which are read as texts: "
            "write all with one mark, and say its type"
        )
    if profile.n_alike and (suggestion.role is not Role.IDENTIFIER or suggestion.repeats > 1):
        notes.append(
            f"{profile.n_alike:,} of {profile.n_distinct:,} values differ from another one in "
            "capitals or blanks alone: write those that mean the same alike"
        )
    return notes


def _may_be_days(suggestion: Suggestion) -> bool:
    """Return whether numbers of a range with few other uses are no identifier for sure."""
    profile = suggestion.profile
    if profile.kind is not Kind.NUMERIC or not profile.may_be_days:
        return False
    is_left_out = suggestion.role is Role.IDENTIFIER and "name:" not in suggestion.reason
    is_day = find_word(profile.name, DAYS) is not None
    return is_day or (is_left_out and not profile.is_sequence)


def _notes_of(suggestion: Suggestion, column: pa.ChunkedArray) -> list[str]:
    profile = suggestion.profile
    notes = [
        *describe_refused(profile, column),
        *describe_centuries(profile, column),
        *describe_placeholders(profile, column),
        *describe_exponents(profile, column),
        *describe_garbled(profile, column),
    ]
    if profile.n_odd:
        notes.append(
            f"numbers or dates but for {profile.n_odd:,} of {profile.n_present:,} texts: correct "
            "these, or name them in input.missing_values, and say its type"
        )
    if profile.missing > MUCH_MISSING:
        notes.append(f"{profile.missing:.0%} of the records have no value and are dropped")
    is_wide = profile.kind is Kind.NOMINAL and profile.n_distinct > _MANY_CATEGORIES
    is_wide = is_wide and not suggest_prefixes(suggestion)
    if is_wide and suggestion.role is Role.QUASI_IDENTIFIER:
        notes.append(
            f"of {profile.n_distinct:,} categories a class keeps one: give it a taxonomy, or make "
            "it an identifier"
        )
    if _has_sentinel(profile, column):
        notes.append(
            "its outermost number may stand for a missing value: if so, name it in "
            "input.missing_values"
        )
    return notes + (describe_spread(profile) if suggestion.role is Role.CONFIDENTIAL else [])


def _has_sentinel(profile: ColumnProfile, column: pa.ChunkedArray) -> bool:
    """Return whether a number of nines stands away from all others, more than once."""
    if profile.kind is not Kind.NUMERIC or not is_text(column.type):
        return False
    texts = pc.unique(column.drop_null())
    nines = [str(n) for n in _SENTINELS if pc.any(pc.equal(texts, str(n))).as_py()]
    if not nines:
        return False
    whole = texts.filter(pc.match_substring_regex(texts, r"^-?\d{1,9}$")).cast(pa.int64())
    numbers = sorted(whole.to_pylist())
    low, high = str(numbers[0]), str(numbers[-1])
    is_far_above = len(numbers) > 2 and high in nines and numbers[-1] > 1.5 * abs(numbers[-2])
    return is_far_above or (low in nines and len(numbers) > 1 and numbers[1] >= 0)
