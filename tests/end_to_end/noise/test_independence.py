"""Noise in a release: the odds that are promised, in every partition, whichever worker drew it."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.noise_cases import ILLS, document_of
from support.cases.patients import CONFIDENTIAL, patients
from support.cases.people import folder_of, publish
from support.checks.exact_odds import clamped_odds, find_dependence, find_deviations, response_odds
from support.checks.released import read_rows

pytestmark = pytest.mark.usefixtures("small_regions")

pytest.importorskip("opendp")

N_FILES, N_RECORDS = 4, 12_000


def write_equal(folder: Path) -> Path:
    """Every record has the same pay and illness; so have all files."""
    folder.mkdir()
    table = patients(N_RECORDS)
    for name, value in (
        ("pay", pa.array(np.full(N_RECORDS, 850))),
        ("ill", pa.array(["flu"] * N_RECORDS)),
    ):
        table = table.set_column(table.column_names.index(name), name, value)
    size = N_RECORDS // N_FILES
    for number in range(N_FILES):
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
    return folder


@pytest.mark.parametrize("workers", ["auto", 2])
def test_equal_values_of_all_partitions(workers: str | int, tmp_path: Path) -> None:
    noise = {"epsilon": 2, "low": 800, "high": 900, "step": 50}
    attributes = {
        "pay": {"role": CONFIDENTIAL, "noise": noise},
        "ill": {"role": CONFIDENTIAL, "noise": {"epsilon": 1, "values": ILLS}},
    }
    document = document_of(
        write_equal(tmp_path / "input"),
        tmp_path,
        attributes=attributes,
        engine={"workers": workers},
    )
    rows = read_rows(folder_of(publish(document))).sort_values("id")
    steps = (rows["pay"].to_numpy().astype(np.int64) - 800) // 50
    codes = rows["ill"].map(ILLS.index).to_numpy().astype(np.int64)
    for drawn, odds in (
        (steps, clamped_odds(1, 2, 2)),
        (codes, response_odds(ILLS.index("flu"), len(ILLS), 1)),
    ):
        pieces = drawn.reshape(N_FILES, -1)
        assert all(find_deviations(piece, odds) == [] for piece in pieces)
        for first, second in combinations(pieces, 2):
            assert find_dependence(first, second, (odds, odds)) == []
        assert find_dependence(pieces[0], pieces[0], (odds, odds)) != []
    both = clamped_odds(1, 2, 2), response_odds(ILLS.index("flu"), len(ILLS), 1)
    assert find_dependence(steps, codes, both) == []
