"""The price of keeping all records of a person in one class: loss and time beside records apart.

``python -m benchmarks.loss.kept_persons [--rows N ...] [--folder DATA] [--out RESULTS.md]``

Generated discharges of patients who come back: about half of them have one discharge, the others
two, three, ...; a patient's sex, postcode, insurance and year of birth are hers, and of her
diagnoses three of five are that of her first discharge. Three releases of each table: with records
apart, with persons together but nobody exchanged (whole persons are clustered, then whole classes
united), and with persons together as a release has it. A release of a small table is made before
anything is measured, so that kernels are compiled. What the records of a person differ among
themselves is lost in any class that has them all: no release with persons together loses less.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.performance.run import working_folder
from benchmarks.results import describe_command, describe_machine, render_table, say, show_section
from tclose.data.synthetic.discharges import generate_rows
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.methods.scaling import scale_columns
from tclose.passes.microaggregate import cluster_task
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.search import refine_units
from tclose.passes.microaggregate.search.compared_searches import RegionClusters
from tclose.passes.microaggregate.search.refine_units import number_units
from tclose.passes.plan.plan import Plan
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.releases.repository.contents import read_internal, read_manifest
from tclose.runtime.monitoring.progress import Progress

SIZES = (20_000, 100_000)
WARMING_ROWS = 2_000
SEED = 1
DISCHARGES = 2.0  # of a patient, on average
SAME_DIAGNOSIS = 0.6
OF_PATIENT = ("sex", "zip", "insurance_type")
CONFIDENTIAL: dict[str, Any] = {
    "charge": {"role": "confidential", "persistent": False},
    "severity": {
        "role": "confidential",
        "type": "ordinal",
        "order": ["minor", "moderate", "major", "extreme"],
        "t": 0.2,
    },
}
TITLE = "Persons: all records of one in one class"
NOTE = (
    "Generated discharges of patients who come back (half have one, the others two, three, ...), "
    "7 quasi-identifiers, k 5 over patients, t 0.1 (0.2 for the severity) over records and over "
    "patients. *Nobody exchanged*: whole patients are clustered, by a record of each, and whole "
    "classes united until k and t hold; *together*: then patients are exchanged among near "
    "classes, which is what a release does. *Lost within patients*: what the records of each "
    "differ among themselves, so that nothing with patients together loses less. Seconds are of "
    "the whole release, kernels compiled."
)
COLUMNS = (
    *("records", "patients", "how", "loss", "times", "lost within patients", "classes"),
    *("patients of a class", "records of the largest", "in several classes", "seconds"),
)


def returning_patients(n_rows: int) -> pa.Table:
    """Discharges of patients, of whom half come back."""
    rng = np.random.default_rng(SEED)
    numbers = rng.geometric(1 / DISCHARGES, n_rows)
    whose = np.repeat(np.arange(n_rows), numbers)[:n_rows]
    first = np.flatnonzero(np.diff(whose, prepend=-1))[whose]
    table = generate_rows(0, n_rows, SEED)
    again = rng.random(n_rows) < SAME_DIAGNOSIS
    born = pc.subtract(pc.year(table["admission_date"]), table["age"]).take(pa.array(first))
    age = pc.max_element_wise(pc.subtract(pc.year(table["admission_date"]), born), pa.scalar(0))
    own = {name: table[name].take(pa.array(first)) for name in OF_PATIENT}
    own["diagnosis_group"] = table["diagnosis_group"].take(
        pa.array(np.where(again, first, np.arange(n_rows)))
    )
    own |= {"age": age.cast(pa.int16()), "patient_id": pa.array([f"P{p}" for p in whose])}
    columns = {name: own.get(name, table[name]) for name in table.column_names}
    return pa.table(columns).take(pa.array(rng.permutation(n_rows)))


def describe_policy(source: Path, output: Path, persons: str) -> dict[str, Any]:
    """The demonstration's policy, in which k counts patients."""
    quasi = "quasi-identifier"
    return {
        "name": f"kept-{persons}",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": {
            "patient_id": "person",
            "age": quasi,
            "sex": quasi,
            "zip": {"role": quasi, "aggregate": "median"},
            "admission_date": quasi,
            "length_of_stay": {"role": quasi, "aggregate": "median"},
            "diagnosis_group": quasi,
            "insurance_type": quasi,
        }
        | CONFIDENTIAL,
        "privacy": {"k": 5, "t": 0.1, "persons": persons},
        "output": {"path": str(output)},
    }


@contextmanager
def no_exchanges() -> Iterator[None]:
    """Persons are clustered and classes united, and nobody is exchanged."""
    with patch.object(refine_units, "MOST_ROUNDS", 0):
        yield


@contextmanager
def measuring_persons(losses: list[float]) -> Iterator[None]:
    """Add what the records of persons differ among themselves, as a release tells its loss."""
    cluster = cluster_task.__dict__["cluster_persons"]

    def measure(records: RegionRecords, plan: Plan, *rest: Any) -> RegionClusters:
        assert records.persons is not None
        scaled = scale_columns(list(plan.encodings), records.keys)
        columns = np.ascontiguousarray(scaled.numeric.T), np.ascontiguousarray(scaled.nominal.T)
        units = number_units(records.persons)
        order, starts = group_by_label(units, int(units.max()) + 1)
        lost = measure_classes(*columns, scaled.weights, scaled.n_levels, order, starts)
        losses.append(float(lost.sum()) / (units.size * len(plan.encodings)))
        clusters: RegionClusters = cluster(records, plan, *rest)
        return clusters

    with patch.object(cluster_task, "cluster_persons", measure):
        yield


def make_release(source: Path, output: Path, persons: str) -> tuple[Path, float]:
    """Release a table; where, and in how many seconds."""
    policy = parse_policy(describe_policy(source, output, persons))
    started = time.perf_counter()
    outcome = run_release(policy, Progress("none"))
    return Path(str(outcome.release)), time.perf_counter() - started


def measure_releases(n_rows: int, folder: Path) -> Iterator[list[str]]:
    """The rows of the table: a release with records apart, and two with persons together."""
    table = returning_patients(n_rows)
    source = folder / f"discharges-{n_rows}.parquet"
    pq.write_table(table, source)
    n_persons = pc.count_distinct(table["patient_id"]).as_py()
    apart = 0.0
    for how, persons in (("apart", "apart"), ("together, nobody exchanged", "together"),
                         ("together", "together")):  # fmt: skip
        output = folder / f"{how.replace(' ', '-').replace(',', '')}-{n_rows}"
        say(f"measuring: {n_rows:,} records {how}")
        within: list[float] = []
        with measuring_persons(within), no_exchanges() if "nobody" in how else nullcontext():
            place, seconds = make_release(source, output, persons)
        manifest, inside = read_manifest(place), read_internal(place)
        assert manifest is not None
        assert manifest.privacy.persons is not None
        assert inside is not None
        assert inside.person_traces is not None
        loss = manifest.information_loss.total
        apart = apart or loss
        yield [
            f"{n_rows:,}",
            f"{n_persons:,}",
            how,
            f"{loss:.4g}",
            f"{loss / apart:.2f}",
            f"{within[0]:.3g}" if within else "-",
            f"{manifest.classes.n_classes:,}",
            f"{manifest.privacy.persons.classes.mean:.1f}",
            f"{manifest.classes.largest:,}",
            f"{inside.person_traces.in_several_classes:,}",
            f"{seconds:.1f}",
        ]


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with working_folder(given.folder) as folder:
        list(measure_releases(WARMING_ROWS, folder))
        rows = [row for n_rows in given.rows for row in measure_releases(n_rows, folder)]
    command = f"`{describe_command('benchmarks.loss.kept_persons', sys.argv[1:])}`"
    text = f"{command}, {describe_machine()}.\n\n{NOTE}\n\n{render_table(COLUMNS, rows)}"
    show_section(TITLE, text, given.out)


if __name__ == "__main__":
    main()
