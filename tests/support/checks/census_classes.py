"""Class sizes of Algorithms 1 and 2 on the Census data.

Soria-Comas et al. 2015, section 8.1, Tables 1 and 2.
"""

from fractions import Fraction
from typing import cast

import numpy as np

from support.cases.discharge_policies import shared_file
from support.tables.microdata import Microdata
from tclose.kernels.clustering.algorithm1 import merge_farthest
from tclose.kernels.clustering.algorithm2 import k_anonymity_first
from tclose.kernels.clustering.mdav import mdav


def load_census(confidential: str, t: Fraction) -> Microdata:
    """TAXINC and POTHVAL, each divided by its range, and one confidential attribute."""
    table = np.genfromtxt(shared_file("casc_census.csv"), delimiter=",", names=True)
    numeric = np.array([table[name] / np.ptp(table[name]) for name in ("TAXINC", "POTHVAL")])
    nominal = np.empty((0, table.size), dtype=np.int32)
    return Microdata(numeric, nominal, [table[confidential].astype(int).tolist()], (t,))


def cluster_census(census: Microdata, algorithm: int, k: int) -> np.ndarray:
    """Return the initial clusters: of MDAV for Algorithm 1, or of Algorithm 2 before merging."""
    if algorithm == 1:
        return cast(np.ndarray, mdav(census.numeric, census.nominal, k))
    return cast(np.ndarray, k_anonymity_first(census.numeric, census.nominal, k, census.targets()))


def merge_census(census: Microdata, labels: np.ndarray) -> np.ndarray:
    """The classes that both algorithms end with."""
    return merge_farthest(census.numeric, census.nominal, labels, census.targets())


def size_cell(labels: np.ndarray) -> str:
    """Smallest and average class size, as the tables print them."""
    sizes = np.bincount(labels)
    return f"{sizes.min()}/{sizes.mean():.0f}"
