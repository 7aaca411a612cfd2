"""Whatever fails while a run is under way: the next run ends as if nothing had happened.

``TCLOSE_FAULTS`` is how many trials there are; else every eighth kind has one. Each kind of fault
comes up in turn; those that strike in a pass strike in one after the other. The rest is drawn by
the trial's number and ``TCLOSE_FAULTS_SEED``.
"""

import os

import pytest

from support.cases.discharge_policies import data_digests, discharge_policy, write_discharges
from support.cases.people import folder_of
from support.faults.fault_trials import KINDS, METHOD, finish, make_site
from support.faults.killed_run import SMALL_REGION
from support.length import FULL
from tclose.passes.plan import coarse_tree
from tclose.passes.release import run_release
from tclose.runtime.monitoring.progress import Progress

ROWS = 15_000
N_TRIALS = int(os.environ.get("TCLOSE_FAULTS", "11"))
SEED = int(os.environ.get("TCLOSE_FAULTS_SEED", "1"))
TRIALS = [(number, list(KINDS)[number % len(KINDS)]) for number in range(N_TRIALS)]
if not FULL and "TCLOSE_FAULTS" not in os.environ:
    TRIALS = TRIALS[3::8]


@pytest.fixture(scope="module")
def discharges(tmp_path_factory):
    return write_discharges(tmp_path_factory.mktemp("input") / "discharges.parquet", ROWS)


@pytest.fixture(scope="module")
def undisturbed(discharges, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarse_tree, "MIN_REGION_RECORDS", SMALL_REGION)
        place = tmp_path_factory.mktemp("whole") / "releases"
        policy = discharge_policy(discharges, place, method=METHOD)
        return data_digests(folder_of(run_release(policy, Progress("none"))))


@pytest.mark.parametrize(("number", "kind"), TRIALS, ids=[f"{n:02d}-{k}" for n, k in TRIALS])
def test_fault(number, kind, discharges, undisturbed, tmp_path, record_property, request):
    if kind == "s3-conflict":
        request.getfixturevalue("object_store")
    site = make_site(tmp_path, discharges, undisturbed, number, SEED)
    where = KINDS[kind](site)
    finish(site)
    record_property("fault", f"{kind}: {where}")
