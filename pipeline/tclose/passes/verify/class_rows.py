"""What verification keeps of each stretch for models that need the classes of the whole table."""

import numpy as np
import pyarrow as pa

from tclose.data.keys import Keys
from tclose.model import Int64
from tclose.privacy.bound_models import PrivacyModels
from tclose.privacy.whole_table import Stretch, take_stretch
from tclose.runtime.arrays import column_array, key_array, read_table, write_table
from tclose.runtime.artifacts import PendingFiles, Workspace


def keep_class_rows(
    keys: list[Keys], starts: Int64, codes: Int64, further: PrivacyModels, pending: PendingFiles
) -> None:
    """Write what is needed of a stretch; nothing where no model needs the whole table."""
    if not further.by_table:
        return
    stretch = take_stretch(keys, starts, codes, further)
    classes = {f"k{j}": column for j, column in enumerate(stretch.keys)} | {"size": stretch.sizes}
    write_table(pa.table(classes), pending.new("whole-classes"))
    rows = {f"c{j}": column for j, column in enumerate(stretch.codes)}
    write_table(pa.table(rows), pending.new("whole-rows"))


def read_class_rows(workspace: Workspace, further: PrivacyModels, n_units: int) -> list[Stretch]:
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
