"""A release beside the records that it was made of: linkage and loss, where the originals are kept.

A release does not say which record became which row. So the release is made again in a private
scratch folder, with a column that numbers the records; only if that gives the rows of the release
are they compared. Nothing of it is published.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.engine_settings import EngineSettings
from pipeline.execution.engine import local_address, runs_in_process
from pipeline.execution.progress import Progress
from pipeline.execution.release import microaggregate, plan, summarise, verify
from pipeline.execution.run import Run, inspect_input
from pipeline.execution.sample import Sample, take_sample
from pipeline.execution.units.regions import RegionResult
from pipeline.model import Float64, Kind, Role, Verdict
from pipeline.settings import Policy
from pipeline.stages.keys import Encoding
from pipeline.stages.linkage import measure_linkage, released_keys
from pipeline.stages.models.utility import (
    Comparison,
    Moments,
    compare_records,
    measure_changes,
    measure_il1s,
)
from pipeline.stages.plan import Plan
from pipeline.storage import inputs
from pipeline.storage.places import Place, parse_place
from pipeline.storage.releases import read_manifest
from pipeline.storage.tables import as_bits, column_array, map_new_array, read_table

WHOLE = 2**62  # records of a sample that is the whole table


def add_originals(audit: dict[str, Any], policy: Policy, progress: Progress) -> dict[str, Any]:
    """The audit of a release with ``originals``: the comparison, or a finding that there is none.

    Raises
    ------
    TcloseError
        Whatever a run of the policy would be refused for.
    """
    release = parse_place(audit["release"])
    manifest = read_manifest(release)
    assert manifest is not None  # it was audited
    found = compare_originals(release, manifest, policy, progress)
    if found is not None:
        return audit | {"originals": found}
    return audit | {"findings": [*audit["findings"], _OTHERS]}


_OTHERS = (
    "originals: the policy and its input do not give these rows; name the policy, the input and "
    "the version that the release was made with (a search that ends by time cannot be repeated)"
)


def compare_originals(
    release: Place, manifest: dict[str, Any], policy: Policy, progress: Progress
) -> dict[str, Any] | None:
    """What the release loses and gives away of the records that the policy's input holds.

    All figures have three digits, as manifests do; they come of the raw data: keep them inside.

    Returns
    -------
    None where the policy and its input do not give the rows of the release: another input, seed or
    version, or a search that was ended by time.

    Raises
    ------
    TcloseError
        Whatever a run of the policy would be refused for.
    """
    local = policy.engine.scheduler == "local"
    policy = policy.model_copy(update={"engine": policy.engine if local else EngineSettings()})
    policy.check_comparable("--originals")
    n_bytes = inputs.total_bytes(inputs.find_files(policy.input))
    with tempfile.TemporaryDirectory(prefix="tclose-audit-") as folder:
        scratch = Path(folder)
        with local_address(policy.engine, n_bytes, scratch / "dask") as address:
            sample = take_sample(policy, scratch, address, WHOLE, policy.seed, progress)
            small = runs_in_process(policy.engine, sample.path.stat().st_size)
            run = Run(sample.policy, "audit", scratch / "work", "" if small else address)
            verdict = _make_again(run, progress)
            made = _Made(run, sample, verdict)
            return made.measure() if made.is_same(release, manifest) else None


def _make_again(run: Run, progress: Progress) -> Verdict:
    run.workspace.create()
    paths = inputs.find_files(run.policy.input)
    run.workspace.save("inspection", inspect_input(run.policy, paths, run.address, progress))
    for stage in (summarise, plan, microaggregate):
        stage(run, progress)
    return verify(run, progress)


@dataclass(frozen=True, eq=False)
class _Made:
    """The rows that were made again, stretch by stretch, each with the number of its record."""

    run: Run
    sample: Sample
    verdict: Verdict

    @property
    def plan(self) -> Plan:
        """What they were made by."""
        found: Plan = self.run.workspace.load("plan")
        return found

    def stretches(self) -> Iterator[pa.Table]:
        """The rows, in the release's order."""
        for index in range(len(self.run.workspace.load("stretches"))):
            path = self.run.workspace.unit("verify", index).path("released")
            if path.exists():
                yield read_table(path)

    def is_same(self, release: Place, manifest: dict[str, Any]) -> bool:
        """Whether the release has these rows, compared piece by piece in its order.

        Columns that decide over classes are compared, but those in the names of folders.
        """
        names = [
            c["name"] for c in manifest["columns"] if c["name"] in self.sample.policy.attributes
        ]
        names = [name for name in names if name not in manifest["partition_by"]]
        places = (release / entry["path"] for entry in manifest["files"])
        theirs = (_read_rows(place).select(names) for place in places)
        mine = (table.select(names) for table in self.stretches())
        return _are_equal(mine, theirs)

    def measure(self) -> dict[str, Any]:
        """Linkage, losses and changes."""
        results: list[RegionResult] = self.run.workspace.load("made")
        losses = np.sum([result.losses for result in results], axis=0) / self.verdict.n_records
        names = [encoding.column.name for encoding in self.plan.encodings]
        measured = {
            "attackers": int(self.sample.attackers.size),
            "linkage": _three_digits(self._measure_linkage()),
            "sse": _three_digits(float(losses.mean())),
            "sse_of": dict(zip(names, map(_three_digits, losses.tolist()), strict=True)),
        }
        numeric = self._numeric()
        if not numeric:
            return measured
        return measured | self._compare(numeric)

    def _measure_linkage(self) -> float:
        names = [encoding.column.name for encoding in self.plan.encodings]
        pieces = [table.select([*names, self.sample.number]) for table in self.stretches()]
        released = pa.concat_tables(pieces).combine_chunks()
        numbers = column_array(released, self.sample.number)
        by_number = np.argsort(numbers)
        own = by_number[np.searchsorted(numbers, self.sample.attackers, sorter=by_number)]
        return measure_linkage(self.sample.originals, own, released, self.plan.encodings)

    def _numeric(self) -> list[Encoding]:
        """Numeric columns and dates: quasi-identifiers first, then confidential attributes."""
        encodings = (*self.plan.encodings, *self.plan.confidential)
        kinds = (Kind.NUMERIC, Kind.DATE)
        return [e for e in encodings if e.column.kind in kinds and not e.generalised]

    def _compare(self, encodings: list[Encoding]) -> dict[str, Any]:
        """IL1s over the quasi-identifiers; changes in moments with the confidential ones too."""
        originals = self._write_originals(encodings)
        comparison: Comparison | None = None
        for table in self.stretches():
            released = _as_floats(table, encodings, released=True)
            own = originals[:, column_array(table, self.sample.number)]
            part = compare_records(np.asarray(own), released)
            comparison = part if comparison is None else comparison.merge(part)
        assert comparison is not None
        n_quasi = sum(e.column.role is Role.QUASI_IDENTIFIER for e in encodings)
        il1s = measure_il1s(_first(comparison, n_quasi)) if n_quasi else None
        return {"il1s": _three_digits(il1s)} | _describe_changes(comparison, encodings)

    def _write_originals(self, encodings: list[Encoding]) -> Float64:
        """Original values by record number, float64 (d, n), in a file: no more is in memory."""
        shape = (len(encodings), self.verdict.n_records)
        path = self.sample.path.with_name("originals.npy")
        values = map_new_array(path, np.float64, shape)
        names = [encoding.column.name for encoding in encodings]
        with pq.ParquetFile(self.sample.path) as file:
            for batch in file.iter_batches(columns=[*names, self.sample.number]):
                table = pa.Table.from_batches([batch])
                numbers = column_array(table, self.sample.number)
                kept = table.filter(pa.array(numbers >= 0))
                values[:, numbers[numbers >= 0]] = _as_floats(kept, encodings, released=False)
        return values


def _as_floats(table: pa.Table, encodings: list[Encoding], *, released: bool) -> Float64:
    """Values of some columns on the scale of the original keys: float64 (d, n)."""
    columns = []
    for encoding in encodings:
        array = table[encoding.column.name].combine_chunks()
        keys = released_keys(encoding, array) if released else encoding.encode(array)
        columns.append(keys.astype(np.float64))
    return np.array(columns).reshape(len(encodings), len(table))


def _read_rows(place: Place) -> pa.Table:
    with place.open("rb") as stream:
        return pq.ParquetFile(stream).read()


def _are_equal(mine: Iterator[pa.Table], theirs: Iterator[pa.Table]) -> bool:
    """Whether two tables in pieces have the same rows in the same order; floats bit by bit."""
    left, right = next(mine, None), next(theirs, None)
    while left is not None and right is not None:
        n_rows = min(len(left), len(right))
        pair = [as_bits(table.slice(0, n_rows)).combine_chunks() for table in (left, right)]
        if not pair[0].equals(pair[1]):
            return False
        left = left.slice(n_rows) if n_rows < len(left) else next(mine, None)
        right = right.slice(n_rows) if n_rows < len(right) else next(theirs, None)
    return left is None and right is None


def _first(comparison: Comparison, n_columns: int) -> Comparison:
    """The comparison of the first columns alone."""
    part = slice(n_columns)

    def take(moments: Moments) -> Moments:
        return replace(moments, means=moments.means[part], products=moments.products[part, part])

    return Comparison(
        take(comparison.original), take(comparison.released), comparison.differences[part]
    )


def _describe_changes(comparison: Comparison, encodings: list[Encoding]) -> dict[str, Any]:
    """Changes of means (in standard deviations), variances (relative), correlations."""
    changes = measure_changes(comparison)
    names = [encoding.column.name for encoding in encodings]
    pairs = [(i, j) for j in range(len(names)) for i in range(j)]
    return {
        "changes_of_means": _by_name(names, changes.means),
        "changes_of_variances": _by_name(names, changes.variances),
        "changes_of_correlations": {
            f"{names[i]} and {names[j]}": _three_digits(float(changes.correlations[i, j]))
            for i, j in pairs
        },
    }


def _by_name(names: list[str], values: Float64) -> dict[str, float | None]:
    return dict(zip(names, map(_three_digits, values.tolist()), strict=True))


def _three_digits(value: float | None) -> float | None:
    """All of them would tell what the rounding of a mean hides; None where there is no figure."""
    return float(f"{value:.3g}") if value is not None and np.isfinite(value) else None
