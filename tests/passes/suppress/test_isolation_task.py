"""The search for isolated records in a tree: the same squares for any number of threads."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.data.keys import Encoding
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.passes.suppress.isolation_task import (
    POINTS,
    PointsInput,
    PointTree,
    measure_task,
    plant_tree,
)
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace


def plant(seed: int, n_points: int, n_near: int = 3) -> tuple[PointTree, pa.Table]:
    """A tree of numbers and categories with many ties, and the records that it is of."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 50, n_points) + (rng.random(n_points) < 0.05) * 300
    level = pa.array(rng.choice(list("abc"), n_points))
    numeric = Attribute("number", Role.QUASI_IDENTIFIER)
    nominal = Attribute("level", Role.QUASI_IDENTIFIER)
    encodings = (
        Encoding(Column(numeric, Kind.NUMERIC, pa.int64()), 0, 350),
        Encoding(Column(nominal, Kind.NOMINAL, pa.string()), categories=pa.array(list("abc"))),
    )
    positions = np.sort(rng.choice(10 * n_points, n_points, replace=False))
    sample = pa.table({"number": number, "level": level, "position": positions})
    return plant_tree(encodings, sample, n_near), sample


def naive_squares(sample: pa.Table, n_near: int) -> list[float]:
    """The definition, of each sampled record among the others."""
    rows = list(zip(sample["number"].to_pylist(), sample["level"].to_pylist(), strict=True))
    found = []
    for i, (number, level) in enumerate(rows):
        squares = sorted(
            (number / 350 - other / 350) ** 2 + (level != of)
            for j, (other, of) in enumerate(rows)
            if j != i
        )
        found.append(squares[n_near - 1])
    return found


@repeatable
@given(st.integers(0, 2**32 - 1), st.integers(4, 90), st.integers(1, 5))
def test_squares_are_those_of_the_definition(seed: int, n_points: int, n_threads: int) -> None:
    tree, sample = plant(seed, n_points)
    positions = sample["position"].to_numpy()
    expected = naive_squares(sample, tree.n_near)
    measured = tree.measure(sample, positions, -1.0, n_threads)
    assert measured.tolist() == expected
    own = dict(
        zip(
            tree.positions.tolist(),
            tree.measure_own(slice(0, n_points), n_threads).tolist(),
            strict=True,
        )
    )
    assert [own[position] for position in positions.tolist()] == expected


@pytest.mark.parametrize("n_threads", [2, 3, 16])
def test_threads_change_no_square(n_threads: int) -> None:
    tree, sample = plant(4, 3_000)
    others = sample["position"].to_numpy() + 1
    for enough in (-1.0, 1e-4):
        alone = tree.measure(sample, others, enough, 1)
        assert tree.measure(sample, others, enough, n_threads).tobytes() == alone.tobytes()


def test_tasks_of_points_are_together_all_points(tmp_path: Path) -> None:
    tree, sample = plant(8, 500)
    workspace = Workspace(tmp_path / "work")
    workspace.create()
    workspace.save(POINTS, tree)
    cuts = list(pairwise([0, 7, 200, 500]))
    pending = PendingFiles(workspace.task_files("measure", 0), (), "", [])
    parts = [measure_task(workspace, PointsInput(a, b, 2), pending) for a, b in cuts]
    found = {
        p: s for part in parts for p, s in zip(part.positions, part.squares.tolist(), strict=True)
    }
    positions = sample["position"].to_numpy()
    assert [found[p] for p in positions] == tree.measure(sample, positions, -1.0, 1).tolist()
