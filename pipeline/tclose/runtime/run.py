"""A run: what is asked, where it works, on what engine; and what comes of one that publishes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from tclose.data.files.inspection import FileContent
from tclose.data.places.locations import Location, is_utf8, parse_location, show_name
from tclose.errors import OutputError, VerificationError
from tclose.policy.policy import Policy
from tclose.releases.manifest.inside_sections import SeriesSection
from tclose.releases.manifest.internal_manifest import PersonTracesSection
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.repository.repository import ReleaseRepository, read_internal, read_manifest
from tclose.releases.stores.lease import LeaseToken
from tclose.runtime.artifacts.artifacts import Access, Artifact, Workspace
from tclose.runtime.engines.engine import Engine

INSPECTION = Artifact("inspection", list[FileContent])
SECONDS = Artifact("seconds", dict[str, float])  # of each pass that has ended, by its name


@dataclass(frozen=True)
class Run:
    """One run: what is asked, where it works, on what, and of which orchestrator's run it is.

    ``release_id``: a name of its own where nothing is to be published; empty before it is known;
    ``versions``: of the code that the bytes of what is published depend on, by kind and name.
    """

    policy: Policy
    release_id: str
    root: Path
    engine: Engine
    flow_run: str | None = None
    lease_token: LeaseToken | None = None
    series_token: LeaseToken | None = None  # of the lease of a series that has a name of its own
    signed_now: bool = False  # a release that stood, without a signature by the policy's key
    versions: Mapping[str, dict[str, int]] = field(default_factory=dict)
    access: Access | None = None  # of the pass that the run was handed to

    @property
    def repository(self) -> ReleaseRepository:
        """Return the repository of the release, writable under the run's leases."""
        own = repository_of(self.policy)
        claimed = replace(own, name=self.policy.series_name, lease_token=self.series_token)
        beside = None if self.series_token is None else claimed
        return replace(own, lease_token=self.lease_token, beside=beside)

    @property
    def workspace(self) -> Workspace:
        """The run's working files."""
        return Workspace(self.root, self.access)

    @property
    def is_published(self) -> bool:
        """True if the release is published and intact, so that nothing is left to do."""
        return bool(self.release_id) and not self.root.exists()


def repository_of(policy: Policy) -> ReleaseRepository:
    """Return the repository of a policy's releases, by an absolute path for all workers.

    Raises
    ------
    OutputError
        A path is not UTF-8, in which releases and working files name it.
    """
    work = policy.engine.work_path
    output = parse_location(policy.output.path).absolute()
    work_path = None if work is None else Path(work).absolute()
    for path in (output, work_path):
        if not is_utf8(str(path)):
            raise OutputError(
                f"output {show_name(str(path))}: its path is not UTF-8; rename the folder whose "
                "name is not"
            )
    return ReleaseRepository(output, policy.name, work_path)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    ``budget``: epsilon of columns whose noise other releases have drawn too; ``beside``: other
    releases of the same input files; ``over_time``: what it and those before it have together;
    ``person_traces``: what all classes of a person tell of her; ``n_dropped``, ``n_isolated``:
    records left out for a missing value, and as isolated ones.
    """

    release: Location
    manifest: Manifest
    already_published: bool
    seconds: dict[str, float]
    current: str | None
    budget: dict[str, float] = field(default_factory=dict)
    signed_now: bool = False
    beside: tuple[str, ...] = ()
    over_time: SeriesSection | None = None
    person_traces: PersonTracesSection | None = None
    n_dropped: int = 0
    n_isolated: int = 0


def outcome_of(run: Run, *, already_published: bool) -> Outcome:
    """Return the outcome of a finished run, or of an earlier one that published the release."""
    release = run.repository.release(run.release_id)
    manifest = read_manifest(release)
    full = read_internal(release)
    if manifest is None or full is None:
        raise VerificationError(f"release {run.release_id}: has no manifest")
    seconds = {} if already_published else full.seconds
    budget = full.epsilon_of_all_draws
    current = run.repository.current()
    beside = tuple(other.release for other in full.same_input)
    return Outcome(
        release,
        manifest,
        already_published,
        seconds,
        current,
        budget,
        run.signed_now,
        beside,
        full.over_time,
        full.person_traces,
        full.records_dropped or 0,
        full.records_suppressed or 0,
    )


def read_schema(policy: Policy, schema: pa.Schema) -> pa.Schema:
    """The columns that the policy names."""
    return pa.schema([field for field in schema if field.name in policy.attributes])
