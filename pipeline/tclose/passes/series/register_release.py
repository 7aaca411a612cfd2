"""The register of a new release: whose its rows are, as they were verified."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tclose.model.array_types import Int64
from tclose.model.input_pieces import Partition
from tclose.passes.compare.keyed_hashes import UInt64
from tclose.passes.persons.person_keys import PERSON_KEY
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.series.kept_centres import describe_centres
from tclose.passes.series.link_persons import SeriesLink, limits_over_time, load_window
from tclose.passes.series.series_cells import number_hashes, place_release
from tclose.passes.series.series_units import load_hashes
from tclose.passes.series.series_verdict import SeriesVerdict, judge_series
from tclose.passes.verify.person_traces import PERSON_CODES, PERSON_ROWS
from tclose.releases.series.register_file import ReleasedPersons
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact
from tclose.runtime.pipeline import PassContext

REGISTER = FileArtifact("verify/register", ArrayFile)  # uint8: the bytes of the file
SERIES_VERDICT = Artifact("series-verdict", tuple[SeriesVerdict, ...])  # one, or none


def register_persons(
    context: PassContext,
    plan: Plan,
    n_classes: Sequence[int],
    key_id: str,
    partitions: Sequence[Partition],
) -> ReleasedPersons:
    """Return whose the rows of the key ranges are, in the release's order.

    Parameters
    ----------
    n_classes : of each key range, 0 where it is empty
    key_id : of the key that persons are hashed with
    partitions : of the input, and of rows that are held
    """
    run, workspace = context.run, context.workspace
    settings = run.policy.privacy.over_time
    assert settings is not None
    rows, codes, first = [], [], 0
    for index, n in enumerate(n_classes):
        if n:
            persons, classes = workspace.file(PERSON_ROWS, index).read()
            rows.append(np.vstack([persons, classes + first]))
            codes.append(workspace.file(PERSON_CODES, index).read())
            first += n
    persons, classes = np.concatenate(rows, axis=1)
    hashes = load_hashes(workspace, plan)[persons]
    names = tuple(encoding.column.name for encoding in plan.confidential)
    limits: dict[str, Fraction] = limits_over_time(run.policy, settings)
    return ReleasedPersons(
        release=f"{run.policy.name}/{run.release_id}",
        hashes=hashes,
        classes=classes,
        attributes=names,
        limits=tuple(limits[name] for name in names),
        codes=np.concatenate(codes, axis=1),
        tables=load_distributions(workspace, plan),
        key_id=key_id,
        stale=_find_stale(hashes, partitions),
        centres=describe_centres(plan.encodings, workspace.load_shared(PERSON_KEY)),
    )


def _find_stale(hashes: UInt64, partitions: Sequence[Partition]) -> Int64:
    """Count the releases that each row has been held in: int64 (n,), empty if none is."""
    held = np.concatenate([partition.held for partition in partitions])
    if not len(held):
        return np.empty(0, dtype=np.int64)
    words = np.ascontiguousarray(held[:, :2]).view(np.uint64)
    n_persons, (of_held, of_rows) = number_hashes([words, hashes])
    ages = np.zeros(n_persons, dtype=np.int64)
    ages[of_held] = held[:, 2]
    stale: Int64 = ages[of_rows]
    return stale


def judge_window(
    context: PassContext, series: SeriesLink, persons: ReleasedPersons
) -> SeriesVerdict:
    """Decide whether a release holds together with the earlier ones of its window."""
    settings = context.run.policy.privacy.over_time
    assert settings is not None
    released = [*load_window(context.run, series.window), persons]
    n_persons, numbers = number_hashes([one.hashes for one in released])
    limits = dict(zip(persons.attributes, persons.limits, strict=True))
    placed = [
        place_release(one, of_one, n_persons, limits)
        for one, of_one in zip(released, numbers, strict=True)
    ]
    del released  # hashes are the larger part of a window
    return judge_series(placed, n_persons, settings.k, settings.departures, settings.most_held)
