"""Decides what a release is, from a policy, the input's table and the files; exactly.

Nothing here is of the package that made the release: not a parser, not a distance. What is wrong
comes back as sentences; none means that every statement of the policy holds.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nightly.independent import confidential, gaps, quasi
from nightly.independent.asked import CONFIDENTIAL, QUASI, Asked
from nightly.independent.release import (
    DamagedError,
    Release,
    check_files,
    read_release,
    released_type,
)
from nightly.independent.values import read_values

Originals = dict[str, list[Any]]


@dataclass(frozen=True)
class Case:
    """The input of a release; ``tie``: the pass-through column that tells records apart.

    ``centres``: of the columns in which a class decides for records without a value, what it
    releases where none of its records has one.
    """

    asked: Asked
    originals: Originals
    tie: str | None
    centres: dict[str, Any]


def check_release(
    document: dict[str, Any], table: pa.Table, folder: Path, tie: str | None = None
) -> list[str]:
    """Everything that is wrong with a release.

    Parameters
    ----------
    document
        The policy, as it was given.
    table
        The input's records, missing values as nulls.
    tie
        A non-confidential column whose values are all different.
    """
    asked = Asked(document, {f.name: f.type for f in table.schema})
    read = {name: read_values(table[name]) for name in asked.attributes}
    filled = gaps.fill_gaps(asked, read)
    case = Case(asked, complete_records(asked, filled), tie, gaps.find_centres(asked, read))
    try:
        release = read_release(folder)
    except (DamagedError, KeyError, ValueError, OSError) as error:
        return [f"cannot be read: {error!r}"]
    wanted = [name for name in table.column_names if name in asked.released]
    if list(release.columns) != wanted:
        return [f"has columns {list(release.columns)}, not {wanted}"]
    own = tie_records(case, release)
    return [
        *check_files(release),
        *check_columns(case, release),
        *check_records(case, release),
        *check_manifest(asked, release),
        *check_k(asked, release),
        *check_quasi(case, release, own),
        *confidential.check_limits(asked, release),
        *confidential.check_models(asked, release),
        *confidential.check_noise(asked, release),
        *confidential.check_buckets(case.asked, case.originals, release, own),
    ]


def complete_records(asked: Asked, columns: Originals) -> Originals:
    """The records with a value in what they are put into classes, or folders, by."""
    names = [*asked.with_role(QUASI), *asked.with_role(CONFIDENTIAL), *asked.domains]
    needed = [columns[n] for n in names if asked.attributes[n].get("missing") != gaps.OF_CLASS]
    n_records = len(next(iter(columns.values())))
    rows = [i for i in range(n_records) if all(values[i] is not None for values in needed)]
    return {name: [values[i] for i in rows] for name, values in columns.items()}


def tie_records(case: Case, release: Release) -> list[int] | None:
    """Of each row the record that it is, by the column that tells them apart."""
    if case.tie is None:
        return None
    place = {value: i for i, value in enumerate(case.originals[case.tie])}
    found = [place.get(value, -1) for value in release.columns[case.tie]]
    return found if sorted(found) == list(range(len(place))) else None


def check_columns(case: Case, release: Release) -> Iterator[str]:
    """What is released as it is keeps its type."""
    for name in [n for n in case.asked.unchanged if n in release.types]:
        wanted = released_type(case.asked.types[name])
        if release.types[name] not in (wanted, "string"):
            yield f"{name} is {release.types[name]}, not {wanted}"


def check_records(case: Case, release: Release) -> Iterator[str]:
    """The rows of all unchanged columns are the records', as a multiset."""
    names = case.asked.unchanged
    found = Counter(_rows(release.columns, names, release.n_records))
    wanted = Counter(_rows(case.originals, names, len(next(iter(case.originals.values())))))
    if found != wanted:
        lost, new = wanted - found, found - wanted
        yield (
            f"{lost.total()} records are not there and {new.total()} rows are no record's, by "
            f"{names}: as {next(iter(lost), None)} and {next(iter(new), None)}"
        )
    if case.tie is not None and tie_records(case, release) is None:
        yield f"{case.tie} does not name each record once"


def _rows(columns: Originals, names: Sequence[str], n: int) -> Iterator[tuple[Hashable, ...]]:
    """Rows of these columns; a value and its text, which a nominal number may become, are one."""
    if not names:
        return iter([()] * n)
    return zip(*([_canonical(v) for v in columns[name]] for name in names), strict=True)


def _canonical(value: Any) -> Hashable:
    return ("text", value) if isinstance(value, str) else (type(value).__name__, value)


def check_manifest(asked: Asked, release: Release) -> Iterator[str]:
    """The counts that the manifest states."""
    manifest, sizes = release.manifest, [len(c) for c in release.classes(asked.class_columns)]
    stated = manifest["classes"]
    found = {"n_classes": len(sizes), "smallest": min(sizes), "largest": max(sizes)}
    if any(stated[key] != value for key, value in found.items()):
        yield f"the manifest states classes {stated}, there are {found}"
    k = manifest["privacy"]["k"]
    if (k["asked"], k["achieved"]) != (asked.privacy["k"], min(sizes)):
        yield f"the manifest states k {k}"
    if manifest["records"] != release.n_records:
        yield f"the manifest states {manifest['records']} records of {release.n_records}"
    if sum(file["rows"] for file in manifest["files"]) != release.n_records:
        yield "the manifest's files have other numbers of rows"
    if manifest["risk"]["discernibility"] != sum(n * n for n in sizes):
        yield "the manifest states another discernibility"
    if (manifest["verdict"], manifest["method"]) != ("pass", asked.method["name"]):
        yield f"the manifest states {manifest['verdict']} of {manifest['method']}"
    if list(manifest["partition_by"]) != asked.partition_by:
        yield "the manifest states other partition columns"


def check_k(asked: Asked, release: Release) -> Iterator[str]:
    """Every combination of released quasi-identifiers and partition values occurs k times."""
    small = [c for c in release.classes(asked.class_columns) if len(c) < asked.privacy["k"]]
    if small:
        yield f"{len(small)} classes have fewer than {asked.privacy['k']} records"


def check_quasi(case: Case, release: Release, own: list[int] | None) -> Iterator[str]:
    """Each class's quasi-identifiers are what its records give, where rows can be tied to them."""
    if own is None:
        return
    asked = case.asked
    classes = release.classes(asked.class_columns)
    stated = {column["name"]: column["type"] for column in release.manifest["columns"]}
    for name in asked.with_role(QUASI):
        released = release.columns[name]
        values = [case.originals[name][i] for i in own]
        for rows in classes:
            inside = [values[row] for row in rows if values[row] is not None]
            problem = _check_class(case, name, released[rows[0]], inside, stated[name])
            if problem:
                of_class = released[rows[0]]
                yield f"{name}: {of_class!r} {problem}"
                break
        if asked.method["name"] == "incognito":
            yield from _check_domains(asked, release, name, values)


def _check_class(case: Case, name: str, of_class: Any, inside: list[Any], dtype: str) -> str:
    """What is wrong with what a class releases; ``inside``: the values that its records have."""
    if case.asked.generalises:
        return quasi.check_cover(case.asked, name, of_class, inside)
    if inside:
        return quasi.check_aggregate(case.asked, name, of_class, inside, dtype)
    centre = case.centres[name]
    is_centre = of_class == centre or str(of_class) == str(centre)  # integers' may be a float
    return "" if is_centre else "is not the centre, and no record of its class has a value"


def _check_domains(asked: Asked, release: Release, name: str, values: list[Any]) -> Iterator[str]:
    """Levels are the same in the whole table, or in each partition."""
    domains = release.classes(asked.domains) if asked.domains else None
    for rows in domains or [list(range(release.n_records))]:
        released = [release.columns[name][row] for row in rows]
        problem = quasi.check_full_domain(released, [values[row] for row in rows])
        if problem:
            yield f"{name} {problem}"
            return
