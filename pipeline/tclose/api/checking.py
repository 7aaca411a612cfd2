"""`tclose.check`: k and t of any table, as rows are given."""

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex

import pyarrow as pa
from pydantic import ValidationError

from tclose.api.checked_files import check_present, read_checked
from tclose.api.html_tables import html_rows
from tclose.api.staging import read_data
from tclose.assess.any_table import check_rows
from tclose.errors import PolicyError, UsageError, name_kind
from tclose.model.attributes import Attribute
from tclose.model.counted_words import count_words
from tclose.model.verification import Failure
from tclose.policy.error_messages import describe_problems
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.render.text_tables import render_table

if TYPE_CHECKING:
    from tclose.api.staging import Data


@dataclass(frozen=True, repr=False)
class Check:
    """The measures of the classes of a table.

    Attributes
    ----------
    k : int
        Asked: records that a class has to have at least.
    t : Mapping of str to float
        Asked: the largest distance of a class to the table, 0 to 1, for each attribute.
    records, classes : int
        Rows, and classes of rows that are alike in the quasi-identifiers.
    smallest, largest : int
        Sizes of classes, in records.
    below_k : int
        Classes of fewer than k records.
    largest_emd : Mapping of str to float
        Largest earth mover's distance of a class to the table, 0 to 1, for each attribute.
    above_t : Mapping of str to int
        Classes above t, decided without rounding, for each attribute.
    failures : tuple
        What is not met: ``what``, ``asked``, ``found``.
    """

    k: int
    t: Mapping[str, float]
    records: int
    classes: int
    smallest: int
    largest: int
    below_k: int
    largest_emd: Mapping[str, float]
    above_t: Mapping[str, int]
    failures: tuple[Failure, ...] = ()

    @property
    def passed(self) -> bool:
        """True if every class has k records or more, and no distance is above t."""
        return not self.failures

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail``."""
        return "pass" if self.passed else "fail"

    @property
    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("verdict", self.verdict.upper()),
            ("records", f"{self.records:,}"),
            ("classes", f"{self.classes:,} of {self.smallest:,} to {self.largest:,} records"),
            ("k", f"asked {self.k}, smallest class {self.smallest:,}; {self.below_k:,} below"),
        ]
        for name, limit in self.t.items():
            measured = f"asked {limit:g}, largest EMD {self.largest_emd[name]:.6f}"
            rows.append(
                (
                    f"t of {name}",
                    f"{measured}; {count_words(self.above_t[name], 'class', 'classes')} above",
                )
            )
        return rows

    def __repr__(self) -> str:
        """The verdict, and what was found of k and t."""
        return f"Check\n{render_table(self._rows)}"

    def _repr_html_(self) -> str:
        return html_rows("Check", self._rows)


def check_data(
    data: "Data",
    quasi: Sequence[str],
    confidential: Sequence[str],
    k: SupportsIndex,
    t: float | Mapping[str, float],
    settings: Mapping[str, Mapping[str, Any]],
) -> Check:
    """Check a table; ``settings``: distance, order and taxonomy by attribute."""
    quasi, confidential = _list_names(quasi, "quasi"), _list_names(confidential, "confidential")
    _check_names(quasi, confidential)
    _check_settings(settings, confidential)
    least = read_whole(k, "k")
    if least < 1:
        raise UsageError(f"k: is {least}; has to be a whole number from 1")
    attributes = [_attribute(name, t, settings) for name in confidential]
    table = _read(data, quasi, attributes)
    verdict, checks = check_rows(table, quasi, attributes, least)
    sizes, counts = checks.size_counts
    results = verdict.attributes
    return Check(
        k=least,
        t={a.name: float(a.max_emd) for a in results},
        records=verdict.n_records,
        classes=verdict.sizes.n_classes,
        smallest=verdict.sizes.smallest,
        largest=verdict.sizes.largest,
        below_k=int(counts[sizes < least].sum()),
        largest_emd={a.name: a.largest_emd for a in results},
        above_t={a.name: a.n_violating for a in results},
        failures=verdict.failures,
    )


def read_whole(number: object, name: str) -> int:
    """A whole number of any library.

    Raises
    ------
    UsageError
        It is none, or a truth.
    """
    try:
        if not isinstance(number, bool):
            return operator.index(number)  # type: ignore[arg-type]  # refused if it has none
    except TypeError:
        pass
    raise UsageError(f"{name}: has to be a whole number (given: {name_kind(number)})")


def _list_names(names: object, key: str) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(
            f"{key}: is {name_kind(names)}; quasi and confidential are lists of column names, as "
            "in ['age']"
        )
    return list(names)


def _check_settings(settings: Mapping[str, object], confidential: Sequence[str]) -> None:
    for key, values in settings.items():
        if not isinstance(values, Mapping):
            raise UsageError(
                f"{key}: is {name_kind(values)}; give a mapping of confidential columns' names"
            )
        for name in values:
            if name not in confidential:
                raise UsageError(f"{key}: names {name!r}, which confidential does not")


def _check_names(quasi: Sequence[str], confidential: Sequence[str]) -> None:
    if not quasi:
        raise UsageError("quasi: names no column; at least one is needed")
    names = [*quasi, *confidential]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"quasi and confidential: name {twice[0]!r} twice; give it one role")


def _attribute(
    name: str, t: float | Mapping[str, float], settings: Mapping[str, Mapping[str, Any]]
) -> Attribute:
    """Return the settings of a confidential attribute, validated like a policy's."""
    if isinstance(t, Mapping) and name not in t:
        raise UsageError(f"t: has no entry for {name!r}; give each confidential attribute one")
    limit = t[name] if isinstance(t, Mapping) else t
    if limit is None:  # of a policy the general t
        raise UsageError(f"t: is None for {name!r}; give a number above 0, at most 1")
    own_settings = {key: values[name] for key, values in settings.items() if name in values}
    kind = {"type": "ordinal"} if "order" in own_settings else {}
    document = {"role": "confidential", "t": limit, **kind, **own_settings}
    try:
        checked = AttributeSettings.model_validate(document)
    except ValidationError as error:
        problems = "; ".join(describe_problems(error, AttributeSettings))
        raise PolicyError(f"check of {name!r}: {problems}") from None
    return checked.resolve(name, Fraction(1))


def _read(data: "Data", quasi: Sequence[str], confidential: Sequence[Attribute]) -> pa.Table:
    """The columns that are checked."""
    if not isinstance(data, str | os.PathLike):
        table, names = read_data(data), [*quasi, *(attribute.name for attribute in confidential)]
        check_present(table.column_names, names)
        return table.select(names)
    if not os.fspath(data):
        raise UsageError("data: is an empty path; name a file or a folder, or give a table")
    return read_checked(os.fspath(data), quasi, confidential)
