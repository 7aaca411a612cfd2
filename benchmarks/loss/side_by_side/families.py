"""Families of tables that searches are easily tuned past, each of any size and seed.

Natural classes, heavy tails and outliers, rare categories, ties, dependence; many columns are in
`tables`.
"""

from collections.abc import Callable
from datetime import date
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.microdata.sources import Source

Rng = np.random.Generator

FIRST_DAY, OUTLYING_DAY = ((date(year, 1, 1) - date(1970, 1, 1)).days for year in (2015, 5009))


def natural_classes(n_rows: int, seed: int) -> pa.Table:
    """Up to a hundred combinations of many records each; one record in ninety has a rare one."""
    rng = _rng("natural", seed)
    n_rare = n_rows // 90
    n_common = n_rows - n_rare
    combinations = np.stack([10 * rng.integers(1, 9, 100), rng.integers(0, 12, 100)])
    common = combinations[:, rng.integers(0, 100, n_common)]
    rare = np.stack([rng.integers(10, 95, n_rare), rng.integers(0, 15, n_rare)])
    age, ward = np.concatenate([common, rare], axis=1)[:, rng.permutation(n_rows)]
    pay = np.round(rng.lognormal(10, 0.6, n_rows), -2)
    return pa.table({"age": age, "ward": _name("ward", ward), "pay": pay})


def heavy_tails(n_rows: int, seed: int) -> pa.Table:
    """Numbers of which few records have most, and a date that is three thousand years late."""
    rng = _rng("tails", seed)
    age = rng.integers(18, 90, n_rows)
    wealth = np.round(1_000 * (rng.pareto(1.1, n_rows) + 1))
    turnover = np.round(np.exp(2.0 * rng.standard_normal(n_rows) + 8 + age / 60))
    joined = FIRST_DAY + rng.integers(0, 3_650, n_rows)
    joined[rng.integers(n_rows)] = OUTLYING_DAY
    debt = np.round(np.sqrt(wealth) * rng.lognormal(3, 1.0, n_rows))
    numbers = {"age": age, "wealth": wealth, "turnover": turnover}
    joined_on = pa.array(joined.astype(np.int32)).cast(pa.date32())
    region = _name("r", _ranks(rng, 12, 0.8, n_rows))
    return pa.table(numbers | {"joined": joined_on, "region": region, "debt": debt})


def rare_categories(n_rows: int, seed: int) -> pa.Table:
    """Categories of which the rarest have some records each, that depend on one another."""
    rng = _rng("rare", seed)
    trade = _ranks(rng, 40, 0.85, n_rows)
    origin = np.where(rng.random(n_rows) < 0.3, trade, _ranks(rng, 40, 0.8, n_rows))
    faith = _ranks(rng, 9, 0.45, n_rows)
    columns = {"trade": _name("t", trade), "origin": _name("o", origin), "faith": _name("f", faith)}
    age = rng.integers(16, 85, n_rows)
    grade = np.minimum(rng.geometric(0.35, n_rows), 8)
    pay = np.round(rng.lognormal(9.5, 0.5, n_rows) * (1 + trade / 30))
    return pa.table(columns | {"age": age, "grade": grade, "pay": pay})


def ties(n_rows: int, seed: int) -> pa.Table:
    """Numbers of a few values each, and a confidential one that is nothing for most."""
    rng = _rng("ties", seed)
    trait = rng.standard_normal(n_rows)
    answers = {
        f"answer{i}": np.clip(np.round(3 + 0.8 * trait + rng.standard_normal(n_rows)), 1, 5)
        for i in range(1, 5)
    }
    age = 5 * rng.integers(4, 18, n_rows)
    aid = np.where(rng.random(n_rows) < 0.6, 0, 50 * rng.geometric(0.15, n_rows))
    columns = answers | {"age": age, "sex": _name("s", rng.integers(0, 2, n_rows))}
    return pa.table(columns | {"aid": np.where(trait > 1, aid + 100, aid)})


def dependence(n_rows: int, seed: int) -> pa.Table:
    """A confidential number that follows a quasi-identifier: the old have four times as much."""
    rng = _rng("dependence", seed)
    age = np.clip(np.rint(45 + 20 * rng.standard_normal(n_rows)), 0, 99).astype(np.int64)
    region = _name("r", np.minimum(rng.geometric(0.25, n_rows), 12))
    sex = _name("s", rng.integers(0, 2, n_rows))
    cost = np.round(np.exp(0.5 * rng.standard_normal(n_rows) + age / 40), 2)
    return pa.table({"sex": sex, "region": region, "age": age, "cost": cost})


# Of each family: its table, its nominal quasi-identifiers, and the confidential attribute.
FAMILIES: dict[str, tuple[Callable[[int, int], pa.Table], tuple[str, ...], str]] = {
    "natural classes": (natural_classes, ("ward",), "pay"),
    "heavy tails": (heavy_tails, ("region",), "debt"),
    "rare categories": (rare_categories, ("trade", "origin", "faith"), "pay"),
    "ties": (ties, ("sex",), "aid"),
    "dependence": (dependence, ("sex", "region"), "cost"),
}


def family(name: str, n_rows: int, seed: int) -> Source:
    """A table of one of `FAMILIES`."""
    generate, nominal, confidential = FAMILIES[name]
    columns = generate(2, seed).column_names
    quasi = tuple(column for column in columns if column != confidential)
    read = partial(generate, n_rows, seed)
    return Source(f"generated, {name}, seed {seed}", read, quasi, (confidential,), nominal)


def _rng(name: str, seed: int) -> Rng:
    entropy = [seed, *name.encode()]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def _ranks(rng: Rng, n_categories: int, ratio: float, n_rows: int) -> NDArray[np.int64]:
    """Categories by number, each next one the rarer by a ratio."""
    shares = ratio ** np.arange(n_categories)
    return rng.choice(n_categories, n_rows, p=shares / shares.sum())


def _name(name: str, numbers: NDArray[np.int64]) -> pa.Array:
    return pa.array([f"{name} {number}" for number in numbers.tolist()])
