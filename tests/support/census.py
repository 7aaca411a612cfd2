"""Class sizes of Algorithms 1 and 2 on the Census data.

Soria-Comas et al. 2015, section 8.1, Tables 1 and 2.
"""

from fractions import Fraction

import numpy as np

from support.microdata import Microdata
from support.policies import shared_file
from tclose.kernels.clustering.algorithm1 import merge_farthest
from tclose.kernels.clustering.algorithm2 import k_anonymity_first
from tclose.kernels.clustering.mdav import mdav

SIZES = (2, 5, 10, 15, 20, 25, 30)
LIMITS = tuple(Fraction(percent, 100) for percent in (1, 5, 9, 13, 17, 21, 25))


def load_census(confidential: str, t: Fraction) -> Microdata:
    """TAXINC and POTHVAL, each divided by its range, and one confidential attribute."""
    table = np.genfromtxt(shared_file("casc_census.csv"), delimiter=",", names=True)
    numeric = np.array([table[name] / np.ptp(table[name]) for name in ("TAXINC", "POTHVAL")])
    nominal = np.empty((0, table.size), dtype=np.int32)
    return Microdata(numeric, nominal, [table[confidential].astype(int).tolist()], (t,))


def cluster_census(census: Microdata, algorithm: int, k: int) -> np.ndarray:
    """Return the initial clusters: of MDAV for Algorithm 1, or of Algorithm 2 before merging."""
    if algorithm == 1:
        return mdav(census.numeric, census.nominal, k)
    return k_anonymity_first(census.numeric, census.nominal, k, census.targets())


def merge_census(census: Microdata, labels: np.ndarray) -> np.ndarray:
    """The classes that both algorithms end with."""
    return merge_farthest(census.numeric, census.nominal, labels, census.targets())


def size_cell(labels: np.ndarray) -> str:
    """Smallest and average class size, as the tables print them."""
    sizes = np.bincount(labels)
    return f"{sizes.min()}/{sizes.mean():.0f}"


def size_table(algorithm: int, confidential: str) -> list[list[str]]:
    """The table of one data set: a row for each k, a column for each t. Takes some seconds."""
    rows = []
    for k in SIZES:
        censuses = [load_census(confidential, t) for t in LIMITS]
        labels = [merge_census(c, cluster_census(c, algorithm, k)) for c in censuses]
        rows.append([size_cell(of_limit) for of_limit in labels])
    return rows
