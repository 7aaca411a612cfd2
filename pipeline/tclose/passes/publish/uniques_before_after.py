"""Records that few quasi-identifiers tell from all others: of the input, and of the release.

The input's are looked for among the records that pass 1 drew (`InputSummary.sampled`), the
release's in the rows that are going to be written. So neither grows with the table.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from tclose.data.keys import plain_type, widen_decimals
from tclose.errors import VerificationError
from tclose.model.array_types import Float64, Int64
from tclose.model.counted_words import count_words
from tclose.model.verification import Verdict
from tclose.passes.plan.plan import Plan
from tclose.passes.summarise.input_summary import INPUT_SUMMARY
from tclose.passes.verify.key_range_task import KEY_RANGES, RELEASED
from tclose.privacy.special_uniques import (
    MOST_COLUMNS,
    SpecialUniques,
    choose_set_size,
    find_special_uniques,
    measure_intrusion,
    spread_intrusion,
)
from tclose.releases.manifest.inside_sections import (
    SpecialUniquesSection,
    UniquesAfter,
    UniquesOfSize,
)
from tclose.releases.manifest.privacy_summary import three_digits
from tclose.runtime.run import Run

MOST_ROWS = 10_000  # of the release that are looked at
STEPS = 10  # in which scores from 0 to 1 are counted


def describe_uniques(run: Run, plan: Plan, verdict: Verdict) -> SpecialUniquesSection:
    """Describe the special uniques of the input, and see that the release has none.

    Raises
    ------
    VerificationError
        A released row is one of its kind, whatever the verdict says.
    """
    summary = run.workspace.load(INPUT_SUMMARY)
    columns = choose_quasi_identifiers(plan, summary.sampled)
    uniques = find_special_uniques(list(columns.values()), choose_set_size(len(columns)))
    n_records, n_table = uniques.n_msus.shape[1], summary.table.n_complete
    sampling_fraction = run.policy.input.sampling_fraction
    fraction = (1.0 if sampling_fraction is None else sampling_fraction) * n_records / n_table
    risk = measure_intrusion(uniques.n_unique, uniques.n_pairs, fraction)
    return SpecialUniquesSection(
        records=n_records,
        of=n_table,
        columns=len(columns),
        of_columns=len(plan.encodings),
        fraction=three_digits(fraction),
        unique=uniques.n_unique,
        by_size=_count_by_size(uniques),
        intrusion=None if risk is None else three_digits(risk),
        scores=_count_by_score(spread_intrusion(uniques, fraction)),
        contributions={
            name: three_digits(share)
            for name, share in zip(columns, uniques.contributions.tolist(), strict=True)
        },
        after=look_again(_read_released(run), list(columns), verdict.sizes.smallest),
    )


def choose_quasi_identifiers(plan: Plan, sampled: Mapping[str, Int64]) -> dict[str, Int64]:
    """Choose the quasi-identifiers of the most values, as many as can be looked at, in order.

    Parameters
    ----------
    sampled : numbers of the values of some records by column, equal where values are: int64 (n,)
    """
    names = [encoding.column.name for encoding in plan.encodings]
    by_values = sorted(names, key=lambda name: -np.unique(sampled[name]).size)
    chosen = set(by_values[:MOST_COLUMNS])
    return {name: sampled[name] for name in names if name in chosen}


def _count_by_size(uniques: SpecialUniques) -> list[UniquesOfSize]:
    smallest = np.bincount(uniques.smallest, minlength=uniques.max_size + 1)
    return [
        UniquesOfSize(
            size=size, sets=int(uniques.n_msus[size - 1].sum()), records=int(smallest[size])
        )
        for size in range(1, uniques.max_size + 1)
    ]


def _count_by_score(scores: Float64) -> list[int]:
    """Records with a score of 0, then up to each tenth of 1."""
    steps = np.ceil(scores * STEPS - 1e-9).astype(np.int64)
    counts: list[int] = np.bincount(steps, minlength=STEPS + 1).tolist()
    return counts


def _read_released(run: Run) -> Iterator[pa.RecordBatch]:
    """Rows of the release from its beginning, key range by key range; a class is in one of them."""
    for index, key_range in enumerate(run.workspace.load(KEY_RANGES)):
        if key_range.segments:
            n_rows = sum(n for _, n in key_range.segments)
            yield from run.workspace.file(RELEASED, index).read_slices(0, n_rows)


def look_again(batches: Iterator[pa.RecordBatch], names: list[str], smallest: int) -> UniquesAfter:
    """Look for special uniques in the first rows of a release, without those of a class cut off.

    Parameters
    ----------
    batches : rows, those of a class adjacent
    smallest : records of the smallest class, as it was verified

    Raises
    ------
    VerificationError
        There is one.
    """
    tables: list[pa.Table] = []
    room, whole = MOST_ROWS, True
    for batch in batches:
        if not room:
            whole = False
            break
        taken = pa.Table.from_batches([batch.slice(0, room)]).select(names)
        whole = taken.num_rows == batch.num_rows
        room -= taken.num_rows
        tables.append(taken)
    table = pa.concat_tables(tables).combine_chunks()
    columns = [_number_released(table[name]) for name in names]
    if not whole:
        columns = _drop_last_class(columns)
    uniques = find_special_uniques(columns, choose_set_size(len(columns)))
    if uniques.n_unique or uniques.n_msus.any():
        raise VerificationError(
            f"release: {count_words(uniques.n_unique, 'of its rows is', 'of its rows are')} alone "
            "with their quasi-identifiers, "
            "against the verdict; nothing was published"
        )
    return UniquesAfter(
        rows=columns[0].size, sets=int(uniques.n_msus.sum()), smallest_class=smallest
    )


def _number_released(values: pa.ChunkedArray) -> Int64:
    """A number for each different value, a missing one among them: int64 (n,)."""
    plain = values.combine_chunks().cast(plain_type(values.type))
    listed = widen_decimals(plain).dictionary_encode(null_encoding="encode")
    return np.asarray(listed.indices.to_numpy(zero_copy_only=False)).astype(np.int64)


def _drop_last_class(columns: list[Int64]) -> list[Int64]:
    """The rows without the last ones that are alike."""
    n_rows = columns[0].size
    other = np.zeros(n_rows, dtype=bool)
    for column in columns:
        other |= column != column[-1]
    last = np.flatnonzero(other)
    stop = int(last[-1]) + 1 if last.size else 0
    return [column[:stop] for column in columns]
