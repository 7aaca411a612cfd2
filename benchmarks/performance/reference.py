"""The reference: read the Parquet input, sort by a column, write it back.

``python -m benchmarks.performance.reference INPUT COLUMN OUTPUT``
"""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def main() -> None:
    """Read, sort, write."""
    source, column, target = sys.argv[1:]
    table = pq.read_table(source)
    order = np.argsort(table[column].to_numpy(), kind="stable")
    pq.write_table(table.take(pa.array(order)), target)


if __name__ == "__main__":
    main()
