"""The sections of the internal manifest on a series whose releases are held together."""

from typing import Annotated

from pydantic import Field

from tclose.releases.manifest.sections import Count, Section


class SeriesEntry(Section):
    """The place of a release in its series, and what it was verified to hold together with others.

    Releases are counted in the order of their publication.
    """

    series: str
    number: Annotated[int, Field(ge=1)]
    k: Count
    """Persons of a cell, at least: of persons in the same classes of all releases of the window."""
    t: dict[str, float]
    """The t of each confidential attribute that cells meet in every release of the window."""
    window: Annotated[int, Field(ge=2)]
    departures: str
    register_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Digest of ``internal/register.parquet``."""


class SeriesSection(SeriesEntry):
    """The measures of a release together with the earlier ones of its window."""

    releases: list[str]
    """The earlier ones, by name and id."""
    cells: Count
    """Cells of the persons of this release."""
    smallest_cell: Count
    largest_emd: dict[str, float]
    """Largest distance of a cell to the table of any release of the window that it is in."""
    left_out: Count
    """Records that were not released, as their cells have fewer than k persons or are above a t."""
    newcomers: Count
    """Persons in none of the earlier releases."""
    leavers: Count
    """Persons of the release before who are not in this one."""
    leavers_exposed: Count
    """Leavers whose cell has fewer than k persons or is above a t: they are found by subtraction,
    or by values that last, and that nobody else of their class had."""
    churn: float | None = None
    """Share of the persons that classes have room for, from one release to the next."""
    made_k: Count | None = None
    """Persons that classes are made for, as some leave."""
    leaver_groups_below_k: Count | None = None
    """Groups of 1 to k - 1 persons that subtracting classes from earlier ones finds."""
    smallest_leaver_group: Count | None = None
    """Persons of the smallest group that subtraction finds; 0 if there is none."""
    forgotten: Count = 0
    """Records left out that are of persons who were forgotten on request."""
    stale: Count = 0
    """Records of persons who left, held as the release before had them."""
    stalest: Count = 0
    """Releases that one of them has been held in, at most."""
    most_held: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the records that may be; None where none is held."""
