"""The tasks that find isolated records: a sample of each partition, then who is far from it."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.files.column_names import free_name
from tclose.data.files.input_partitions import read_partition
from tclose.data.keys import Encoding
from tclose.data.value_counts import (
    TableSummary,
    complete_records,
    sampled_rows,
    summarise_table,
)
from tclose.kernels.isolation import bound_nodes, measure_isolation, order_points
from tclose.methods.scaling import Scaled, scale_columns
from tclose.model.array_types import Float64, Int64
from tclose.model.input_pieces import Partition
from tclose.passes.summarise.records import Source, kept_positions
from tclose.runtime.artifacts.arrays import TableFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.engines.thread_parts import map_parts
from tclose.runtime.tasks import Task

NEAR_SAMPLE = FileArtifact("near/sample", TableFile)  # quasi-identifiers, then the position


@dataclass(frozen=True)
class NearInput:
    """A partition, and the share of its complete records that are sampled."""

    partition: Partition
    source: Source
    share: float


def near_task(workspace: Workspace, item: NearInput, pending: PendingFiles) -> TableSummary:
    """Count a partition's columns, and keep a sample of its quasi-identifiers."""
    del workspace
    source = item.source
    names = [column.name for column in source.checked]
    table = read_partition(item.partition, source.reading.of(names))
    summary, records = summarise_table(table, source.columns, source.partition_columns)
    positions = kept_positions(table, source.checked, item.partition.first_position)
    rows = (
        np.arange(positions.size)
        if item.share >= 1
        else sampled_rows(positions, source.seed, item.share)
    )
    quasi = [column.name for column in source.quasi]
    sample = records.select(quasi).take(pa.array(rows))
    position = free_name("position", quasi)
    pending.new(NEAR_SAMPLE).write(sample.append_column(position, pa.array(positions[rows])))
    return summary


def sampled_positions(sample: pa.Table) -> Int64:
    """Positions of the sampled records in the whole input."""
    positions: Int64 = sample.column(sample.num_columns - 1).to_numpy()
    return positions


NEAR_TASK = Task("near", "sampling records", near_task, (NEAR_SAMPLE,), version=2)


@dataclass(frozen=True, eq=False)
class PointTree:
    """Sampled records by their quasi-identifiers, so that the nearest ones are found fast.

    ``values`` float64 (n, d), ``levels`` int32 (n, q), ``positions`` int64 (n,): in the tree's
    order; ``starts``, ``stops`` int64 (nodes,), ``lows``, ``highs`` float64 (nodes, d + q): the
    points of each node, and its box; ``n_near``: which neighbour's distance is measured.
    """

    encodings: tuple[Encoding, ...]
    values: Float64
    levels: NDArray[np.int32]
    positions: Int64
    weights: Float64
    starts: Int64
    stops: Int64
    lows: Float64
    highs: Float64
    n_near: int

    def measure(
        self, records: pa.Table, positions: Int64, enough: float, n_threads: int
    ) -> Float64:
        """Squared distance of each record to its neighbour, not the record itself: float64 (n,).

        Parameters
        ----------
        positions : int64 (n,): of the records in the table
        enough : squares that are not above it need not be exact
        n_threads : that search side by side; no square depends on how many
        """
        scaled = _scale(self.encodings, records)
        values = np.ascontiguousarray(scaled.numeric.T)
        levels = np.ascontiguousarray(scaled.nominal.T)
        return self._search(values, levels, positions, enough, n_threads)

    def measure_own(self, points: slice, n_threads: int) -> Float64:
        """Squared distance of some of the sampled records, in the tree's order, exactly."""
        values, levels = self.values[points].copy(), self.levels[points].copy()
        return self._search(values, levels, self.positions[points].copy(), -1.0, n_threads)

    def _search(
        self,
        values: Float64,
        levels: NDArray[np.int32],
        positions: Int64,
        enough: float,
        n_threads: int,
    ) -> Float64:
        def search(part: slice) -> Float64:
            squares: Float64 = measure_isolation(
                self.values, self.levels, self.positions, self.starts, self.stops, self.lows,
                self.highs, self.weights, values[part], levels[part], positions[part],
                self.n_near, enough,
            )  # fmt: skip
            return squares

        return np.concatenate(map_parts(search, positions.size, n_threads))


def plant_tree(encodings: tuple[Encoding, ...], sample: pa.Table, n_near: int) -> PointTree:
    """The tree of a sample."""
    scaled = _scale(encodings, sample)
    order, starts, stops = order_points(
        scaled.numeric, scaled.nominal, scaled.weights, scaled.heights, scaled.n_levels
    )
    values = np.ascontiguousarray(scaled.numeric.T[order])
    levels = np.ascontiguousarray(scaled.nominal.T[order])
    positions = sampled_positions(sample)[order]
    lows, highs = bound_nodes(values, levels, starts, stops)
    return PointTree(
        encodings, values, levels, positions, scaled.weights, starts, stops, lows, highs, n_near
    )


def _scale(encodings: tuple[Encoding, ...], records: pa.Table) -> Scaled:
    keys = [e.encode(records[e.column.name].combine_chunks()) for e in encodings]
    return scale_columns(list(encodings), keys)


POINTS = Artifact("point-tree", PointTree)


@dataclass(frozen=True)
class Search:
    """A search in partitions: records that are farther than ``least`` (a square) are candidates.

    ``most``: candidates that are wanted, the farthest; ``n_threads``: of each task.
    """

    least: float
    most: int
    n_threads: int


@dataclass(frozen=True, eq=False)
class IsolatedRecords:
    """Candidates of a partition: positions int64 (m,) and squared distances float64 (m,)."""

    positions: Int64
    squares: Float64

    def take_farthest(self, most: int) -> "IsolatedRecords":
        """The farthest; of equally far ones those that come first."""
        order = np.lexsort((self.positions, -self.squares))[:most]
        return IsolatedRecords(self.positions[order], self.squares[order])


@dataclass(frozen=True)
class PointsInput:
    """Some of the sampled records, in the tree's order, and how many threads search for them."""

    start: int
    stop: int
    n_threads: int


def measure_task(workspace: Workspace, item: PointsInput, _: PendingFiles) -> IsolatedRecords:
    """Measure how far sampled records are from their neighbour."""
    tree, points = workspace.load_shared(POINTS), slice(item.start, item.stop)
    return IsolatedRecords(tree.positions[points], tree.measure_own(points, item.n_threads))


MEASURE_TASK = Task("measure", "measuring isolation", measure_task)


def isolate_task(
    workspace: Workspace, item: tuple[Partition, Source, Search], _: PendingFiles
) -> IsolatedRecords:
    """Find the complete records of a partition that are far from their neighbour."""
    partition, source, search = item
    tree = workspace.load_shared(POINTS)
    names = [column.name for column in source.checked]
    table = read_partition(partition, source.reading.of(names))
    positions = kept_positions(table, source.checked, partition.first_position)
    mask = complete_records(table, source.checked)
    records = table if mask is None else table.filter(mask)
    squares = tree.measure(records, positions, search.least, search.n_threads)
    far = np.flatnonzero(squares > search.least)
    return IsolatedRecords(positions[far], squares[far]).take_farthest(search.most)


ISOLATE_TASK = Task("isolate", "finding isolated records", isolate_task)
