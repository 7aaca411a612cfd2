"""Regions to refine, a refiner of them, and what each round leaves."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from support.length import count
from support.naive import naive_refine
from support.tables.classed_records import MARGIN, ClassedRecords, classed_records
from support.tables.random_tables import distribution_of, repeatable
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.search.make_refiners import make_refiner
from tclose.passes.microaggregate.search.refine_classes import Refiner
from tclose.passes.plan.search_budget import SearchBudget

fewer = settings(repeatable, max_examples=count(10, 100))

regions = classed_records(n_classes=st.integers(1, 9), max_size=6)
search_budgets = st.builds(
    SearchBudget,
    n_rounds=st.integers(1, 4),
    block_classes=st.integers(2, 6),
    n_partners=st.integers(1, 4),
    n_searches=st.integers(1, 3),
    n_sweeps=st.integers(1, 2),
    least_exchange=st.sampled_from([0.0, 0.01]),
    n_pooled=st.sampled_from([0, 1, 4]),
)


def losing_region(n_records: int = 600) -> ClassedRecords:
    """A region on which every round finds something."""
    rng = np.random.default_rng(11)
    table, codes = distribution_of(rng.integers(0, 50, n_records))
    return ClassedRecords(
        rng.random((3, n_records)),
        np.empty((0, n_records), np.int32),
        1,
        codes[np.newaxis],
        (table,),
        (0.25,),
        rng.permutation(np.arange(n_records) % (n_records // 4)),
        4,
    )


def refiner_of(records: ClassedRecords, max_emds: tuple[Fraction, ...] | None = None) -> Refiner:
    """Of the records as one region, held to these t or to their own."""
    return make_refiner(
        Scaled(
            records.numeric,
            records.nominal,
            records.n_levels,
            records.column_weights,
            np.ones(len(records.nominal), np.int64),
        ),
        records.codes,
        records.tables,
        tuple(float(t) for t in (records.max_emds if max_emds is None else max_emds)),
        records.k,
        (1, 0, 0),
    )


def keep(labels: Int64) -> Int64:
    """Merge nothing."""
    return labels


def run(
    refiner: Refiner, records: ClassedRecords, search_budget: SearchBudget
) -> list[ClassedRecords]:
    """The records after no round, after one, and so on, nothing merged."""
    after = [records]
    for n_rounds in range(1, search_budget.n_rounds + 1):
        shorter = replace(search_budget, n_rounds=n_rounds)
        labels, _ = refiner.refine(records.labels, shorter, keep, 1.0)
        after.append(replace(records, labels=labels))
    return after


def largest_emds(records: ClassedRecords) -> list[Fraction]:
    """Of each attribute over all classes."""
    by_class = [naive_refine.class_emds(records, rows) for rows in records.classes]
    return [max(emds) for emds in zip(*by_class, strict=True)]


@st.composite
def regions_within(draw: st.DrawFn, hundredths: int = 0) -> ClassedRecords:
    """Every class is within t, most where it is the next hundredth, or the one after, and so on."""
    records = draw(regions)
    limits = []
    for emd in largest_emds(records):
        percent = min(100, ceil(emd * 100) + hundredths + draw(st.integers(0, 20)))
        limits.append(percent / 100 - MARGIN)
    return replace(records, limits=tuple(limits))
