"""Combinations of several confidential attributes' values: the codes of a joint attribute.

A combination is known by the codes of its parts; all of a table are numbered in the order of their
first part, then of their second, and so on. The numbers are found part by part: a prefix of a
combination has a number of its own, so no key is larger than prefixes times values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from tclose.data.keys import Encoding
from tclose.errors import CHANGED_INPUT, ChangedInputError
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind


@dataclass(frozen=True, eq=False)
class Combinations:
    """The distinct combinations of p parts.

    ``widths`` (p,): how many codes each part can have; ``keys``: of each part but the first, int64
    ascending, prefix * width + code of every prefix with that part.
    """

    widths: tuple[int, ...]
    keys: tuple[Int64, ...]

    @property
    def n_combinations(self) -> int:
        """The number of combinations."""
        return int(self.keys[-1].size)

    def find(self, codes: Int64) -> Int64:
        """Number of each record's combination, int64 (n,), by the codes (p, n) of its parts.

        Raises
        ------
        ChangedInputError
            A combination that the table did not have.
        """
        combined = codes[0]
        for width, keys, part in zip(self.widths[1:], self.keys, codes[1:], strict=True):
            sought = combined * width + part
            combined = np.searchsorted(keys, sought)
            known = np.minimum(combined, keys.size - 1)
            if not np.array_equal(keys[known], sought):
                raise ChangedInputError(CHANGED_INPUT)
        return cast(Int64, combined.astype(np.int64))

    def parts(self) -> Int64:
        """Codes of the parts of every combination, int64 (p, combinations), in their order."""
        prefixes = np.arange(self.n_combinations)
        codes = []
        for width, keys in zip(self.widths[:0:-1], self.keys[::-1], strict=True):
            prefixes, code = np.divmod(keys[prefixes], width)
            codes.append(code)
        return np.array([prefixes, *codes[::-1]], dtype=np.int64)


def number_combinations(
    codes: Int64, widths: Sequence[int], counts: Int64 | None = None
) -> tuple[Combinations, Int64]:
    """The distinct combinations of some records, and how many records have each.

    Parameters
    ----------
    codes : int64 (p, n), p at least 2: codes of the parts, those of part i below widths[i]
    counts : int64 (n,): records that each column represents; by default one
    """
    combined, keys = codes[0], []
    for width, part in zip(widths[1:], codes[1:], strict=True):
        distinct, combined = np.unique(combined * width + part, return_inverse=True)
        keys.append(distinct)
    of_each = np.zeros(keys[-1].size, dtype=np.int64)
    np.add.at(of_each, combined, np.ones_like(combined) if counts is None else counts)
    return Combinations(tuple(int(w) for w in widths), tuple(keys)), of_each


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint attribute: which of the confidential attributes it combines, and how."""

    places: tuple[int, ...]
    combinations: Combinations

    def find(self, codes: Int64) -> Int64:
        """Codes of the joint attribute (n,), by those of the confidential attributes (p, n)."""
        return self.combinations.find(codes[list(self.places)])


def append_joint(codes: Int64, joints: Sequence[Joint]) -> Int64:
    """Codes int64 (p, n) of confidential attributes, then those of the joint ones."""
    if not joints:
        return codes
    return np.concatenate([codes, [joint.find(codes) for joint in joints]])


def place_parts(attribute: Attribute, names: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of a joint attribute's parts among the confidential attributes' names."""
    return tuple(names.index(name) for name in attribute.combines)


def joint_column(attribute: Attribute) -> Column:
    """The column of a joint attribute; its values are never released, so they need no type."""
    return Column(attribute, Kind.NOMINAL, pa.null())


def encode_joint(attribute: Attribute) -> Encoding:
    """A joint attribute as plans have it; its keys are numbers of combinations."""
    return Encoding(joint_column(attribute))
