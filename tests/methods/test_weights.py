"""Weights of nominal columns in every method: copies share one weight, a weightless column is none.

Both leave distances exactly as they are, so that the classes have to be the very same.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given

from support.tables.random_tables import distribution_of, quasi_identifiers, repeatable, seeds
from tclose.kernels.clustering.algorithm1 import merge_by_excess
from tclose.kernels.clustering.algorithm2 import k_anonymity_first
from tclose.kernels.clustering.fill_buckets import (
    cut_class_ranges,
    fill_block,
    fill_blocks,
)
from tclose.kernels.clustering.fill_classes import fill_classes
from tclose.kernels.clustering.mdav import mdav, v_mdav
from tclose.methods.sabre.sabre import partition_sabre
from tclose.model.array_types import Float64, Int64
from tclose.passes.microaggregate.repair.merge_until import merge_until

N_RECORDS = 24
K = 3
LABELS = np.arange(N_RECORDS) % (N_RECORDS // K)
CODES = np.arange(N_RECORDS) * 7 % 5
# Three buckets of eight records, of which each of four classes takes two.
STARTS = np.array([0, 8, 16, 24])
COUNTS = np.full((4, 3), 2)


def k_first(numeric: Float64, nominal: np.ndarray, weights: Float64) -> Int64:
    table, codes = distribution_of(CODES)
    target = np.array([codes]), (table.cumulative,), (table.prefix,), np.array([0.2])
    return k_anonymity_first(numeric, nominal, K, target, weights)


def merged(numeric: Float64, nominal: np.ndarray, weights: Float64) -> Int64:
    return merge_by_excess(numeric, nominal, LABELS, lambda rows: 7.0 - rows.size, weights)


def merged_until(numeric: Float64, nominal: np.ndarray, weights: Float64) -> Int64:
    return merge_until(LABELS, numeric, nominal, lambda _, s: np.diff(s) >= 2 * K, weights)[0]


def drawn(numeric: Float64, nominal: np.ndarray, weights: Float64) -> Int64:
    rows = np.arange(N_RECORDS)
    columns = np.ascontiguousarray(numeric.T), np.ascontiguousarray(nominal.T)
    return fill_classes(*columns, rows[::-1].copy(), rows, STARTS, COUNTS, weights)


def sabre(numeric: Float64, nominal: np.ndarray, weights: Float64) -> Int64:
    table, codes = distribution_of(CODES)
    return partition_sabre((numeric, nominal, weights), codes, table, k=K, max_emd=Fraction(1))


def in_blocks(numeric: Float64, nominal: np.ndarray, weights: Float64, height: int = 1) -> Int64:
    n_levels = int(nominal.max(initial=0)) + 1
    cumulative = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(COUNTS, axis=0)])
    heights = np.full(len(weights), height)
    cut = cut_class_ranges(numeric, nominal, n_levels, STARTS[:-1], cumulative, 2, weights, heights)
    return fill_blocks(numeric, nominal, STARTS[:-1], cumulative, *cut, weights)


METHODS: dict[str, Callable[[Float64, np.ndarray, Float64], Int64]] = {
    "mdav": lambda numeric, nominal, weights: mdav(numeric, nominal, K, weights),
    "v_mdav": lambda numeric, nominal, weights: v_mdav(numeric, nominal, K, 0.25, weights),
    "k_anonymity_first": k_first,
    "merge_by_excess": merged,
    "merge_until": merged_until,
    "draw_classes": drawn,
    "sabre": sabre,
    "fill_block": lambda numeric, nominal, weights: fill_block(
        numeric, nominal, STARTS, COUNTS, weights
    ),
    "in_blocks": in_blocks,
}


@pytest.mark.parametrize("method", METHODS)
@repeatable
@given(quasi_identifiers(N_RECORDS))
def test_copies_share_a_weight(method: str, quasi) -> None:
    numeric, nominal, _ = quasi
    expected = METHODS[method](numeric, nominal, np.ones(len(nominal)))
    twice, half = np.repeat(nominal, 2, axis=0), np.full(2 * len(nominal), 0.5)
    shared = partial(in_blocks, height=2) if method == "in_blocks" else METHODS[method]
    assert shared(numeric, twice, half).tolist() == expected.tolist()


@pytest.mark.parametrize("method", METHODS)
@repeatable
@given(quasi_identifiers(N_RECORDS), seeds)
def test_a_column_without_weight_counts_nothing(method: str, quasi, seed: int) -> None:
    numeric, nominal, _ = quasi
    ones = np.ones(len(nominal))
    expected = METHODS[method](numeric, nominal, ones)
    other = np.random.default_rng(seed).integers(0, 4, (1, N_RECORDS), dtype=np.int32)
    more = METHODS[method](numeric, np.vstack([nominal, other]), np.append(ones, 0.0))
    assert more.tolist() == expected.tolist()
