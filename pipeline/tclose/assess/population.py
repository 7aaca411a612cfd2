"""A release beside a population: how many persons could be in a class, as its own records are.

A journalist (El Emam and Dankar, *Protecting privacy using k-anonymity*, 2008) has a register of
the population with the quasi-identifiers, and does not know who is in the data. Of intervals and
sets every person whose values they have could be in the class; of other values everyone who is as
near to them as the farthest of the class's own records.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.assess.complete_records import read_complete
from tclose.assess.covering import read_intervals, stack_known
from tclose.assess.linkage import find_points, joined, released_keys
from tclose.assess.linking import read_verified_rows
from tclose.assess.sample import Sample
from tclose.data.keys import Encoding
from tclose.errors import DataError, UsageError
from tclose.kernels.record_linkage import count_covered, count_near
from tclose.methods.scaling import scale_columns
from tclose.model.array_types import Int64
from tclose.model.column_terms import Role
from tclose.passes.plan.plan import PLAN, Plan
from tclose.policy.policy import Policy
from tclose.releases.manifest.originals_section import PopulationResult
from tclose.releases.manifest.privacy_summary import three_digits
from tclose.runtime.artifacts.arrays import column_array
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Run

MOST_CLASSES = 2_000
MOST_PAIRS = 4_000_000_000  # of persons and classes that are compared


def check_population(policy: Policy) -> None:
    """Refuse policies whose classes differ in what no quasi-identifier says.

    Raises
    ------
    UsageError
    """
    if policy.output.partition_by:
        raise UsageError(
            "--population: does not go with output.partition_by, as persons of one partition are "
            "told from the others; make those columns quasi-identifiers, or leave it out"
        )


def read_population(policy: Policy, path: str, progress: Progress) -> tuple[pa.Table, int]:
    """Read the quasi-identifiers of a population that has them as the policy's input does.

    Returns
    -------
    The persons that have them all, and how many lack one.

    Raises
    ------
    TcloseError
        The file cannot be read, or lacks a column.
    """
    attributes = {n: a for n, a in policy.attributes.items() if a.role is Role.QUASI_IDENTIFIER}
    population_policy = policy.without_suppression().model_copy(
        update={
            "attributes": attributes,
            "input": policy.input.model_copy(update={"path": path}),
            "missing": "drop",
            "unlisted": "drop",
        }
    )
    summary, table = read_complete(population_policy, "audit", None, progress)
    return table, summary.table.n_read - len(table)


def measure_population(
    run: Run, sample: Sample, population: tuple[pa.Table, int], progress: Progress
) -> PopulationResult:
    """Count the persons of a population who could be in classes of a run.

    Parameters
    ----------
    run : of a sample that is the whole table, with a column that numbers its records
    population : from `read_population`

    Raises
    ------
    DataError
        A column is of another type than in the policy's input.
    """
    plan = run.workspace.load(PLAN)
    names = [encoding.column.name for encoding in plan.encodings]
    rows = pa.concat_tables(t.select([*names, sample.number]) for t in read_verified_rows(run))
    persons, left_out = _keep_known(population[0], plan.encodings), population[1]
    left_out += len(population[0]) - len(persons)
    with progress.following("comparing with the population", 1) as step:
        sizes, counts = _count(plan, sample, rows.combine_chunks(), persons)
        step()
    risks = 1.0 / np.maximum(counts[1], 1)
    chosen = sizes[counts[0]]
    return PopulationResult(
        persons=len(persons),
        left_out=left_out,
        classes=int(chosen.size),
        of_classes=int(sizes.size),
        smallest=int(counts[1].min()),
        below_k=int((counts[1] < plan.k).sum()),
        journalist=three_digits(float(risks.max())),
        marketer=three_digits(float((risks * chosen).sum() / chosen.sum())),
    )


def _keep_known(table: pa.Table, encodings: tuple[Encoding, ...]) -> pa.Table:
    """The persons whose categories occur in the table, numbers of the same types."""
    columns, known = {}, np.ones(len(table), dtype=bool)
    for encoding in encodings:
        name = encoding.column.name
        try:
            values = joined(table, name)
            if encoding.categories is None:
                values = pc.cast(values, encoding.type)
            known &= encoding.knows(values)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise DataError(
                f"--population: column {name!r} is of type {table[name].type}, and of "
                f"{encoding.type} in the policy's input; write it as that type"
            ) from None
        columns[name] = values
    return pa.table(columns).filter(pa.array(known))


def _count(
    plan: Plan, sample: Sample, rows: pa.Table, persons: pa.Table
) -> tuple[Int64, tuple[Int64, Int64]]:
    """Sizes of all classes; those looked at, and how many persons could be in each."""
    encodings = list(plan.encodings)
    known = [e.encode(joined(persons, e.column.name)) for e in encodings]
    if any(encoding.generalised for encoding in encodings):
        intervals = read_intervals(rows, encodings)
        chosen = _choose(intervals.sizes.size, len(persons), sample)
        counts = count_covered(*stack_known(known, encodings), *intervals.take(chosen))
        return intervals.sizes, (chosen, counts)
    keys = [released_keys(e, joined(rows, e.column.name)) for e in encodings]
    points, point_of, sizes = find_points(keys)
    chosen = _choose(sizes.size, len(persons), sample)
    place = np.full(sizes.size, -1, dtype=np.int64)
    place[chosen] = np.arange(chosen.size)
    looked_at = np.flatnonzero(place[point_of] >= 0)
    originals = _find_originals(sample, column_array(rows, sample.number)[looked_at], encodings)
    member = scale_columns(
        encodings, [e.encode(joined(originals, e.column.name)) for e in encodings]
    )
    point = scale_columns(encodings, [column[chosen] for column in points])
    person = scale_columns(encodings, known)
    counts = count_near(
        person.numeric, person.nominal, person.weights, place[point_of[looked_at]],
        point.numeric, point.nominal, (member.numeric, member.nominal),
    )  # fmt: skip
    return sizes, (chosen, counts)


def _choose(n_classes: int, n_persons: int, sample: Sample) -> Int64:
    """Classes to look at: all, or as many at random as can be compared in some minutes."""
    most = min(MOST_CLASSES, max(100, MOST_PAIRS // max(n_persons, 1)))
    if n_classes <= most:
        return np.arange(n_classes)
    rng = np.random.default_rng([sample.policy.seed, 2])
    return np.sort(rng.choice(n_classes, most, replace=False))


def _find_originals(sample: Sample, numbers: Int64, encodings: list[Encoding]) -> pa.Table:
    """The quasi-identifiers of records, by their numbers and in that order."""
    names = [encoding.column.name for encoding in encodings]
    table = pq.read_table(sample.path, columns=[*names, sample.number])
    stored = table[sample.number].to_numpy()
    by_number = np.argsort(stored)
    places = by_number[np.searchsorted(stored, numbers, sorter=by_number)]
    return table.select(names).take(pa.array(places))
