"""A table of two partitions, which a small t cannot be had for."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from support.cases.people import CONFIDENTIAL, QUASI, people, policy_for

N_RECORDS = 240


def far_partition() -> pa.Table:
    """One site has the high pays: it is far from the table, however it is cut."""
    pay = np.arange(N_RECORDS)
    site = np.where(pay < N_RECORDS // 2, "a<b&c", "other")
    return people(N_RECORDS, pay=pay, site=site)


def far_policy(path: Path) -> dict[str, Any]:
    roles = {"age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL, "site": "non-confidential"}
    output = {"path": str(path.parent / "releases"), "partition_by": ["site"]}
    return policy_for(path, attributes=roles, output=output, privacy={"k": 3, "t": 0.3})
