"""The rows of each key range that models of the whole table need, written and read."""

import numpy as np
import pyarrow as pa

from tclose.data.keys import Keys
from tclose.model.array_types import Int64
from tclose.privacy.bound_models import PrivacyModels
from tclose.privacy.whole_table import ClassRows, take_class_rows
from tclose.runtime.artifacts.arrays import TableFile, column_array, key_array
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace

WHOLE_CLASSES = FileArtifact("verify/whole-classes", TableFile)
WHOLE_ROWS = FileArtifact("verify/whole-rows", TableFile)


def keep_class_rows(
    keys: list[Keys],
    starts: Int64,
    codes: Int64,
    privacy_models: PrivacyModels,
    pending: PendingFiles,
) -> None:
    """Write what is needed of a key range; nothing where no model needs the whole table.

    The parameters are as of `take_class_rows`.
    """
    if not privacy_models.by_table:
        return
    piece = take_class_rows(keys, starts, codes, privacy_models)
    classes = {f"k{j}": column for j, column in enumerate(piece.keys)} | {"size": piece.sizes}
    pending.new(WHOLE_CLASSES).write(pa.table(classes))
    rows = {f"c{j}": column for j, column in enumerate(piece.codes)}
    pending.new(WHOLE_ROWS).write(pa.table(rows))


def read_class_rows(
    workspace: Workspace, privacy_models: PrivacyModels, n_tasks: int
) -> list[ClassRows]:
    """Read the rows of all key ranges, in their order; key ranges without classes have none."""
    if not privacy_models.by_table:
        return []
    pieces = []
    for index in range(n_tasks):
        if workspace.file(WHOLE_CLASSES, index).exists:
            classes = workspace.file(WHOLE_CLASSES, index).read()
            rows = workspace.file(WHOLE_ROWS, index).read()
            keys = [key_array(classes, name) for name in classes.column_names[:-1]]
            sizes: Int64 = column_array(classes, "size").astype(np.int64)
            codes = [column_array(rows, name) for name in rows.column_names]
            pieces.append(ClassRows(keys, sizes, codes))
    return pieces
