"""Points that stand for classes, and which of them are near: against sorting and loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_refine
from support.tables.classed_records import ClassedRecords, classed_records
from support.tables.random_tables import quasi_identifiers, repeatable, seeds, weighted_columns
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import (
    CENTRE,
    DRAWN,
    FARTHEST,
    find_neighbours,
    represent_classes,
    turn_points,
)
from tclose.methods.scaling import Scaled

KINDS = {CENTRE: "centre", FARTHEST: "farthest", DRAWN: "drawn"}


class TestPoints:
    @repeatable
    @given(classed_records(n_classes=st.integers(1, 6)), st.sampled_from(sorted(KINDS)), seeds)
    def test_stand_for_their_classes(self, records: ClassedRecords, kind: int, seed: int) -> None:
        values, levels, weights = records.arrays()[:3]
        order, starts = group_by_label(records.labels, records.n_classes)
        draws = np.random.default_rng(seed).random(records.n_classes)
        centres, modes = represent_classes(
            values, levels, weights, records.n_levels, order, starts, kind, draws
        )
        for c, rows in enumerate(records.classes):
            centre, mode = naive_refine.represent_class(
                values, levels, rows, KINDS[kind], draws[c], weights
            )
            assert centres[c].tolist() == centre
            assert modes[c].tolist() == mode

    @repeatable
    @given(quasi_identifiers(9), seeds)
    def test_turned(self, quasi: tuple[np.ndarray, np.ndarray, int], seed: int) -> None:
        numeric, nominal, n_levels = quasi
        rng = np.random.default_rng(seed)
        n_axes = len(numeric) + len(nominal)
        level_values = rng.random((len(nominal), n_levels))
        directions = rng.normal(size=(n_axes, n_axes))
        of_levels = [row[codes] for row, codes in zip(level_values, nominal, strict=True)]
        turned = turn_points(
            np.ascontiguousarray(numeric.T),
            np.ascontiguousarray(nominal.T),
            level_values,
            directions,
        )
        expected = directions @ np.array([*numeric, *of_levels])
        np.testing.assert_allclose(turned, expected, rtol=0, atol=1e-12)


class TestNeighbours:
    @repeatable
    @given(st.integers(1, 24).flatmap(weighted_columns), st.integers(1, 30))
    def test_are_the_nearest_others(self, columns: Scaled, n_wanted: int) -> None:
        centres = np.ascontiguousarray(columns.numeric.T)
        modes = np.ascontiguousarray(columns.nominal.T)
        nearest = find_neighbours(centres, modes, columns.weights, n_wanted)
        assert nearest.dtype == np.int32
        assert nearest.shape == (len(centres), min(n_wanted, len(centres) - 1))
        assert nearest.tolist() == naive_refine.find_neighbours(
            centres, modes, n_wanted, columns.weights
        )

    @pytest.mark.parametrize("n_wanted", [1, 3])
    def test_of_equal_ones_the_first(self, n_wanted: int) -> None:
        nearest = find_neighbours(
            np.zeros((5, 1)), np.zeros((5, 0), np.int32), np.empty(0), n_wanted
        )
        assert nearest[0].tolist() == [1, 2, 3][:n_wanted]
        assert nearest[4].tolist() == [0, 1, 2][:n_wanted]
