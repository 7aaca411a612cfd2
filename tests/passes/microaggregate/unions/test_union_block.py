"""Unions of the classes of a block next to their definition, record by record."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.methods.scaling import Scaled, take_scaled
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.unions import unite_classes as unions
from tclose.passes.microaggregate.unions.union_block import BlockSums, UnionBlock
from tclose.passes.microaggregate.unions.unite_classes import EarlierClasses, unite_classes

K = 5


def draw_leavers(n_classes: int, seed: int, size: int = 8) -> tuple[Int64, Scaled, EarlierClasses]:
    """Classes of near records, a third of which persons left."""
    rng = np.random.default_rng(seed)
    middles = np.repeat(rng.random((3, n_classes)), size, axis=1)
    kinds = np.repeat(rng.integers(0, 3, (2, n_classes)), size, axis=1)
    numeric = middles + 0.02 * rng.random(middles.shape)
    nominal = np.where(rng.random(kinds.shape) < 0.2, 3, kinds).astype(np.int32)
    labels = np.repeat(np.arange(n_classes), size)
    gone = np.repeat(rng.choice([0, 0, 1, 2], n_classes), size)
    earlier = EarlierClasses(labels[None, :], gone[None, :], K)
    return labels, Scaled(numeric, nominal, 4, np.array([1.0, 0.5]), np.ones(2, np.int64)), earlier


def measure_loss(labels: Int64, scaled: Scaled) -> float:
    """Squared error, and the weight of what is off the mode."""
    loss = 0.0
    for union in np.unique(labels):
        rows = labels == union
        for column in scaled.numeric:
            loss += float(((column[rows] - column[rows].mean()) ** 2).sum())
        for codes, weight in zip(scaled.nominal, scaled.weights, strict=True):
            loss += float(weight * (rows.sum() - np.bincount(codes[rows]).max()))
    return loss


def find_short(labels: Int64, earlier: EarlierClasses) -> Int64:
    return np.flatnonzero(earlier.are_short(earlier.count_gone(labels)))


def test_what_is_measured_is_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to what no union changes: each exchange saves as much as it says."""
    labels, scaled, earlier = draw_leavers(30, 3)
    seen: list[tuple[BlockSums, Int64]] = []

    def keep(block: UnionBlock) -> None:
        seen.append((block._sums, block.labels.copy()))
        exchange(block)

    exchange = UnionBlock.exchange
    monkeypatch.setattr(UnionBlock, "exchange", keep)
    unite_classes(labels, scaled, earlier)
    able = np.unique(labels[earlier.gone[0] > 0])
    constant = []
    for sums, of_classes in (seen[0], seen[-1]):
        totals = np.zeros_like(sums.rows)
        np.add.at(totals, of_classes, sums.rows)
        united = np.full(30, -1)
        united[able] = of_classes
        chosen = united[labels] >= 0
        part = take_scaled(scaled, np.flatnonzero(chosen))
        lost = measure_loss(united[labels][chosen], part)
        constant.append(lost + float(sums.measure(totals).sum()))
    assert constant[0] == pytest.approx(constant[1])


@pytest.mark.parametrize("sizes", [(1024, 128), (32, 16), (2, 2)])
def test_unions_of_blocks(sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchanges save something; none is short, however the blocks are cut."""
    labels, scaled, earlier = draw_leavers(240, 7)
    monkeypatch.setattr(unions, "JOINED_CLASSES", sizes[0])
    monkeypatch.setattr(unions, "BLOCK_CLASSES", sizes[1])
    united = unite_classes(labels, scaled, earlier)
    assert not find_short(united, earlier).size
    assert all(np.unique(united[labels == c]).size == 1 for c in range(240))
    stayed = np.unique(labels[earlier.gone[0] == 0])
    assert np.unique(united[np.isin(labels, stayed)]).size == stayed.size
    assert (unite_classes(labels, scaled, earlier) == united).all()
    monkeypatch.setattr(unions, "ROUNDS", 0)
    joined = unite_classes(labels, scaled, earlier)
    saved = 1 - measure_loss(united, scaled) / measure_loss(joined, scaled)
    assert saved > (0.02 if sizes[1] > 2 else 0)


@given(st.integers(2, 12), st.integers(0, 2**16))
def test_no_exchange_of_two_saves_more(n_classes: int, seed: int) -> None:
    """Nor does a move of one, where unions stay as they have to be."""
    labels, scaled, earlier = draw_leavers(n_classes, seed, 2)
    united = unite_classes(labels, scaled, earlier)
    if find_short(united, earlier).size:
        assert np.unique(united).size == 1
        return
    least = measure_loss(united, scaled)
    left = [c for c in range(n_classes) if earlier.gone[0][2 * c]]
    for i in left:
        for j in left:
            for both in (True, False):
                tried = united.copy()
                tried[labels == i] = united[2 * j]
                if both:
                    tried[labels == j] = united[2 * i]
                tried = np.unique(tried, return_inverse=True)[1].reshape(-1)
                if not find_short(tried, earlier).size:
                    assert measure_loss(tried, scaled) > least - 1e-6
