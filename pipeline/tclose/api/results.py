"""Results of the public functions, with representations for terminals and notebooks."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tclose.api.html_tables import html_grid, html_rows
from tclose.api.released_files import read_released, read_released_file, released_schema
from tclose.assess import frontier as assessed
from tclose.assess.auditing.audit_result import AuditResult
from tclose.data.places.atomic_files import write_atomically
from tclose.data.places.locations import Location
from tclose.errors import OutputError
from tclose.releases.manifest.plan_document import CostEstimate, PlanDocument
from tclose.releases.manifest.public_manifest import Manifest
from tclose.render.frontier_chart import draw_frontier
from tclose.render.frontier_tables import describe_frontier, describe_t, report_frontier
from tclose.render.plan_tables import plan_rows
from tclose.render.release_tables import audit_rows, release_rows
from tclose.render.text_tables import render_table
from tclose.runtime.interrupts import deferred

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Release:
    """A published release.

    Attributes
    ----------
    path : Path, or a place in a bucket
        Folder of the release: ``<output.path>/<name>/<release_id>``.
    release_id : str
        Names the content: the same input, policy, seed and code give the same.
    manifest : tclose.releases.manifest.public_manifest.Manifest
        The public manifest, ``manifest.json``: as in ``manifest.privacy.k.achieved``;
        ``manifest.to_json()`` gives it as dictionaries and lists.
    already_published : bool
        Whether it stood there before the call, so that nothing was done.
    seconds : Mapping of str to float
        Wall time of each pass up to the verdict, in seconds; empty where nothing was done.
    """

    path: Location
    release_id: str
    manifest: Manifest = field(compare=False)
    already_published: bool = field(default=False, compare=False)
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """Name of the policy, and of the folder that its releases are in."""
        return self.manifest.name

    @property
    def verdict(self) -> str:
        """``pass``: nothing else is published."""
        return self.manifest.verdict

    def to_arrow(self) -> "pa.Table":
        """The released rows in their canonical order, all of them in memory."""
        return read_released(self.path, self.manifest)

    def to_pandas(self) -> "pd.DataFrame":
        """The released rows in their canonical order, all of them in memory."""
        return self.to_arrow().to_pandas()

    def to_dask(self) -> "dd.DataFrame":
        """The released rows, read when they are computed: a partition for each file."""
        import dask
        import dask.dataframe as dd

        meta = released_schema(self.path, self.manifest).empty_table().to_pandas()
        files = [entry.path for entry in self.manifest.files]
        keys = {"release": self.path, "manifest": self.manifest, "meta": meta}
        # Dask takes all columns of objects for texts, and would make such of decimals and dates.
        with dask.config.set({"dataframe.convert-string": False}):
            return cast("dd.DataFrame", dd.from_map(_read_pandas, files, **keys))

    def audit(self) -> "Audit":
        """Verify the release again, from its files alone."""
        return audit_location(self.path)

    @property
    def _rows(self) -> list[tuple[str, str]]:
        rows = release_rows(self.manifest)
        return [*rows, ("release", str(self.path))]

    def __repr__(self) -> str:
        """Verdict, k and t asked and achieved, classes, loss, and where it is."""
        status = "already published" if self.already_published else "published"
        return f"Release {self.name}/{self.release_id} ({status})\n{render_table(self._rows)}"

    def _repr_html_(self) -> str:
        return html_rows(f"Release {self.name}/{self.release_id}", self._rows)


def _read_pandas(file: str, release: Location, manifest: Manifest) -> "pd.DataFrame":
    return read_released_file(release, manifest, file).to_pandas()


@dataclass(frozen=True, repr=False)
class PlanSummary:
    """The plan of a release.

    Attributes
    ----------
    details : tclose.releases.manifest.plan_document.PlanDocument
        As ``tclose plan --json`` prints it: ``records``, ``k``, ``t``, ``method``, and of each
        release partition its sizes and bounds, as in ``details.release_partitions[0].regions``;
        ``details.to_json()`` gives it as dictionaries and lists.
    estimate : tclose.releases.manifest.plan_document.CostEstimate
        ``megabytes`` per worker, ``disk_megabytes``, and ``seconds`` of wall time that a run is
        expected to take; ``steps``: of each pass.
    dropped : int
        Records with a missing value that would be left out.
    """

    details: PlanDocument
    estimate: CostEstimate = field(compare=False)
    dropped: int = 0

    @property
    def records(self) -> int:
        """Records that would be released."""
        return self.details.records

    @property
    def digest(self) -> str:
        """SHA-256 of the plan, as hexadecimal digits."""
        return self.details.digest

    @property
    def _rows(self) -> list[tuple[str, str]]:
        return plan_rows(self.details, self.estimate, self.dropped)

    def __repr__(self) -> str:
        """Sizes, bounds and costs, as ``tclose plan`` prints them."""
        return f"Plan\n{render_table(self._rows)}"

    def _repr_html_(self) -> str:
        return html_rows("Plan", self._rows)


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of auditing the files of a release.

    Attributes
    ----------
    details : tclose.assess.auditing.audit_result.AuditResult
        As ``tclose audit --json`` prints it: records, privacy, classes, risk and noise of the
        rows, as in ``details.privacy.k.achieved``; ``details.to_json()`` gives it as dictionaries
        and lists.
    """

    details: AuditResult

    @property
    def findings(self) -> tuple[str, ...]:
        """The faults found; empty if there are none."""
        return tuple(self.details.findings)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that are no faults."""
        return tuple(self.details.notes)

    @property
    def passed(self) -> bool:
        """True if the rows could be checked, and there are no findings."""
        return self.details.passed

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail``."""
        return "pass" if self.passed else "fail"

    @property
    def _rows(self) -> list[tuple[str, str]]:
        return audit_rows(self.details)

    def __repr__(self) -> str:
        """The verdict, findings, and what the rows say."""
        return f"Audit\n{render_table(self._rows)}"

    def _repr_html_(self) -> str:
        return html_rows("Audit", self._rows)


def audit_location(location: Location) -> Audit:
    """Verify a release again.

    Raises
    ------
    OutputError
        There is none.
    """
    with deferred():
        from tclose.assess.auditing.audit import audit_release
        from tclose.releases.catalog.catalog import find_release

    return Audit(audit_release(find_release(location)))


@dataclass(frozen=True, repr=False)
class Chart:
    """A picture, drawn as SVG."""

    svg: str

    def save(self, path: str | Path) -> Path:
        """Write it to a file, all of it or nothing.

        Raises
        ------
        OutputError
            It cannot be written there.
        """
        place = Path(path)
        try:
            write_atomically(place, self.svg.encode(), mode=0o644)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise OutputError(
                f"chart: {place}: {reason}; name a file in a folder that is there"
            ) from None
        return place

    def __repr__(self) -> str:
        """Return a summary of its size."""
        return f"Chart (SVG, {len(self.svg):,} characters)"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """Return the chart as an image, so that its styles are not those of the page."""
        content = b64encode(self.svg.encode()).decode()
        return f'<img alt="chart" src="data:image/svg+xml;base64,{content}">'


@dataclass(frozen=True, repr=False)
class Frontier:
    """The costs of other k and t, and what they achieve.

    Attributes
    ----------
    computed : tclose.assess.frontier.ComputedFrontier
        All points, and on how many records they were computed.
    """

    computed: assessed.ComputedFrontier

    @property
    def points(self) -> tuple[assessed.Point, ...]:
        """Each k and t with its figures, or the reason why it cannot be met."""
        return self.computed.points

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each point.

        Columns: ``k``, ``t`` (NaN where no attribute follows ``privacy.t``), ``is_policy``,
        ``feasible``, ``reason``, ``classes``, ``smallest``, ``largest`` and ``mean`` size in
        records, ``largest_emd.<attribute>``, ``information_loss`` (normalised SSE per record and
        quasi-identifier), ``of_one_class`` (what is lost of what one class loses, 0 to 1; None with
        ``losses: absolute``) and ``record_linkage_risk`` (share of records, 0 to 1).
        """
        import pandas as pd

        described = describe_frontier(self.computed)["points"]
        return pd.DataFrame([_flatten(point) for point in described])

    def plot(self) -> Chart:
        """Information loss and record-linkage risk against t, a line for each k.

        Raises
        ------
        UsageError
            matplotlib is not installed; the extra ``charts`` brings it.
        """
        return Chart(draw_frontier(self.computed))

    def __repr__(self) -> str:
        """A line for each point, as ``tclose frontier`` prints them."""
        return f"Frontier\n{report_frontier(self.computed)}"

    def _repr_html_(self) -> str:
        heads = ["policy's", "k", "t", "classes", "loss", "linked", "infeasible"]
        return html_grid(
            f"Frontier of {self.computed.name}", heads, [_cells(p) for p in self.points]
        )


def _flatten(point: dict[str, Any]) -> dict[str, Any]:
    sizes, emds = point.get("classes", {}), point.get("largest_emd", {})
    return {
        **{name: point[name] for name in ("k", "t", "is_policy", "feasible")},
        "reason": point.get("reason", ""),
        "classes": sizes.get("n_classes"),
        **{name: sizes.get(name) for name in ("smallest", "largest", "mean")},
        **{f"largest_emd.{name}": value for name, value in emds.items()},
        "information_loss": point.get("information_loss"),
        "of_one_class": point.get("of_one_class"),
        "record_linkage_risk": point.get("record_linkage_risk"),
    }


def _cells(point: assessed.Point) -> list[str]:
    first = ["*" if point.is_policy else "", str(point.k), describe_t(point.t)]
    figures = point.figures
    if figures is None:
        return [*first, "", "", "", point.reason]
    classes = f"{figures.classes.n_classes:,}"
    return [*first, classes, f"{figures.loss:.3g}", f"{figures.risk:.3%}", ""]
