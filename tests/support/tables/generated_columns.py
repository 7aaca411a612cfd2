"""Helpers for tests of generated tables."""

from typing import cast

import numpy as np
import pyarrow as pa

SEED = 20_240_917


def column(table: pa.Table, name: str) -> np.ndarray:
    """Its values as an array."""
    return cast(np.ndarray, table[name].to_numpy())
