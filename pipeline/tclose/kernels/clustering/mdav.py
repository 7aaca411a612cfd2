"""Microaggregation by quasi-identifiers alone: MDAV and V-MDAV.

MDAV: Domingo-Ferrer and Torra 2005. V-MDAV: Solanas and Martinez-Balleste 2006. Distances are
squared: numeric differences, and 0 or its weight, by default 1, for each nominal column. Ties go to
the first record.
"""

import numpy as np

from tclose.kernels.clustering.boxed_records import (
    box_records,
    farthest_boxed,
    nearest_boxed,
    take_boxed,
)
from tclose.kernels.clustering.live_records import (
    gather_remaining,
    go_to_average,
    go_to_record,
    measure_from_average,
    measure_from_record,
    nearest_remaining,
    take_out,
)
from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import stable_order

# Of V-MDAV: 0.2 suits scattered records, about 1 those in clear groups.
GAMMA = 0.2


@kernel
def _take_nearest(records, n_left, seed, k, labels, label):
    """Label the k live records nearest to that at ``seed``; return the number of live ones left."""
    measure_from_record(records, seed, 0, n_left)
    return take_out(records, n_left, nearest_remaining(records, n_left, k), labels, label)


def mdav(numeric, nominal, k, weights=None):
    """Form clusters of k records, and one of k to 2k-1.

    The record farthest from the average of those left and its k-1 nearest form a cluster; so do,
    of the others, the one farthest from that record and its nearest. With fewer than 3k left only
    the first of the two is formed, and the records that then remain are the last cluster.

    Parameters
    ----------
    numeric : float64 (d, n): quasi-identifiers, scaled
    nominal : int32 (q, n): category codes
    k : at least 1; with fewer than 2k records there is one cluster
    weights : float64 (q,), as in `tclose.kernels.clustering.algorithm3`; by default 1 each

    Returns
    -------
    int64 (n,): cluster of each record, numbered as they are made
    """
    counted = np.ones(len(nominal)) if weights is None else weights
    records = gather_remaining(numeric, nominal, counted)
    n_left, cluster = records.rows.size, 0
    labels = np.empty(n_left, dtype=np.int64)
    while n_left >= 2 * k:
        boxes = box_records(records, n_left)
        n_left, cluster = _take_clusters(records, boxes, n_left, k, labels, cluster)
    labels[records.rows[:n_left]] = cluster
    return labels


@kernel
def _take_clusters(records, boxes, n_left, k, labels, cluster):
    """Take clusters until half of the records are left, for which new boxes are worth making.

    ``boxes``: of the live records; ``cluster``: the number of the first. Returns how many records
    are left then, and the number of the next one.
    """
    least = max(2 * k, n_left // 2)
    places, rows = np.empty(records.rows.size, dtype=np.int64), records.rows
    for at in range(n_left):
        places[rows[at]] = at
    taken, nearest = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    while n_left >= least:
        go_to_average(records, n_left)
        for _ in range(2 if n_left >= 3 * k else 1):
            seed = farthest_boxed(boxes, records.point, records.levels)
            go_to_record(records, places[seed])
            nearest_boxed(boxes, records.point, records.levels, boxes.box_of[seed], nearest)
            for i in range(k):
                taken[i] = places[boxes.rows[nearest[i]]]
            take_boxed(boxes, nearest)
            n_left = take_out(records, n_left, taken, labels, cluster)
            for at in taken:
                places[rows[at]] = at
            cluster += 1
    return n_left, cluster


def v_mdav(numeric, nominal, k, gamma=GAMMA, weights=None):
    """Form clusters of k to 2k-1 records, larger where records are close together.

    Around the record farthest from the average of all records, of those left, k records form a
    cluster. It takes in the nearest of the others while that one is nearer to it than ``gamma``
    times what it is from its own nearest neighbour left. Distances to a cluster are those to its
    nearest record. When fewer than k are left, each goes to the nearest cluster.

    So that no cluster is larger than 2k-1: none takes in a record if just k are left, which are the
    next cluster, and those left at the end skip clusters that are full. The last one formed has
    room for all of them.

    Parameters
    ----------
    numeric, nominal, k, weights : as in `mdav`; with fewer than k records there is one cluster
    gamma : at least 0, a ratio of distances (not squared); with 0 no cluster takes in a record

    Returns
    -------
    int64 (n,): cluster of each record, numbered as they are made
    """
    counted = np.ones(len(nominal)) if weights is None else weights
    return _v_mdav(numeric, nominal, k, float(gamma), counted)


@kernel
def _v_mdav(numeric, nominal, k, gamma, weights):
    records = gather_remaining(numeric, nominal, weights)
    n_records = records.rows.size
    n_left = n_records
    labels = np.full(n_records, -1, dtype=np.int64)
    to_cluster = np.empty(n_records)
    measure_from_average(records, n_left)
    cluster = np.int64(0)  # a plain 0 is a type of its own, and what it goes to compiled twice
    for row in stable_order(-records.distances):
        if n_left < k:
            break
        if labels[row] < 0:
            seed = np.argmax(records.rows[:n_left] == row)
            n_left = _take_nearest(records, n_left, seed, k, labels, cluster)
            n_left = _extend(records, n_left, k, gamma, to_cluster, labels, cluster)
            cluster += 1
    if cluster == 0:
        labels[:] = 0
    else:
        _assign_remaining(records, n_left, k, labels, cluster)
    return labels


@kernel
def _extend(records, n_left, k, gamma, to_cluster, labels, label):
    """Extend the latest cluster, whose k records are stored after the live ones, by others.

    ``to_cluster`` float64 (n,) is overwritten: squared distances to the cluster.
    """
    distances, rows = records.distances, records.rows
    to_cluster[:n_left] = np.inf
    for member in range(n_left, n_left + k):
        _measure_nearest(records, member, n_left, to_cluster)
    for _ in range(k - 1 if gamma > 0 else 0):
        if n_left == 0 or n_left == k:
            break
        nearest = 0
        for i in range(1, n_left):
            earlier = to_cluster[i] == to_cluster[nearest] and rows[i] < rows[nearest]
            if to_cluster[i] < to_cluster[nearest] or earlier:
                nearest = i
        measure_from_record(records, nearest, 0, n_left)
        distances[nearest] = np.inf
        if not to_cluster[nearest] < gamma * gamma * distances[:n_left].min():
            break
        n_left = take_out(records, n_left, np.full(1, nearest), labels, label)
        to_cluster[nearest] = to_cluster[n_left]
        _measure_nearest(records, n_left, n_left, to_cluster)
    return n_left


@kernel
def _measure_nearest(records, member, n_left, to_cluster):
    """Lower the live records' distances to a cluster to those to one of its members."""
    measure_from_record(records, member, 0, n_left)
    for i in range(n_left):
        to_cluster[i] = min(to_cluster[i], records.distances[i])


@kernel
def _assign_remaining(records, n_left, k, labels, n_clusters):
    """Assign each live record to the cluster, if not full, of the nearest record that has one."""
    distances, rows = records.distances, records.rows
    sizes = np.zeros(n_clusters, dtype=np.int64)
    for i in range(n_left, rows.size):
        sizes[labels[rows[i]]] += 1
    for at in np.argsort(rows[:n_left]):
        measure_from_record(records, at, n_left, rows.size)
        nearest = -1
        for i in range(n_left, rows.size):
            if sizes[labels[rows[i]]] == 2 * k - 1:
                continue
            earlier = distances[i] == distances[nearest] and rows[i] < rows[nearest]
            if nearest < 0 or distances[i] < distances[nearest] or earlier:
                nearest = i
        labels[rows[at]] = labels[rows[nearest]]
        sizes[labels[rows[nearest]]] += 1
