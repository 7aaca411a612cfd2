"""A release's place in its series, for the internal manifest."""

import hashlib
from collections.abc import Sequence

from tclose.passes.series.headroom import share_held, share_left_out, share_of_classes_left
from tclose.passes.series.link_persons import SeriesLink, limits_made_for, limits_over_time
from tclose.passes.series.series_verdict import SeriesVerdict
from tclose.policy.policy import Policy
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.manifest.inside_sections import SeriesSection
from tclose.releases.manifest.plan_document import PlannedSeries


def plan_series(policy: Policy, series: Sequence[SeriesLink]) -> PlannedSeries | None:
    """Describe the room that a release's classes have, and what those who left cost.

    Parameters
    ----------
    series : one, or none of a release that stands alone
    """
    settings = policy.privacy.over_time
    if settings is None or not series:
        return None
    link = series[0]
    return PlannedSeries(
        number=link.window.number,
        earlier=len(link.window.releases),
        k=settings.k,
        churn=link.churn,
        made_k=link.made_k,
        made_t={name: float(t) for name, t in limits_made_for(policy).items()},
        expected_left_out=share_left_out(link.made_k, settings.k, link.churn, settings.window - 1),
        expected_classes_left=share_of_classes_left(link.made_k, settings.k, link.churn),
        left_out=link.n_left_out,
        forgotten=link.n_forgotten,
        stale=link.n_held,
        most_stale=None if settings.most_held is None else float(settings.most_held),
        expected_stale=_expect_stale(link, settings),
        stalest=link.stalest,
        departures=settings.departures,
        leavers=link.n_leavers,
        classes_left=link.n_classes_left,
    )


def _expect_stale(link: SeriesLink, settings: OverTimeSettings) -> float | None:
    """The share of the records that is expected to be held at the window's end."""
    if settings.most_held is None:
        return None
    return share_held(link.churn, settings.window - 1)


def describe_series(
    policy: Policy,
    series: Sequence[SeriesLink],
    verdicts: Sequence[SeriesVerdict],
    register: bytes | memoryview,
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
        churn=link.churn,
        made_k=link.made_k,
        leaver_groups_below_k=verdict.n_small_groups,
        smallest_leaver_group=verdict.smallest_group,
        stale=verdict.n_stale,
        stalest=verdict.stalest,
        most_held=None if settings.most_held is None else float(settings.most_held),
        forgotten=link.n_forgotten,
    )
