"""A release beside the records that it was made of: linkage and loss, where the originals are kept.

A release does not say which record became which row. So the release is made again in a private
scratch folder, with a column that numbers the records; only if that gives the rows of the release
are they compared. Nothing of it is published. Where another version of the code made the release
and these rows are not to be had any more, what no version decides is compared instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tclose.assess.auditing.audit_result import AuditResult
from tclose.assess.auditing.manifest_comparison import PERSONS, PERSONS_OF_SERIES
from tclose.assess.linking import link_attackers, read_verified_rows
from tclose.assess.population import check_population, measure_population, read_population
from tclose.assess.sample import Sample, local_sample
from tclose.assess.values_alone import (
    count_held,
    find_foreign,
    find_other_claims,
    find_other_values,
    find_other_versions,
)
from tclose.data.formats.released_file import open_released
from tclose.data.keys import is_text
from tclose.data.places.locations import Location, parse_location
from tclose.model.verification import Verdict
from tclose.passes.microaggregate.aggregate_task import REGION_RESULTS
from tclose.passes.microaggregate.analyses.workload import WORKLOAD
from tclose.passes.microaggregate.losses import compared_columns, merge_losses, name_shares
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.publish.analyses_summary import add_analyses
from tclose.passes.publish.utility_summary import describe_utility
from tclose.passes.release import TRIAL
from tclose.passes.verify.verdict import VERDICT
from tclose.policy.policy import Policy
from tclose.releases.manifest.originals_section import OriginalsResult
from tclose.releases.manifest.privacy_summary import (
    describe_persons,
    find_differences,
    three_digits,
)
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.repository.repository import read_manifest
from tclose.runtime.artifacts.arrays import as_bits
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import Run

WHOLE = 2**62  # records of a sample that is the whole table


def add_originals(
    audit: AuditResult, policy: Policy, progress: Progress, population: str | None = None
) -> AuditResult:
    """The audit of a release with ``originals``: the comparison, or why there is none.

    ``population``: path of a file of persons to compare its classes with, too.

    It is a finding where the policy and its input do not give the release, and a note where only
    the classes differ and another version of the code made them. All figures have three digits, as
    manifests do; they come of the raw data: keep them inside.

    Raises
    ------
    TcloseError
        Whatever a run of the policy would be refused for.
    """
    release = parse_location(audit.release)
    manifest = read_manifest(release)
    assert manifest is not None  # it was audited
    if policy.privacy.over_time is not None:
        foreign = find_foreign(release, manifest, policy, progress)
        n_held = count_held(release, manifest)
        held = f", but for {n_held:,} that are held of persons who left" if n_held else ""
        audit = audit.without_note(PERSONS, PERSONS_OF_SERIES)
        findings = [_FOREIGN.format(foreign=foreign)] if foreign else []
        return audit.extended(findings, [_OF_SERIES + held])
    persons = None
    if population is not None:
        check_population(policy)
        persons = read_population(policy, population, progress)
    with local_sample(policy, "audit", WHOLE, policy.seed, progress) as (sample, engine):
        run = Run(sample.policy, "audit", sample.path.parent / "work", engine)
        remade = _Remade(run, sample, _make_again(run, progress))
        if gives_rows_of(run, sample, release, manifest):
            measured = remade.measure()
            if persons is not None:
                population_result = measure_population(run, sample, persons, progress)
                measured = measured.model_copy(update={"population": population_result})
            findings = remade.find_other_persons(manifest)
            if carried := find_other_values(release, manifest, run, policy, progress):
                findings.append(f"{_OTHERS}; these differ: {', '.join(carried)}")
            return audit.without_note(PERSONS).extended(findings, originals=measured)
        versions = find_other_versions(release, policy)
        if versions == []:
            return audit.extended([_OTHERS])
        other = find_other_claims(manifest, remade.verdict, remade.plan, policy.method.name)
        other += find_other_values(release, manifest, run, policy, progress)
    if other:
        return audit.extended([f"{_OTHERS}; these differ: {', '.join(other)}"])
    return audit.extended(notes=[_BY_VALUES.format(versions=", ".join(versions or [_UNTOLD]))])


_OTHERS = (
    "originals: the policy and its input do not give these rows; name the policy, the input and "
    "the version that the release was made with (a search that ends by time cannot be repeated)"
)
_OF_SERIES = (
    "originals: the classes of a release of a series depend on those before it, so the rows were "
    "not made again, and neither linkage nor loss was measured; that each row has a record of its "
    "own among them was"
)
_FOREIGN = "originals: {foreign}; name the policy and the input that the release was made with"
_BY_VALUES = (
    "originals: made by other versions of the code: {versions}; these give other classes, so the "
    "rows were not made again, and neither linkage nor loss was measured; the values that are "
    "released as they are are those of the input, record by record, and method, k, t and models "
    "those of the policy"
)
_UNTOLD = "which ones the release does not tell"


def _make_again(run: Run, progress: Progress) -> Verdict:
    run_pipeline(TRIAL, run, progress)
    return run.workspace.load(VERDICT)


@dataclass(frozen=True, eq=False)
class _Remade:
    """The rows that were made again, in batches, each with the number of its record."""

    run: Run
    sample: Sample
    verdict: Verdict

    @property
    def plan(self) -> Plan:
        """The plan that the rows were made by."""
        return self.run.workspace.load(PLAN)

    def find_other_persons(self, manifest: Manifest) -> list[str]:
        """List what the manifest says of k and t over persons and the originals do not."""
        stated = manifest.privacy.persons
        inside = stated is not None and any(t.largest_emd is not None for t in stated.t.values())
        persons = describe_persons(self.verdict, inside=inside)  # as earlier versions said it
        places = find_differences(stated, persons, "privacy.persons")
        return [
            f"originals: {place} of the manifest differs from what they say" for place in places
        ]

    def measure(self) -> OriginalsResult:
        """Linkage, losses and changes; of columns with noise only their run can tell, and did."""
        losses = merge_losses([result.losses for result in self.run.workspace.load(REGION_RESULTS)])
        means = losses.means
        names = [encoding.column.name for encoding in self.plan.encodings]
        columns = [c for c in compared_columns(self.plan) if c.attribute.noise is None]
        utility = describe_utility(
            losses.comparison.first(len(columns)),
            columns,
            name_shares(losses, self.plan),
            self.plan.k,
        )
        utility = add_analyses(utility, losses, self.plan, self.run.workspace.load(WORKLOAD))
        persons = describe_persons(self.verdict, inside=True)
        measured = OriginalsResult(
            attackers=int(self.sample.attackers.size),
            linkage=three_digits(link_attackers(self.run, self.sample)),
            sse=three_digits(float(means.mean())),
            sse_of=dict(zip(names, map(three_digits, means.tolist()), strict=True)),
            **dict(utility),
        )
        return measured if persons is None else measured.model_copy(update={"persons": persons})


def gives_rows_of(run: Run, sample: Sample, release: Location, manifest: Manifest) -> bool:
    """Return whether a run of a sample gave a release's rows, compared in their order.

    Columns that decide over classes are compared, but those in the names of folders and those with
    noise.
    """
    released = {c.name for c in manifest.columns}.difference(manifest.partition_by)
    noised = run.workspace.load(PLAN).epsilons  # is drawn anew
    names = [n for n in sample.policy.attributes if n in released and n not in noised]
    theirs = (read_rows(release / file.path).select(names) for file in manifest.files)
    mine = (table.select(names) for table in read_verified_rows(run))
    return are_equal(mine, theirs)


def read_rows(location: Location) -> pa.Table:
    """The rows of a released file."""
    with open_released(location) as file:
        return file.read()


def are_equal(mine: Iterator[pa.Table], theirs: Iterator[pa.Table]) -> bool:
    """Return whether two tables have the same rows in the same order; floats bit by bit.

    Texts are the same whichever type has them: a file's need not be a frame's.
    """
    left, right = next(mine, None), next(theirs, None)
    while left is not None and right is not None:
        n_rows = min(len(left), len(right))
        pair = [_comparable(table.slice(0, n_rows)) for table in (left, right)]
        if not pair[0].equals(pair[1]):
            return False
        left = left.slice(n_rows) if n_rows < len(left) else next(mine, None)
        right = right.slice(n_rows) if n_rows < len(right) else next(theirs, None)
    return left is None and right is None


def _comparable(table: pa.Table) -> pa.Table:
    """The table in one piece, its floats as bits, and all texts of one type."""
    for i, field in enumerate(table.schema):
        if is_text(field.type):
            table = table.set_column(i, field.name, table[i].cast(pa.large_string()))
    return as_bits(table).combine_chunks()
