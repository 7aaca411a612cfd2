"""The data dictionary of a release: what each column is and how it was treated, to be read.

Everything in it is taken from the public manifest.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tclose.model.counted_words import count_words
from tclose.releases.manifest.figure_sections import About
from tclose.releases.manifest.privacy_sections import PersonsResult, PrivacyModelResult
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import (
    HeldSection,
    LeftOutOverTimeSection,
    LeftOutSection,
    RecordComparison,
    ReleasedColumn,
    SuppressedSection,
)
from tclose.security.printable_text import printable

_ROLES = {
    "quasi-identifier": (
        "What an outsider could know of a subject. All records of a class share one value."
    ),
    "confidential": "What nobody shall learn of a subject.",
    "non-confidential": "Released without any protection, because the policy says so by name.",
}
_WITHIN_T = "In every class the {} are distributed as in the whole table, within t."
_TOLD = ("name", "role", "kind", "type", "treatment", "distance", "order", "taxonomy")
_WORDS = ("label", "unit", "description")  # of the publisher
_FLAGS = ("generalised", "noised", "bucketed", "prepared")  # the treatment says it in words
_MARKS = re.compile(r"([\\`*\[\]<>|&~#$!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def on_one_line(words: str) -> str:
    """The publisher's words, of which YAML keeps the ends of lines, as one line."""
    return " ".join(words.split())


def escape(text: Any) -> str:
    """A text that Markdown shows as it is, on one line, also in a table."""
    return _MARKS.sub(r"\\\1", printable(str(text)))


def write_dictionary(manifest: Manifest) -> str:
    """The content of ``dictionary.md``."""
    parts = [
        _introduce(manifest),
        "## What was asked and what was reached",
        _tabulate(("", "asked", "reached"), _list_limits(manifest)),
        "## Columns",
        _tabulate(("column", "role", "type", "treatment"), _list_columns(manifest)),
        *(_describe_column(column, manifest) for column in manifest.columns),
    ]
    return "\n\n".join(parts) + "\n"


def _introduce(manifest: Manifest) -> str:
    from tclose.data.formats.format_registry import (
        find_format,  # slow to import, and for writing alone
    )

    keys = ("name", "release_id", "method")
    texts = {key: escape(getattr(manifest, key)) for key in keys}
    published = escape(manifest.published.isoformat(timespec="seconds"))
    version, n_files = escape(manifest.code.tclose), len(manifest.files)
    classes, files = manifest.classes, manifest.files
    title = f"{find_format(files[0].path).title} " if files else ""
    provenance = (
        f"Release {texts['release_id']}, published at {published}; made by tclose "
        f"{version}, method {texts['method']}."
    )
    counts = (
        f"{manifest.records:,} records in {n_files:,} {title}file{'s' if n_files != 1 else ''} "
        f"below `data/`. They form {count_words(classes.n_classes, 'class', 'classes')} of "
        f"{classes.smallest:,} to "
        f"{classes.largest:,} records, {classes.mean:.2f} on average; the records of a class "
        "share the values of all quasi-identifiers."
    )
    parts = [f"# Data dictionary of {texts['name']}", *_quote_publisher(manifest.about)]
    parts += [provenance, counts]
    if manifest.partition_by:
        apart = ", ".join(escape(name) for name in manifest.partition_by)
        parts.append(
            f"The values of {apart} stand in the names of folders, not in the files; what reads "
            "them needs their types, or takes codes for numbers."
        )
    parts += map(escape, describe_other_records(manifest))
    if manifest.values is not None:
        parts.append(_describe_comparison(manifest.values, manifest.columns))
    return "\n\n".join(parts)


def _quote_publisher(about: About | None) -> list[str]:
    """The publisher's words, each by its key."""
    words = {} if about is None else about.to_json()
    lines = [f"- {escape(key)}: {escape(on_one_line(text))}" for key, text in words.items()]
    return ["\n".join(lines)] if lines else []


def describe_other_records(manifest: Manifest) -> Iterator[str]:
    """Describe which records the release lacks, and which it has of persons who had left."""
    if manifest.left_out is not None:
        yield _describe_left_out(manifest.left_out)
    if manifest.suppressed is not None:
        yield _describe_suppressed(manifest.suppressed)
    if manifest.left_out_over_time is not None:
        yield _describe_left_out_over_time(manifest.left_out_over_time)
    if manifest.held is not None:
        yield _describe_held(manifest.held)


def _describe_left_out(left_out: LeftOutSection) -> str:
    """Describe which records the release lacks for a missing value."""
    columns = [f"{name} {percent} %" for name, percent in left_out.by_column.items()]
    lacking = f" Without a value were, at most: {', '.join(columns)}." if columns else ""
    return (
        f"Records without a value that is needed were left out, at most {left_out.percent} % of "
        f"all.{lacking} Those that are here need not be like them."
    )


def _describe_suppressed(suppressed: SuppressedSection) -> str:
    """Describe which records the release lacks as no others were near them."""
    return (
        "Records that no others are near by their quasi-identifiers were left out, at most "
        f"{suppressed.percent} % of those without a missing value: extreme values and rare "
        "combinations are scarcer here than they were. Shares of confidential values differ from "
        f"what they were with them by at most {suppressed.percent} percentage points."
    )


def _describe_left_out_over_time(left_out: LeftOutOverTimeSection) -> str:
    """Describe how many records the release lacks for the sake of earlier ones of its series."""
    return (
        "For what this release and earlier ones of its series hold together, records may have been "
        f"left out, at most {left_out.percent} % of those without a missing value: of persons of "
        "whose earlier class too few are still there or too much has changed, and of new persons "
        "if they are few. Those that are here need not be like them."
    )


def _describe_held(held: HeldSection) -> str:
    """Describe how many records are of persons who had left."""
    if not held.percent:
        return "No record is of a person who had left; in other releases of the series some may be."
    return (
        f"At most {held.percent} % of the records are of persons who had left: theirs are those of "
        "the release before, with the values that they had then, so that nobody can be found by "
        "her leaving. Which these are is not told. Counts and shares are with them, and so are k "
        "and t."
    )


def _describe_comparison(values: RecordComparison, columns: Sequence[ReleasedColumn]) -> str:
    """Describe in which columns the records were compared with those of the input."""
    named = ", ".join(escape(name) for name in values.compared)
    others = "" if values.result == "identical" else ", those held with the release before,"
    sentence = (
        "Before it was published, every record was compared with those of the input"
        f"{others} in {named}"
    )
    parts = [f"{sentence}: identical."] if named else []
    prepared = [escape(c.name) for c in columns if c.prepared and c.name in values.compared]
    if prepared:
        parts.append(f"Of {', '.join(prepared)} those of the input were prepared likewise first.")
    if values.as_buckets:
        parts.append(f"Of {', '.join(map(escape, values.as_buckets))} the buckets were compared.")
    for name, reason in values.left_out.items():
        parts.append(f"{escape(name)} was left out: {escape(reason)}.")
    return " ".join(parts)


def _list_limits(manifest: Manifest) -> list[tuple[str, ...]]:
    privacy, k = manifest.privacy, manifest.privacy.k
    rows: list[tuple[str, ...]] = [
        ("k: records of a class", f"at least {k.asked}", f"{k.achieved}")
    ]
    for name, t in privacy.t.items():
        of = f" of {escape(t.of)}" if t.of is not None else ""
        what = f"t: {escape(t.distance)} distance{of} of a class to the whole table, "
        what += escape(name)
        rows.append((what, f"at most {t.asked:g}", f"{t.largest_emd:.6f}"))
    for joint in privacy.joint:
        what = (
            f"t: {escape(joint.distance)} distance of a class to the whole table, combinations of "
        )
        what += " with ".join(escape(name) for name in joint.attributes)
        rows.append((what, f"at most {joint.asked:g}", f"{joint.largest_emd:.6f}"))
    rows += _list_person_limits(privacy.persons)
    if privacy.models is not None:  # audits tell by this row that there were models to be decided
        rows.append(("models", f"{len(privacy.models)} besides", ""))
        rows += map(_list_model, privacy.models)
    # Rows of k say what it counts.
    listed_keys = {"k", "t", "joint", "persons", "models", "counted"}
    others = {k: v for k, v in privacy.to_json().items() if k not in listed_keys}
    rows += [(escape(name), escape(_as_json(others[name])), "") for name in sorted(others)]
    total = manifest.information_loss.total
    return [*rows, ("information loss, mean over quasi-identifiers", "", f"{total:.3g}")]


def _list_model(model: PrivacyModelResult) -> tuple[str, ...]:
    asked = ", ".join(f"{key} = {_as_json(value)}" for key, value in model.asked.items())
    reached = "no finite measure" if model.reached is None else f"{model.reached:.6g}"
    reached += f"; holds for {model.holds_for}" if model.holds_for is not None else ""
    if model.epsilon is not None:
        reached += f"; epsilon {model.epsilon:.6g}, about {model.epsilon_is_about}, assuming that "
        reached += "; ".join(model.epsilon_assumes)
    return escape(f"{model.name} of {model.attribute}"), escape(asked), escape(reached)


def _list_person_limits(persons: PersonsResult | None) -> list[tuple[str, ...]]:
    if persons is None:
        return []
    k = persons.k
    rows: list[tuple[str, ...]] = [
        ("k: persons of a class", f"at least {k.asked}", f"{k.achieved}")
    ]
    for name, t in persons.t.items():
        what = f"t over persons, each of whom weighs one, {escape(name)}"
        reached = "within" if t.largest_emd is None else f"{t.largest_emd:.6f}"
        rows.append((what, f"at most {t.asked:g}", reached))
    if persons.in_several_classes is not None:
        what = "persons with records in several classes, over which a value could be intersected"
        rows.append((what, "none", f"{persons.in_several_classes}"))
    return rows


def _list_columns(manifest: Manifest) -> list[tuple[str, ...]]:
    keys = ("name", "role", "type", "treatment")
    return [tuple(escape(getattr(column, key)) for key in keys) for column in manifest.columns]


def _describe_column(column: ReleasedColumn, manifest: Manifest) -> str:
    name = column.name
    words = {key: getattr(column, key) for key in _WORDS}
    lines = [
        f"- {key}: {escape(on_one_line(text))}" for key, text in words.items() if text is not None
    ]
    lines += [f"- role: {escape(column.role)}. {_explain_role(column, manifest)}".rstrip()]
    lines.append(f"- type: {escape(column.type)}, {escape(column.kind)}")
    lines.append(f"- treatment: {escape(column.treatment)}")
    losses = manifest.information_loss.per_attribute
    if name in losses:
        lines.append(f"- information loss: {losses[name]:.3g}")
    if column.distance is not None:
        lines.append(f"- distance between values: {escape(column.distance)}")
    if name in manifest.partition_by:
        lines.append("- stands in the names of folders")
    if column.order is not None:
        lines.append(f"- values, lowest first: {', '.join(escape(v) for v in column.order)}")
    paths = (", ".join(escape(name) for name in row) for row in column.taxonomy)
    lines += [f"- value and the names above it: {path}" for path in paths]
    if name in manifest.noise:
        for key, value in manifest.noise[name].to_json().items():
            lines.append(f"- noise, {escape(key)}: {escape(_as_json(value))}")
    others = {k: v for k, v in column.to_json().items() if k not in (*_TOLD, *_FLAGS, *_WORDS)}
    lines += [f"- {escape(key)}: {escape(_as_json(value))}" for key, value in others.items()]
    return f"### {escape(name)}\n\n" + "\n".join(lines)


def _explain_role(column: ReleasedColumn, manifest: Manifest) -> str:
    explanation = _ROLES.get(column.role, "")
    t = manifest.privacy.t.get(column.name)
    return explanation if t is None else f"{explanation} {_WITHIN_T.format(t.of or 'values')}"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _tabulate(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
