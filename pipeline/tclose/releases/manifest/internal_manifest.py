"""The manifest that stays inside, ``internal/manifest.json``: the public one, and how it was made.

What has a default is missing where an earlier version made the release, or where there is nothing
to say.
"""

from typing import Annotated

from pydantic import Field, JsonValue, model_validator

from tclose.releases.manifest.inside_sections import (
    AnalysesSection,
    CategoryShares,
    ExposureSection,
    SeriesEntry,
    SeriesSection,
    SpecialUniquesSection,
)
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import (
    Code,
    Count,
    InformationLoss,
    Nonnegative,
    Positive,
    RoundEntry,
    Section,
)

Figures = dict[str, float | None]


class Utility(Section):
    """A release's changes for analysis, to three digits; None where there is no such figure."""

    il1s: float | None
    """Over the quasi-identifiers."""
    changes_of_means: Figures
    """Changes in standard deviations of the original column."""
    changes_of_variances: Figures
    """Relative changes."""
    changes_of_correlations: Figures
    """Differences, by ``one and other``."""
    shares: dict[str, CategoryShares] = Field(default_factory=dict)
    """Shares of each quasi-identifier with categories of which a class releases one."""
    analyses: AnalysesSection | None = None
    not_measured: str | None = None
    """Type and place of the error that stopped the analyses."""


class Spread(Section):
    """A column's mean and standard deviation, to three digits; None where there is none."""

    mean: float | str | None
    """The mean; a day for dates."""
    deviation: float | None
    """The standard deviation; in days for dates."""


class Marginal(Section):
    """A column of numbers or dates before and after, over all records that are released."""

    original: Spread
    released: Spread


class SharesPair(Section):
    """Shares of a quasi-identifier's records before and after, to three digits.

    Of numbers and dates they are those in equal parts of the range; of categories those of the
    commonest, as the records have them, and of all others together. Values are not said.
    """

    labels: list[str]
    original: list[float]
    released: list[float]


class CorrelationPair(Section):
    """A correlation of two columns before and after; None where one of them has one value."""

    original: float | None
    released: float | None


class ExactLoss(InformationLoss):
    """All digits; shares of what a release with one class loses would tell the range of values."""

    of_one_class: dict[str, Nonnegative] = Field(default_factory=dict)
    """Of each quasi-identifier with several values, where records are compared by these shares."""


class SizeLoss(Section):
    """The information loss of the records in classes of some sizes, to three digits."""

    smallest: Positive
    largest: Positive
    records: Count
    loss: Nonnegative
    """Mean over the records and the quasi-identifiers."""


class Analysis(Section):
    """Changes that a release makes: values before and after, and where information is lost."""

    marginals: dict[str, Marginal]
    correlations: dict[str, CorrelationPair]
    """Correlations by ``one and other``."""
    shares: dict[str, SharesPair] = Field(default_factory=dict)
    """Shares of quasi-identifiers of which a class releases one value, and of generalised numbers,
    for which it is the middle."""
    loss_by_class_size: list[SizeLoss]
    special_uniques: SpecialUniquesSection | None = None


class PreviousRelease(Section):
    """The release that was the current one of the same name, by the figures that are compared."""

    release_id: str
    published_at: str
    records: Count
    n_classes: Count
    k: Count
    """Reached."""
    t: dict[str, float]
    """Reached, of each confidential attribute."""
    loss: Nonnegative
    columns: list[str]


class ClassTracesSection(Section):
    """Persons by their classes alone, to whoever does not know how many records each has there."""

    alone: Count
    """Nobody else is in the same classes."""
    below_k: Count
    """Fewer than k persons are, with themselves; the lonely ones among them."""
    one_value_left: dict[str, Count]
    """Persons whose classes have one value in common, for each attribute that lasts."""


class PersonTracesSection(Section):
    """Persons over all classes that their records are in: measured.

    Nothing of it is held, but that all of a person's are in one class where the policy says so.
    """

    in_several_classes: Count
    alone: Count
    """Nobody else has as many records in the same classes."""
    below_k: Count
    """Fewer than k persons have, with themselves; the lonely ones among them."""
    one_value_left: dict[str, Count]
    """Persons whose classes have one value in common, for each attribute that lasts."""
    by_classes: ClassTracesSection | None = None
    """Present if all records of a person had to be in one class."""


class SourceFile(Section):
    """A file of the input, without the secrets of its address."""

    path: str
    name: str
    format: str
    n_bytes: int
    sha256: str
    stamp: str
    """The file's stamp when it was digested."""


class EarlierDraw(Section):
    """An earlier release with noise on columns of the same records."""

    release: str
    """Its name and id."""
    epsilon: dict[str, float]
    """Epsilon of each of these columns."""


class SameInput(Section):
    """Another release of the same input files."""

    release: str
    """Its name and id."""
    differs: list[str]
    """Sections of the policy that are others."""


class GitState(Section):
    """The checkout that the code ran from."""

    commit: str
    modified: bool


class InternalCode(Code):
    """The versions that decide the released bytes, and the software used."""

    git: GitState | None = None
    versions: dict[str, dict[str, int]] | None = None
    """Versions of the format, the method, the models and the passes, by kind and name."""


class MadeBy(Section):
    """The user, the host and the runs that made the release."""

    user: str | None = None
    host: str | None = None
    flow_run: str | None = None
    """Run of Prefect, if a flow made the release."""
    lineage_run: str | None = None


class Digested(Section):
    """A file, by what is in it."""

    sha256: str


class Drawn(Section):
    """The noise on an attribute, by what it adds to the sum."""

    epsilon: Annotated[float, Field(gt=0)]


class PersonSketch(Section):
    """The smallest keyed hashes of a release's persons, by which it is compared with others."""

    persons: Count
    """Distinct persons of the release."""
    hashes: list[Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]]
    """Ascending, as hexadecimal digits."""

    @model_validator(mode="after")
    def _check_hashes(self) -> "PersonSketch":
        if not min(self.persons, 1) <= len(self.hashes) <= self.persons:
            raise ValueError("has other hashes than persons")
        return self


class Origin(Section):
    """The few keys that tell a release of the same records from another: all else may be wrong."""

    inputs: list[Digested]
    files: list[Digested]
    noise: dict[str, Drawn] = Field(default_factory=dict)
    policy: dict[str, JsonValue] | None = None
    person_sketch: PersonSketch | None = None
    over_time: SeriesEntry | None = None


class InternalManifest(Manifest):
    """The public part, the policy, the inputs, the plan and the times."""

    code: InternalCode
    exact_information_loss: ExactLoss | None = None
    clusters: Count | None = None
    """Classes as they were made: those that are released alike are one; None: made by a version
    that says it in ``refinement``."""
    rounds: list[RoundEntry] = Field(default_factory=list)
    """Of the search for less loss: the start, each round, and each pass of perturbations."""
    utility: Utility | None = None
    analysis: Analysis | None = None
    previous: PreviousRelease | None = None
    inside: list[str] = Field(default_factory=list)
    """Documents beside this one, which are sealed as it is."""
    policy: dict[str, JsonValue] | None = None
    """The policy with all defaults."""
    inputs: list[SourceFile] = Field(default_factory=list)
    records_read: Count | None = None
    records_dropped: Count | None = None
    """Records left out for a missing value."""
    records_suppressed: Count | None = None
    """Records left out as isolated ones, and counted neither as read nor as dropped."""
    values_missing: dict[str, Count] = Field(default_factory=dict)
    """Records without a value, by the name of each column that lacked needed ones."""
    values_imputed: dict[str, Count] = Field(default_factory=dict)
    """Of each column whose missing values got a centre, records without one, by name."""
    values_in_category: dict[str, Count] = Field(default_factory=dict)
    """Of each column where these have a category instead, records without a value, by name."""
    plan_sha256: str | None = None
    person_traces: PersonTracesSection | None = None
    """Present if k counts persons."""
    largest_emd_over_persons: dict[str, Nonnegative] | None = None
    """The largest distance of a class to the table over persons, by attribute. Present if k counts
    persons; not handed out, as rows of one person could be told by it."""
    earlier_draws: list[EarlierDraw] = Field(default_factory=list)
    epsilon_of_all_draws: dict[str, float] = Field(default_factory=dict)
    """Epsilon of each column with noise, over the earlier draws and this one."""
    same_input: list[SameInput] = Field(default_factory=list)
    person_sketch: PersonSketch | None = None
    """Present if the policy has a column of persons."""
    over_time: SeriesSection | None = None
    """Present if the policy holds the releases of a series together."""
    exposure: ExposureSection | None = None
    """Present if the policy has a column of persons."""
    warnings: list[PlanWarning] = Field(default_factory=list)
    seconds: dict[str, float] = Field(default_factory=dict)
    """Wall time of each pass."""
    run: MadeBy = Field(default_factory=MadeBy)
