"""Descriptions in a plan of each column that the policy names, in counts."""

from collections.abc import Iterator, Sequence

import numpy as np

from tclose.data.files.text_formats import TextFormat
from tclose.data.keys import plain_type
from tclose.data.value_counts import count_in_category
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind, Role
from tclose.model.distribution import Distribution
from tclose.passes.plan.plan import Plan
from tclose.passes.publish.transformations import describe_columns
from tclose.passes.summarise.input_summary import InputSummary
from tclose.policy.policy import Policy
from tclose.releases.manifest.plan_document import PlannedColumn

_NEVER_RELEASED = {
    Role.IDENTIFIER: "never read, never released",
    Role.PERSON: "hashed with a key, to count persons; never released",
}


def describe_planned_columns(
    policy: Policy, plan: Plan, summary: InputSummary, distributions: Sequence[Distribution]
) -> tuple[PlannedColumn, ...]:
    """Describe the columns in the policy's order.

    Parameters
    ----------
    distributions : of the confidential attributes, as the plan has them
    """
    return tuple(_Described(policy, plan, summary, distributions).describe())


class _Described:
    """The columns of a plan by name, and what was counted of them."""

    def __init__(
        self,
        policy: Policy,
        plan: Plan,
        summary: InputSummary,
        distributions: Sequence[Distribution],
    ) -> None:
        self.policy, self.summary = policy, summary
        self.columns = {column.name: column for column in summary.source.columns}
        self.treatments = {one.name: one.treatment for one in describe_columns(plan)}
        pairs = zip(plan.confidential, distributions, strict=True)
        self.confidential = {e.column.name: int(d.values.size) for e, d in pairs}
        self.imputed = {
            e.column.name: e.column.attribute.preparation.n_imputed
            for e in plan.encodings
            if e.column.attribute.preparation is not None
        }
        self.in_category = count_in_category(summary.table, summary.source.columns)

    def describe(self) -> Iterator[PlannedColumn]:
        for name, settings in self.policy.attributes.items():
            column = self.columns.get(name)
            if column is None:
                treatment = _NEVER_RELEASED.get(settings.role, "not in the data")
                yield PlannedColumn(name=name, role=settings.role, treatment=treatment)
                continue
            yield self._describe(column)

    def _describe(self, column: Column) -> PlannedColumn:
        name = column.name
        formats = dict(self.summary.source.reading.formats)
        counted = self.summary.table.columns.get(name)
        distinct, among = self._count_distinct(name)
        return PlannedColumn(
            name=name,
            role=column.role,
            kind=column.kind,
            type=str(plain_type(column.type)),
            format=describe_format(column.kind, formats.get(name, TextFormat())),
            distinct=distinct,
            distinct_among=among,
            missing=None if counted is None else counted.n_missing + self._count_filled(name),
            missing_category=name in self.in_category,
            treatment=self.treatments.get(name) or _NEVER_RELEASED[column.role],
        )

    def _count_filled(self, name: str) -> int:
        """Records without a value that have one by the time columns are counted."""
        return self.imputed.get(name, 0) + self.in_category.get(name, 0)

    def _count_distinct(self, name: str) -> tuple[int | None, int | None]:
        """Distinct values, and among how many records where these are a sample."""
        counted = self.summary.table.columns.get(name)
        if counted is not None and counted.categories:
            return len(counted.categories), None
        if name in self.confidential:
            return self.confidential[name], None
        sampled = self.summary.sampled.get(name)
        if sampled is None:
            return None, None
        is_whole = sampled.size == self.summary.table.n_complete
        return int(np.unique(sampled).size), None if is_whole else int(sampled.size)


def describe_format(kind: Kind, text_format: TextFormat) -> str | None:
    """Describe how numbers or dates of a CSV column are spelled; None for the plain way."""
    if kind is Kind.DATE:
        return text_format.date_format and f"dates {text_format.date_format}"
    marks = []
    if kind is Kind.NUMERIC and text_format.decimal != ".":
        marks.append(f"decimal {text_format.decimal!r}")
    if kind is Kind.NUMERIC and text_format.thousands is not None:
        marks.append(f"thousands {text_format.thousands!r}")
    return ", ".join(marks) or None
