"""What attacks learn of a confidential attribute from the classes as they are released."""

from dataclasses import dataclass

from pipeline.model import Int64, RiskResult
from pipeline.stages.grouping import Grouping
from pipeline.stages.models.attacks import (
    Exposure,
    Skewness,
    measure_homogeneity,
    measure_similarity,
    measure_skewness,
)
from pipeline.stages.models.counts import ClassCounts, group_table

# A class that makes a group of values more than so many times as likely as the table is counted.
SKEWNESS_FACTOR = 5


@dataclass(frozen=True)
class Risk:
    """Homogeneity, similarity and skewness of some classes; merges."""

    homogeneity: Exposure
    similarity: Exposure
    skewness: Skewness

    def merge(self, other: "Risk") -> "Risk":
        """The risk of the classes of both."""
        return Risk(
            self.homogeneity.merge(other.homogeneity),
            self.similarity.merge(other.similarity),
            self.skewness.merge(other.skewness),
        )


def measure_risk(counts: ClassCounts, table: Int64, grouping: Grouping) -> Risk:
    """The risk of some classes; ``table`` int64 (m,): records of each value in the whole table.

    Homogeneity is of single values, similarity and skewness of groups of them.
    """
    groups = grouping.of_values(table.size)
    skewness = measure_skewness(counts.grouped(groups), group_table(table, groups), SKEWNESS_FACTOR)
    return Risk(measure_homogeneity(counts), measure_similarity(counts, groups), skewness)


def describe_risks(
    risks: tuple[Risk, ...], names: tuple[str, ...], groupings: tuple[Grouping, ...]
) -> tuple[RiskResult, ...]:
    """What was measured of each confidential attribute; none where nothing was."""
    if not risks:
        return ()
    return tuple(
        RiskResult(
            name,
            grouping.label,
            risk.homogeneity.exposed_records,
            risk.homogeneity.exposed_classes,
            risk.similarity.exposed_records,
            risk.similarity.exposed_classes,
            SKEWNESS_FACTOR,
            risk.skewness.exposure.exposed_records,
            risk.skewness.exposure.exposed_classes,
            risk.skewness.largest,
            risk.skewness.mean,
        )
        for risk, name, grouping in zip(risks, names, groupings, strict=True)
    )
