"""Noise in an audit: what the manifest says was drawn, beside the rows that hold it.

What was drawn cannot be told from the rows. What can be: that every value is one that the noise
gives, and the t that epsilon gives classes of these sizes (papers/001, Proposition 1).
"""

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.model import ClassSizes
from pipeline.stages.keys import to_keys
from pipeline.stages.methods.dp_confidential import Grid
from pipeline.storage.accounts import find_differences
from pipeline.storage.manifest import state_closeness
from pipeline.storage.places import Place

Noises = dict[str, dict[str, Any]]


def measure_noise(manifest: dict[str, Any], n_records: int, sizes: ClassSizes) -> Noises:
    """What the manifest says of each column with noise, with the t that the classes give it.

    Raises
    ------
    ValueError, KeyError, TypeError, PolicyError
        It says it of other columns than those with noise, or names no epsilon.
    """
    said: Noises = manifest.get("noise", {})
    if set(said) != {c["name"] for c in manifest["columns"] if c.get("noised")}:
        raise ValueError
    return {
        name: given
        | {"stochastic_t": state_closeness(Fraction(str(given["epsilon"])), n_records, sizes)}
        for name, given in said.items()
    }


def check_noise(manifest: dict[str, Any], measured: Noises, paths: list[Place]) -> list[str]:
    """Where the manifest says something else than the rows do.

    Raises
    ------
    ValueError, KeyError, TypeError, PolicyError
        What it says is no noise.
    """
    places = find_differences(manifest.get("noise", {}), measured, "noise")
    findings = [f"manifest.json: {place} differs from what the rows say" for place in places]
    for name, given in measured.items():
        asked, found = given.get("asked_t", inf), given["stochastic_t"]
        if not found <= asked:
            what = f"stochastic t of {name}"
            findings.append(f"{what}: asked at most {asked:g}, found {found:.6f}")
        n_others = sum(_count_others(_read_column(path, name), given) for path in paths)
        if n_others:
            findings.append(f"noise on {name}: {n_others:,} rows have values that it does not give")
    return findings


def _read_column(path: Place, name: str) -> pa.Array:
    with path.open("rb") as stream:
        return pq.ParquetFile(stream).read([name])[name].combine_chunks()


def _count_others(values: pa.Array, given: Mapping[str, Any]) -> int:
    """Rows whose value is not on the grid, or not in the list, that the noise was drawn on."""
    if given["low"] is None:
        listed = pa.array([str(value) for value in given["values"]], pa.string())
        return int(pc.sum(pc.invert(pc.is_in(values.cast(pa.string()), listed))).as_py() or 0)
    grid = Grid(*(Fraction(str(given[key])) for key in ("low", "high", "step")))
    keys = to_keys(values, "noise")
    return int(np.count_nonzero(grid.to_values(grid.to_steps(keys)) != keys))
