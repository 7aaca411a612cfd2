"""A release beside its originals by what no version of the code decides: its values and claims.

Another version of a method may make other classes of the same records. So the rows of a release
that another version made cannot be made again; but its records are still those of the input, by
all values that are released as they are, and k, t and models those of the policy.
"""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.assess.complete_records import read_complete
from tclose.data.files.input_partitions import read_batches
from tclose.data.formats.released_file import open_released
from tclose.data.places.locations import Location
from tclose.model.counted_words import count_words
from tclose.model.verification import Verdict
from tclose.passes.compare.comparison import RELEASED, choose_columns
from tclose.passes.compare.digest_task import restore_folders
from tclose.passes.compare.record_digests import (
    Compared,
    RecordDigest,
    digest_records,
    hash_columns,
    keep_complete,
)
from tclose.passes.plan.plan import Plan
from tclose.passes.publish.describe_privacy import describe_privacy
from tclose.passes.release import RELEASE
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS
from tclose.passes.summarise.records import SOURCE, Source
from tclose.policy.policy import Policy
from tclose.releases.manifest.privacy_sections import Privacy
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.provenance import byte_versions, library_versions
from tclose.releases.repository.repository import read_internal
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import INSPECTION, Run


def find_other_versions(release: Location, policy: Policy) -> list[str] | None:
    """List the code that a release was made with in another version than this one has.

    Returns
    -------
    As in "method t-closeness-first 1 (now 2)"; empty if all versions are the same. None where the
    release does not tell: its internal manifest is not at hand, or is of an earlier version.
    """
    internal = read_internal(release)
    if internal is None or internal.code.versions is None:
        return None
    now = byte_versions(policy, RELEASE.after(INSPECTION).versions)
    libraries = internal.code.model_extra or {}
    pairs: list[tuple[str, object, object]] = [
        (f"{kind} {name}", internal.code.versions.get(kind, {}).get(name), version)
        for kind, of_kind in now.items()
        for name, version in of_kind.items()
    ]
    pairs += [(name, libraries.get(name), version) for name, version in library_versions().items()]
    return [f"{name} {then or 'none'} (now {now})" for name, then, now in pairs if then != now]


def find_other_claims(manifest: Manifest, verdict: Verdict, plan: Plan, method: str) -> list[str]:
    """List what a release says was asked, of classes, otherwise than a policy asks.

    Parameters
    ----------
    verdict, plan : of a run of the policy; only what they ask for is compared
    """
    columns = [encoding.column for encoding in plan.confidential]
    stated, demands = _asked(manifest.privacy), _asked(describe_privacy(verdict, columns))
    stated["method"], demands["method"] = manifest.method, method
    return [name for name in demands if stated.get(name) != demands[name]] + [
        name for name in stated if name not in demands
    ]


def _asked(privacy: Privacy) -> dict[str, object]:
    """Return the demands on classes, without the values reached, by their kind."""
    demands: dict[str, object] = {"k": privacy.k.asked}
    demands |= {f"t of {name}": result.asked for name, result in privacy.t.items()}
    demands |= {f"t of {', '.join(r.attributes)}": r.asked for r in privacy.joint}
    return demands | {f"{m.name} of {m.attribute}": m.asked for m in privacy.models or ()}


def find_other_values(
    release: Location, manifest: Manifest, run: Run, policy: Policy, progress: Progress
) -> list[str]:
    """List the columns whose released values are not those of the policy's input.

    Records are compared as a multiset: by the columns that are released as they are, which are not
    quasi-identifiers, nor released as buckets or with noise.

    Parameters
    ----------
    run : a run in the same scratch folder; another one reads the input on its engine

    Returns
    -------
    "records", where each column has the input's values and records have others together.
    """
    root = run.root.parent / "values"
    reading = Run(policy, "values", root, run.engine)
    run_pipeline(RELEASE.until(INPUT_SUMMARY), reading, progress)
    source = reading.workspace.load(SOURCE)
    originals = (
        table
        for partition in reading.workspace.load(PARTITIONS)
        for table in read_batches(partition, source.reading)
    )
    released = _read_files(release, manifest, source)
    return compare_values(originals, released, manifest, source, policy)


def compare_values(
    originals: Iterable[pa.Table],
    released: Iterable[pa.Table],
    manifest: Manifest,
    source: Source,
    policy: Policy,
) -> list[str]:
    """List the columns in which complete originals and released rows differ as multisets.

    Those that are in one alone, if there are any: values are not compared then.

    Returns
    -------
    As of `find_other_values`.
    """
    own = {column.name for column in source.columns if column.role in RELEASED}
    theirs = {column.name for column in manifest.columns if column.role in RELEASED}
    if own != theirs:
        return sorted(own ^ theirs)
    key, compared = secrets.token_bytes(32), _choose_values(source, policy)
    mine = (
        digest_records(keep_complete(table, compared.needed), compared, key) for table in originals
    )
    handed_out = (digest_records(table, compared, key) for table in released)
    nothing = digest_records(_no_rows(compared), compared, key)
    expected, actual = (reduce(RecordDigest.merge, d, nothing) for d in (mine, handed_out))
    if expected.equals(actual):
        return []
    sums = zip(compared.columns, expected.sums[1:], actual.sums[1:], strict=True)
    return [name for name, left, right in sums if (left != right).any()] or ["records"]


def count_foreign(
    originals: Iterable[pa.Table], released: Iterable[pa.Table], source: Source, policy: Policy
) -> int:
    """Count released rows that have no complete original of their own, of which there may be more.

    Rows are compared as a multiset, by keyed hashes of the columns of `find_other_values`.
    """
    compared = _choose_values(source, policy)
    complete = (keep_complete(table, compared.needed) for table in originals)
    return count_surplus(complete, released, compared)


def count_surplus(records: Iterable[pa.Table], rows: Iterable[pa.Table], compared: Compared) -> int:
    """Count the rows that are more than the records like them, by the columns that are compared."""
    key = secrets.token_bytes(32)
    hashes = [_hash_rows(tables, compared, key) for tables in (records, rows)]
    distinct, number = np.unique(np.concatenate(hashes), return_inverse=True)
    n_records, n_rows = (
        np.bincount(part, minlength=distinct.size)
        for part in np.split(number.reshape(-1), [hashes[0].size])
    )
    return int(np.maximum(n_rows - n_records, 0).sum())


def _hash_rows(tables: Iterable[pa.Table], compared: Compared, key: bytes) -> NDArray[np.void]:
    """The hashes of rows, each as one value: (n,)."""
    parts = [hash_columns(table, compared, key).records for table in tables]
    both = np.concatenate([np.empty((0, 2), np.uint64), *parts])
    return both.view([("high", np.uint64), ("low", np.uint64)]).reshape(-1)


def find_foreign(release: Location, manifest: Manifest, policy: Policy, progress: Progress) -> str:
    """Say how many rows of a release of a series are of no record that its policy reads, or "".

    But for those that are held, of persons who left.
    """
    summary, originals = read_complete(policy, "audit", None, progress)
    released = _read_files(release, manifest, summary.source)
    foreign = count_foreign([originals], released, summary.source, policy)
    return describe_foreign(foreign, count_held(release, manifest), manifest)


def describe_foreign(n_foreign: int, n_held: int, manifest: Manifest) -> str:
    """Say how many rows are of no original, if they are more than are held; otherwise empty."""
    if n_foreign <= n_held:
        return ""
    held = f"; {count_words(n_held, 'is', 'are')} held of persons who left" if n_held else ""
    return (
        f"{n_foreign:,} of the {manifest.records:,} released rows "
        f"{'is' if n_foreign == 1 else 'are'} of no record that the policy reads, in the columns "
        f"that are released as they are{held}"
    )


def count_held(release: Location, manifest: Manifest) -> int:
    """Records that are held, as the internal manifest counts them, or else of that many percent."""
    if manifest.held is None:
        return 0
    internal = read_internal(release)
    if internal is not None and internal.over_time is not None:
        return internal.over_time.stale
    return manifest.records * manifest.held.percent // 100


def _choose_values(source: Source, policy: Policy) -> Compared:
    """The columns that are compared with the input at publication, but for those with buckets."""
    columns, places = source.columns, source.partition_columns
    compared = choose_columns(columns, places, buckets=policy.method.releases_buckets)
    names = tuple(name for name in compared.columns if name not in compared.bucketed)
    return replace(compared, columns=names, bucketed=())


def _no_rows(compared: Compared) -> pa.Table:
    return pa.table({name: pa.nulls(0) for name in compared.columns})


def _read_files(release: Location, manifest: Manifest, source: Source) -> Iterator[pa.Table]:
    """The rows of each file, with the values that are in the names of its folders."""
    types = {column.name: column.type for column in source.columns if column.role in RELEASED}
    for file in manifest.files:
        with open_released(release / file.path) as released:
            yield restore_folders(released.read(), file.path, types)
