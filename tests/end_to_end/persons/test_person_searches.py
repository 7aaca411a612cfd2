"""Of persons with many near records it shows at the end which search loses less: both are run."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release
from tclose.passes.microaggregate import region_clusters

N_RECORDS = 2_000


def write_stays(path: Path, persons: np.ndarray) -> Path:
    """Records of persons whose age and district last, on days of a year."""
    rng = np.random.default_rng(1)
    n_persons = int(persons.max()) + 1
    columns: dict[str, Any] = {
        "patient": [f"p{person}" for person in persons.tolist()],
        "age": rng.integers(0, 100, n_persons)[persons],
        "district": rng.integers(0, 1000, n_persons)[persons],
        "day": rng.integers(0, 365, persons.size),
        "cost": rng.integers(0, 10_000, persons.size),
    }
    pq.write_table(pa.table(columns), path)
    return path


def release_stays(source: Path, folder: Path) -> Released:
    names = ("age", "district", "day")
    return release(
        {
            "name": "stays",
            "input": {"path": str(source)},
            "attributes": {"patient": "person", "cost": "confidential"}
            | dict.fromkeys(names, "quasi-identifier"),
            "privacy": {"k": 5, "t": 0.2},
            "method": {"refine": "lean"},
            "output": {"path": str(folder)},
        }
    )


def loss_of(made: Released) -> float:
    loss: float = made.internal["exact_information_loss"]["total"]
    return loss


@pytest.mark.parametrize(
    ("persons", "place"),
    [
        (np.repeat(np.arange(N_RECORDS // 40), 40), 0),  # many with forty records each
        (np.append(np.repeat(np.arange(2), 200), np.arange(2, N_RECORDS - 398)), 1),  # two with 200
    ],
    ids=["persons apart", "persons united"],
)
def test_the_one_that_loses_less_is_released(
    persons: np.ndarray, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By both tables, no class with a person twice; or by records, and united until they hold."""
    source, both = write_stays(tmp_path / "stays.parquet", persons), region_clusters._make_searches
    losses = [loss_of(release_stays(source, tmp_path / "both"))]
    for number in range(2):

        def take_one(*of_region: Any, number: int = number) -> list[Any]:
            return [both(*of_region)[number]]

        monkeypatch.setattr(region_clusters, "_make_searches", take_one)
        losses.append(loss_of(release_stays(source, tmp_path / f"{number}")))
    assert losses[0] == losses[1 + place] < 0.8 * losses[2 - place]
