"""Small regions to be clustered, and what classes of them lose."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from support.tables.random_tables import distribution_of, seeds
from support.tables.value_encodings import encode
from tclose.methods.clustering_problem import ClusteringProblem, SubsetCut
from tclose.methods.scaling import scale_columns
from tclose.model.column_terms import Role

HALF = Fraction(1, 2)


def problem_of(
    ages: list[int], towns: list[str], pays: list[int], k: int = 2, limit: Fraction = HALF,
    size: int | None = None,
) -> ClusteringProblem:  # fmt: skip
    """Records in the order of their pay, cut into subsets of it, for clusters of ``size``."""
    order = np.argsort(pays, kind="stable")
    columns = {"age": pa.array(np.array(ages)[order]), "town": pa.array(np.array(towns)[order])}
    pairs = [encode(array, name=name) for name, array in columns.items()]
    encodings, keys = tuple(e for e, _ in pairs), [key for _, key in pairs]
    confidential, _ = encode(pa.array(pays), Role.CONFIDENTIAL, "pay")
    distribution, codes = distribution_of(np.array(pays)[order].tolist())
    n_records, size = len(ages), max(k, size or k)
    n_clusters = max(1, n_records // size)
    n_subsets = n_records // n_clusters
    sizes = np.full(n_subsets, n_clusters)
    sizes[n_subsets // 2] += n_records - n_clusters * n_subsets
    cut = SubsetCut(
        np.zeros(n_records, np.int64), np.append(0, np.cumsum(sizes)),
        np.ones(n_subsets, np.int64), n_clusters, 3,
    )  # fmt: skip
    return ClusteringProblem(
        encodings, (confidential,), keys, scale_columns(list(encodings), keys), codes[None],
        (distribution,), k, (limit,), cut=cut,
    )  # fmt: skip


def loss_of(problem: ClusteringProblem, classes: list[list[int]]) -> float:
    numeric, nominal = problem.scaled.numeric, problem.scaled.nominal
    loss = 0.0
    for rows in classes:
        loss += float(((numeric[:, rows] - numeric[:, rows].mean(1, keepdims=True)) ** 2).sum())
        for codes in nominal[:, rows]:
            loss += len(rows) - np.bincount(codes).max()
    return loss


@st.composite
def problems(draw: st.DrawFn) -> ClusteringProblem:
    rng = np.random.default_rng(draw(seeds))
    n_records = draw(st.integers(2, 60))
    k = min(draw(st.integers(2, 5)), n_records)
    limit = Fraction(draw(st.integers(5, 60)), 100)
    n_ages = draw(st.integers(1, 12))
    return problem_of(
        (10 * rng.integers(0, n_ages, n_records)).tolist(),
        rng.choice(["a", "b"], n_records).tolist(),
        rng.integers(0, draw(st.integers(1, 9)) + 1, n_records).tolist(),
        k,
        limit,
        draw(st.integers(2, 8)),
    )
