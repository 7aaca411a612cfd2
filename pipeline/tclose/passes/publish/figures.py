"""The figures of a release's report: few, round, and of no value that few records have."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import floor, log10

import numpy as np
import pyarrow as pa

from tclose.data.keys import Encoding, Keys
from tclose.model.array_types import Float64, Int64
from tclose.model.column_terms import Kind, Role
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.analyses.untold_changes import Columns
from tclose.passes.plan.plan import Plan
from tclose.passes.publish.analysis import key_unit
from tclose.passes.verify.class_profiles import ClassProfile, DistanceProfile
from tclose.releases.manifest.figure_sections import (
    AttributeFigures,
    MeasuredChanges,
    ReleaseFigures,
    Shares,
)
from tclose.releases.manifest.internal_manifest import CorrelationPair, Utility
from tclose.releases.manifest.privacy_summary import three_digits

OTHERS = "other values"
MOST_LABELS = 14
MOST_CHANGES = 1_000  # records from which on changes are said: of few, a change tells of one record
_END = 0.02  # of the records are below the first round end, and above the last
_MOST_TEXT = 40
_WIDEST = 1e300
_NO_SECONDS = re.compile(r"(?<=:\d\d):00(\.0+)?$")  # of a moment
_INTEGERS = -(2.0**63), 2.0**63 - 1_024  # the least and the largest float64 that are int64
_LARGEST = 1e12  # times the span: ends beyond it are not told apart by floats


@dataclass(frozen=True, eq=False)
class ValueLabels:
    """Labels, and which of them each distinct value of a distribution has: int64 (m,)."""

    labels: Sequence[str]
    of_value: Int64

    def share(self, counts: Int64, codes: Int64 | None = None) -> Shares:
        """Shares of records, by label.

        Parameters
        ----------
        counts, codes : int64 (d,): records that have each value, and its position; of all values
            in their order without positions
        """
        labels = self.of_value if codes is None else self.of_value[codes]
        sums = np.bincount(labels, counts, len(self.labels))
        return Shares(labels=list(self.labels), shares=_shares(sums))


@dataclass(frozen=True, eq=False)
class RoundEnds:
    """Ends of ranges, ascending: as ``keys`` of values, and as ``numbers`` for people; (e,)."""

    keys: Keys
    numbers: Float64


def describe_figures(
    plan: Plan,
    profile: ClassProfile,
    distributions: Sequence[Distribution],
    utility: Utility,
    correlations: Mapping[str, CorrelationPair],
    untold: Collection[Columns],
) -> ReleaseFigures:
    """Describe what a report shows of a release, to three digits.

    Parameters
    ----------
    distributions : of the confidential attributes, as released
    correlations : before and after, by the names of two columns
    untold : columns, and pairs of them, of which no change is said: see `find_untold`
    """
    attributes = {}
    for encoding, distribution, distances in zip(
        plan.confidential, distributions, profile.distances, strict=True
    ):
        if not encoding.column.is_joint:
            grouping = group_values(encoding, distribution, plan.k)
            figures = _describe_attribute(grouping, distribution, distances)
            attributes[encoding.column.name] = figures
    changes = _describe_changes(plan, utility, correlations, untold)
    optional_keys = {} if changes is None else {"changes": changes}
    return ReleaseFigures(
        class_sizes=describe_class_sizes(profile.size_counts),
        attributes=attributes,
        **optional_keys,
    )


def _describe_attribute(
    grouping: ValueLabels, distribution: Distribution, distances: DistanceProfile
) -> AttributeFigures:
    codes, counts = distances.farthest
    return AttributeFigures(
        table=grouping.share(distribution.counts),
        farthest=grouping.share(counts, codes),
        farthest_records=int(counts.sum()),
        distances=_shares(distances.counts),
    )


def _shares(counts: np.ndarray) -> list[float]:
    total = counts.sum()
    return [three_digits(count / total) if total else 0.0 for count in counts.tolist()]


def group_values(encoding: Encoding, distribution: Distribution, k: int) -> ValueLabels:
    """Group the distinct values of a confidential attribute under few labels.

    Values that fewer than k records have are never named: numbers and dates of many values are cut
    at round ends, each end with a fiftieth of the records or more outside.
    """
    is_range = encoding.column.kind in (Kind.NUMERIC, Kind.DATE) and encoding.categories is None
    if is_range and not encoding.generalised and distribution.values.size > MOST_LABELS:
        ends = _round_ends(encoding, distribution, k)
        if ends is not None:
            return _group_ranges(encoding, distribution, ends)
    return _group_names(encoding, distribution, k)


def _group_names(encoding: Encoding, distribution: Distribution, k: int) -> ValueLabels:
    """The commonest values by their names, in the attribute's order; the rest together."""
    counts = distribution.counts
    commonest = np.argsort(-counts, kind="stable")[: MOST_LABELS - 1]
    named = commonest[counts[commonest] >= k]
    if not encoding.is_nominal:
        named = np.sort(named)
    labels = [name_value(value) for value in encoding.decode(distribution.values[named])]
    of_value = np.full(counts.size, len(labels))
    of_value[named] = np.arange(len(labels))
    return ValueLabels([*labels, OTHERS] if named.size < counts.size else labels, of_value)


def name_value(value: pa.Scalar) -> str:
    """The label of a value by itself."""
    return _shorten(_spell(value))


def _spell(value: pa.Scalar) -> str:
    """A value as Python writes it, or as `_spell_far` does."""
    try:
        return str(value.as_py())
    except (OverflowError, ValueError):
        return _spell_far(value)


def _spell_far(value: pa.Scalar) -> str:
    """A moment outside of the years 1 to 9999 as in ISO 8601, in UTC; a duration in its unit."""
    dtype, number = value.type, max(value.value, 1 - 2**63)  # the least is no time of numpy's
    if pa.types.is_duration(dtype):
        return f"{number:,} {dtype.unit}"
    if pa.types.is_date64(dtype):
        number //= 86_400_000
    moment = str(np.datetime64(number, "D" if pa.types.is_date(dtype) else dtype.unit))
    year, month, rest = moment.rsplit("-", 2)
    return f"{int(year):0{4 + year.startswith('-')}}-{month}-{rest}"


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}\u2026"


def _round_ends(encoding: Encoding, distribution: Distribution, k: int) -> RoundEnds | None:
    """Round ends of ranges of equal widths; None of values too large to be told apart there."""
    # no more than there are: an audit takes k from a manifest that says what it likes
    n_end = min(max(k, int(np.ceil(_END * distribution.n_records))), distribution.n_records)
    first = np.searchsorted(distribution.cumulative, n_end)
    last = np.searchsorted(distribution.cumulative, distribution.n_records - n_end)
    low, high = distribution.values[[first, max(first, last)]].tolist()
    unit = key_unit(encoding.type)
    if not high - low < _WIDEST or max(abs(low), abs(high)) > _LARGEST * (high - low):
        return None
    least = (high - low) / unit / (MOST_LABELS - 3)
    step = _round_step(least if encoding.has_float_keys else max(least, 1 / unit))
    numbers = np.arange(floor(low / unit / step), floor(high / unit / step) + 2)
    ends = _find_multiples(encoding, numbers, step)
    inside = (ends.keys > low) & (ends.keys <= high)
    if not inside.any():  # one value has nearly all records
        inside = np.arange(numbers.size) == numbers.size - 1
    return RoundEnds(ends.keys[inside], ends.numbers[inside])


def _find_multiples(encoding: Encoding, numbers: np.ndarray, step: float) -> RoundEnds:
    """Multiples of a round step as values have them: 7 times 0.2 is 1.4, which the product is not.

    A value at an end that was a hair above it would be in the range before.
    """
    is_part = 1e-300 < step < 1
    multiples = numbers / np.rint(1 / step) if is_part else numbers * step
    if not encoding.has_float_keys:
        floats = np.clip(np.rint(multiples * key_unit(encoding.type)), *_INTEGERS)
        keys = floats.astype(np.int64)
        return RoundEnds(keys, keys / key_unit(encoding.type))
    with np.errstate(over="ignore"):
        keys = multiples.astype(encoding.type.to_pandas_dtype()).astype(np.float64)
    return RoundEnds(keys, multiples)


def _group_ranges(encoding: Encoding, distribution: Distribution, ends: RoundEnds) -> ValueLabels:
    """Ranges between these ends, and one open range on either side."""
    texts = _spell_ends(encoding, ends)
    labels = [f"below {texts[0]}"]
    labels += [f"{a} to {b}" for a, b in pairwise(texts)]
    labels.append(f"{texts[-1]} or more")
    starts = np.searchsorted(distribution.values, ends.keys)
    n_values = np.diff(starts, prepend=0, append=distribution.values.size)
    return ValueLabels(labels, np.repeat(np.arange(len(labels)), n_values))


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below."""
    if not 0 < least < 1e300:
        return 1.0
    power = 10.0 ** floor(log10(least))
    return next((m * power for m in (1, 2, 5) if m * power >= least), 10 * power)


def _spell_ends(encoding: Encoding, ends: RoundEnds) -> list[str]:
    """Ends as texts that say where each is, and tell them apart."""
    if encoding.column.kind is Kind.DATE:
        return [_spell_moment(value) for value in encoding.decode_values(ends.keys)]
    numbers = ends.numbers.tolist()
    n_digits = next(n for n in range(10, 18) if n == 17 or _are_exact(numbers, n))
    if n_digits > 10:  # as many as there are before the point, lest powers of ten are written
        n_digits = min(17, max(n_digits, len(f"{max(map(abs, numbers)):.0f}")))
    return [f"{number:,.{n_digits}g}" for number in numbers]


def _are_exact(numbers: Sequence[float], n_digits: int) -> bool:
    """Return whether numbers are what they are written as with so many digits, but for rounding."""
    written = [float(f"{number:.{n_digits}g}") for number in numbers]
    return np.allclose(written, numbers, rtol=1e-15, atol=0)


def _spell_moment(value: pa.Scalar) -> str:
    """A moment in UTC, without a time of day at its beginning; a time or a duration as it is."""
    dtype = value.type
    if not pa.types.is_timestamp(dtype):
        return _spell(value)
    text = _spell(value.cast(pa.int64()).cast(pa.timestamp(dtype.unit)))
    short = _NO_SECONDS.sub("", text)
    day = short.removesuffix(" 00:00").removesuffix("T00:00")
    return day if dtype.tz is None else f"{day} UTC"


def describe_class_sizes(size_counts: Int64) -> Shares:
    """Shares of classes by their size: each size, or ranges of sizes."""
    sizes, counts = size_counts
    if sizes.size <= MOST_LABELS:
        return Shares(labels=[f"{size:,}" for size in sizes.tolist()], shares=_shares(counts))
    low, below = int(sizes[0]), np.cumsum(counts) / counts.sum()
    high = int(sizes[np.searchsorted(below, 1 - _END)])
    step = max(1, int(_round_step((high - low + 1) / (MOST_LABELS - 2))))
    starts = np.arange(low, high + 1, step)
    of_size = np.searchsorted(starts, sizes, side="right") - 1
    labels = [f"{a:,}" if step == 1 else f"{a:,} to {a + step - 1:,}" for a in starts[:-1]]
    labels.append(f"{starts[-1]:,} or more")
    return Shares(labels=labels, shares=_shares(np.bincount(of_size, counts, starts.size)))


def _describe_changes(
    plan: Plan,
    utility: Utility,
    pairs: Mapping[str, CorrelationPair],
    untold: Collection[Columns],
) -> MeasuredChanges | None:
    """Coarser than what the internal manifest has; none of a table of few records."""
    told = [name for name in utility.changes_of_variances if frozenset([name]) not in untold]
    quasi = [e.column.name for e in plan.encodings if e.column.role is Role.QUASI_IDENTIFIER]
    names = set(quasi).intersection(told)
    if plan.n_records < MOST_CHANGES:
        return None
    variances = {
        name: round(100 * change)
        for name, change in utility.changes_of_variances.items()
        if name in names and change is not None
    }
    correlations: dict[str, float] = {}
    attenuations: dict[str, float] = {}
    for one, other in combinations(told, 2):
        if {one, other} in untold:
            continue
        change = utility.changes_of_correlations.get(f"{one} and {other}")
        weaker = _measure_attenuation(pairs.get(f"{one} and {other}"))
        for name in [n for n in (one, other) if n in variances and change is not None]:
            correlations[name] = max(round(abs(change or 0), 2), correlations.get(name, 0.0))
            attenuations[name] = max(round(weaker, 2), attenuations.get(name, 0.0))
    if not variances:
        return None
    others = {name: _list_untold(name, utility, untold) for name in variances}
    unsaid = {name: names for name, names in others.items() if names}
    return MeasuredChanges(
        variances=variances,
        correlations=correlations,
        attenuations=attenuations,
        **({"untold": unsaid} if unsaid else {}),
    )


def _list_untold(name: str, utility: Utility, untold: Collection[Columns]) -> list[str]:
    """List the columns with which a column's correlation is not said."""
    others = [other for other in utility.changes_of_variances if other != name]
    return [o for o in others if frozenset([o]) in untold or frozenset([name, o]) in untold]


def _measure_attenuation(pair: CorrelationPair | None) -> float:
    """By how much a correlation is nearer to 0 than it was."""
    if pair is None or pair.original is None or pair.released is None:
        return 0.0
    return max(0.0, abs(pair.original) - abs(pair.released))
