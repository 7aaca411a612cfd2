"""The methods' results on one table: figures, and the section that shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from benchmarks.loss.catalogue import (
    CLUSTER_SIZE,
    EXCESS,
    MEAN_RATIO,
    NUMERIC_LOSS,
    RATIO,
    SUPPRESSED,
    Row,
    Section,
)
from benchmarks.loss.releases import FAST, FULL, OFF, REFERENCE, Measurement
from benchmarks.microdata.sources import Stored
from benchmarks.results import Target, render_table, render_targets
from tclose.errors import TcloseError

RELEASE_COLUMNS = (
    "k",
    "t",
    "method",
    "clusters",
    "of size",
    "classes",
    "smallest",
    "mean",
    "largest",
    "largest distance",
    "merged",
    "SSE / reference",
    "numeric loss",
    "rounds",
    "seconds",
    "microaggregate s",
)
SHARE_COLUMNS = ("k", "t", "of full's improvement, fast reaches", "in, of full's refinement time")


@dataclass(frozen=True)
class Compared:
    """A row, the records of its table, and what each method made of it."""

    row: Row
    n_records: int
    releases: Mapping[str, Measurement | TcloseError]

    def find(self, method: str) -> Measurement | None:
        """Return a method's result, if it has one."""
        found = self.releases.get(method)
        return found if isinstance(found, Measurement) else None

    def ratio(self, method: str) -> float | None:
        """Its loss in times of the reference's."""
        found, reference = self.find(method), self.find(REFERENCE)
        if found is None or reference is None or not reference.loss:
            return None
        return found.loss / reference.loss

    @property
    def share_reached(self) -> float | None:
        """The share of full refinement's improvement on the reference that the fast one reaches."""
        reference, fast, full = (self.find(method) for method in (REFERENCE, FAST, FULL))
        if reference is None or fast is None or full is None or full.loss >= reference.loss:
            return None
        return (reference.loss - fast.loss) / (reference.loss - full.loss)

    @property
    def share_of_time(self) -> float | None:
        """Fast refinement's time per full refinement's: what microaggregation takes beyond off."""
        off, fast, full = (self.find(method) for method in (OFF, FAST, FULL))
        if off is None or fast is None or full is None:
            return None
        base = off.microaggregation_seconds
        refining = full.microaggregation_seconds - base
        return (fast.microaggregation_seconds - base) / refining if refining > 0 else None

    def figure(self, what: str) -> float | None:
        """One of the catalogue's figures, of full refinement."""
        full = self.find(FULL)
        if full is None:
            return None
        figures = {
            RATIO: self.ratio(FULL),
            NUMERIC_LOSS: full.numeric_loss,
            CLUSTER_SIZE: full.cluster_size,
            EXCESS: max(full.distances) - self.row.t,
            SUPPRESSED: float(self.n_records - full.n_records),
        }
        return figures[what]


def find_targets(section: Section, compared: list[Compared]) -> list[Target]:
    """The targets of a section, and the measured values."""
    targets = [
        Target(f"k = {one.row.k}, t = {one.row.t:g}: {what}", most, one.figure(what))
        for one in compared
        for what, most in one.row.wanted.items()
    ]
    if section.mean_ratio is not None:
        ratios = [ratio for one in compared if (ratio := one.ratio(FULL)) is not None]
        found = fmean(ratios) if len(ratios) == len(section.rows) else None
        targets.append(Target(MEAN_RATIO, section.mean_ratio, found))
    return targets


def render_section(section: Section, stored: Stored, compared: list[Compared], how: str) -> str:
    """A section of the page of results; ``how``: by which command, and on what machine."""
    source = section.source
    data = (
        f"{how}. Data: {source.describes}, {stored.n_records:,} records; quasi-identifiers "
        f"{', '.join(source.quasi_identifiers)}; confidential {', '.join(source.confidential)}."
    )
    rows = [_cells(one, method) for one in compared for method in section.methods]
    parts = [data, render_table(RELEASE_COLUMNS, rows)]
    shares = [cells for one in compared if (cells := _share_cells(one))]
    if shares:
        parts.append(render_table(SHARE_COLUMNS, shares))
    parts.append("Wanted of full:\n\n" + render_targets(find_targets(section, compared)))
    return "\n\n".join(parts)


def _cells(one: Compared, method: str) -> list[str]:
    """A row of `RELEASE_COLUMNS`; where there is no release, why."""
    asked = [str(one.row.k), f"{one.row.t:g}", method]
    release = one.releases[method]
    if not isinstance(release, Measurement):
        why = f"none: {' '.join(str(release).split())}".replace("|", "/")
        return [*asked, why, *["-"] * (len(RELEASE_COLUMNS) - 4)]
    ratio = one.ratio(method)
    return [
        *asked,
        f"{release.n_clusters:,}",
        f"{release.cluster_size:.2f}",
        f"{release.n_classes:,}",
        f"{release.smallest:,}",
        f"{release.mean_size:.2f}",
        f"{release.largest:,}",
        ", ".join(f"{distance:.6f}" for distance in release.distances),
        f"{release.merged:.1%}",
        "-" if ratio is None else f"{ratio:.4f}",
        f"{release.numeric_loss:.2%}",
        str(release.n_rounds),
        f"{release.seconds:.1f}",
        f"{release.microaggregation_seconds:.2f}",
    ]


def _share_cells(one: Compared) -> list[str]:
    """A row of `SHARE_COLUMNS`; empty where there is nothing to compare."""
    achieved, took = one.share_reached, one.share_of_time
    if achieved is None or took is None:
        return []
    return [str(one.row.k), f"{one.row.t:g}", f"{achieved:.0%}", f"{took:.0%}"]
