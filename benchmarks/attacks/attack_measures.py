"""The gain of the attack on small tables of Adult: by record, by table, and over all tables."""

import tempfile
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.attacks.adult_subtables import Method, draw_subtable, read_adult, write_document
from benchmarks.attacks.minimality import Inference, SearchBudget, infer, ordered_distances
from benchmarks.attacks.subtables import Subtable, prepare
from tclose.errors import InfeasibleError
from tclose.model.array_types import Int64

ROUNDING = 1e-9  # beliefs are floats


@dataclass(frozen=True)
class Setting:
    """Tables of so many records, k and t, and what the intruder knows of other records.

    ``n_targets``: records of each table whose class is attacked by an intruder who knows the values
    of all records outside of it; None: one who knows no value attacks all classes together.
    """

    n_records: int
    k: int
    t: float
    n_targets: int | None
    n_tables: int
    effort: SearchBudget


@dataclass(frozen=True)
class Figures:
    """Of a table, means over records; ``largest_gain`` is of the one record that loses most.

    ``acceptance``: share of the arrangements tried that give the release; ``before``, ``after``:
    probability of a right guess, by the class alone and with the algorithm; ``certain``: records
    whose value is then known, and by the class is not; ``beyond``: those whose belief is farther
    from the table than t; ``unresolved``: those in classes where too little was kept to tell.
    """

    class_size: float
    acceptance: float
    before: float
    after: float
    largest_gain: float
    certain: float
    beyond: float
    unresolved: float


def attack_unit(unit: tuple[Method, Setting, int, int]) -> Figures | None:
    """Attack the table of a method, setting, seed and number; none where the method refuses it."""
    method, setting, seed, number = unit
    try:
        return attack_table(_read_adult(), method, setting, seed, number)
    except InfeasibleError:
        return None


@lru_cache(maxsize=1)
def _read_adult() -> pa.Table:
    return read_adult()


def attack_table(table: pa.Table, method: Method, setting: Setting, seed: int, n: int) -> Figures:
    """Release one small table by a method, and attack it."""
    records = draw_subtable(table, setting.n_records, seed, n)
    rng = np.random.default_rng([seed, n, 1])
    with tempfile.TemporaryDirectory(prefix="tclose-attack-") as folder:
        document = write_document(method, setting.k, setting.t)
        subtable = prepare(records, document, Path(folder) / "run")
    classes = subtable.classes()
    found = []
    for groups in _choose_groups(classes, setting, rng):
        inference = infer(subtable.release, subtable.values, groups, setting.effort, rng)
        found.append(measure(inference, subtable, setting.t))
    sizes = np.array([members.size for members in classes])
    size = float((sizes * sizes).sum() / sizes.sum())
    return _average(found, class_size=size)


def _choose_groups(
    classes: list[Int64], setting: Setting, rng: np.random.Generator
) -> list[list[Int64]]:
    """The classes of some records, each attacked alone; or all classes together."""
    if setting.n_targets is None:
        return [classes]
    sizes = np.array([members.size for members in classes])
    targets = rng.choice(sizes.size, setting.n_targets, p=sizes / sizes.sum())
    return [[classes[target]] for target in targets]


def measure(found: Inference, subtable: Subtable, t: float) -> Figures:
    """The gain over what the classes alone tell."""
    gains = (found.after - found.before).max(axis=1)
    before, after = found.before.max(axis=1), found.after.max(axis=1)
    is_certain = (after > 1 - ROUNDING) & (before < 1 - ROUNDING) & found.is_exact
    beyond = ordered_distances(found.after, subtable.counts) > t + ROUNDING
    return Figures(
        class_size=0.0,
        acceptance=found.acceptance,
        before=float(before.mean()),
        after=float(after.mean()),
        largest_gain=float(gains.max()),
        certain=float(is_certain.mean()),
        beyond=float(beyond.mean()),
        unresolved=float(not found.is_resolved),
    )


def _average(found: list[Figures], class_size: float) -> Figures:
    means = {
        f.name: float(np.mean([getattr(one, f.name) for one in found])) for f in fields(Figures)
    }
    largest = max(one.largest_gain for one in found)
    return Figures(**means | {"class_size": class_size, "largest_gain": largest})


@dataclass(frozen=True)
class Estimate:
    """A mean over tables, and twice its standard error."""

    mean: float
    error: float


def estimate(tables: list[Figures], name: str) -> Estimate:
    """One of the figures over tables that were drawn independently."""
    values = np.array([getattr(one, name) for one in tables])
    error = 2 * values.std(ddof=1) / values.size**0.5 if values.size > 1 else float("nan")
    return Estimate(float(values.mean()), float(error))
