"""Results of the catalog commands on releases: typed, and printed as JSON or as tables."""

from pydantic import JsonValue

from tclose.data.places.locations import Location
from tclose.releases.catalog.catalog import list_releases
from tclose.releases.manifest.inside_sections import SeriesSection
from tclose.releases.manifest.internal_manifest import (
    GitState,
    InternalManifest,
    MadeBy,
    PersonTracesSection,
    Utility,
)
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.manifest.privacy_sections import Privacy
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import Count, Section
from tclose.releases.repository.operations_log import LogLine, read_lines
from tclose.releases.repository.repository import ReleaseRepository, read_internal, read_manifest
from tclose.releases.signatures.manifest_signature import find_signing_key


class Maker(Section):
    """The user and software that made a release, as far as its manifests state them."""

    user: str | None = None
    host: str | None = None
    flow_run: str | None = None
    lineage_run: str | None = None
    tclose: str
    git: GitState | None = None


class ListedRelease(Section):
    """A release in a list; of one whose manifest cannot be read, its id alone."""

    release_id: str
    current: bool
    readable: bool
    published_at: str = ""
    verdict: str = ""
    method: str = ""
    records: Count = 0
    privacy: Privacy | None = None
    information_loss: float = 0.0
    made_by: Maker | None = None


class RepositoryListing(Section):
    """The releases of a name, the newest first, and what was done to them."""

    name: str
    folder: str
    current: str | None
    releases: list[ListedRelease]
    journal: list[LogLine]


class ShownRelease(Section):
    """One release: its public manifest, who made it, and what the internal one adds, if at hand."""

    release: str
    current: bool
    manifest: Manifest
    made_by: Maker
    policy: dict[str, JsonValue] | None
    records_dropped: int | None
    records_suppressed: int | None
    utility: Utility | None
    person_traces: PersonTracesSection | None
    over_time: SeriesSection | None
    warnings: list[PlanWarning]
    signed_by: str | None


def describe_repository(repository: ReleaseRepository) -> RepositoryListing:
    """The releases of a name."""
    current = repository.current()
    return RepositoryListing(
        name=repository.name,
        folder=str(repository.root),
        current=current,
        releases=[
            _list_release(repository, e.release_id, e.is_readable, current == e.release_id)
            for e in reversed(list_releases(repository))
        ],
        journal=read_lines(repository),
    )


def _list_release(
    repository: ReleaseRepository, release_id: str, is_readable: bool, is_current: bool
) -> ListedRelease:
    release = repository.release(release_id)
    manifest = read_manifest(release) if is_readable else None
    if manifest is None:
        return ListedRelease(release_id=release_id, current=is_current, readable=False)
    return ListedRelease(
        release_id=release_id,
        current=is_current,
        readable=True,
        published_at=manifest.published_at,
        verdict=manifest.verdict,
        method=manifest.method,
        records=manifest.records,
        privacy=manifest.privacy,
        information_loss=manifest.information_loss.total,
        made_by=_describe_maker(manifest, read_internal(release)),
    )


def _describe_maker(manifest: Manifest, internal: InternalManifest | None) -> Maker:
    run = MadeBy() if internal is None else internal.run
    return Maker(
        user=run.user,
        host=run.host,
        flow_run=run.flow_run,
        lineage_run=run.lineage_run,
        tclose=manifest.code.tclose,
        git=None if internal is None else internal.code.git,
    )


def describe_release(release: Location, manifest: Manifest, *, is_current: bool) -> ShownRelease:
    """One release, by its manifests."""
    internal = read_internal(release)
    return ShownRelease(
        release=str(release),
        current=is_current,
        manifest=manifest,
        made_by=_describe_maker(manifest, internal),
        policy=None if internal is None else internal.policy,
        records_dropped=None if internal is None else internal.records_dropped,
        records_suppressed=None if internal is None else internal.records_suppressed,
        utility=None if internal is None else internal.utility,
        person_traces=None if internal is None else internal.person_traces,
        over_time=None if internal is None else internal.over_time,
        warnings=[] if internal is None else list(internal.warnings),
        signed_by=find_signing_key(release),
    )
