"""Algorithms 1 and 2 on the data of the paper: what its Tables 1 and 2 show, and what they do not.

Sizes cannot be those of the paper cell by cell: it says neither how it scales quasi-identifiers nor
how it treats ties, and the data at hand have other correlations than it prints.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.checks.census_classes import cluster_census, load_census, merge_census, size_cell
from support.length import every
from support.naive import naive_kernels as naive

ATTRIBUTES = ["FEDTAX", "FICA"]
SIZES = [(30, 17), (10, 9), (5, 13), (2, 25)]


def percent(n: int) -> Fraction:
    return Fraction(n, 100)


@pytest.mark.parametrize(
    ("k", "t", "algorithm", "confidential"),
    every(3, [(*sizes, *rest) for sizes in SIZES for rest in product([1, 2], ATTRIBUTES)]),
)
def test_classes_are_within_t_and_of_k_records(algorithm, k, t, confidential):
    census = load_census(confidential, percent(t))
    labels = merge_census(census, cluster_census(census, algorithm, k))
    assert np.bincount(labels).min() >= k
    assert all(census.excess.of(rows) <= 0 for rows in naive.groups(labels))


@pytest.mark.parametrize("confidential", ATTRIBUTES)
@pytest.mark.parametrize(("k", "t"), [(2, 17), (5, 9), (10, 5), (15, 13), (30, 25)])
def test_second_algorithm_leaves_smaller_classes(k, t, confidential):
    """Exchanges during clustering leave less to merge.

    Soria-Comas et al. 2015, section 8.1.
    """
    census = load_census(confidential, percent(t))
    averages = [
        np.bincount(merge_census(census, cluster_census(census, algorithm, k))).mean()
        for algorithm in (1, 2)
    ]
    assert averages[1] < averages[0]


@pytest.mark.parametrize(
    ("confidential", "k", "t", "cell"),
    [
        ("FEDTAX", 2, 17, "2/3"),
        ("FEDTAX", 5, 9, "5/7"),
        ("FEDTAX", 5, 13, "5/7"),
        ("FEDTAX", 15, 9, "15/25"),
        ("FICA", 10, 5, "10/16"),
        ("FICA", 15, 9, "15/26"),
        ("FICA", 20, 9, "20/33"),
    ],
)
def test_sizes_of_the_second_algorithm(confidential, k, t, cell):
    """The first four and (FICA, k = 15) are the cells of the paper, Table 2; others are near it."""
    census = load_census(confidential, percent(t))
    assert size_cell(merge_census(census, cluster_census(census, 2, k))) == cell


@pytest.mark.parametrize("confidential", ATTRIBUTES)
def test_smallest_limit_unites_all_records(confidential):
    """Soria-Comas et al. 2015, Table 1: at t = .01 Algorithm 1 ends with one class, whatever k."""
    census = load_census(confidential, percent(1))
    labels = merge_census(census, cluster_census(census, 1, 10))
    assert size_cell(labels) == "1080/1080"
