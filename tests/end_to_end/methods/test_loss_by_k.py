"""What a release of a larger k loses, one of a smaller k need not: it holds that, too."""

from pathlib import Path
from typing import Any

import pytest

from support.cases.people import release
from support.length import every
from tclose.data.synthetic import write_microdata

ROLES = {
    "age": "quasi-identifier",
    "sex": "quasi-identifier",
    "zip": {"role": "quasi-identifier", "aggregate": "median"},
    "charge": "confidential",
}


def made(source: Path, folder: Path, k: int, losses: str) -> dict[str, Any]:
    """The manifest of a release within t .1."""
    return release(
        {
            "name": f"k{k}-{losses}",
            "input": {"path": str(source)},
            "unlisted": "drop",
            "attributes": ROLES,
            "privacy": {"k": k, "t": 0.1},
            "method": {"losses": losses},
            "output": {"path": str(folder / "releases")},
        }
    ).manifest


@pytest.mark.every_case
@pytest.mark.parametrize("seed", every(2, [3, 4]))
def test_smaller_classes_lose_no_more(seed: int, tmp_path: Path) -> None:
    """Merging ended in one class of a fifth of the records, where classes of k are far above t.

    Where losses are shares classes are near their size: of few numbers would lose more than
    categories gain.
    """
    source = tmp_path / "discharges.parquet"
    write_microdata(source, 3_000, seed)
    small, large = (made(source, tmp_path, k, "absolute") for k in (3, 15))
    assert small["information_loss"]["total"] <= large["information_loss"]["total"]
    assert small["classes"]["largest"] < 0.1 * 3_000
    shares = made(source, tmp_path, 3, "relative")["classes"]
    assert shares["n_classes"] > 2 * small["classes"]["n_classes"]
    assert shares["largest"] < 0.01 * 3_000
