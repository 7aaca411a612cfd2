"""What verification keeps of each stretch for models that need the classes of the whole table."""

import numpy as np
import pyarrow as pa

from pipeline.model import Int64
from pipeline.stages.keys import Keys
from pipeline.stages.requirements import Further
from pipeline.stages.whole_table import Stretch, take_stretch
from pipeline.storage.tables import column_array, key_array, read_table, write_table
from pipeline.storage.workspace import Drafts, Workspace


def keep_stretch(
    keys: list[Keys], starts: Int64, codes: Int64, further: Further, drafts: Drafts
) -> None:
    """Write what is needed of a stretch; nothing where no model needs the whole table."""
    if not further.by_table:
        return
    stretch = take_stretch(keys, starts, codes, further)
    classes = {f"k{j}": column for j, column in enumerate(stretch.keys)} | {"size": stretch.sizes}
    write_table(pa.table(classes), drafts.new("whole-classes"))
    rows = {f"c{j}": column for j, column in enumerate(stretch.codes)}
    write_table(pa.table(rows), drafts.new("whole-rows"))


def read_stretches(workspace: Workspace, further: Further, n_units: int) -> list[Stretch]:
    """What was kept of all stretches, in their order; stretches without classes kept nothing."""
    if not further.by_table:
        return []
    units = [workspace.unit("verify", index) for index in range(n_units)]
    stretches = []
    for unit in units:
        if unit.path("whole-classes").exists():
            classes = read_table(unit.path("whole-classes"))
            rows = read_table(unit.path("whole-rows"))
            keys = [key_array(classes, name) for name in classes.column_names[:-1]]
            sizes: Int64 = column_array(classes, "size").astype(np.int64)
            codes = [column_array(rows, name) for name in rows.column_names]
            stretches.append(Stretch(keys, sizes, codes))
    return stretches
