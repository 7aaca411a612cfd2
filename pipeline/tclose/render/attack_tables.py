"""The attack on several releases as a table."""

from tclose.assess.over_time.attack_result import (
    AttackResult,
    CellDistance,
    Knowledge,
    PersonExposure,
    RefinementCheck,
)
from tclose.model.counted_words import count_words
from tclose.passes.series.series_verdict import UNITE
from tclose.render.text_tables import align_rows, render_table


def report_attack(result: AttackResult) -> str:
    """Tell which releases were attacked, and how exposed persons are to both intruders."""
    releases = zip(result.releases, result.persons, strict=True)
    head = [
        ("releases", f"{len(result.releases):,}"),
        *((f"  {place}", f"{persons:,} persons") for place, persons in releases),
        ("k", f"{result.k:,}"),
        ("values that last", _describe_lasting(result)),
        *_describe_refinement(result.refinement),
    ]
    rows = _list_rows(result)
    width = max(len(row[0]) for row in rows)
    rows = [(f"  {row[0]:<{width}}", *row[1:]) for row in rows]
    parts = [render_table(head), "\n".join(align_rows(rows, to_right=True))]
    return "\n\n".join([*parts, *(f"note: {note}" for note in result.notes)])


def _describe_refinement(check: RefinementCheck | None) -> list[tuple[str, str]]:
    """The verdict on the cells of all releases, and of whom it is."""
    if check is None:
        return [("all releases together", "not decided: the class of each person is not known")]
    sizes = (
        f"{check.cells:,}, the smallest of {check.smallest:,}; {check.below_k:,} below {check.k}"
    )
    return [
        ("all releases together", _describe_verdict(check)),
        ("  asked", _describe_asked(check)),
        ("  cells", sizes),
        *((f"  t of {one.attribute}", _describe_distance(one)) for one in check.distances),
        *_describe_left(check),
    ]


def _describe_verdict(check: RefinementCheck) -> str:
    """PASS or FAIL, and of whom where it is not of all."""
    verdict = "PASS" if check.passed else "FAIL"
    return verdict if check.left is None else f"{verdict} for the persons of the newest"


def _describe_asked(check: RefinementCheck) -> str:
    """Say which cells are held to k and t, and who promised that."""
    if check.series is None:
        return "k and t of every cell, though these releases promise nothing together"
    whose = "all cells" if check.left is None else "cells of the persons of the newest release"
    return f"k and t of {whose}, of which series {check.series} promises them"


def _describe_left(check: RefinementCheck) -> list[tuple[str, str]]:
    """Persons of whom a series promises nothing, and how many of them are found."""
    left = check.left
    if left is None:
        return []
    text = (
        f"{count_words(left.persons, 'person')}, {left.found:,} of them in cells below {check.k} "
        "or above a t: "
        f"told, and no part of the verdict (departures: {check.departures})"
    )
    if check.departures == UNITE:
        text += "; tclose audit --series decides whether subtraction finds fewer than k"
    return [("  not in the newest", text)]


def _describe_distance(one: CellDistance) -> str:
    return (
        f"asked {one.t:g}, largest EMD of a cell {one.largest_emd:.6f}, {one.cells_above:,} above"
    )


def _describe_lasting(result: AttackResult) -> str:
    shares = ", ".join(f"{name} {_percent(share)}" for name, share in result.persists.items())
    used = ", ".join(result.persistent) or "none"
    if len(result.releases) == 1:
        return used
    return f"{used}; the same in the next release: {shares or 'nothing to compare'}"


def _list_rows(result: AttackResult) -> list[tuple[str, ...]]:
    known, linked = result.classes_known, result.by_linking
    kinds = [linked] if known is None else [known, linked]
    names = ["by linking"] if known is None else ["classes known", "by linking"]
    rows: list[tuple[str, ...]] = [("", *names)]
    groups = (("in every release", "stayed"), ("in some releases", "changed"))
    for title, group in groups:
        exposures = [getattr(kind, group) for kind in kinds]
        rows.append((f"persons {title}", *(f"{e.persons:,}" for e in exposures)))
        rows += _list_exposures(exposures, result.k)
    rows.append(("below k in one release alone", *(_counts(kind) for kind in kinds)))
    rows.append(("own class considered", *(_shares(kind.linked) for kind in kinds)))
    rows.append(("one class considered", *(_shares(kind.one_class) for kind in kinds)))
    return rows


def _list_exposures(exposures: list[PersonExposure], k: int) -> list[tuple[str, ...]]:
    rows = [
        ("  alone", *(_share(e.alone, e.persons) for e in exposures)),
        (f"  among fewer than {k}", *(_share(e.below_k, e.persons) for e in exposures)),
        ("  found by a guess", *(_percent(e.found) for e in exposures)),
    ]
    for values in zip(*(e.values for e in exposures), strict=True):
        persons = [e.persons for e in exposures]
        cells = [_share(v.persons, n) for v, n in zip(values, persons, strict=True)]
        rows.append((f"  one {values[0].attribute} left", *cells))
        right = [_percent(v.right / v.persons) if v.persons else "-" for v in values]
        rows.append(("    which is right", *right))
    return rows


def _share(count: int, total: int) -> str:
    return f"{count:,} ({_percent(count / total)})" if total else "-"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _counts(kind: Knowledge) -> str:
    return ", ".join(f"{count:,}" for count in kind.below_k_in_one)


def _shares(shares: tuple[float | None, ...] | tuple[float, ...]) -> str:
    return ", ".join("-" if share is None else _percent(share) for share in shares)
