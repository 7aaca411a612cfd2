"""The risk of each attack on a confidential attribute, measured on the released classes."""

from dataclasses import dataclass

from tclose.model.distribution import Distribution
from tclose.model.verification import RiskResult
from tclose.privacy.attacks import (
    Exposure,
    Skewness,
    measure_homogeneity,
    measure_skewness,
)
from tclose.privacy.class_counts import ClassCounts
from tclose.privacy.value_groups import Grouping

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


def measure_risk(counts: ClassCounts, table: Distribution, grouping: Grouping) -> Risk:
    """The risk of some classes of a table.

    Homogeneity is of single values, similarity (homogeneity, again) and skewness of groups of them.
    """
    grouped = counts.regrouped(grouping.of_codes(counts.codes))
    skewness = measure_skewness(grouped, grouping.of_table(table), SKEWNESS_FACTOR)
    return Risk(measure_homogeneity(counts), measure_homogeneity(grouped), skewness)


def describe_risks(
    risks: tuple[Risk, ...], names: tuple[str, ...], groupings: tuple[Grouping, ...]
) -> tuple[RiskResult, ...]:
    """Return the measured risk of each confidential attribute; empty if none was measured."""
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
