"""Where confidential values follow a quasi-identifier, the default method loses less than others.

Equal records then are far from the table, and merging decides what is lost.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import release

N_RECORDS = 4_000
ROLES = {
    "sex": "quasi-identifier",
    "region": "quasi-identifier",
    "age": "quasi-identifier",
    "pay": "confidential",
}


def write_table(path: Path, seed: int) -> None:
    """Two sexes, four regions, and pays that depend on the age."""
    rng = np.random.default_rng(seed)
    trait, other = rng.standard_normal((2, N_RECORDS))
    table = {
        "sex": rng.choice(["f", "m"], N_RECORDS),
        "region": rng.choice(["n", "e", "s", "w"], N_RECORDS),
        "age": np.clip(45 + 18 * trait, 0, 99).astype(np.int64),
        "pay": np.round(10_000 * np.exp(0.4 * trait + 0.4 * other)),
    }
    pq.write_table(pa.table(table), path)


def made(source: Path, method: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a release of k 5 within t .2."""
    return release(
        {
            "name": "-".join(method.values()),
            "input": {"path": str(source)},
            "attributes": ROLES,
            "privacy": {"k": 5, "t": 0.2},
            "method": method,
            "output": {"path": str(source.parent / "releases")},
        }
    ).manifest


@pytest.mark.every_case
@pytest.mark.parametrize("seed", [7, 8])
def test_short_searches_lose_less_than_others(seed: int, tmp_path: Path) -> None:
    """Without any as well, but than merging alone, which ends in a third as many classes."""
    source = tmp_path / "pays.parquet"
    write_table(source, seed)
    names = "microaggregate-and-merge", "mondrian"
    merging, mondrian = (made(source, {"name": name}) for name in names)
    off, lean = (
        made(source, {"name": "t-closeness-first", "refine": refine}) for refine in ("off", "lean")
    )
    for ours, others in ((lean, merging), (lean, mondrian), (off, mondrian)):
        assert ours["information_loss"]["total"] <= others["information_loss"]["total"]
        assert ours["classes"]["n_classes"] > others["classes"]["n_classes"]
