"""A warning where a release of a series promises less than an earlier one promised for its window.

Releases of one window are judged by what the newest asks. So whoever was told of an earlier one's k
and t over time, window or departures has to know that the next ones ask less.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from tclose.passes.plan.notices.plan_warnings import make_warning
from tclose.passes.series.link_persons import SeriesLink, limits_over_time
from tclose.passes.series.series_verdict import NOBODY_FOUND, UNITE
from tclose.policy import warning_kinds
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.manifest.inside_sections import SeriesEntry
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.series.series_history import SeriesRelease, list_series
from tclose.runtime.run import Run


def warn_of_weaker_promise(run: Run, series: Sequence[SeriesLink]) -> tuple[PlanWarning, ...]:
    """Warn of a release that asks less over time than an earlier one whose window it falls into."""
    policy, settings = run.policy, run.policy.privacy.over_time
    if settings is None or not series:
        return ()
    number = series[0].window.number
    earlier = [
        one
        for one in list_series(run.repository.output, policy.series_name)
        if one.entry.number < number < one.entry.number + one.entry.window
    ]
    return find_weaker(earlier, settings, limits_over_time(policy, settings))


def find_weaker(
    earlier: Sequence[SeriesRelease], settings: OverTimeSettings, limits: Mapping[str, Fraction]
) -> tuple[PlanWarning, ...]:
    """Find what is weaker than in earlier releases, by what is asked now.

    Parameters
    ----------
    earlier : oldest first
    limits : the t of each confidential attribute over time
    """
    found: dict[str, str] = {}  # by the key; the newest of the strongest
    strongest: dict[str, Fraction] = {}
    for one in earlier:
        for key, strength, then, now in _compare(one.entry, settings, limits):
            if strength >= strongest.get(key, strength):
                strongest[key], found[key] = strength, f"{key} {then} in {one.name}, {now} now"
    if not found:
        return ()
    message = (
        f"less is asked over time than before: {'; '.join(found.values())}: releases of a window "
        "are judged by the newest one, so what the earlier ones promised for theirs does not hold "
        "together with this one"
    )
    columns = [name for name in limits if _key_of(name) in found]
    return (make_warning(warning_kinds.WEAKER_PROMISE, message, columns),)


def _compare(
    entry: SeriesEntry, settings: OverTimeSettings, limits: Mapping[str, Fraction]
) -> Iterator[tuple[str, Fraction, object, object]]:
    """What is weaker than in one release: the key, how strong it was, what it was, and is."""
    if settings.k < entry.k:
        yield "over_time.k", Fraction(entry.k), entry.k, settings.k
    for name, t in limits.items():
        before = Fraction(str(entry.t[name])) if name in entry.t else t
        if t > before:
            yield _key_of(name), -before, f"{float(before):.12g}", f"{float(t):.12g}"
    if settings.window < entry.window:
        yield "over_time.window", Fraction(entry.window), entry.window, settings.window
    rank = _rank(entry.departures)
    if _rank(settings.departures) < rank:
        yield "over_time.departures", Fraction(rank), entry.departures, settings.departures


def _key_of(name: str) -> str:
    return f"t over time of {name!r}"


def _rank(departures: str) -> int:
    """How much is held of persons who leave: of each, of all together, or nothing."""
    return 2 if departures in NOBODY_FOUND else int(departures == UNITE)
