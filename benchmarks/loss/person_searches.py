"""What two searches lose where persons have several records, and the default, which runs both.

``python -m benchmarks.loss.person_searches [--seeds N ...] [--t T ...] [--out RESULTS.md]``

The one keeps the records of a person apart; the other is by records, and unites classes until they
hold over persons. Generated records of persons whose age, sex and district are the same in all of
hers, on days of a year; and discharges of patients some of whom come back.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results import describe_call, render_table, say, show_section
from tclose.data.synthetic import write_microdata
from tclose.model.array_types import Int64
from tclose.passes.microaggregate import region_clusters
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.releases.repository.repository import read_internal
from tclose.runtime.monitoring.progress import Progress

N_RECORDS, K = 20_000, 5
# Records of each of so many persons; the other records are of a person each.
PERSONS = {
    "3 records of each": (3, N_RECORDS // 3),
    "12 records of each": (12, N_RECORDS // 12),
    "100 records of each": (100, N_RECORDS // 100),
    "100 records of each of 40": (100, 40),
    "1,000 records of each of 4": (1_000, 4),
}
DISCHARGES = "discharges"
OTHERS = {"patient_id", "charge", "severity", "discharge_status"}
SEARCHES = {"default": None, "apart": 0, "united": 1}
COLUMNS = ("table", "seed", "t", *(f"{name}: {what}" for name in SEARCHES
           for what in ("loss", "mean size", "largest", "seconds")))  # fmt: skip


def write_stays(path: Path, several: tuple[int, int], seed: int) -> None:
    """Records of persons, some of whom have several, near each other."""
    rng = np.random.default_rng(seed)
    n_rows, n_several = several
    rest = N_RECORDS - n_rows * n_several
    persons: Int64 = np.append(np.repeat(np.arange(n_several), n_rows), n_several + np.arange(rest))
    of_persons = int(persons.max()) + 1
    age, district = (rng.integers(0, most, of_persons)[persons] for most in (100, 1000))
    columns: dict[str, Any] = {
        "patient_id": [f"p{person}" for person in persons.tolist()],
        "age": age,
        "sex": np.array(["f", "m"])[rng.integers(0, 2, of_persons)[persons]],
        "zip": district,
        "day": rng.integers(0, 365, N_RECORDS),
        "charge": np.round(np.exp(rng.normal(7.0, 1.0, N_RECORDS) + 0.01 * age), 2),
    }
    pq.write_table(pa.table(columns), path)


def measure(source: Path, t: float, folder: Path) -> Iterator[str]:
    """Loss, sizes and seconds of microaggregation of each search."""
    quasi = set(pq.read_schema(source).names) - OTHERS
    document = {
        "name": "stays",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": {"patient_id": "person", "charge": "confidential"}
        | dict.fromkeys(sorted(quasi), "quasi-identifier"),
        "privacy": {"k": K, "t": t},
    }
    both = region_clusters._make_searches  # noqa: SLF001  # nobody else chooses one
    for name, number in SEARCHES.items():

        def take(*of_region: Any, number: int | None = number) -> list[Any]:
            searches = both(*of_region)
            return searches if number is None else [searches[number]]

        policy = parse_policy(document | {"output": {"path": str(folder / name)}})
        with mock.patch.object(region_clusters, "_make_searches", take):
            inside = read_internal(run_release(policy, Progress("none")).release)
        assert inside is not None
        assert inside.exact_information_loss is not None
        yield f"{inside.exact_information_loss.total:.5f}"
        yield f"{inside.classes.mean:.1f}"
        yield f"{inside.classes.largest:,}"
        yield f"{inside.seconds['microaggregate']:.1f}"


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--t", type=float, nargs="+", default=[0.1, 0.3])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for seed in given.seeds:
        for name in (*PERSONS, DISCHARGES):
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "source.parquet"
                if name == DISCHARGES:
                    write_microdata(source, N_RECORDS, seed, returning=0.33)
                else:
                    write_stays(source, PERSONS[name], seed)
                for t in given.t:
                    say(f"measuring {name}, seed {seed}, t {t:g}")
                    place = Path(folder) / f"{t:g}"
                    rows.append([name, str(seed), f"{t:g}", *measure(source, t, place)])
    call = describe_call("benchmarks.loss.person_searches")
    how = (
        f"{call}: {N_RECORDS:,} records, k {K}, the default search; "
        "`apart`: records of a person are in different classes, `united`: classes are made by "
        "records and united until they hold over persons; the default runs both."
    )
    body = f"{how}\n\n{render_table(COLUMNS, rows)}"
    show_section("Persons: apart or united", body, given.out)


if __name__ == "__main__":
    main()
