"""Repair: exchanges within blocks work off what classes are above t, at any loss."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from support.naive import naive_refine
from support.tables.classed_records import ClassedRecords
from support.tables.random_tables import distribution_of, unweighted
from support.tables.refined_regions import fewer, refiner_of, regions
from tclose.passes.microaggregate.search.make_refiners import make_refiner


def excess_of(records: ClassedRecords) -> float:
    """By how much all classes are above their t, all attributes together."""
    above = 0.0
    for rows in records.classes:
        for emd, t in zip(naive_refine.class_emds(records, rows), records.max_emds, strict=True):
            above += max(0.0, float(emd - t))
    return above


class TestMending:
    @fewer
    @given(regions)
    def test_excess_never_grows_and_sizes_stay(self, records: ClassedRecords) -> None:
        ends = np.array([0, records.n_classes])
        labels = refiner_of(records).repair(records.labels, ends)
        repaired = replace(records, labels=labels)
        assert sorted(np.unique(labels).tolist()) == list(range(records.n_classes))
        smallest = min(len(rows) for rows in records.classes)
        assert min(len(rows) for rows in repaired.classes) >= min(records.k, smallest)
        assert excess_of(repaired) <= excess_of(records) + 1e-9

    def test_works_off_what_exchanges_can(self) -> None:
        """Two classes of one value each, of a table half and half: one swap each way is needed."""
        values = [0] * 4 + [1] * 4
        table, codes = distribution_of(values)
        numeric = np.array([[0.0] * 4 + [1.0] * 4])
        refiner = make_refiner(unweighted(numeric), np.array([codes]), (table,), (0.1,), 2, (1,))
        labels = np.repeat(np.arange(2), 4)
        assert refiner.measure(labels).largest_emd == 0.5
        repaired = refiner.repair(labels, np.array([0, 2]))
        assert refiner.measure(repaired).largest_emd <= 0.1
        assert np.bincount(repaired).min() >= 2

    def test_classes_of_other_blocks_are_left_alone(self) -> None:
        values = [0, 0, 1, 1]
        table, codes = distribution_of(values)
        refiner = make_refiner(
            unweighted(np.array([[0.0, 0, 1, 1]])),
            np.array([codes]), (table,), (0.1,), 2, (1,),
        )  # fmt: skip
        labels = np.array([0, 0, 1, 1])
        assert refiner.repair(labels, np.array([0, 1, 2])).tolist() == labels.tolist()
