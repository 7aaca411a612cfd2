"""What an audit measures of random tables is what a solver of transports finds in their files."""

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases.people import publish
from support.checks.released import as_tree
from support.length import count
from support.naive import naive_taxonomy
from support.tables.random_tables import repeatable, seeds
from tclose.assess.auditing.audit import audit_release

pytestmark = pytest.mark.usefixtures("small_regions")

ILLS = {
    "any": {"lungs": {"acute": ["cold", "flu"], "long": ["asthma"]}, "other": ["ulcer", "gout"]}
}
LEAVES = ["cold", "flu", "asthma", "ulcer", "gout"]
CONFIDENTIAL = {
    "pay": {"role": "confidential"},
    "ill": {"role": "confidential", "taxonomy": ILLS},
    "job": {"role": "confidential", "distance": "equal"},
}


def draw_table(seed: int, n_records: int) -> pa.Table:
    """Few values, some of them in one record alone."""
    rng = np.random.default_rng(seed)

    def skewed(n_values: int) -> np.ndarray:
        return rng.choice(n_values, n_records, p=rng.dirichlet(np.full(n_values, 0.4)))

    return pa.table(
        {
            "age": rng.integers(0, 6, n_records),
            "size": rng.integers(0, 40, n_records) / 10,
            "pay": np.array([-3, 0, 1, 50, 51, 10**6])[skewed(6)],
            "ill": np.array(LEAVES)[skewed(5)],
            "job": np.array(["a", "b", "c", "d"])[skewed(4)],
        }
    )


def ground(name: str, values: list[Any]) -> Any:
    """How far two values of the table are from each other (Li et al. 2007, section 5)."""
    if name == "job":
        return lambda a, b: Fraction(a != b)
    if name == "ill":
        tree = as_tree(ILLS)
        return lambda a, b: naive_taxonomy.distance(tree, a, b)
    place = {value: rank for rank, value in enumerate(sorted(set(values)))}
    span = max(len(place) - 1, 1)
    return lambda a, b: Fraction(abs(place[a] - place[b]), span)


@pytest.mark.parametrize("name", ["mdav", "mondrian", "t-closeness-first"])
def test_audit_measures_the_least_work_of_any_transport(name: str) -> None:
    @settings(repeatable, max_examples=count(3, 50))
    @given(seed=seeds, n_records=st.integers(6, 40))
    def one_table(seed: int, n_records: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            pq.write_table(draw_table(seed, n_records), place / "in.parquet")
            quasi = {"age": "quasi-identifier", "size": "quasi-identifier"}
            document = {
                "name": "drawn",
                "input": {"path": str(place / "in.parquet")},
                "attributes": quasi | CONFIDENTIAL,
                "privacy": {"k": 3, "t": 1},
                "method": {"name": name},
                "output": {"path": str(place / "out")},
            }
            made = publish(document)
            audit = audit_release(made.release)
            rows = pd.read_parquet(made.release / "data")
        assert audit.findings == []
        classes = [members for _, members in rows.groupby(list(quasi))]
        assert audit.privacy.k.achieved == min(map(len, classes))
        for column in CONFIDENTIAL:
            values = rows[column].tolist()
            far = ground(column, values)
            works = [naive_taxonomy.transport(m[column].tolist(), values, far) for m in classes]
            measured = audit.privacy.t[column].largest_emd
            assert measured == pytest.approx(max(works), abs=1e-7)

    one_table()
