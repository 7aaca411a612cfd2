"""Tables of the catalog commands: releases, one release, and differences of two."""

from typing import Any

from tclose.data.places.locations import Location
from tclose.releases.catalog import has_form, list_entries
from tclose.releases.diff import Comparison, JsonScalar
from tclose.releases.manifest.dictionary import printable
from tclose.releases.manifest.public_signatures import find_signing_key
from tclose.releases.operations_log import read_lines
from tclose.releases.repository import ReleaseRepository, read_internal, read_manifest
from tclose.render.release_tables import release_rows, utility_rows
from tclose.render.text_tables import align_rows, render_table

_MOST_FILES = 20  # that are listed for a person to read
Row = tuple[str, ...]

_HEAD = ("", "release", "published", "verdict", "records", "k", "t", "loss", "made by")


def describe_repository(repository: ReleaseRepository) -> dict[str, Any]:
    """The releases of a name, the newest first, and what was done to them."""
    current = repository.current()
    entries = reversed(list_entries(repository))
    return {
        "name": repository.name,
        "folder": str(repository.root),
        "current": current,
        "releases": [
            _describe_entry(repository, e.release_id, e.is_readable, current == e.release_id)
            for e in entries
        ],
        "journal": read_lines(repository),
    }


def _describe_entry(
    repository: ReleaseRepository, release_id: str, is_readable: bool, is_current: bool
) -> dict[str, Any]:
    summaries: dict[str, Any] = {"release_id": release_id, "current": is_current}
    manifest = read_manifest(repository.release(release_id)) if is_readable else None
    if manifest is None or not has_form(manifest):
        return summaries | {"readable": False}
    keys = ("published_at", "verdict", "method", "records", "privacy")
    summaries |= {"readable": True} | {key: manifest[key] for key in keys}
    summaries["information_loss"] = manifest["information_loss"]["total"]
    return summaries | {"made_by": describe_maker(repository.release(release_id), manifest)}


def describe_maker(release: Location, manifest: dict[str, Any]) -> dict[str, Any]:
    """Describe who and what made a release, as far as its manifests state it."""
    internal = read_internal(release) or {}
    run, code = internal.get("run"), internal.get("code")
    run, code = (value if isinstance(value, dict) else {} for value in (run, code))
    keys = ("user", "host", "flow_run", "lineage_run")
    summaries: dict[str, Any] = {key: str(run[key]) if run.get(key) else None for key in keys}
    return summaries | {"tclose": manifest["code"]["tclose"], "git": code.get("git")}


def report_repository(summaries: dict[str, Any]) -> str:
    """A table of the releases of a name; the current one is marked."""
    if not summaries["releases"]:
        return f"{printable(summaries['name'])}: no releases"
    rows: list[Row] = [_HEAD, *(_entry_row(entry) for entry in summaries["releases"])]
    lines = [printable(summaries["name"]), *align_rows(rows)]
    if not any(entry["current"] for entry in summaries["releases"]):
        lines.append("  no release is current")
    moves = [line for line in summaries["journal"] if line["action"] == "rollback"]
    if moves:
        last = moves[-1]
        told_by = f"{last.get('user')}@{last.get('host')}"
        lines.append(
            printable(f"  moved back last at {last.get('at')} by {told_by}: "
                      f"from {last.get('from')} to {last.get('to')}")
        )  # fmt: skip
    return "\n".join(lines)


def _entry_row(entry: dict[str, Any]) -> Row:
    mark = "*" if entry["current"] else ""
    if not entry["readable"]:
        return (mark, entry["release_id"], "its manifest cannot be read", *[""] * 6)
    privacy = entry["privacy"]
    return (
        mark,
        entry["release_id"],
        printable(entry["published_at"]),
        printable(entry["verdict"].upper()),
        f"{entry['records']:,}",
        f"{privacy['k']['achieved']} of {privacy['k']['asked']}",
        _tightest_t(privacy["t"] | _joint_limits(privacy.get("joint", []))),
        f"{entry['information_loss']:.3g}",
        printable(_short_maker(entry["made_by"])),
    )


def _joint_limits(joint: list[dict[str, Any]]) -> dict[str, Any]:
    return {" with ".join(t["attributes"]): t for t in joint}


def _tightest_t(limits: dict[str, Any]) -> str:
    """The attribute that is nearest to its limit, and how many there are beside it."""
    if not limits:
        return "-"
    name = max(limits, key=lambda n: limits[n]["largest_emd"] - limits[n]["asked"])
    t = limits[name]
    more = f" (+{len(limits) - 1})" if len(limits) > 1 else ""
    return f"{t['largest_emd']:.6f} of {t['asked']:g} {printable(name)}{more}"


def _short_maker(maker: dict[str, Any]) -> str:
    parts = [f"{maker['user']}@{maker['host']}"] if maker["user"] else []
    parts += [f"flow {maker['flow_run'][:8]}"] if maker["flow_run"] else []
    return ", ".join([*parts, f"tclose {maker['tclose']}"])


def describe_release(
    release: Location, manifest: dict[str, Any], *, is_current: bool
) -> dict[str, Any]:
    """One release: its public manifest, who made it, and the policy where that is at hand."""
    internal = read_internal(release) or {}
    return {
        "release": str(release),
        "current": is_current,
        "manifest": manifest,
        "made_by": describe_maker(release, manifest),
        "policy": internal.get("policy"),
        "records_dropped": internal.get("records_dropped"),
        "utility": internal.get("utility"),
        "signed_by": find_signing_key(release),
    }


def report_one(summaries: dict[str, Any]) -> str:
    """Policy in short, privacy, classes, loss, columns and files of one release."""
    manifest, files = summaries["manifest"], summaries["manifest"]["files"]
    keys = ("name", "role", "type", "treatment")
    columns: list[Row] = [("", "column", *keys[1:])]
    columns += [("", *(column[key] for key in keys)) for column in manifest["columns"]]
    listed: list[Row] = [("", "file", "rows", "bytes")]
    listed += [("", f["path"], f"{f['rows']:,}", f"{f['bytes']:,}") for f in files[:_MOST_FILES]]
    lines = [render_table(_head_rows(summaries) + release_rows(manifest))]
    if isinstance(summaries["utility"], dict):
        lines += [
            "",
            "beside the originals (internal)",
            render_table(utility_rows(summaries["utility"])),
        ]
    lines += ["", *align_rows(columns), "", *align_rows(listed)]
    if len(files) > _MOST_FILES:
        lines.append(f"  and {len(files) - _MOST_FILES:,} more files (--json lists all)")
    return "\n".join(printable(line) for text in lines for line in text.split("\n"))


def _head_rows(summaries: dict[str, Any]) -> list[tuple[str, str]]:
    manifest, maker = summaries["manifest"], summaries["made_by"]
    rows = [("release", f"{summaries['release']}{' (current)' if summaries['current'] else ''}")]
    rows += [("name", manifest["name"]), ("published", manifest["published_at"])]
    rows.append(("made by", _short_maker(maker)))
    if summaries["signed_by"]:
        rows.append(
            ("signed by", f"{summaries['signed_by']} (not checked: audit --public-key does)")
        )
    if maker["flow_run"]:
        rows.append(("flow run", maker["flow_run"]))
    rows.append(("columns", _count_roles(manifest)))
    if manifest["partition_by"]:
        rows.append(("folders by", ", ".join(manifest["partition_by"])))
    if isinstance(summaries["records_dropped"], int):
        rows.append(
            ("dropped", f"{summaries['records_dropped']:,} with a missing value (internal)")
        )
    return rows


def _count_roles(manifest: dict[str, Any]) -> str:
    """Count the columns of each role."""
    roles = [column["role"] for column in manifest["columns"]]
    return ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))


def describe_comparison(first: Location, second: Location, found: Comparison) -> dict[str, Any]:
    """Describe the differences between two releases."""
    return {
        "first": str(first),
        "second": str(second),
        "policies_compared": found.has_policies,
        "differences": [
            {"section": d.section, "key": d.key, "first": d.first, "second": d.second}
            for d in found.differences
        ],
    }


def report_comparison(first: Location, second: Location, found: Comparison) -> str:
    """Tabulate the differences by section; only the two names where there are none."""
    lines = [f"< {first}", f"> {second}"]
    if not found.has_policies:
        lines.append("policies: not compared, as an internal manifest is not at hand")
    if not found.differences:
        return "\n".join([*lines, "nothing differs"])
    for section in dict.fromkeys(d.section for d in found.differences):
        inside = [d for d in found.differences if d.section == section]
        rows: list[Row] = [("", printable(d.key), *_show_both(d.first, d.second)) for d in inside]
        lines += ["", section, *align_rows(rows)]
    return "\n".join(lines)


def _show_both(first: JsonScalar, second: JsonScalar) -> Row:
    """Two values that differ, in as many digits as it takes to see it."""
    short = _show(first), _show(second)
    summaries = short if short[0] != short[1] else (repr(first), repr(second))
    return summaries[0], "->", summaries[1]


def _show(value: JsonScalar) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return printable(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
