"""A short calibration of this machine, by trials of generated records: once, and kept.

The passes themselves are timed, up to the verdict: a table without a search, and one with a short
one. The least of several tries counts, as other work on the machine only adds to them.
"""

from pathlib import Path
from typing import Any

from tclose.assess.ahead.trial_release import TrialRelease, make_trial
from tclose.data.synthetic import generate_rows
from tclose.errors import TcloseError
from tclose.passes.encode.encode import ENCODE
from tclose.passes.plan.notices.compile_notice import kernels_are_compiled
from tclose.passes.plan.notices.costs.calibration import (
    WorkSeconds,
    is_busy,
    keep_calibration,
    read_calibration,
)
from tclose.passes.plan.search_budget import FAST, OFF
from tclose.passes.summarise.summarise import SUMMARISE
from tclose.passes.verify.verdict import VERIFY
from tclose.policy.policy import Policy, parse_policy
from tclose.runtime.monitoring.progress import Progress

N_RECORDS, N_TRIES = 50_000, 3
SEED = 1
QUASI_IDENTIFIERS = ("age", "sex", "zip", "length_of_stay", "diagnosis_group", "insurance_type")
DOCUMENT: dict[str, Any] = {
    "name": "calibration",
    "attributes": {
        **dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier"),
        "charge": "confidential",
    },
    "unlisted": "drop",
    "privacy": {"k": 5, "t": 0.1},
}


def calibrate(
    scratch: Path, progress: Progress, *, folder: Path | None = None
) -> WorkSeconds | None:
    """Return how much longer work takes here than on the reference's machine, measured if need be.

    One that was made on a busy machine is made again when it is not. None, which is no error, where
    kernels would have to be compiled first, or a trial fails.

    Parameters
    ----------
    scratch : a private folder
    folder : where the calibration is kept; by default beside the compiled kernels
    """
    kept = read_calibration(folder, of_quiet=not is_busy())
    if kept is not None:
        return kept
    if not (kernels_are_compiled(OFF) and kernels_are_compiled(FAST)):
        return None
    progress.info("calibrating on this machine, once")
    try:
        seconds = time_work(scratch)
    except (TcloseError, OSError):
        return None
    return keep_calibration(seconds, folder)


def time_work(scratch: Path, n_records: int = N_RECORDS, n_tries: int = N_TRIES) -> WorkSeconds:
    """Seconds of a processor of each kind of work: the least of some tries, after one to load."""
    records = generate_rows(0, n_records, SEED).select([*QUASI_IDENTIFIERS, "charge"])
    place = scratch / "calibration"
    place.mkdir(mode=0o700)
    path = place / "none.parquet"  # each trial writes its own
    off, lean = (_policy(path, refine) for refine in ("off", "lean"))
    make_trial(lean, records, place / "first")
    plain = [make_trial(off, records, place / f"off-{i}") for i in range(n_tries)]
    searched = [make_trial(lean, records, place / f"lean-{i}") for i in range(n_tries)]
    return WorkSeconds(
        records=min(map(_moving_seconds, plain)),
        classes=min(trial.class_work.clusters for trial in plain),
        search=min(trial.class_work.search for trial in searched),
    )


def _policy(path: Path, refine: str) -> Policy:
    document = DOCUMENT | {"input": {"path": str(path)}, "method": {"refine": refine}}
    return parse_policy(document, source="of the calibration")


def _moving_seconds(trial: TrialRelease) -> float:
    """Seconds of reading, encoding and checking records."""
    return sum(trial.seconds[one.name] for one in (SUMMARISE, ENCODE, VERIFY))
