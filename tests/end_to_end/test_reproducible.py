"""Same input, policy and seed: same bytes, whatever the workers and the cut of the input."""

from itertools import pairwise

import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import data_digests, discharge_policy, write_discharges
from support.cases.people import folder_of
from support.length import every
from tclose.data.synthetic import generate_rows
from tclose.passes.release import run_release
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

ROWS = 12_500
OFF = {"method": {"refine": "off"}}
CUTS = [(0, 1, 2, ROWS - 1, ROWS), (0, 7, 7_500, ROWS), (0, ROWS)]


@pytest.fixture(scope="module")
def discharges(tmp_path_factory):
    return write_discharges(tmp_path_factory.mktemp("input") / "discharges.parquet", ROWS)


@pytest.fixture(scope="module")
def expected(discharges, tmp_path_factory):
    policy = discharge_policy(discharges, tmp_path_factory.mktemp("expected") / "releases")
    return data_digests(folder_of(run_release(policy, Progress("none"))))


@pytest.mark.parametrize("workers", every(2, [4, 1]))
def test_workers_change_no_byte(workers, discharges, expected, tmp_path):
    policy = discharge_policy(discharges, tmp_path / "out", engine={"workers": workers})
    assert data_digests(folder_of(run_release(policy, Progress("none")))) == expected


@pytest.mark.nightly
@pytest.mark.parametrize("cuts", every(3, CUTS))
def test_cut_of_the_input_changes_no_byte(cuts, expected, tmp_path, sizes):
    folder = tmp_path / "input"
    folder.mkdir()
    for number, (start, stop) in enumerate(pairwise(cuts)):
        table = generate_rows(start, stop - start, 1)
        pq.write_table(table, folder / f"{number:02d}.parquet", row_group_size=750 + number)
    sizes.pieces(rows=1_250, least=250)
    policy = discharge_policy(folder, tmp_path / "out")
    assert data_digests(folder_of(run_release(policy, Progress("none")))) == expected


def test_seed_and_policy_change_the_release(discharges, tmp_path):
    first = run_release(discharge_policy(discharges, tmp_path / "out", **OFF), Progress("none"))
    policy = discharge_policy(discharges, tmp_path / "out", seed=2, **OFF)
    other = run_release(policy, Progress("none"))
    assert first.release != other.release
    assert (tmp_path / "out/discharges/CURRENT").read_text().strip() == other.release.name


@pytest.mark.nightly
def test_release_id_says_nothing_without_the_key(discharges, tmp_path):
    first = run_release(discharge_policy(discharges, tmp_path / "a", **OFF), Progress("none"))
    other = run_release(discharge_policy(discharges, tmp_path / "b", **OFF), Progress("none"))
    assert first.release.name != other.release.name
    assert data_digests(folder_of(first)) == data_digests(folder_of(other))
