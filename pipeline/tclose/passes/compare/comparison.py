"""Comparison of the release with the input: both must hold the same records, in any order.

The confidential and pass-through values of a release have gone through encodings, ranks and files.
A fault there could give a record another value, and a check that decodes like the release would
not find it. So the records that pass 1 read and those of the files are compared by digests that do
not depend on encodings; a release that is not a rearrangement of the input's records is not made.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from tclose.errors import VerificationError
from tclose.model.attributes import Column
from tclose.model.column_terms import Role
from tclose.passes.compare.digest_task import DIGEST_KEY, DIGEST_TASK, BucketInput
from tclose.passes.compare.keyed_hashes import derive_key
from tclose.passes.compare.record_digests import Compared, RecordDigest
from tclose.passes.plan.plan import Plan
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS
from tclose.passes.summarise.records import SOURCE, Source
from tclose.runtime.pipeline import PassContext

RELEASED = (Role.CONFIDENTIAL, Role.NON_CONFIDENTIAL)  # as they are, but for buckets and noise
NOISED = "released with noise"


def prepare_comparison(context: PassContext, source: Source) -> Source:
    """The source with what is compared, where the run is to publish; keeps the key for it.

    The key comes of the release key, so that a run that goes on has the same one. Where nothing is
    compared it is empty.
    """
    run = context.run
    if run.lease_token is None:
        context.write(DIGEST_KEY, b"")
        return source
    key = derive_key(run.repository.release_key(), f"records of {run.release_id}")
    context.write(DIGEST_KEY, key)
    buckets = run.policy.method.releases_buckets
    return replace(
        source, compared=choose_columns(source.columns, source.partition_columns, buckets=buckets)
    )


def choose_columns(
    columns: Sequence[Column], partition_columns: Sequence[str], *, buckets: bool
) -> Compared:
    """Choose the columns compared: all released but quasi-identifiers and those with noise.

    Parameters
    ----------
    partition_columns : the passthrough columns in which a record needs a value
    buckets : whether confidential values are released as buckets
    """
    released = [c for c in columns if c.role in RELEASED]
    confidential = [c.name for c in released if c.role is Role.CONFIDENTIAL]
    compared = tuple(c.name for c in released if c.attribute.noise is None)
    return Compared(
        columns=compared,
        needed=tuple(
            c.name
            for c in columns
            if (c.role is not Role.NON_CONFIDENTIAL or c.name in partition_columns)
            and not (c.attribute.preparation is not None and c.attribute.preparation.has_no_gaps)
        ),
        as_values=tuple(name for name in compared if name in confidential),
        bucketed=tuple(name for name in compared if buckets and name in confidential),
        left_out=tuple((c.name, NOISED) for c in released if c.attribute.noise is not None),
    )


def compare_with_input(
    context: PassContext, plan: Plan, written: Sequence[RecordDigest | None]
) -> Compared:
    """See that the files hold the input's records; returns what was compared.

    Raises
    ------
    VerificationError
        They do not; names the columns, and no values.
    """
    source = context.read(SOURCE)
    if source.compared is None:
        raise VerificationError("the input's records were not digested; nothing was published")
    expected = _merge(_digest_input(context, source.compared, plan))
    check_records(source.compared, expected, _merge(written))
    return source.compared


def _digest_input(
    context: PassContext, compared: Compared, plan: Plan
) -> Sequence[RecordDigest | None]:
    if not compared.bucketed:
        return [piece.digest for piece in context.read(INPUT_SUMMARY).pieces]
    assert plan.bucketing is not None
    assert plan.bucketing.released.categories is not None
    labels = tuple(plan.bucketing.released.categories.to_pylist())
    partitions = context.read(PARTITIONS)
    items = [BucketInput(partition, labels) for partition in partitions]
    sizes = [partition.n_records for partition in partitions]
    return context.map(DIGEST_TASK, items, sizes=sizes)


def _merge(digests: Sequence[RecordDigest | None]) -> RecordDigest:
    present = [digest for digest in digests if digest is not None]
    if len(present) < max(len(digests), 1):
        raise VerificationError("records were not digested; nothing was published")
    return reduce(RecordDigest.merge, present)


def check_records(compared: Compared, expected: RecordDigest, actual: RecordDigest) -> None:
    """Refuse files whose records are not those of the input.

    Raises
    ------
    VerificationError
        Names the columns, and no values.
    """
    if expected.equals(actual):
        return
    lines = ["verification failed; nothing was published"]
    lines.append("  the released records are not those of the input in another order:")
    if expected.n_records != actual.n_records:
        lines.append(
            f"  the input has {expected.n_records:,} complete records, the files "
            f"{actual.n_records:,} rows"
        )
    differing = [
        name
        for name, mine, theirs in zip(
            compared.columns, expected.sums[1:], actual.sums[1:], strict=True
        )
        if (mine != theirs).any()
    ]
    if differing:
        lines.append(f"  not the input's values: {', '.join(map(repr, differing))}")
    elif expected.n_records == actual.n_records:
        named = ", ".join(map(repr, compared.columns))
        lines.append(
            f"  each value is the input's, but records have other values together: {named}"
        )
    lines.append("  run again; if it fails again, it is a fault of tclose or of the machine")
    raise VerificationError("\n".join(lines))
