"""The section of the internal manifest on earlier releases of the same persons."""

from pydantic import Field

from tclose.releases.manifest.sections import AtMostOne, Count, Section


class EarlierRelease(Section):
    """An earlier release in the output folder that is about persons of this one.

    What its own internal manifest says of the series is repeated here, so that a report can show
    all releases of a window side by side.
    """

    release: str
    """Its name and id."""
    published_at: str | None = None
    records: Count | None = None
    shared: Count | None = None
    """Persons of this release who are in it, by estimate from sketches; None without a sketch."""
    is_held: bool = False
    """True if this release is held together with it."""
    number: Count | None = None
    """Number of the release in the series; this and what follows are there where it is held."""
    cells: Count | None = None
    smallest_cell: Count | None = None
    left_out: Count | None = None
    stale: Count | None = None
    newcomers: Count | None = None
    leavers: Count | None = None
    leavers_exposed: Count | None = None


class ExposureSection(Section):
    """The persons of this release in earlier ones."""

    persons: Count
    """Persons of this release."""
    earlier: list[EarlierRelease] = Field(default_factory=list)
    """Earlier releases by the time of publication, oldest first."""
    more: Count = 0
    """Earlier releases of these persons that are not listed."""
    largest_share: AtMostOne | None = None
    """Largest share of the persons that one release which is not held has; None without any."""
