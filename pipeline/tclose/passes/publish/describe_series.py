"""A release's place in its series, for the internal manifest."""

import hashlib
from collections.abc import Sequence

from tclose.passes.series.link_persons import SeriesLink, limits_over_time
from tclose.passes.series.series_verdict import SeriesVerdict
from tclose.policy.policy import Policy
from tclose.releases.manifest.internal_manifest import SeriesSection


def describe_series(
    policy: Policy,
    series: Sequence[SeriesLink],
    verdicts: Sequence[SeriesVerdict],
    register: bytes,
) -> SeriesSection | None:
    """Describe what a release and the earlier ones of its window are held to and have together.

    Parameters
    ----------
    series, verdicts : one each, or none of a release that stands alone
    register : the bytes of its file
    """
    settings = policy.privacy.over_time
    if settings is None:
        return None
    link, verdict = series[0], verdicts[0]
    limits = limits_over_time(policy, settings)
    return SeriesSection(
        series=link.window.series,
        number=link.window.number,
        k=settings.k,
        t={name: float(limit) for name, limit in limits.items()},
        window=settings.window,
        departures=settings.departures,
        register_sha256=hashlib.sha256(register).hexdigest(),
        releases=list(link.window.releases),
        cells=verdict.n_cells,
        smallest_cell=verdict.smallest,
        largest_emd=verdict.largest_emd,
        left_out=link.n_left_out,
        newcomers=verdict.n_newcomers,
        leavers=verdict.n_leavers,
        leavers_exposed=verdict.n_exposed,
    )
