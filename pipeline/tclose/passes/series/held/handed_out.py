"""The rows of the release before, as they were handed out: what shows that they are, and pieces.

Whoever can write where releases are could change a file, its digest in the manifest and what the
register says of it. So nothing is read before the seals of all releases of the window are found
whole, which takes the release key, and then the digests that they cover. Values are compared with
those that the register tells apart, and digests once more when all has been read.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.arrow_errors import refusing_arrow
from tclose.data.files.input_partitions import MIN_PARTITION_ROWS
from tclose.data.formats.released_file import open_released
from tclose.errors import NotInstalledError, OutputError, PolicyError
from tclose.model.array_types import Integers
from tclose.model.column_terms import Role
from tclose.passes.compare.keyed_hashes import KEY_BYTES
from tclose.passes.compare.record_digests import hash_values
from tclose.policy.policy import Policy
from tclose.releases.repository.contents import (
    diff_manifests,
    find_broken_seals,
    find_key,
    read_internal,
    read_manifest,
    verify_checksums,
)
from tclose.releases.series.series_history import SeriesRelease

PIECE_ROWS = MIN_PARTITION_ROWS  # in memory together
# Keys of a policy that decide what the values of columns are, and those of a column that do not.
_OF_INPUT = ("missing_values", "decimal", "thousands", "date_format")
_NOT_OF_VALUES = (
    *("t", "order", "distance", "taxonomy", "subsets_by"),
    *("label", "unit", "description"),
)


@dataclass(frozen=True)
class HandedOut:
    """A release whose files are as they were published.

    ``types``: of its columns in the input; ``averaged``: names of those that are aggregates.
    """

    release: SeriesRelease
    paths: tuple[str, ...]
    types: Mapping[str, pa.DataType]
    averaged: frozenset[str]

    def read(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Read some columns of its rows, in their order, a piece at a time, in the input's types.

        Raises
        ------
        OutputError
            A file cannot be read.
        PolicyError
            It lacks a column, or has one of another type.
        """
        for path in self.paths:
            refusal = refuse_damaged(self.release, f"{path}: cannot be read")
            with (
                refusing_arrow(refusal, OSError, NotInstalledError),
                open_released(self.release.place / path) as file,
            ):
                self._check_columns(file.schema.names, names)
                for number in range(file.n_chunks):
                    for batch in file.read_chunk(number, names, PIECE_ROWS):
                        yield self._cast(pa.Table.from_batches([batch]))

    def check_again(self) -> None:
        """See that nothing was changed while it was read.

        Raises
        ------
        OutputError
            Something was.
        """
        check_whole(self.release)

    def _check_columns(self, there: Sequence[str], names: Sequence[str]) -> None:
        absent = [name for name in names if name not in there]
        if absent:
            raise self._refuse_column(absent[0])

    def _cast(self, piece: pa.Table) -> pa.Table:
        """The piece in the input's types; means are rounded where these have no fractions."""
        columns = {}
        for name, values in zip(piece.column_names, piece.columns, strict=True):
            dtype, is_mean = self.types[name], name in self.averaged
            with refusing_arrow(self._refuse_column(name)):
                rounded = _round(values, dtype) if is_mean else values
                columns[name] = rounded.cast(dtype, safe=not is_mean)
        return pa.table(columns)

    def _refuse_column(self, name: str) -> PolicyError:
        return PolicyError(
            f"privacy.over_time.departures: hold: release {self.release.name} has no column "
            f"{name!r} of type {self.types[name]}, so its records cannot be held; keep the columns "
            "of the series and their types, or take departures: drop"
        )


def _round(values: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_integer(dtype) and pa.types.is_floating(values.type):
        return pc.round(values, round_mode="half_to_even")
    if pa.types.is_decimal(dtype) and not pa.types.is_integer(values.type):
        return pc.round(values, dtype.scale, round_mode="half_to_even")
    return values


def open_handed_out(
    window: Sequence[SeriesRelease], policy: Policy, types: Mapping[str, pa.DataType]
) -> HandedOut:
    """Open the newest release of a window, once all of them are known to be as published.

    Parameters
    ----------
    types : of the columns that are read, as the input has them now

    Raises
    ------
    OutputError
        A seal is broken or cannot be checked, or a file is not as it was published.
    PolicyError
        Its values were read by other rules than those of the policy.
    """
    newest = window[-1]
    for release in window:
        if find_key(release.place) is None:
            raise refuse_damaged(release, "there is no release key, which its seal takes")
        if broken := find_broken_seals(release.place):
            raise refuse_damaged(release, broken[0])
    check_whole(newest)
    _check_rules(newest, policy)
    manifest = read_manifest(newest.place)
    assert manifest is not None
    roles = {name: settings.role for name, settings in policy.attributes.items()}
    averaged = frozenset(n for n, role in roles.items() if role is Role.QUASI_IDENTIFIER)
    return HandedOut(newest, tuple(file.path for file in manifest.files), types, averaged)


def check_whole(release: SeriesRelease) -> None:
    """See that seals, manifests, register and files of a release are as they were published.

    Raises
    ------
    OutputError
        One is not.
    """
    place, manifest = release.place, read_manifest(release.place)
    if manifest is None:
        raise refuse_damaged(release, "manifest.json: is missing or damaged")
    damage = find_broken_seals(place) or diff_manifests(place, manifest)
    damage = damage or verify_checksums(place, manifest)
    if damage:
        raise refuse_damaged(release, damage[0])


def refuse_damaged(release: SeriesRelease, damage: str) -> OutputError:
    """The error of a release that is not as it was published."""
    return OutputError(
        f"release {release.name}: is not as it was published ({damage}), and records of persons "
        "who left are held from it (privacy.over_time.departures: hold); put it back"
    )


def _check_rules(release: SeriesRelease, policy: Policy) -> None:
    """Refuse confidential values that were read by other rules: they would tell who is held."""
    internal = read_internal(release.place)
    before = {} if internal is None or internal.policy is None else internal.policy
    now = policy.model_dump(mode="json")
    if _rules_of_input(before) != _rules_of_input(now):
        what = "input (missing_values, or how numbers and dates are spelled)"
        raise _refuse_rules(release, what)
    for name, settings in policy.attributes.items():
        if settings.role is Role.CONFIDENTIAL and _rules_of(before, name) != _rules_of(now, name):
            raise _refuse_rules(release, f"attributes.{name}")


def _rules_of_input(policy: Mapping[str, Any]) -> dict[str, object]:
    section = policy.get("input") or {}
    return {key: section.get(key) or None for key in _OF_INPUT}


def _rules_of(policy: Mapping[str, Any], name: str) -> dict[str, object]:
    section = (policy.get("attributes") or {}).get(name) or {}
    return {k: v for k, v in section.items() if v is not None and k not in _NOT_OF_VALUES}


def _refuse_rules(release: SeriesRelease, what: str) -> PolicyError:
    return PolicyError(
        f"{what}: is not what the policy of release {release.name} has, and records held from it "
        "would be told by their values (privacy.over_time.departures: hold); keep it, or take "
        "departures: drop for this release"
    )


class ToldApart:
    """The values of a column beside the places that a register has for them, piece by piece."""

    def __init__(self, codes: Integers, n_values: int) -> None:
        """Compare with (n,) from 0 to ``n_values`` - 1, of the rows in their order."""
        self._codes, self._at = codes, 0
        self._key = secrets.token_bytes(KEY_BYTES)
        self._hashes = np.zeros((n_values, 2), dtype=np.uint64)  # of the value of each place
        self._seen = np.zeros(n_values, dtype=np.bool_)
        self._is_alike = True

    def add(self, values: pa.Array) -> None:
        """Add the values of the rows that follow."""
        codes = self._codes[self._at : self._at + len(values)]
        self._at += len(values)
        if codes.size < len(values):  # more rows than the register has
            self._is_alike = False
            return
        hashes = hash_values(values, "value", self._key, as_values=True)
        new = ~self._seen[codes]
        self._hashes[codes[new]] = hashes[new]
        self._seen[codes] = True
        self._is_alike &= bool((self._hashes[codes] == hashes).all())

    def is_alike(self) -> bool:
        """Return whether there are as many rows, and equal values have equal places."""
        hashes = self._hashes[self._seen]
        is_whole = self._at == self._codes.size
        return self._is_alike and is_whole and len(np.unique(hashes, axis=0)) == len(hashes)
