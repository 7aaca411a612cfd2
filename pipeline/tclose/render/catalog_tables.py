"""Tables of the catalog commands: releases, one release, and differences of two."""

import re
from typing import Any

from tclose.data.places.locations import Location
from tclose.releases.catalog.diff import JsonScalar, ReleaseDiff
from tclose.releases.manifest.privacy_sections import Privacy
from tclose.releases.manifest.public_manifest import Manifest
from tclose.render.catalog_listing import ListedRelease, Maker, RepositoryListing, ShownRelease
from tclose.render.release_tables import release_rows, risk_rows, utility_rows
from tclose.render.series_rows import series_rows
from tclose.render.text_tables import align_rows, render_table
from tclose.render.trace_rows import trace_rows
from tclose.security.printable_text import printable, printable_lines

_MOST_FILES = 20  # that are listed for a person to read
_DIGITS, _MOST_DIGITS = 4, 17  # of a figure; 17 tell all floating-point numbers apart
Row = tuple[str, ...]

_HEAD = ("", "release", "published", "verdict", "records", "k", "t", "loss", "made by")


def report_repository(listing: RepositoryListing) -> str:
    """A table of the releases of a name; the current one is marked."""
    if not listing.releases:
        return f"{printable(listing.name)}: no releases"
    rows: list[Row] = [_HEAD, *(_entry_row(entry) for entry in listing.releases)]
    lines = [printable(listing.name), *align_rows(rows)]
    if not any(entry.current for entry in listing.releases):
        lines.append("  no release is current")
    moves = [line for line in listing.journal if line["action"] == "rollback"]
    if moves:
        last = moves[-1]
        told_by = f"{last.get('user')}@{last.get('host')}"
        lines.append(
            printable(f"  moved back last at {last.get('at')} by {told_by}: "
                      f"from {last.get('from')} to {last.get('to')}")
        )  # fmt: skip
    return "\n".join(lines)


def _entry_row(entry: ListedRelease) -> Row:
    mark = "*" if entry.current else ""
    privacy, maker = entry.privacy, entry.made_by
    if privacy is None or maker is None:
        return (mark, entry.release_id, "its manifest cannot be read", *[""] * 6)
    return (
        mark,
        entry.release_id,
        printable(_to_the_second(entry.published_at)),
        printable(entry.verdict.upper()),
        f"{entry.records:,}",
        f"{privacy.reached()} of {privacy.k.asked}",
        _tightest_t(privacy),
        f"{entry.information_loss:.3g}",
        printable(_short_maker(maker)),
    )


def _tightest_t(privacy: Privacy) -> str:
    """The attribute that is nearest to its limit, and how many there are beside it."""
    nearest = privacy.nearest_to_t()
    if nearest is None:
        return "-"
    name, t = nearest
    n_others = len(privacy.limits()) - 1
    more = f" (+{n_others})" if n_others else ""
    return f"{t.largest_emd:.6f} of {t.asked:g} {printable(name)}{more}"


def _short_maker(maker: Maker) -> str:
    parts = [f"{maker.user}@{maker.host}"] if maker.user else []
    parts += [f"flow {maker.flow_run[:8]}"] if maker.flow_run else []
    return ", ".join([*parts, f"tclose {maker.tclose}"])


def report_one(release: ShownRelease) -> str:
    """Policy in short, privacy, classes, loss, columns and files of one release."""
    manifest, files = release.manifest, release.manifest.files
    keys = ("name", "role", "type", "treatment")
    columns: list[Row] = [("", "column", *keys[1:])]
    columns += [("", *(getattr(column, key) for key in keys)) for column in manifest.columns]
    listed: list[Row] = [("", "file", "rows", "bytes")]
    listed += [("", d.path, "", f"{d.bytes:,}") for d in manifest.documents]
    listed += [("", f.path, f"{f.rows:,}", f"{f.bytes:,}") for f in files[:_MOST_FILES]]
    lines = [render_table(_head_rows(release) + release_rows(manifest))]
    if manifest.risk is not None:
        lines += ["", "attacks that were measured", render_table(risk_rows(manifest.risk))]
    if traced := trace_rows(release.person_traces):
        lines += ["", "persons with several records (internal)", render_table(traced)]
    if release.over_time is not None:
        lines += [
            "",
            "together with the series (internal)",
            render_table(series_rows(release.over_time)),
        ]
    if release.warnings:
        warned = [(one.code, f"{one.message}; {one.remedy}") for one in release.warnings]
        lines += ["", "warnings (internal)", render_table(warned)]
    if release.utility is not None:
        lines += [
            "",
            "beside the originals (internal)",
            render_table(utility_rows(release.utility)),
        ]
    lines += ["", *align_rows(columns), "", *align_rows(listed)]
    if len(files) > _MOST_FILES:
        lines.append(f"  and {len(files) - _MOST_FILES:,} more files (--json lists all)")
    return printable_lines("\n".join(lines))


def _to_the_second(moment: str) -> str:
    """A time of a manifest without its milliseconds, which are for the order of releases alone."""
    return re.sub(r"\.\d+", "", moment)


def _head_rows(release: ShownRelease) -> list[tuple[str, str]]:
    manifest, maker = release.manifest, release.made_by
    rows = [("release", f"{release.release}{' (current)' if release.current else ''}")]
    rows += [("name", manifest.name), ("published", _to_the_second(manifest.published_at))]
    rows.append(("made by", _short_maker(maker)))
    if release.signed_by:
        rows.append(("signed by", f"{release.signed_by} (not checked: audit --public-key does)"))
    if maker.flow_run:
        rows.append(("flow run", maker.flow_run))
    rows.append(("columns", _count_roles(manifest)))
    if manifest.partition_by:
        rows.append(("folders by", ", ".join(manifest.partition_by)))
    if release.records_dropped is not None:
        rows.append(("dropped", f"{release.records_dropped:,} with a missing value (internal)"))
    if release.records_suppressed is not None:
        rows.append(("left out", f"{release.records_suppressed:,} as isolated ones (internal)"))
    elif manifest.suppressed is not None:
        rows.append(("left out", f"at most {manifest.suppressed.percent} % as isolated ones"))
    if release.over_time is None and (lacking := manifest.left_out_over_time) is not None:
        rows.append(("left out", f"at most {lacking.percent} % so that the series holds"))
    if manifest.held is not None and manifest.held.percent:
        rows.append(("held", f"at most {manifest.held.percent} % of persons who had left"))
    return rows


def _count_roles(manifest: Manifest) -> str:
    """Count the columns of each role."""
    roles = [column.role for column in manifest.columns]
    return ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))


def describe_diff(first: Location, second: Location, comparison: ReleaseDiff) -> dict[str, Any]:
    """Describe the differences between two releases."""
    return {
        "first": str(first),
        "second": str(second),
        "policies_compared": comparison.has_policies,
        "differences": [
            {"section": d.section, "key": d.key, "first": d.first, "second": d.second}
            for d in comparison.differences
        ],
    }


def report_diff(first: Location, second: Location, comparison: ReleaseDiff) -> str:
    """Tabulate the differences by section; only the two names where there are none."""
    lines = [f"< {first}", f"> {second}"]
    if not comparison.has_policies:
        lines.append("policies: not compared, because an internal manifest is missing")
    if not comparison.differences:
        return "\n".join([*lines, "nothing differs"])
    for section in dict.fromkeys(d.section for d in comparison.differences):
        inside = [d for d in comparison.differences if d.section == section]
        rows: list[Row] = [("", printable(d.key), *_show_both(d.first, d.second)) for d in inside]
        lines += ["", section, *align_rows(rows)]
    return "\n".join(lines)


def _show_both(first: JsonScalar, second: JsonScalar) -> Row:
    """Two values that differ, in as many digits as it takes to see it."""
    for n_digits in range(_DIGITS, _MOST_DIGITS + 1):
        shown = _show(first, n_digits), _show(second, n_digits)
        if shown[0] != shown[1]:
            return shown[0], "->", shown[1]
    return repr(first), "->", repr(second)


def _show(value: JsonScalar, n_digits: int) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return printable(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.{n_digits}g}"
