"""Classes of rows that come file by file, in canonical order or in none."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.assess.auditing.released_rows import Rows
from tclose.data.key_rows import find_changes, sort_rows
from tclose.data.keys import Keys
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.model.verification import Achieved
from tclose.passes.verify.class_checks import ClassChecks, check_classes
from tclose.privacy.bound_models import PrivacyModels
from tclose.privacy.joint import Joint, append_joint
from tclose.privacy.whole_table import ClassRows, take_class_rows


class NotInOrderError(Exception):
    """Rows do not ascend by their class keys."""


@dataclass(frozen=True, eq=False)
class ClassChecker:
    """Checks classes; ``kept``: what models that need the whole table have to see of them.

    ``joints``: how joint attributes are made of the others, whose codes come from the files.
    """

    distributions: tuple[Distribution, ...]
    limits: tuple[Fraction, ...]
    privacy_models: PrivacyModels
    kept: list[ClassRows]
    joints: tuple[Joint, ...] = ()

    def check_in_order(self, files: Iterator[Rows]) -> ClassChecks:
        """Check sorted rows file by file; a class that goes on in the next file waits for it."""
        merged: ClassChecks | None = None
        waiting: Rows | None = None
        for rows in files:
            joined = rows if waiting is None else join_rows([waiting, rows])
            first = np.flatnonzero(find_changes(joined.keys))
            if not _ascend(joined.keys, first):
                raise NotInOrderError
            last = int(first[-1])
            waiting = Rows([k[last:] for k in joined.keys], joined.codes[:, last:])
            if last:
                checks = self._check([k[:last] for k in joined.keys], first, joined.codes[:, :last])
                merged = checks if merged is None else merged.merge(checks)
        if waiting is None:
            return self._check_nothing()
        ends = np.array([0, waiting.keys[0].size], dtype=np.int64)
        checks = self._check(waiting.keys, ends, waiting.codes)
        return checks if merged is None else merged.merge(checks)

    def check_at_once(self, files: list[Rows]) -> ClassChecks:
        """Check rows in any order: sort them by class first."""
        rows = join_rows(files)
        order = sort_rows(rows.keys)
        keys = [column[order] for column in rows.keys]
        starts = np.append(np.flatnonzero(find_changes(keys)), order.size).astype(np.int64)
        return self._check(keys, starts, rows.codes[:, order])

    def _check(self, keys: list[Keys], starts: Int64, codes: Int64) -> ClassChecks:
        codes = append_joint(codes, self.joints)
        if self.privacy_models.by_table:
            of_classes = [column[starts[:-1]] for column in keys]
            self.kept.append(take_class_rows(of_classes, starts, codes, self.privacy_models))
        return check_classes(starts, codes, self.distributions, self.limits, self.privacy_models)

    def _check_nothing(self) -> ClassChecks:
        n = len(self.limits)
        models = (Achieved(),) * len(self.privacy_models.requirements)
        return ClassChecks(0, np.zeros((2, 0), np.int64), (0.0,) * n, (0,) * n, models)


def join_rows(pieces: list[Rows]) -> Rows:
    """The rows of all pieces, one after the other."""
    keys = [np.concatenate(columns) for columns in zip(*(p.keys for p in pieces), strict=True)]
    return Rows(keys, np.concatenate([p.codes for p in pieces], axis=1))


def _ascend(keys: list[Keys], first: Int64) -> bool:
    """Return whether each class's key is above that of the class before it."""
    above = np.zeros(max(first.size - 1, 0), dtype=bool)
    settled = above.copy()
    for column in keys:
        before, after = column[first[:-1]], column[first[1:]]
        above |= ~settled & (after > before)
        settled |= after != before
    return bool(above.all())
