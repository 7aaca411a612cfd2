"""A plan as ``tclose plan --json`` prints it and ``internal/plan.json`` keeps it."""

from typing import Any

from pydantic import Field

from tclose.releases.manifest.inside_sections import CategoryShares
from tclose.releases.manifest.sections import Section


class PlannedModel(Section):
    """A further privacy model, of one attribute, with the parameters that were asked for."""

    name: str
    attribute: str
    asked: dict[str, Any]


class PlannedTogether(Section):
    """Classes as they are expected where all records of a person are in one."""

    class_persons: int
    """Persons that classes are made of, before some are united."""
    class_records: float
    """Records of these, on average."""
    largest_class: int
    """Records of the class of the person who has most of them, at least."""


class PlannedPersons(Section):
    """The persons of the table, each of whom may have several records."""

    persons: int
    several: int
    """Persons with more than one record."""
    most: int
    """Records of one person, at most."""
    together: PlannedTogether | None = None
    """Present if all records of a person are in one class."""


class PlannedSeries(Section):
    """The room that classes have for persons who leave, and what those who left cost."""

    number: int
    """Number of the release in its series."""
    earlier: int
    """Releases that it is held to."""
    k: int
    churn: float
    """Share of the persons that is taken to leave from one release to the next."""
    made_k: int
    """Persons that new classes are made of, at least."""
    made_t: dict[str, float]
    """Distance of each confidential attribute that new classes are made within."""
    expected_left_out: float
    """Share of the records, over a window, of cells of ``made_k`` that fall below k."""
    expected_classes_left: float
    """Share of classes that 1 to k - 1 persons leave from one release to the next: of those of a
    trial, or of classes of ``made_k`` persons, where there was none."""
    expected_records_left: float | None = None
    """Share of the records that such classes have; None where there was no trial."""
    left_out: int
    """Records of this one."""
    departures: str
    leavers: int
    """Persons of the release before who are not in this one."""
    classes_left: int
    """Classes of it that 1 to k - 1 persons left: they are reported, united or dropped. None
    of persons who are held."""
    forgotten: int = 0
    """Records left out that are of persons who were forgotten on request."""
    stale: int = 0
    """Records of persons who left, held as the release before had them."""
    stalest: int = 0
    """Releases that one of them is held in, at most."""
    most_stale: float | None = None
    """Share of the records that may be held; None where none is."""
    expected_stale: float | None = None
    """Share of the records that is expected to be held at the window's end, if none are let go."""


class PlannedColumn(Section):
    """A column that the policy names: what is known of it, and what becomes of it."""

    name: str
    role: str
    kind: str | None = None
    """None of columns that are never read."""
    type: str | None = None
    format: str | None = None
    """Spelling of texts, if the policy has it."""
    distinct: int | None = None
    """Distinct values of complete records; None where they are not counted."""
    distinct_among: int | None = None
    """Records among which they were counted, where these are a sample."""
    missing: int | None = None
    """Records without a value."""
    missing_category: bool = False
    """Records without a value become a category of their own, which is one of the distinct."""
    treatment: str
    expected_loss: float | None = None
    """Mean squared difference in ranges, or distance, as manifests have it; if the loss goes on
    falling with the number of records as it does up to the sample."""
    loss_of_sample: float | None = None
    """Loss of the release of the sample."""
    of_one_class: float | None = None
    """``expected_loss`` as a share of what a release with one class loses, where that is known."""
    shares: CategoryShares | None = None
    """Shares of its categories in the release of the sample; None of columns that have none."""


class PlannedLoss(Section):
    """The loss that is expected, from releases of a sample; or why nothing can be said."""

    total: float | None = None
    """Mean over the quasi-identifiers, if the loss goes on falling with the number of records."""
    of_sample: float | None = None
    """Loss of the release of the sample."""
    sampled: int | None = None
    """Records that were released to estimate it."""
    of: int | None = None
    is_faster: bool = False
    """The search is longer in a run, which loses less then."""
    reason: str | None = None


class PlannedExposure(Section):
    """The disclosure expected of an earlier release of the same persons and this one together.

    Shares are of persons in both, and to an intruder who knows everybody's class in both. They are
    of two trial releases by this policy; or there is a reason why there were none.
    """

    release: str
    """The one with most of the persons, by its name and id."""
    persons: int
    """Persons in both, by estimate."""
    of_sample: int | None = None
    """Persons in both of the trial releases."""
    alone: float | None = None
    """Share without another candidate."""
    below_k: float | None = None
    """Share with fewer than k candidates, themselves among them."""
    one_value: dict[str, float] = Field(default_factory=dict)
    """Share with one value left, of each confidential attribute that lasts."""
    alone_in_one: float | None = None
    """Share without another candidate of the persons in one of them alone; None without any."""
    reason: str | None = None


class PlannedPrice(Section):
    """Losses of the kept records of a sample, without and with its isolated ones."""

    loss: float
    loss_with_all: float
    """Loss of the same records, in the same ranges, where none is left out."""
    loss_of: dict[str, float]
    loss_with_all_of: dict[str, float]
    of_one_class: dict[str, float] = Field(default_factory=dict)
    """Of what one class of the kept records loses, by column, where such shares are what counts."""
    of_one_class_with_all: dict[str, float] = Field(default_factory=dict)
    sampled: int
    """Records that were released to estimate it, but for those left out."""
    sampled_left_out: int
    """Isolated records beside these."""


class PlannedSuppression(Section):
    """Records that are left out as isolated ones, and what that is expected to buy."""

    left_out: int
    most: int
    """Records that the policy allows to be left out."""
    of: int
    """Records without a missing value."""
    sampled: int
    """Records that neighbours were looked for among."""
    remaining: float
    """Share that is left of the sample's mean squared distance to the neighbour that completes a
    class. The loss falls by less, and may not fall at all: classes are made anew, on the
    scales of the records that are left."""
    price: PlannedPrice | None = None


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
    """Number, as in TC-W001; `tclose.policy.warning_kinds` lists them."""
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
    """Scales of quasi-identifiers that are not divided by their range, or have a weight."""
    imputed: dict[str, str] = Field(default_factory=dict)
    """Numbers of records that get a centre for a missing value, by quasi-identifier."""
    verified_only: bool
    models: tuple[PlannedModel, ...] = ()
    subsets_of: str | None = None
    classes_repaired: int | None = None
    """Present in a plan that was followed."""
    warnings: tuple[PlanWarning, ...] = ()
    release_partitions: list[PlannedPartition]
    columns: tuple[PlannedColumn, ...] = ()
    """The columns that the policy names, in its order, in a plan that is only shown."""
    published: str | None = None
    """Release of the same input, policy and seed, in a plan that is only shown."""
    expected_loss: PlannedLoss | None = None
    """Present in a plan that is only shown."""
    expected_exposure: PlannedExposure | None = None
    """Present in a plan that is only shown, beside earlier releases of the same persons."""
    over_time: PlannedSeries | None = None
    suppression: PlannedSuppression | None = None


class StepEstimate(Section):
    """A pass, with the seconds that it is expected to take, and megabytes per worker."""

    name: str
    seconds: float
    megabytes: float


class CostEstimate(Section):
    """Megabytes per worker and on disk, and seconds, that a run is expected to take; on what."""

    megabytes: float
    seconds: float
    on: str
    steps: tuple[StepEstimate, ...] = ()
    """The passes in their order; starting and compiling take what is left of the seconds."""
    disk_megabytes: float | None = None
    """Working files where they are most, and the release."""
    compile_seconds: float | None = None
    """Seconds, of all, that the kernels are compiled in; None where they are there."""
    calibrated: bool = False
    """The seconds are by a calibration of this machine."""
