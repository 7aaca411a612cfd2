"""A plan as ``tclose plan --json`` prints it and ``internal/plan.json`` keeps it."""

from typing import Any

from pydantic import Field

from tclose.releases.manifest.sections import Section


class PlannedModel(Section):
    """A further privacy model, of one attribute, with the parameters that were asked for."""

    name: str
    attribute: str
    asked: dict[str, Any]


class PlannedPersons(Section):
    """The persons of the table, each of whom may have several records."""

    persons: int
    several: int
    """Persons with more than one record."""
    most: int
    """Records of one person, at most."""


class PlannedPartition(Section):
    """A release partition in counts: records, clusters, subsets, regions and blocks."""

    name: str
    records: int
    class_size: int
    class_size_why: str
    clusters: int
    subsets: int
    subset_sizes: list[int]
    values_that_straddle_subsets: int
    regions: int
    blocks: int
    class_size_bound: str | None = None


class PlanWarning(Section):
    """A numbered warning, with the columns that it names and what can be done."""

    code: str
    """As in TC-W001; `tclose.policy.warning_kinds` lists them."""
    message: str
    remedy: str
    columns: list[str]


class PlanDocument(Section):
    """A plan in counts: no cut point, range or category of the raw data is in it."""

    digest: str
    """SHA-256 of the whole plan, as hexadecimal digits."""
    records: int
    k: int
    counted: str = "records"
    """Unit that k counts: records, or persons."""
    persons: PlannedPersons | None = None
    t: dict[str, float]
    method: str
    cut_by_subsets: bool
    scales: dict[str, str] = Field(default_factory=dict)
    """Of quasi-identifiers that are not divided by their range, or have a weight."""
    verified_only: bool
    models: tuple[PlannedModel, ...] = ()
    subsets_of: str | None = None
    classes_repaired: int | None = None
    """Of a plan that was followed."""
    warnings: tuple[PlanWarning, ...] = ()
    release_partitions: list[PlannedPartition]


class CostEstimate(Section):
    """Megabytes per worker and seconds that a run is expected to take, and on what."""

    megabytes: float
    seconds: float
    on: str
