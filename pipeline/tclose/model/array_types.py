"""Types of the arrays that kernels take and give."""

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Integers = Int32 | Int64  # of large tables, or of any
UInt64 = NDArray[np.uint64]
Float64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
