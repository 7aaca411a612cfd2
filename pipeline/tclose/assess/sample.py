"""The records that a frontier is computed on: the whole table or a random sample, in one file.

The file is in a private scratch folder. Beside the columns that decide over classes it has one
that numbers the complete records; the policy for it carries that column along, so that a released
record can be told from which original one it came. Nothing that has it ever leaves the folder.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.files import input_files
from tclose.data.files.column_names import free_name
from tclose.data.files.input_partitions import read_partition
from tclose.data.files.input_settings import InputSettings
from tclose.data.preparation.prepare_values import prepare_table
from tclose.data.value_counts import complete_records
from tclose.model.array_types import Int64
from tclose.model.column_terms import Role
from tclose.model.input_pieces import Partition
from tclose.passes.persons.person_keys import hide_persons, load_person_key
from tclose.passes.release import RELEASE
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS
from tclose.passes.summarise.records import Source
from tclose.policy.policy import Policy
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.engines.engine import Engine, InProcess, open_engine, runs_in_process
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import Run
from tclose.runtime.scratch import Purpose, scratch_folder

MAX_ATTACKERS = 20_000
NUMBER = "record"  # of the column that tells records


@dataclass(frozen=True, eq=False)
class Sample:
    """Records in a file of their own, and who of them attacks.

    ``policy``: the one asked for, with this file as its input; ``number``: the column that numbers
    records; ``attackers``: numbers of the records whose own released record is looked for,
    ascending, with their quasi-identifiers in ``originals``.
    """

    policy: Policy
    path: Path
    number: str
    n_table: int
    n_records: int
    attackers: Int64
    originals: pa.Table

    @property
    def is_whole(self) -> bool:
        """True if it is the whole table."""
        return self.n_records == self.n_table


@contextlib.contextmanager
def local_sample(
    policy: Policy, purpose: Purpose, size: int, seed: int, progress: Progress
) -> Iterator[tuple[Sample, Engine]]:
    """A sample in a scratch folder, and the engine for runs on it, for a block.

    All is done on this machine, whatever scheduler the policy names: others do not see the folder.
    What is made of it stands alone, whatever series the policy's releases are of.

    Parameters
    ----------
    purpose : of the scratch folder
    size, seed : as in `take_sample`
    """
    local = policy.engine.scheduler == "local"
    policy = policy.without_series()
    policy = policy.model_copy(update={"engine": policy.engine if local else EngineSettings()})
    n_bytes = input_files.total_bytes(input_files.find_files(policy.input))
    with (
        scratch_folder(purpose) as scratch,
        open_engine(policy.engine, n_bytes) as engine,
    ):
        sample = take_sample(policy, scratch, engine, size, seed, progress)
        small = runs_in_process(policy.engine, sample.path.stat().st_size)
        yield sample, InProcess() if small else engine


def take_sample(
    policy: Policy, scratch: Path, engine: Engine, size: int, seed: int, progress: Progress
) -> Sample:
    """Read the input and keep ``size`` complete records of it at random, or all if there are fewer.

    Whole tables keep their incomplete records and so the positions that ties are dealt by: what is
    made of them is what a run of the policy makes. Policy, input and seed decide who is sampled.

    Raises
    ------
    DataError
        The data cannot be used: whatever a run would say.
    """
    run = Run(policy, "sample", scratch / "reading", engine)
    run_pipeline(RELEASE.until(INPUT_SUMMARY), run, progress)
    summary = run.workspace.load(INPUT_SUMMARY)
    source, n_table = summary.source, summary.table.n_complete
    chosen = _draw(np.arange(n_table), size, np.random.default_rng([seed, 0]))
    attackers = _draw(chosen, MAX_ATTACKERS, np.random.default_rng([seed, 1]))
    path, number = scratch / "records.parquet", free_name(NUMBER, source.reading.names)
    pieces = list(
        zip(
            run.workspace.load(PARTITIONS),
            (piece.table.n_complete for piece in summary.pieces),
            strict=True,
        )
    )
    person_key = b"" if source.person is None else load_person_key(run)
    copy = _Copy(source, number, chosen, attackers, n_table, person_key)
    originals = copy.write(path, pieces, progress)
    run.workspace.remove()
    inner = policy_of_sample(policy, copy.columns, path, number)
    return Sample(inner, path, number, n_table, chosen.size, attackers, originals)


def _draw(numbers: Int64, size: int, rng: np.random.Generator) -> Int64:
    """At most ``size`` of the numbers, every one as likely, ascending."""
    if numbers.size <= size:
        return numbers
    return np.sort(rng.choice(numbers, size, replace=False))


def policy_of_sample(policy: Policy, columns: Sequence[str], path: Path, number: str) -> Policy:
    """The policy of records of a file, told by a column of numbers that goes along."""
    attributes = {n: a.after_preparation() for n, a in policy.attributes.items() if n in columns}
    passthrough = AttributeSettings(role=Role.NON_CONFIDENTIAL)
    changes = {
        "attributes": attributes | {number: passthrough},
        "input": InputSettings(path=str(path)),
    }
    return policy.without_suppression().model_copy(update=changes)


@dataclass(frozen=True, eq=False)
class _Copy:
    """Writes the chosen records of all partitions, and picks the attackers among them.

    Records without a value that their class gives them stay so; attackers take the centre for it.
    Who they are is written as a keyed hash.
    """

    source: Source
    number: str
    chosen: Int64
    attackers: Int64
    n_table: int
    person_key: bytes

    @property
    def columns(self) -> tuple[str, ...]:
        """The deciding columns: quasi-identifiers, confidential and partition columns."""
        return tuple(column.name for column in self.source.checked)

    def write(
        self, path: Path, pieces: list[tuple[Partition, int]], progress: Progress
    ) -> pa.Table:
        """Write the file; the attackers' quasi-identifiers, by their numbers."""
        quasi = [c.name for c in self.source.columns if c.role is Role.QUASI_IDENTIFIER]
        filled = self.source.reading.filled_by_class
        attacking, writer = [], None
        try:
            for table in self._read(pieces, progress):
                if writer is None:
                    writer = pq.ParquetWriter(path, table.schema)
                writer.write_table(table)
                mask = np.isin(table[self.number].to_numpy(), self.attackers)
                known = table.select(quasi).filter(pa.array(mask))
                attacking.append(prepare_table(known, filled))
        finally:
            if writer is not None:
                writer.close()
        return pa.concat_tables(attacking)

    def _read(self, pieces: list[tuple[Partition, int]], progress: Progress) -> Iterator[pa.Table]:
        first = 0
        with progress.following("drawing records", len(pieces)) as step:
            for partition, n_complete in pieces:
                last = first + n_complete
                start, stop = np.searchsorted(self.chosen, [first, last])
                if start < stop or self.chosen.size == self.n_table:
                    table = read_partition(partition, self.source.reading.with_gaps())
                    table = self._take(table, first, self.chosen[start:stop] - first)
                    if len(table):
                        yield table
                first = last
                step()

    def _take(self, table: pa.Table, first: int, chosen: Int64) -> pa.Table:
        """The chosen of a partition's complete records, numbered; of a whole table all records."""
        filled = prepare_table(table, self.source.reading.filled_by_class)
        mask = complete_records(filled, self.source.checked)
        complete = np.arange(len(table)) if mask is None else np.flatnonzero(mask.to_numpy())
        numbers = np.full(len(table), -1, dtype=np.int64)
        numbers[complete] = np.arange(first, first + complete.size)
        table = table.select(list(self.columns)).append_column(self.number, pa.array(numbers))
        if self.source.person is not None:
            table = hide_persons(table, self.source.person, self.person_key)
        if self.chosen.size == self.n_table:
            return table
        return table.take(pa.array(complete[chosen]))
