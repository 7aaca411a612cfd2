"""The audit of a release together with the earlier ones of its window, where registers are at hand.

Registers say whose each released row is. They are compared with the files: rows of one class there
are one class here, and equal values have equal places. So what is decided again is decided of what
was handed out. As nobody has two rows of a release, k and t over persons are those over records.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.assess.any_table import code_values_apart
from tclose.assess.auditing.audit_result import AuditResult
from tclose.assess.auditing.manifest_comparison import PERSONS, PERSONS_OF_SERIES
from tclose.assess.over_time.published import Published, read_release
from tclose.data.keys import plain_type
from tclose.data.places.locations import Location, parse_location
from tclose.errors import TcloseError, UndecidedError
from tclose.model.array_types import Integers
from tclose.passes.series.series_cells import (
    KnownRelease,
    find_cells,
    number_hashes,
    place_release,
)
from tclose.passes.series.series_verdict import (
    HOLD,
    SeriesVerdict,
    find_held_rows,
    judge_series,
)
from tclose.passes.series.window.split_persons import find_split
from tclose.releases.catalog.prune import find_pruning
from tclose.releases.manifest.inside_sections import SeriesSection, describe_found
from tclose.releases.repository.contents import find_broken_seals
from tclose.releases.repository.repository import read_internal
from tclose.releases.series.register_file import ReleasedPersons, load_register
from tclose.releases.series.series_history import SeriesRelease, describe_missing, list_series


def add_series(audit: AuditResult) -> AuditResult:
    """The audit with what a release and the earlier ones of its window are together.

    Whatever is missing, or does not hold, is a finding, but for releases that were pruned by the
    rules: without them it cannot be decided.

    Raises
    ------
    UndecidedError
        Some were pruned, and nothing else is wrong.
    """
    release = parse_location(audit.release)
    internal = read_internal(release)
    if internal is None:
        return audit.extended(["series: internal/manifest.json is not at hand, or damaged"])
    section = internal.over_time
    if section is None:
        return audit.extended(["series: the release is of none: its policy has no over_time"])
    audit = audit.without_note(PERSONS_OF_SERIES, PERSONS)
    try:
        there = list_series(release.parent.parent, section.series)
        window = tuple(one for one in there if one.entry.number in _list_due(section))
        registers = [_read_checked(one) for one in window]
        pruned = _find_pruned(release, section, there)
    except TcloseError as error:
        return audit.extended([f"series: {error}"])
    missing = set(_list_due(section)) - {one.entry.number for one in window} - pruned.keys()
    findings = [f"release number {describe_missing(n, window)}" for n in sorted(missing)]
    findings += [
        f"release {one.name}: its register is not of its rows: {wrong}"
        for one, (_, wrong) in zip(window, registers, strict=True)
        if wrong
    ]
    if findings:
        return audit.extended([f"series: {finding}" for finding in findings])
    findings += [
        f"release {one.name}: {broken}"
        for one in window
        if one.place != release
        for broken in find_broken_seals(one.place)
    ]
    if pruned:
        return _leave_undecided(audit, findings, pruned)
    findings += _find_forgotten_again(window, [persons for persons, _ in registers])
    placed, n_persons = _place([persons for persons, _ in registers])
    most_held = None if section.most_held is None else Fraction(str(section.most_held))
    verdict = judge_series(placed, n_persons, section.k, section.departures, most_held)
    findings += [f"{f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    findings += [
        f"the manifest says other {name}" for name in _find_other_figures(section, verdict)
    ]
    if verdict.n_stale and verdict.passed and _have_moved(window, placed, n_persons):
        findings.append("records held: values of their cells are not those of the release before")
    note = (
        f"series: {len(window):,} release{'' if len(window) == 1 else 's'} of {section.series!r} "
        f"together: {verdict.n_cells:,} cells, the smallest of {verdict.smallest:,} persons "
        f"(k {section.k}); persons who left: {verdict.n_leavers:,}, "
        f"{describe_found(section.departures)}: {verdict.n_exposed:,}"
        + (f"; records held of others who left: {verdict.n_stale:,}" if verdict.n_stale else "")
    )
    if not findings:
        audit = audit.without_note(PERSONS)
    return audit.extended([f"series: {finding}" for finding in findings], [note])


def _list_due(section: SeriesSection) -> range:
    """The numbers of the release and of the earlier ones that it was held to."""
    return range(max(1, section.number - section.window + 1), section.number + 1)


def _find_pruned(
    release: Location, section: SeriesSection, there: Sequence[SeriesRelease]
) -> dict[int, str]:
    """Words on releases of the window that were removed as `prune` may, by their numbers.

    A newest release that is not as it was published says nothing of what the rules are.
    """
    numbers = {one.entry.number for one in there}
    missing = [number for number in _list_due(section) if number not in numbers]
    if not missing or find_broken_seals(there[-1].place):
        return {}
    pruned = {}
    for number in missing:
        if (place := number - section.number) < -len(section.releases):
            continue
        name = section.releases[place]
        at = find_pruning(release.parent.parent, name, number, there[-1].entry)
        if at is not None:
            pruned[number] = f"release number {number} ({name}) was removed by tclose prune ({at})"
    return pruned


def _leave_undecided(
    audit: AuditResult, findings: Sequence[str], pruned: Mapping[int, str]
) -> AuditResult:
    """The audit with what is wrong all the same.

    Raises
    ------
    UndecidedError
        Nothing is.
    """
    reason = f"it cannot be decided again: {'; '.join(pruned.values())}, as its window had passed"
    if not findings and audit.passed:
        raise UndecidedError(
            f"{audit.release}: series: {reason}. What was checked without it holds; leave --series "
            "out, or put back what was removed"
        )
    return audit.extended([f"series: {finding}" for finding in findings], [f"series: {reason}"])


def _read_checked(release: SeriesRelease) -> tuple[ReleasedPersons, str]:
    """The register of a release, and what is wrong with it, or nothing."""
    return (persons := load_register(release)), _compare(persons, read_release(release.place))


def _compare(persons: ReleasedPersons, published: Published) -> str:
    """Say what of a register is not of the released rows; empty if nothing."""
    if persons.classes.size != published.class_of.size:
        return "rows"
    if number_hashes([persons.hashes])[0] < len(persons.hashes):
        return "persons, of whom one has several"
    if not _are_told_apart_alike(persons.classes, published.class_of):
        return "classes"
    if set(persons.attributes) != set(published.confidential.column_names):
        return "attributes"
    for name, codes in zip(persons.attributes, persons.codes, strict=True):
        values = published.confidential[name]
        if not _are_told_apart_alike(codes, code_values_apart(values, name)):
            return name
        kind = values.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind):
            ranks = pc.rank(values.combine_chunks(), tiebreaker="dense").to_numpy()
            if (ranks.astype(np.int64) - 1 != codes).any():
                return name
    return ""


def _are_told_apart_alike(first: Integers, second: Integers) -> bool:
    """Return whether two codings of the same rows tell the same rows apart."""
    n_pairs = np.unique(np.stack([first, second]), axis=1).shape[1]
    return bool(n_pairs == np.unique(first).size == np.unique(second).size)


def _find_forgotten_again(
    window: Sequence[SeriesRelease], registers: Sequence[ReleasedPersons]
) -> list[str]:
    """Say who is two persons in the window, so that her cell is judged as that of others."""
    split = find_split([one.forgotten for one in registers], lambda i: registers[i].hashes.T)
    return [] if split is None else [f"release {window[split.release].name}: {split.describe()}"]


def _place(registers: Sequence[ReleasedPersons]) -> tuple[list[KnownRelease], int]:
    """The releases over the persons of all, and how many these are."""
    newest = registers[-1]
    n_persons, numbers = number_hashes([one.hashes for one in registers])
    limits = dict(zip(newest.attributes, newest.limits, strict=True))
    placed = [
        place_release(one, of_one, n_persons, limits)
        for one, of_one in zip(registers, numbers, strict=True)
    ]
    return placed, n_persons


def _have_moved(
    window: Sequence[SeriesRelease], placed: Sequence[KnownRelease], n_persons: int
) -> bool:
    """Return whether a value of a cell with held rows is another one than in the release before."""
    held, places = find_held_rows(placed[-2], placed[-1], find_cells(placed, n_persons))
    then, now = (read_release(one.place).confidential for one in window[-2:])
    if set(now.column_names) - set(then.column_names):
        return True
    pairs = (
        (plain_type(of.type), then[name], of)
        for name, of in zip(now.column_names, now.columns, strict=True)
    )
    return any(
        not before.take(pa.array(places)).cast(dtype).equals(after.take(pa.array(held)).cast(dtype))
        for dtype, before, after in pairs
    )


def _find_other_figures(section: SeriesSection, verdict: SeriesVerdict) -> list[str]:
    """Names of the figures of the manifest that are not those found."""
    figures = {
        "cells": verdict.n_cells,
        "smallest_cell": verdict.smallest,
        "newcomers": verdict.n_newcomers,
        "leavers": verdict.n_leavers,
        "leavers_exposed": verdict.n_exposed,
    }
    if section.departures == HOLD or verdict.n_stale:
        figures |= {"stale": verdict.n_stale, "stalest": verdict.stalest}
    if section.leaver_groups_below_k is not None:  # which earlier versions did not count
        figures["leaver_groups_below_k"] = verdict.n_small_groups
        figures["smallest_leaver_group"] = verdict.smallest_group
    return [name for name, value in figures.items() if getattr(section, name) != value]
