"""Audit of a published release, from its files alone, as an outsider would do it.

Classes are found by the released values, the distribution is that of the released rows, and k and t
are what the manifest says was asked. Nothing that the pipeline kept is used, but where the internal
manifest is at hand the public one is compared with it.

Rows in canonical order are checked file by file in bounded memory; a release in any other order is
said to be so, and is checked all at once.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import DataError, OutputError, PolicyError
from pipeline.execution.audit_joint import find_joint
from pipeline.execution.audit_models import bind_models
from pipeline.model import (
    Attribute,
    Column,
    Distance,
    Distribution,
    Int64,
    Kind,
    Reached,
    Role,
    Verdict,
)
from pipeline.stages.combinations import Joint, append_joint
from pipeline.stages.distances import with_metric
from pipeline.stages.keys import Keys, folder_type, plain_type, to_keys
from pipeline.stages.microaggregate import find_changes
from pipeline.stages.requirements import Further
from pipeline.stages.summarise import ValueCounts, count_values, merge_counts
from pipeline.stages.verify import ClassChecks, add_whole, check_classes, decide
from pipeline.stages.whole_table import Stretch, check_table, take_stretch
from pipeline.storage.accounts import describe_risk, find_differences
from pipeline.storage.manifest import describe_privacy, is_earlier
from pipeline.storage.releases import find_damage, find_edits, read_manifest
from pipeline.storage.tables import make_distribution

LARGEST_DIFFERENCE = 1e-12  # of a distance, computed twice in another order of its terms


def audit_release(place: Path) -> dict[str, Any]:
    """Check a release, or the current one of a name.

    Returns
    -------
    ``findings``: what is wrong, empty if nothing is; ``checked``: whether the rows could be read;
    and what the rows say of records, classes, k and t.

    Raises
    ------
    OutputError
        There is no release.
    """
    release = _find_release(place)
    manifest = read_manifest(release)
    audit: dict[str, Any] = {"release": str(release), "findings": [], "checked": False, "notes": []}
    if manifest is None:
        return audit | {"findings": [_DAMAGED]}
    try:
        audit["findings"] = find_damage(release, manifest)
        if not audit["findings"]:
            audit["findings"] = _check_schemas(release, manifest)
        if not audit["findings"]:
            audit |= _check_rows(release, manifest)
            audit["findings"] += [
                f"manifest.json: {key!r} differs from the internal manifest"
                for key in find_edits(release, manifest)
            ]
    except _MISFITS:
        audit["findings"].append(_DAMAGED)
    return audit


# What a manifest that was edited leads to: a taxonomy that is none, values that it has not.
_MISFITS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    pa.ArrowException,
    DataError,
    PolicyError,
)
_DAMAGED = "manifest.json: is damaged, or does not describe these files"


def _find_release(place: Path) -> Path:
    current = place / "CURRENT"
    if current.is_file():
        place = place / current.read_text(encoding="ascii").strip()
    if not (place / "manifest.json").is_file():
        raise OutputError(f"{place}: is no release (it has no manifest.json)")
    return place


def _check_schemas(release: Path, manifest: dict[str, Any]) -> list[str]:
    """Whether each file has the columns that the manifest names, and nothing beside them."""
    inside = [c for c in manifest["columns"] if c["name"] not in manifest["partition_by"]]
    wanted = [(column["name"], column["type"]) for column in inside]
    findings = []
    for entry in manifest["files"]:
        parquet = pq.ParquetFile(release / entry["path"])
        schema = parquet.schema_arrow
        if [(field.name, str(field.type)) for field in schema] != wanted:
            findings.append(f"{entry['path']}: its columns are not those of the manifest")
        fields = any(set(field.metadata or ()) - _OWN_METADATA for field in schema)
        if fields or set(parquet.metadata.metadata or ()) - _OWN_METADATA:
            findings.append(f"{entry['path']}: has metadata beside its schema")
    return findings


_OWN_METADATA = {b"ARROW:schema", b"PARQUET:field_id"}


@dataclass(frozen=True)
class _Layout:
    """What the manifest says of the columns: those that tell classes, and the confidential ones."""

    class_columns: tuple[dict[str, Any], ...]
    confidential: tuple[dict[str, Any], ...]
    partition_by: tuple[str, ...]

    @property
    def columns(self) -> tuple[dict[str, Any], ...]:
        """All columns that are read."""
        return self.class_columns + self.confidential


def _layout(manifest: dict[str, Any]) -> _Layout:
    by_name = {column["name"]: column for column in manifest["columns"]}
    partition_by = tuple(manifest["partition_by"])
    quasi = [
        column
        for name, column in by_name.items()
        if column["role"] == Role.QUASI_IDENTIFIER and name not in partition_by
    ]
    # Where there is noise classes are held to no distance: the rows need not show it.
    confidential = [
        c for c in by_name.values() if c["role"] == Role.CONFIDENTIAL and not c.get("noised")
    ]
    first = [by_name[name] for name in partition_by]
    return _Layout((*first, *quasi), tuple(confidential), partition_by)


def _check_rows(release: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    layout = _layout(manifest)
    paths = [release / entry["path"] for entry in manifest["files"]]
    asked = manifest["privacy"]
    if not _has_role_columns(layout, asked):
        raise ValueError
    categories, distributions = _survey(paths, layout)
    limits = tuple(Fraction(str(asked["t"][c["name"]]["asked"])) for c in layout.confidential)
    findings: list[str] = []
    encode = partial(_encode_files, paths, layout, categories, distributions)
    columns = _typed_columns(paths, layout)
    joint = find_joint(asked.get("joint", []), columns, distributions, (r.codes for r in encode()))
    columns = (*columns, *joint.columns)
    distributions, limits = (*distributions, *joint.distributions), (*limits, *joint.limits)
    is_old = is_earlier(manifest, _read_dictionary(release))
    models = [] if is_old else asked["models"]
    further = bind_models(models, columns, distributions, categories)
    checker = _Checker(distributions, limits, further, [], joint.joints)
    try:
        checks = checker.check_in_order(encode())
    except _NotInOrderError:
        findings.append("rows are not in canonical order: their places may say something")
        checker = _Checker(distributions, limits, further, [], joint.joints)
        checks = checker.check_at_once(list(encode()))
    checks = add_whole(checks, check_table(checker.kept, further, distributions))
    verdict = decide(
        checks,
        k=asked["k"]["asked"],
        names=tuple(column.name for column in columns),
        max_emds=limits,
        n_expected=manifest["records"],
        n_changed={},
        further=further,
    )
    findings += [f"{f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    bucketed = [column["name"] for column in layout.confidential if column.get("bucketed")]
    privacy = describe_privacy(verdict, columns, bucketed)
    rows = _describe_rows(manifest, privacy, verdict, findings, is_old=is_old)
    return rows | {"notes": [_EARLIER]} if is_old else rows


_EARLIER = (
    "manifest.json: made by an earlier version, which asked for no further models and measured no "
    "attacks; what is said of them here was measured now"
)


def _read_dictionary(release: Path) -> str:
    path = release / "dictionary.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _describe_rows(
    manifest: dict[str, Any],
    privacy: dict[str, Any],
    verdict: Verdict,
    findings: list[str],
    *,
    is_old: bool,
) -> dict[str, Any]:
    """What the rows say, and where the manifest says something else."""
    risk = describe_risk(verdict, verdict.k)
    return {
        "findings": [
            *findings,
            *_compare(manifest, privacy, asdict(verdict.sizes), is_old=is_old),
            *_compare_accounts(manifest, privacy, risk, is_old=is_old),
        ],
        "checked": True,
        "records": verdict.n_records,
        "privacy": privacy,
        "classes": asdict(verdict.sizes),
        "risk": risk,
    }


def _typed_columns(paths: list[Path], layout: _Layout) -> tuple[Column, ...]:
    """The confidential columns, with the types that they have in the files."""
    schema = pq.read_schema(paths[0]) if paths else pa.schema([])
    types = [plain_type(schema.field(column["name"]).type) for column in layout.confidential]
    return tuple(map(_as_column, layout.confidential, types))


def _has_role_columns(layout: _Layout, asked: dict[str, Any]) -> bool:
    """A manifest without quasi-identifiers, or with a t for other columns, describes no release."""
    return bool(layout.class_columns) and set(asked["t"]) == {
        column["name"] for column in layout.confidential
    }


def _compare(
    manifest: dict[str, Any], privacy: dict[str, Any], classes: dict[str, Any], *, is_old: bool
) -> list[str]:
    """Where the manifest says something else than the rows."""
    findings = []
    if manifest["verdict"] != "pass":
        findings.append("manifest.json: the verdict is not pass")
    if manifest["privacy"]["k"] != privacy["k"]:
        findings.append("manifest.json: k differs from what the rows say")
    for name, t in privacy["t"].items():
        said = manifest["privacy"]["t"][name]["largest_emd"]
        if not abs(said - t["largest_emd"]) <= LARGEST_DIFFERENCE:
            findings.append(f"manifest.json: largest EMD of {name!r} differs from the rows'")
        distance = Distance.ORDERED if is_old else None  # the only one there was
        if manifest["privacy"]["t"][name].get("distance", distance) != t["distance"]:
            findings.append(f"manifest.json: distance of {name!r} differs from its column's")
        if manifest["privacy"]["t"][name].get("of") != t.get("of"):
            findings.append(f"manifest.json: what t of {name!r} is of differs from its column's")
    for key, value in classes.items():
        if manifest["classes"][key] != value:
            findings.append(f"manifest.json: classes.{key} differs from what the rows say")
    return findings


def _compare_accounts(
    manifest: dict[str, Any], privacy: dict[str, Any], risk: dict[str, Any], *, is_old: bool
) -> list[str]:
    """Where the manifest says else of combinations, further models and attacks than the rows."""
    if is_old:
        return []
    asked = manifest["privacy"]
    places = find_differences(asked.get("joint", []), privacy["joint"], "privacy.joint")
    places += find_differences(asked["models"], privacy["models"], "privacy.models")
    places += find_differences(manifest["risk"], risk, "risk")
    return [f"manifest.json: {place} differs from what the rows say" for place in places]


def _read_file(path: Path, layout: _Layout) -> pa.Table:
    """The columns of a file that are checked, those in its folders' names among them."""
    names = [c["name"] for c in layout.columns if c["name"] not in layout.partition_by]
    table = pq.ParquetFile(path).read().select(names)
    folders = path.parts[-1 - len(layout.partition_by) : -1] if layout.partition_by else ()
    for column, folder in zip(layout.class_columns, folders, strict=False):
        name, _, text = folder.partition("=")
        if unquote(name) != column["name"]:
            raise ValueError
        value = pa.scalar(unquote(text)).cast(folder_type(column["type"]))
        table = table.append_column(column["name"], pa.repeat(value, len(table)))
    return table


def _is_listed(column: dict[str, Any]) -> bool:
    """Whether values are compared by their place in a list: text, booleans, ordered values."""
    listed = (Kind.NOMINAL, Kind.BOOLEAN, Kind.ORDINAL)
    return column["kind"] in listed or column.get("generalised", False)


def _survey(
    paths: list[Path], layout: _Layout
) -> tuple[dict[str, pa.Array], tuple[Distribution, ...]]:
    """Pass over all files: the values of listed columns, and the confidential distributions."""
    seen: dict[str, Counter[Any]] = {c["name"]: Counter() for c in layout.columns if _is_listed(c)}
    counts: dict[str, list[ValueCounts]] = {c["name"]: [] for c in layout.confidential}
    types: dict[str, pa.DataType] = {}
    for path in paths:
        table = _read_file(path, layout)
        for name, values in seen.items():
            found = table[name].combine_chunks().value_counts()
            pairs = zip(found.field("values").to_pylist(), found.field("counts"), strict=True)
            values.update({value: count.as_py() for value, count in pairs})
            types[name] = plain_type(table[name].type)
        for column in layout.confidential:
            if column["kind"] != Kind.NOMINAL:
                counts[column["name"]].append(count_values(_confidential_keys(table, column)))
    orders = {c["name"]: None if c.get("generalised") else c.get("order") for c in layout.columns}
    categories = {
        name: pa.array(_in_order(set(values), orders[name]), type=types[name])
        for name, values in seen.items()
    }
    distributions = []
    for column in layout.confidential:
        name = column["name"]
        if column["kind"] == Kind.NOMINAL:
            distributions.append(_nominal_distribution(column, categories[name], seen[name]))
        else:
            merged = merge_counts(counts[name])
            made = make_distribution(merged.values, merged.counts)
            distributions.append(with_metric(made, _as_column(column, types.get(name)), ()))
    return categories, tuple(distributions)


def _nominal_distribution(
    column: dict[str, Any], categories: pa.Array, counts: Counter[Any]
) -> Distribution:
    values = categories.to_pylist()
    made = make_distribution(np.arange(len(values)), np.array([counts[v] for v in values]))
    return with_metric(made, _as_column(column, categories.type), [str(v) for v in values])


def _as_column(column: dict[str, Any], dtype: pa.DataType | None = None) -> Column:
    """The column that the manifest describes, with its distance: its kind's where none is named."""
    named = column.get("distance")
    attribute = Attribute(
        column["name"],
        Role.CONFIDENTIAL,
        order=tuple(column.get("order", ())),
        distance=None if named is None else Distance(named),
        taxonomy=tuple(tuple(row) for row in column.get("taxonomy", ())),
    )
    made = Column(attribute, Kind(column["kind"]), dtype or pa.null())
    if made.kind is Kind.NOMINAL and made.distance is Distance.ORDERED:
        raise ValueError
    return made


def _in_order(values: set[Any], order: list[str] | None) -> list[Any]:
    if order is None:
        return sorted(values)
    place = {text: rank for rank, text in enumerate(order)}
    return sorted(values, key=lambda value: place[str(value)])


def _confidential_keys(table: pa.Table, column: dict[str, Any]) -> Keys:
    """Keys in the order of the values; ordinal ones by the order that the manifest gives."""
    values = table[column["name"]].combine_chunks()
    if column["kind"] != Kind.ORDINAL:
        return to_keys(values, column["name"])
    listed = values.dictionary_encode()
    place = {text: rank for rank, text in enumerate(column["order"])}
    ranks = np.array([place[str(value)] for value in listed.dictionary.to_pylist()], np.int64)
    return ranks[listed.indices.to_numpy(zero_copy_only=False)]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a file: class keys, one array per column (n,), and confidential codes (p, n)."""

    keys: list[Keys]
    codes: Int64


def _encode_files(
    paths: list[Path],
    layout: _Layout,
    categories: dict[str, pa.Array],
    distributions: tuple[Distribution, ...],
) -> Iterator[_Rows]:
    for path in paths:
        table = _read_file(path, layout)
        keys = [_class_keys(table, column, categories) for column in layout.class_columns]
        codes = [
            _class_keys(table, column, categories)
            if column["kind"] == Kind.NOMINAL
            else np.searchsorted(distribution.values, _confidential_keys(table, column))
            for column, distribution in zip(layout.confidential, distributions, strict=True)
        ]
        yield _Rows(keys, np.array(codes, dtype=np.int64).reshape(len(codes), len(table)))


def _class_keys(table: pa.Table, column: dict[str, Any], categories: dict[str, pa.Array]) -> Keys:
    values = table[column["name"]].combine_chunks()
    if column["name"] in categories:
        places = pc.index_in(values, value_set=categories[column["name"]])
        return places.to_numpy(zero_copy_only=False).astype(np.int64)
    return to_keys(values, column["name"])


class _NotInOrderError(Exception):
    """Rows do not ascend by their class keys."""


@dataclass(frozen=True, eq=False)
class _Checker:
    """Checks classes; ``kept``: what models that need the whole table have to see of them.

    ``joints``: how joint attributes are made of the others, whose codes come from the files.
    """

    distributions: tuple[Distribution, ...]
    limits: tuple[Fraction, ...]
    further: Further
    kept: list[Stretch]
    joints: tuple[Joint, ...] = ()

    def check_in_order(self, files: Iterator[_Rows]) -> ClassChecks:
        """Check sorted rows file by file; a class that goes on in the next file waits for it."""
        merged: ClassChecks | None = None
        waiting: _Rows | None = None
        for rows in files:
            joined = rows if waiting is None else _join([waiting, rows])
            first = np.flatnonzero(find_changes(joined.keys))
            if not _ascend(joined.keys, first):
                raise _NotInOrderError
            last = int(first[-1])
            waiting = _Rows([k[last:] for k in joined.keys], joined.codes[:, last:])
            if last:
                checks = self._check([k[:last] for k in joined.keys], first, joined.codes[:, :last])
                merged = checks if merged is None else merged.merge(checks)
        if waiting is None:
            return self._check_nothing()
        ends = np.array([0, waiting.keys[0].size], dtype=np.int64)
        checks = self._check(waiting.keys, ends, waiting.codes)
        return checks if merged is None else merged.merge(checks)

    def check_at_once(self, files: list[_Rows]) -> ClassChecks:
        """Check rows in any order: sort them by class first."""
        rows = _join(files)
        order = np.lexsort(rows.keys[::-1])
        keys = [column[order] for column in rows.keys]
        starts = np.append(np.flatnonzero(find_changes(keys)), order.size).astype(np.int64)
        return self._check(keys, starts, rows.codes[:, order])

    def _check(self, keys: list[Keys], starts: Int64, codes: Int64) -> ClassChecks:
        codes = append_joint(codes, self.joints)
        if self.further.by_table:
            of_classes = [column[starts[:-1]] for column in keys]
            self.kept.append(take_stretch(of_classes, starts, codes, self.further))
        return check_classes(starts, codes, self.distributions, self.limits, self.further)

    def _check_nothing(self) -> ClassChecks:
        n = len(self.limits)
        models = (Reached(),) * len(self.further.requirements)
        return ClassChecks(0, np.zeros((2, 0), np.int64), (0.0,) * n, (0,) * n, models)


def _join(pieces: list[_Rows]) -> _Rows:
    keys = [np.concatenate(columns) for columns in zip(*(p.keys for p in pieces), strict=True)]
    return _Rows(keys, np.concatenate([p.codes for p in pieces], axis=1))


def _ascend(keys: list[Keys], first: Int64) -> bool:
    """Whether each class's key is above that of the class before it."""
    above = np.zeros(max(first.size - 1, 0), dtype=bool)
    settled = above.copy()
    for column in keys:
        before, after = column[first[:-1]], column[first[1:]]
        above |= ~settled & (after > before)
        settled |= after != before
    return bool(above.all())
