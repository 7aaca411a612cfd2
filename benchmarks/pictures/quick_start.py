"""The quick start of the README: its records, its release, and a typical class of it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import tclose
from tclose.cli.main import main
from tclose.policy.yaml_values import quote_yaml

ROOT = Path(__file__).parents[2]
QUASI = ["age", "sex", "zip"]
N_RECORDS, SEED = 2_000, 7  # as in the README


@dataclass(frozen=True, eq=False)
class QuickStart:
    """What the quick start leaves in a folder.

    Attributes
    ----------
    policy : path of the README's policy
    originals, released : a row for each record
    manifest : ``manifest.json`` of the release
    """

    policy: Path
    originals: pd.DataFrame
    released: pd.DataFrame
    manifest: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ReleasedClass:
    """A class: its records as they were, sorted by charge, and as they are released."""

    before: pd.DataFrame
    after: pd.DataFrame


def make_quick_start(folder: Path) -> QuickStart:
    """Generate the records, and release them by the README's policy."""
    data = folder / "discharges"
    rows = ["--rows", str(N_RECORDS), "--seed", str(SEED)]
    main(["generate", *rows, "--out", str(data), "--quiet"])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```yaml\n(# discharges\.yaml\n.*?)```", readme, re.DOTALL)
    policy = folder / "discharges.yaml"
    policy.write_text(block.replace("path: discharges", f"path: {data}"), encoding="utf-8")
    release = tclose.release(None, load(policy, folder))
    released = release.to_pandas()
    manifest: dict[str, Any] = release.manifest.to_json()
    return QuickStart(policy, pq.read_table(data).to_pandas(), released, manifest)


def load(policy: Path, folder: Path, *overrides: str) -> tclose.Policy:
    """The policy with other values, and with releases below the folder."""
    output = quote_yaml(str(folder / "releases"))
    return tclose.load_policy(policy, [f"output.path={output}", *overrides])


def find_typical_class(made: QuickStart) -> ReleasedClass:
    """The class of k records that loses the median; its records are known by their charges."""
    k = made.manifest["privacy"]["k"]["asked"]
    alone = made.originals[~made.originals.duplicated("charge", keep=False)]
    numbers = made.originals[["age", "zip"]].to_numpy(dtype=float)
    ranges = np.ptp(numbers, axis=0)
    found = []
    for _, after in made.released.groupby(QUASI):
        before = alone[alone["charge"].isin(after["charge"])].sort_values("charge")
        if len(before) == len(after) == k:
            placed = after.sort_values("charge")
            first, second = (one[["age", "zip"]].to_numpy(dtype=float) for one in (before, placed))
            differs = before["sex"].to_numpy() != placed["sex"].to_numpy()
            loss = float((((first - second) / ranges) ** 2).sum() + differs.sum())
            found.append((loss, int(placed["age"].iloc[0]), ReleasedClass(before, placed)))
    found.sort(key=lambda one: one[:2])
    return found[len(found) // 2][2]


def cumulate(values: pd.Series, of: pd.Series) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Share of ``values`` up to each distinct value of ``of``: n distinct values, float64."""
    places = np.sort(of.unique())
    return np.searchsorted(np.sort(values.to_numpy()), places, side="right") / len(values)


def measure_emd(values: pd.Series, of: pd.Series) -> float:
    """Ordered distance of a class to the table (Li et al. 2007, section 5.1)."""
    far = np.abs(cumulate(values, of) - cumulate(of, of))
    return float(far.sum() / (len(far) - 1))
