"""What a release of a larger k loses, one of a smaller k need not: it holds that, too."""

from pathlib import Path
from typing import Any

import pytest

from support.cases.people import release
from tclose.data.synthetic import write_microdata

ROLES = {
    "age": "quasi-identifier",
    "sex": "quasi-identifier",
    "zip": {"role": "quasi-identifier", "aggregate": "median"},
    "charge": "confidential",
}


def made(source: Path, folder: Path, k: int) -> dict[str, Any]:
    """The manifest of a release within t .1."""
    return release(
        {
            "name": f"k{k}",
            "input": {"path": str(source)},
            "unlisted": "drop",
            "attributes": ROLES,
            "privacy": {"k": k, "t": 0.1},
            "output": {"path": str(folder / "releases")},
        }
    ).manifest


@pytest.mark.every_case
@pytest.mark.parametrize("seed", [3, 4])
def test_smaller_classes_lose_no_more(seed: int, tmp_path: Path) -> None:
    """Merging ended in one class of a fifth of the records, where classes of k are far above t."""
    source = tmp_path / "discharges.parquet"
    write_microdata(source, 3_000, seed)
    small, large = (made(source, tmp_path, k) for k in (3, 15))
    assert small["information_loss"]["total"] <= large["information_loss"]["total"]
    assert small["classes"]["largest"] < 0.1 * 3_000
