"""Sums of products: in one order of the records, so that the bits depend on nothing else."""

import numpy as np

from pipeline.kernels.compiled import kernel


@kernel
def sum_products(deviations):
    """Sums over the records of the products of each two attributes.

    A matrix product would add up in an order that depends on the library's threads.

    Parameters
    ----------
    deviations : float64 (d, n)

    Returns
    -------
    float64 (d, d), symmetric
    """
    rows = np.ascontiguousarray(deviations.T)
    n_records, n_attributes = rows.shape
    sums = np.zeros((n_attributes, n_attributes))
    for r in range(n_records):
        row = rows[r]
        for i in range(n_attributes):
            for j in range(n_attributes):
                sums[i, j] += row[i] * row[j]
    return sums
