"""Risks of identification that follow from the sizes of the classes alone.

El Emam, *Guide to the De-Identification of Personal Health Information* (2013), chapters 16 and 18:
a *prosecutor* knows that a person is in the data, a *journalist* does not, a *marketer* wants as
many persons as possible and does not mind errors.
"""

from dataclasses import dataclass

from tclose.releases.manifest.sections import ClassesSection


@dataclass(frozen=True)
class IdentificationRisk:
    """Probabilities that a record is taken for the right person's, guessing within its class.

    ``prosecutor``, ``journalist``: of the record most at risk; ``marketer``: mean over the records;
    ``fraction``: of the population that the records are, 1 where they are not said to be a sample.
    """

    prosecutor: float
    journalist: float
    marketer: float
    fraction: float


def measure_identification(
    classes: ClassesSection, n_records: int, fraction: float | None = None
) -> IdentificationRisk:
    """Measure the risks of a release.

    A class of s records of a sample of a share f of the population is taken to stand for s / f
    persons, so the risks of a journalist and of a marketer are f times those within the sample.

    Parameters
    ----------
    fraction : f; without it the records are taken for the whole population, the careful choice
    """
    share = 1.0 if fraction is None else fraction
    prosecutor = 1 / max(classes.smallest, 1)
    mean = classes.n_classes / max(n_records, 1)
    return IdentificationRisk(prosecutor, prosecutor * share, mean * share, share)
