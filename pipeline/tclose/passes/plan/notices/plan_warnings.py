"""Numbered warnings of a plan: what will probably cost more, or say less, than its policy means.

They name columns and counts, never a value. They are found while planning, and once more after the
classes are made, when it is known whether they are one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.column_scales import HEAVY_TAILS
from tclose.data.files.text_formats import LIKE_DATES, TextFormat, signed_pattern
from tclose.data.keys import Encoding, is_text
from tclose.data.preparation.alike_texts import count_alike
from tclose.data.value_counts import TableSummary
from tclose.model.array_types import Int64
from tclose.model.attributes import REPRESENTATIVE, Column
from tclose.model.column_terms import Distance, Kind, Role, Scale
from tclose.model.distribution import Distribution
from tclose.model.verification import Verdict
from tclose.passes.plan.plan import Plan
from tclose.policy import warning_kinds
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.policy.warning_kinds import WarningKind
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.runtime.artifacts.artifacts import Artifact
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.strictness import refuse_warnings

PLAN_WARNINGS = Artifact("plan-warnings", tuple[PlanWarning, ...])

MANY_VALUES = 100
MOST_DROPPED = 0.05
NEARLY_ALL = 0.9  # of the records have a value of their own
ALIKE = 0.95  # of a column's records have texts of one form
_FEW = 100  # records, of whose values nothing is said
_MARKS = ((".", ","), (".", " "), (".", "'"), (",", "."), (",", " "), (",", "'"))
_NUMBER = "|".join(f"({signed_pattern(TextFormat(*marks))})" for marks in _MARKS)


def find_warnings(
    plan: Plan, table: TableSummary, distributions: Sequence[Distribution]
) -> tuple[PlanWarning, ...]:
    """Find what a plan has to be warned of.

    Parameters
    ----------
    distributions : of the confidential attributes that are released, as the plan has them
    """
    return (
        *_warn_of_texts(plan, table),
        *_warn_of_alike(plan, table),
        *_warn_of_categories(plan, table),
        *_warn_of_dropped(table),
        *_warn_of_imputed(plan, table),
        *_warn_of_whole_partitions(plan),
        *_warn_of_distinct(plan, distributions),
        *_warn_of_tails(plan),
    )


def warn_of_carried(
    plan: Plan, carried: Mapping[str, Int64], share: float
) -> Iterator[PlanWarning]:
    """Find columns without protection of which nearly every record has a value of its own.

    Parameters
    ----------
    carried : numbers of the values of some records by column, equal where values are: int64 (n,)
    share : of all records that these are; of few, two that share a value are as seldom among them
    """
    unprotected = [c.name for c in plan.passthrough if c.role is Role.NON_CONFIDENTIAL]
    for name in unprotected:
        values = carried.get(name, np.empty(0, dtype=np.int64))
        n_distinct = np.unique(values).size
        most_repeated = (1 - NEARLY_ALL) * values.size * share
        if values.size < _FEW or values.size - n_distinct > most_repeated:
            continue
        yield make_warning(
            warning_kinds.CARRIED_DISTINCT,
            f"column {name!r} is released as it is, and {n_distinct:,} of {values.size:,} values "
            "that were looked at differ: whoever knows one of them finds the record, and what else "
            "stands in it, whatever k and t are",
            [name],
        )


def warn_of_one_class(plan: Plan, verdict: Verdict) -> tuple[PlanWarning, ...]:
    """Find that classes were merged until each release partition is one, if that was not planned.

    With fewer than two times k records it could not be otherwise, but is as bad for an analysis.
    """
    n_partitions = len(plan.release_partitions)
    if verdict.sizes.n_classes > n_partitions or any(_warn_of_whole_partitions(plan)):
        return ()
    return (_describe_whole(n_partitions, n_partitions, verdict.n_records),)


def report_warnings(
    warnings: Sequence[PlanWarning], engine: EngineSettings, progress: Progress
) -> None:
    """Show warnings; where the policy is strict, refuse to go on.

    Raises
    ------
    StrictError
        Names the numbers that are not accepted.
    """
    for warning in warnings:
        progress.caution(f"warning {warning.code}: {warning.message}; {warning.remedy}")
    refuse_warnings(warnings, engine)


def make_warning(kind: WarningKind, message: str, columns: Sequence[str] = ()) -> PlanWarning:
    """A warning of a kind."""
    return PlanWarning(code=kind.code, message=message, remedy=kind.remedy, columns=list(columns))


def _warn_of_texts(plan: Plan, table: TableSummary) -> Iterator[PlanWarning]:
    for column in _inferred_texts(plan):
        counts = table.columns[column.name].categories
        for kind, pattern, what in (
            (warning_kinds.LOOKS_LIKE_DATES, LIKE_DATES, "dates"),
            (warning_kinds.LOOKS_LIKE_NUMBERS, _NUMBER, "numbers"),
        ):
            share, bare_share = _shares_of(counts, pattern)
            if bare_share >= ALIKE:
                blanks = "" if share >= ALIKE else " with blanks before or after them"
                message = f"texts that look like {what}{blanks}, read as categories"
                yield make_warning(kind, f"column {column.name!r}: {message}", [column.name])


def _inferred_texts(plan: Plan) -> Iterator[Column]:
    """Columns of texts that nobody has said to be categories."""
    for encoding in (*plan.encodings, *plan.confidential, *plan.partition_columns):
        column = encoding.column
        is_declared = column.attribute.kind is not None or bool(column.attribute.taxonomy)
        if (
            column.kind is Kind.NOMINAL
            and is_text(column.type)
            and not (is_declared or column.is_joint)
        ):
            yield column


def _shares_of(counts: Counter[Any], pattern: str) -> tuple[float, float]:
    """The share of records whose text has a form, and of those that have it without blanks."""
    n_records = counts.total()
    if n_records < _FEW:
        return 0.0, 0.0
    texts = pa.array([str(text) for text in counts], pa.string())
    n_of = pa.array(counts.values())

    def share(some: pa.Array) -> float:
        fits = pc.match_substring_regex(some, pattern)
        return float((pc.sum(pc.if_else(fits, n_of, 0)).as_py() or 0) / n_records)

    return share(texts), share(pc.utf8_trim_whitespace(texts))


def _warn_of_alike(plan: Plan, table: TableSummary) -> Iterator[PlanWarning]:
    """Find categories that are one to a reader, and as far from each other as any to a method."""
    for encoding in (*plan.encodings, *plan.confidential, *plan.partition_columns):
        column = encoding.column
        if column.kind is not Kind.NOMINAL or not is_text(column.type) or column.is_joint:
            continue
        counted = table.columns[column.name].categories
        texts = pa.array([str(text) for text in counted if text is not None], pa.string())
        if n_alike := count_alike(texts):
            yield make_warning(
                warning_kinds.WRITTEN_APART,
                f"column {column.name!r}: {n_alike:,} of its {len(texts):,} values differ from "
                "another one in capitals or blanks alone, and count as different ones: their "
                "shares are kept apart, and models that count values count both",
                [column.name],
            )


def _warn_of_categories(plan: Plan, table: TableSummary) -> Iterator[PlanWarning]:
    for encoding in plan.encodings:
        name, counts = encoding.column.name, table.columns[encoding.column.name].categories
        if not _releases_one(encoding):
            continue
        if len(counts) > MANY_VALUES:
            yield make_warning(
                warning_kinds.MODE_OF_MANY,
                f"column {name!r}: {len(counts):,} values, and each class releases one of them: "
                "most of what the column says is lost",
                [name],
            )
            continue
        rare = [count for count in counts.values() if count < plan.k]
        if rare:
            yield make_warning(
                warning_kinds.RARE_VANISH,
                f"column {name!r}: {len(rare):,} of {len(counts):,} categories "
                f"{'have' if rare[1:] else 'has'} fewer than k = {plan.k} records each "
                f"({sum(rare):,} together), and each class releases one "
                "value: they will hardly be seen",
                [name],
            )


def _releases_one(encoding: Encoding) -> bool:
    column = encoding.column
    has_one = column.aggregate in ("mode", REPRESENTATIVE) and not encoding.generalised
    return column.kind is Kind.NOMINAL and has_one


def _warn_of_dropped(table: TableSummary) -> Iterator[PlanWarning]:
    n_dropped = table.n_read - table.n_complete
    if n_dropped <= MOST_DROPPED * table.n_read:
        return
    missing = {name: s.n_missing for name, s in table.columns.items() if s.n_missing}
    by_column = ", ".join(
        f"{name!r} {n / table.n_read:.1%}"
        for name, n in sorted(missing.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    yield make_warning(
        warning_kinds.MANY_DROPPED,
        f"{n_dropped:,} of {table.n_read:,} records ({n_dropped / table.n_read:.1%}) are left out "
        f"for a missing value: {by_column}",
        list(missing),
    )


def _warn_of_imputed(plan: Plan, table: TableSummary) -> Iterator[PlanWarning]:
    for encoding in plan.encodings:
        name, preparation = encoding.column.name, encoding.column.attribute.preparation
        if preparation is None or preparation.n_imputed <= MOST_DROPPED * table.n_read:
            continue
        n_imputed = preparation.n_imputed
        yield make_warning(
            warning_kinds.MANY_IMPUTED,
            f"column {name!r}: {n_imputed:,} of {table.n_read:,} records "
            f"({n_imputed / table.n_read:.1%}) have no value, and get "
            f"{preparation.describe_source()}",
            [name],
        )


def _warn_of_whole_partitions(plan: Plan) -> Iterator[PlanWarning]:
    if not plan.method.cuts_by_subsets:  # others' numbers of clusters are not known yet
        return
    whole = [one for one in plan.release_partitions if one.n_clusters == 1]
    if whole:
        n_records = sum(one.n_records for one in whole)
        yield _describe_whole(len(whole), len(plan.release_partitions), n_records)


def _describe_whole(n_whole: int, n_partitions: int, n_records: int) -> PlanWarning:
    if n_partitions == 1:
        what = f"all {n_records:,} records are"
    else:
        what = f"each of {n_whole:,} of {n_partitions:,} partitions ({n_records:,} records) is"
    return make_warning(
        warning_kinds.ONE_CLASS,
        f"{what} one class: its quasi-identifiers have one value each, and tell nothing",
    )


def _warn_of_distinct(plan: Plan, distributions: Sequence[Distribution]) -> Iterator[PlanWarning]:
    for encoding, distribution in zip(plan.confidential, distributions, strict=False):
        column, n_records = encoding.column, distribution.n_records
        n_distinct = distribution.values.size
        if column.is_joint or n_records < _FEW or n_distinct < NEARLY_ALL * n_records:
            continue
        if column.distance is Distance.ORDERED:
            meaning = (
                "t then limits how far the ranks of a class lie from those of the table, not the "
                "amounts: a class may hold values that are nearly equal"
            )
        else:
            meaning = (
                "each is as far from any other, so that a class of a share s of the table is at "
                "1 - s from it, and a small t leaves one class"
            )
        message = f"column {column.name!r}: {n_distinct:,} distinct values in {n_records:,} records"
        yield make_warning(warning_kinds.NEARLY_DISTINCT, f"{message}; {meaning}", [column.name])


def _warn_of_tails(plan: Plan) -> Iterator[PlanWarning]:
    """Find numbers that are scaled by their middle records, which nobody has asked for."""
    for encoding in plan.encodings:
        name, scale = encoding.column.name, encoding.by.kind
        if encoding.column.attribute.scale is not None or scale is not Scale.TRIMMED:
            continue
        yield make_warning(
            warning_kinds.OUTLIERS,
            f"column {name!r}: its range is more than {HEAVY_TAILS} times that of the middle 98 % "
            "of the records: the outermost ones are far from all others, so that their classes "
            "lose most of what these columns say, and an aggregate may still tell that one of "
            "them is in it",
            [name],
        )
