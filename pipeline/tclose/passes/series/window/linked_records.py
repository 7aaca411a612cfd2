"""The complete records of a table, whose persons are looked for in the earlier releases."""

import pyarrow as pa

from tclose.data.files.input_partitions import read_partition
from tclose.data.value_counts import complete_records
from tclose.model.input_pieces import Partition
from tclose.passes.persons.person_keys import PersonKey, hash_persons
from tclose.passes.summarise.records import Source, kept_positions
from tclose.runtime.artifacts.arrays import ArrayFile, TableFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task

# Of a partition's complete records: position, confidential values.
LINKED = FileArtifact("link/persons", TableFile)
LINKED_HASHES = FileArtifact("link/hashes", ArrayFile)  # uint64 (2, n): both words of the hash


def link_task(
    _: Workspace, item: tuple[Partition, Source, PersonKey], pending: PendingFiles
) -> int:
    """Hash the persons of a partition's complete records; how many records there are."""
    partition, source, key = item
    assert source.person is not None
    table = read_partition(partition, source.reading.of([c.name for c in source.checked]))
    positions = kept_positions(table, source.checked, partition.first_position)
    mask = complete_records(table, source.checked)
    records = table if mask is None else table.filter(mask)
    hashes, places = hash_persons(records, source.person, key.content)
    pending.new(LINKED_HASHES).write(hashes.T[:, places])
    linked = pa.table({"position": positions})
    for a, column in enumerate(source.confidential):
        linked = linked.append_column(f"v{a}", records[column.name])
    pending.new(LINKED).write(linked)
    return len(linked)


LINK_TASK = Task("link", "linking persons", link_task, (LINKED, LINKED_HASHES), version=2)


def read_linked(workspace: Workspace, n_partitions: int) -> pa.Table:
    """The records of all partitions, mapped."""
    return pa.concat_tables([workspace.file(LINKED, i).read() for i in range(n_partitions)])
