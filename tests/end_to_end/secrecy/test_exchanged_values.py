"""What goes with a release says nothing of whose values are whose, where its rows do not.

Two records of a class exchange their confidential values. Where the release has the same rows all
the same, its manifest, report, dictionary and package have to be the same: whoever has them could
otherwise tell one table from the other.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from support.cases.people import Released, policy_for, release, write_parquet

pytestmark = pytest.mark.usefixtures("small_regions")

N, TRIED = 40, 16
DOCUMENTS = "manifest.json", "dictionary.md", "datapackage.json", "report.html"


def make(role: str, folder: Path, table: pa.Table) -> Released:
    folder.mkdir()
    attributes = {"who": role, "age": "quasi-identifier", "zip": "quasi-identifier"}
    attributes["pay"] = "confidential"
    source = write_parquet(folder / "in.parquet", table)
    privacy = {"k": 4, "t": 0.25}
    how = {"privacy": privacy, "method": {"refine": "fast"}}
    return release(policy_for(source, attributes=attributes, **how))


def make_medians(folder: Path, table: pa.Table) -> Released:
    folder.mkdir()
    median = {"role": "quasi-identifier", "aggregate": "median"}
    attributes = {"age": median, "zip": median, "pay": "confidential"}
    source = write_parquet(folder / "in.parquet", table)
    how = {"privacy": {"k": 3, "t": 0.3}, "method": {"refine": "off"}}
    return release(policy_for(source, attributes=attributes, **how))


def read_documents(made: Released) -> dict[str, str]:
    """What goes with the data, without the release's id and time, and digests of what has them."""
    hidden = re.compile(
        rf"{made.manifest['release_id']}|{made.manifest['published_at'][:19]}[-0-9:.+]*"
        r'|[0-9a-f]{64}|"bytes": ?\d+'
    )
    return {name: hidden.sub("-", (made.folder / name).read_text()) for name in DOCUMENTS}


def exchange(values: np.ndarray, one: int, other: int) -> np.ndarray:
    exchanged = values.copy()
    exchanged[[one, other]] = values[[other, one]]
    return exchanged


@pytest.mark.parametrize(("role", "records_of_one"), [("identifier", 1), ("person", 2)])
def test_documents_are_those_of_the_rows(role: str, records_of_one: int, tmp_path: Path) -> None:
    """Rounds of the search, and distances over persons, told the tables apart."""
    rng = np.random.default_rng(1)
    age, places = rng.integers(20, 90, N), rng.integers(1_000, 9_999, N)
    pay, who = rng.permutation(N) * 7, np.arange(N)
    who[:records_of_one] = 0
    table: Any = {"who": who, "age": age, "zip": places, "pay": pay}
    exchanges = list(exchange_pairs(table, partial(make, role), tmp_path))
    assert len(exchanges) >= 2


def test_documents_of_clusters_that_are_released_alike(tmp_path: Path) -> None:
    """Their number told the tables apart: rows of one kind can be of one cluster or of two."""
    rng = np.random.default_rng(5)
    age, places = rng.integers(30, 35, N), rng.integers(0, 4, N)
    table: Any = {"age": age, "zip": places, "pay": rng.permutation(N)}
    exchanges = exchange_pairs(table, make_medians, tmp_path)
    assert len({made.internal["clusters"] for made in exchanges}) > 1


def exchange_pairs(
    table: dict[str, Any], make: Callable[[Path, pa.Table], Released], place: Path
) -> Iterator[Released]:
    """Releases that have the same rows though two values are exchanged: so are their documents."""
    first, pay = make(place / "first", pa.table(table)), table["pay"]
    expected = read_documents(first)
    assert all(text.count("-") for text in expected.values())
    for number, (one, other) in enumerate(islice(find_pairs(first, pay), TRIED)):
        exchanged = pa.table(table | {"pay": exchange(pay, one, other)})
        made = make(place / str(number), exchanged)
        if made.data == first.data:
            assert read_documents(made) == expected
            yield made


def find_pairs(made: Released, pay: np.ndarray) -> Any:
    """Records that are in one class, the first ones before others."""
    classes = made.table.group_by(["age", "zip"]).aggregate([("pay", "list")])["pay_list"]
    of_record = {value: i for i, values in enumerate(classes.to_pylist()) for value in values}
    labels = [of_record[value] for value in pay.tolist()]
    assert pc.sum(made.table["pay"]).as_py() == pay.sum()
    pairs = combinations(range(N), 2)
    return (pair for pair in pairs if labels[pair[0]] == labels[pair[1]])
