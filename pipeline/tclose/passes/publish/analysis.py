"""The internal manifest's section on what a release changes, and the release before it."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tclose.data.keys import plain_type
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.counted_words import count_words
from tclose.passes.microaggregate.losses import (
    Losses,
    compared_columns,
    name_parts,
    name_shares,
)
from tclose.passes.microaggregate.utility import Moments
from tclose.passes.plan.plan import Plan
from tclose.releases.manifest.inside_sections import SpecialUniquesSection
from tclose.releases.manifest.internal_manifest import (
    Analysis,
    CorrelationPair,
    Marginal,
    PreviousRelease,
    SharesPair,
    SizeLoss,
    Spread,
)
from tclose.releases.manifest.privacy_summary import known_digits, three_digits
from tclose.releases.repository.repository import ReleaseRepository, read_manifest

_EPOCH = date(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


_COMMONEST = 9  # categories that are shown by themselves


def describe_analysis(lost: Losses, plan: Plan, special_uniques: SpecialUniquesSection) -> Analysis:
    """Describe what a release changes, to three digits."""
    columns, n_quasi = compared_columns(plan), len(plan.encodings)
    both = lost.comparison.original, lost.comparison.released
    correlations = [moments.correlations for moments in both]
    return Analysis(
        marginals={
            column.name: Marginal(
                original=_describe_spread(both[0], i, column),
                released=_describe_spread(both[1], i, column),
            )
            for i, column in enumerate(columns)
        },
        correlations={
            f"{columns[i].name} and {columns[j].name}": CorrelationPair(
                original=known_digits(float(correlations[0][i, j])),
                released=known_digits(float(correlations[1][i, j])),
            )
            for j in range(len(columns))
            for i in range(j)
        },
        loss_by_class_size=_describe_sizes(lost, n_quasi),
        special_uniques=special_uniques,
        shares={name: _describe_parts(counts) for name, counts in name_parts(lost, plan).items()}
        | {name: _describe_categories(counts) for name, counts in name_shares(lost, plan).items()},
    )


def _describe_parts(counts: Int64) -> SharesPair:
    """Shares of the records in each part of a range: counts int64 (2, 10)."""
    n_parts = counts.shape[1]
    ends = [round(100 * i / n_parts) for i in range(n_parts + 1)]
    return _describe_shares([f"{a} to {b} % of the range" for a, b in pairwise(ends)], counts)


def _describe_categories(counts: Int64) -> SharesPair:
    """Shares of the commonest categories, by their places, and of the others: int64 (2, v)."""
    order = np.argsort(-counts[0], kind="stable")
    shown = counts[:, order[:_COMMONEST]]
    labels = [f"number {i + 1} by frequency" for i in range(shown.shape[1])]
    if order.size > _COMMONEST:
        rest = counts[:, order[_COMMONEST:]].sum(axis=1, keepdims=True)
        shown, labels = (
            np.hstack([shown, rest]),
            [*labels, count_words(order.size - _COMMONEST, "other")],
        )
    return _describe_shares(labels, shown)


def _describe_shares(labels: list[str], counts: Int64) -> SharesPair:
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    original, released = ([three_digits(one) for one in row] for row in (counts / totals).tolist())
    return SharesPair(labels=labels, original=original, released=released)


def _describe_spread(moments: Moments, place: int, column: Column) -> Spread:
    unit = key_unit(plain_type(column.type))
    mean, variance = float(moments.means[place]), float(moments.variances[place])
    deviation = known_digits(variance**0.5 / unit) if variance >= 0 else None
    if column.kind is Kind.DATE and _has_days(column):
        return Spread(mean=_day(mean / unit), deviation=deviation)
    return Spread(mean=known_digits(mean / unit), deviation=deviation)


def _has_days(column: Column) -> bool:
    dtype = plain_type(column.type)
    return bool(pa.types.is_date(dtype) or pa.types.is_timestamp(dtype))


def key_unit(dtype: pa.DataType) -> float:
    """Keys of a type in one of what people count: a day, or one of a decimal number."""
    if pa.types.is_timestamp(dtype):
        return _PER_SECOND[dtype.unit] * 86_400.0
    if pa.types.is_date64(dtype):
        return 86_400_000.0
    return 10.0**dtype.scale if pa.types.is_decimal(dtype) else 1.0


def _day(mean: float) -> str | None:
    try:
        return str(_EPOCH + timedelta(days=round(mean)))
    except (OverflowError, ValueError):
        return None


def _describe_sizes(lost: Losses, n_quasi: int) -> list[SizeLoss]:
    return [
        SizeLoss(
            smallest=2**step,
            largest=2 ** (step + 1) - 1,
            records=int(n_records),
            loss=three_digits(squares / (max(n_values, 1) / n_quasi) / n_quasi),
        )
        for step, (n_records, squares, n_values) in enumerate(lost.by_size.T.tolist())
        if n_records
    ]


def find_previous(repository: ReleaseRepository, release_id: str) -> PreviousRelease | None:
    """Find the release that is the current one until this one is; None if there is none."""
    current = repository.current()
    if current is None or current == release_id:
        return None
    manifest = read_manifest(repository.release(current))
    if manifest is None:
        return None
    return PreviousRelease(
        release_id=manifest.release_id,
        published_at=manifest.published_at,
        records=manifest.records,
        n_classes=manifest.classes.n_classes,
        k=manifest.privacy.reached(),
        t={name: result.largest_emd for name, result in manifest.privacy.t.items()},
        loss=manifest.information_loss.total,
        columns=[column.name for column in manifest.columns],
    )


def describe_clock(previous: PreviousRelease | None, published_at: str) -> str:
    """Say that the release before has a later date; empty where the dates are in order."""
    if previous is None:
        return ""
    earlier, now = map(datetime.fromisoformat, (previous.published_at, published_at))
    if (earlier if earlier.tzinfo else earlier.replace(tzinfo=UTC)) <= now:
        return ""
    return (
        f"clock: release {previous.release_id}, the current one until now, is of "
        f"{previous.published_at}, and this machine's clock says {published_at}: by their dates "
        "this release is the older one, for `tclose releases`, rollback and prune; see that the "
        "clock is right, and name releases by their ids"
    )
