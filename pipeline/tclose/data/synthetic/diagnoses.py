"""The groups of diagnoses, and the parameters of their cases."""

from typing import NamedTuple


class Diagnosis(NamedTuple):
    """The parameters that distinguish the cases of one diagnosis group.

    ``cases``: weight at each of ``CASE_AGES``; ``women``, ``men``: factor on it; ``youngest`` to
    ``oldest``: ages it occurs at; ``severity``: shift in logits; ``stay``: median days of a
    moderate case; ``spread``: standard deviation of the log stay; ``price``: charge of a minor
    case of median stay, in dollars; ``deaths``: factor on mortality; ``winter``: seasonal
    amplitude; ``weekend``: admissions on a weekend day against a weekday; ``again``: weight of a
    case among those whose patients come back: chronic illnesses have the highest.
    """

    name: str
    cases: tuple[int, ...]
    women: float
    men: float
    youngest: int
    oldest: int
    severity: float
    stay: float
    spread: float
    price: int
    deaths: float
    winter: float
    weekend: float
    again: float


# fmt: off
CASE_AGES = (0, 1, 8, 16, 28, 38, 46, 58, 70, 84, 104)
DIAGNOSES = tuple(Diagnosis(*row) for row in (
    ("nervous system", (8, 70, 90, 70, 50, 65, 75, 80, 80, 85, 75),
     1.0, 1.0, 0, 104, 0.3, 2.6, 0.75, 31_000, 1.2, 0.02, 0.80, 0.50),
    ("eye and ear", (2, 60, 60, 20, 10, 10, 10, 8, 7, 6, 5),
     1.0, 1.0, 0, 104, -0.7, 1.5, 0.60, 17_500, 0.1, 0.05, 0.65, 0.10),
    ("respiratory", (45, 300, 180, 50, 35, 45, 65, 95, 115, 125, 135),
     1.0, 1.0, 0, 104, 0.5, 3.1, 0.65, 26_500, 2.0, 0.35, 0.95, 0.60),
    ("circulatory", (3, 8, 10, 15, 30, 65, 120, 190, 220, 230, 220),
     0.8, 1.2, 0, 104, 0.1, 2.7, 0.75, 38_000, 1.4, 0.07, 0.72, 0.70),
    ("digestive", (8, 90, 150, 120, 80, 100, 110, 105, 95, 95, 90),
     1.0, 1.0, 0, 104, 0.0, 2.6, 0.65, 27_000, 0.8, 0.0, 0.88, 0.30),
    ("liver and pancreas", (1, 4, 8, 15, 30, 40, 45, 40, 25, 18, 12),
     0.85, 1.15, 0, 104, 0.4, 3.2, 0.70, 33_500, 1.6, 0.0, 0.90, 0.50),
    ("musculoskeletal", (1, 20, 40, 45, 30, 45, 75, 115, 115, 75, 45),
     1.05, 0.95, 0, 104, -0.8, 2.2, 0.60, 54_000, 0.2, -0.03, 0.30, 0.30),
    ("skin", (4, 35, 30, 20, 20, 22, 25, 20, 17, 18, 18),
     0.95, 1.05, 0, 104, -0.2, 2.9, 0.60, 19_500, 0.3, -0.15, 0.90, 0.20),
    ("endocrine and metabolic", (6, 60, 70, 50, 35, 45, 45, 40, 35, 32, 30),
     1.1, 0.9, 0, 104, 0.1, 2.4, 0.70, 22_500, 0.5, 0.0, 0.78, 0.70),
    ("kidney and urinary", (6, 40, 35, 30, 25, 30, 35, 45, 60, 80, 95),
     1.0, 1.0, 0, 104, 0.3, 2.8, 0.65, 24_000, 0.8, -0.05, 0.90, 0.70),
    ("male reproductive", (1, 5, 5, 3, 3, 4, 6, 14, 16, 8, 4),
     0.0, 2.0, 0, 104, -0.9, 1.4, 0.50, 36_500, 0.2, 0.0, 0.25, 0.10),
    ("female reproductive", (0, 0, 1, 10, 25, 40, 45, 25, 15, 8, 4),
     1.5, 0.0, 12, 104, -0.9, 1.6, 0.50, 29_000, 0.1, 0.0, 0.30, 0.10),
    ("pregnancy and childbirth", (0, 0, 0, 150, 1500, 550, 12, 0, 0, 0, 0),
     1.0, 0.0, 15, 50, -0.5, 2.2, 0.38, 16_000, 0.01, -0.04, 0.75, 0.10),
    ("perinatal", (880, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
     1.0, 1.0, 0, 0, -0.6, 2.6, 0.45, 5_200, 4.0, -0.04, 0.78, 0.05),
    ("blood and immune", (3, 35, 45, 25, 15, 14, 14, 14, 16, 18, 18),
     1.05, 0.95, 0, 104, 0.3, 2.9, 0.65, 25_500, 0.8, 0.0, 0.82, 0.80),
    ("neoplasms", (2, 40, 50, 25, 18, 30, 50, 80, 75, 45, 20),
     0.95, 1.05, 0, 104, 0.4, 3.6, 0.75, 49_000, 2.5, 0.0, 0.40, 1.00),
    ("infections", (14, 80, 50, 30, 35, 45, 60, 75, 85, 100, 120),
     1.0, 1.0, 0, 104, 1.2, 4.2, 0.70, 40_000, 2.6, 0.15, 1.00, 0.30),
    ("mental health", (0, 0, 25, 170, 95, 80, 65, 40, 22, 18, 12),
     0.95, 1.05, 5, 104, -0.6, 5.4, 0.85, 17_000, 0.05, -0.03, 0.80, 0.90),
    ("substance use", (0, 0, 0, 30, 60, 65, 60, 35, 10, 3, 1),
     0.6, 1.4, 13, 104, -0.2, 3.3, 0.60, 15_500, 0.3, 0.0, 0.95, 0.90),
    ("injury and poisoning", (6, 70, 90, 110, 70, 55, 50, 45, 50, 80, 95),
     0.85, 1.15, 0, 104, -0.1, 2.6, 0.80, 35_000, 1.0, -0.10, 1.10, 0.10),
    ("rehabilitation", (0, 2, 3, 5, 6, 8, 12, 22, 32, 30, 15),
     1.0, 1.0, 1, 104, 0.2, 10.5, 0.45, 32_000, 0.2, 0.0, 0.35, 0.30),
))
# fmt: on
