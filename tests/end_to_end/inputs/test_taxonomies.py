"""Quasi-identifiers with a taxonomy on the whole path: what is released, lost, told and refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import data_digests, shared_file
from support.cases.people import folder_of, publish
from tclose.assess.auditing.audit import audit_release
from tclose.data.taxonomy import Taxonomy, build_from_mapping
from tclose.errors import DataError
from tclose.policy.policy import load_policy
from tclose.policy.taxonomy_files import read_taxonomy
from tclose.runtime.run import Outcome

pytestmark = pytest.mark.usefixtures("small_regions")

CONFIG = Path(__file__).parents[3] / "config"
FRUIT = {
    "any": {
        "fruit": {"pome": ["apple", "pear"], "stone fruit": ["cherry", "plum", "sloe"]},
        "root": ["beet", "carrot"],
    }
}
VALUES = ["apple", "beet", "carrot", "cherry", "pear", "plum", "sloe"]
TAXONOMY = build_from_mapping(FRUIT)
HEIGHT = TAXONOMY.height
N_RECORDS = 600
# So many that classes cannot have one value each.
MANY = {"any": {f"kind {n}": [f"{n}{letter}" for letter in "abcdef"] for n in range(10)}}
OF_MANY = build_from_mapping(MANY)
LEAVES = [value for values in MANY["any"].values() for value in values]


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    """Records whose values are no one's neighbours by age."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("input") / "people.parquet"
    food = rng.choice(VALUES, N_RECORDS, p=[0.3, 0.2, 0.05, 0.2, 0.1, 0.1, 0.05])
    columns = {
        "age": rng.integers(20, 80, N_RECORDS),
        "food": food,
        "original": food,
        "number": np.array([VALUES.index(name) for name in food]),
        "pay": rng.integers(0, 200, N_RECORDS),
    }
    pq.write_table(pa.table(columns), path, row_group_size=250)
    return path


def write_many_values(path: Path) -> Path:
    """Records of every value, at all ages."""
    rng = np.random.default_rng(5)
    food = rng.choice(LEAVES, N_RECORDS)
    columns = {
        "age": rng.integers(20, 80, N_RECORDS),
        "food": food,
        "original": food,
        "pay": rng.integers(0, 200, N_RECORDS),
    }
    pq.write_table(pa.table(columns), path)
    return path


def document(table: Path, place: Path, food: Any, **keys: Any) -> dict[str, Any]:
    return {
        "name": "people",
        "input": {"path": str(table)},
        "unlisted": "drop",
        "attributes": {
            "age": "quasi-identifier",
            "food": food,
            "original": "non-confidential",
            "pay": "confidential",
        },
        "privacy": {"k": 4, "t": 0.2},
        "output": {"path": str(place)},
    } | keys


def with_taxonomy(aggregate: str | None = None, taxonomy: Any = FRUIT) -> dict[str, Any]:
    given = {"role": "quasi-identifier", "taxonomy": taxonomy}
    return given if aggregate is None else given | {"aggregate": aggregate}


def release(table: Path, place: Path, food: Any, **keys: Any) -> tuple[Outcome, pd.DataFrame]:
    """A release that the audit finds nothing in."""
    outcome = publish(document(table, place, food, **keys))
    assert audit_release(outcome.release).findings == []
    return outcome, pd.read_parquet(outcome.release / "data")


def entry_of(outcome: Outcome, name: str) -> dict[str, Any]:
    return next(c for c in outcome.manifest.to_json()["columns"] if c["name"] == name)


METHODS = [
    {"refine": "off"},
    {"refine": "fast", "losses": "absolute"},  # in shares each class finds food of one kind
    {"name": "mdav"},
    {"name": "v-mdav"},
    {"name": "microaggregate-and-merge"},
    {"name": "k-anonymity-first"},
]


class TestAncestors:
    @pytest.mark.parametrize("method", METHODS, ids=lambda method: "-".join(method.values()))
    def test_classes_are_released_as_nodes(self, method, table, tmp_path):
        k = 40  # more than the rarest foods have: no search can keep all of them apart
        t = {"t": 1.0} if method.get("name") in ("mdav", "v-mdav") else {"t": 0.2}
        outcome, frame = release(
            table, tmp_path, with_taxonomy("ancestor"), method=method, privacy={"k": k} | t
        )
        released = set(frame["food"])
        assert released <= {*VALUES, "any", "fruit", "pome", "stone fruit", "root"}
        assert released - set(VALUES)
        assert frame.groupby(["age", "food"]).size().min() >= k
        entry = entry_of(outcome, "food")
        assert entry["treatment"] == "lowest common ancestor of its class"
        assert entry["type"] == "string"
        assert ["apple", "pome", "fruit", "any"] in entry["taxonomy"]

    @pytest.mark.parametrize("refine", ["off", "fast"])
    def test_are_above_the_values_and_lose_their_height(self, refine, table, tmp_path):
        outcome, frame = release(
            table, tmp_path, with_taxonomy("ancestor"), method={"refine": refine}
        )
        above = {row[0]: row for row in TAXONOMY.rows}
        pairs = list(zip(frame["food"], frame["original"], strict=True))
        assert all(name in above[value] for name, value in pairs)
        heights = dict(zip(TAXONOMY.names, TAXONOMY.heights.tolist(), strict=True))
        mean = np.mean([heights[name] / HEIGHT for name, _ in pairs])
        stated = outcome.manifest.information_loss.per_attribute["food"]
        assert stated == pytest.approx(mean, rel=5e-3)
        assert "hierarchical distance" in entry_of(outcome, "food")["loss"]

    def test_are_the_lowest(self, table, tmp_path):
        _, frame = release(table, tmp_path, with_taxonomy("ancestor"))
        above = {row[0]: set(row) for row in TAXONOMY.rows}
        heights = dict(zip(TAXONOMY.names, TAXONOMY.heights.tolist(), strict=True))
        for (_, name), rows in frame.groupby(["age", "food"]):
            common = set.intersection(*(above[value] for value in rows["original"]))
            assert name == min(common, key=heights.__getitem__)

    def test_tell_partitions_too(self, table, tmp_path):
        outcome, frame = release(
            table, tmp_path, with_taxonomy("ancestor"),
            output={"path": str(tmp_path), "partition_by": ["food"]}, method={"refine": "off"},
            privacy={"k": 40, "t": 0.2},  # more than the rarest foods have
        )  # fmt: skip
        folders = {path.name for path in (outcome.release / "data").iterdir()}
        assert folders == {f"food={name}" for name in frame["food"].unique()}
        assert {"food=any", "food=apple"} <= folders

    def test_of_numbers(self, table, tmp_path):
        """Codes are named in the taxonomy as texts, and released as texts."""
        rows = [[str(VALUES.index(row[0])), *row[1:]] for row in TAXONOMY.rows]
        number = {"role": "quasi-identifier", "type": "nominal", "taxonomy": rows}
        attributes = {"age": "quasi-identifier", "pay": "confidential"}
        released = {}
        for aggregate in ("mode", "ancestor"):
            place = tmp_path / aggregate
            given = attributes | {"number": number | {"aggregate": aggregate}}
            # A search ends with classes of one value each.
            _, frame = release(table, place, {}, attributes=given, method={"refine": "off"})
            released[aggregate] = frame["number"]
        assert released["mode"].dtype == np.int64
        assert set(released["ancestor"]) & {"pome", "stone fruit", "root"}
        assert set(released["ancestor"]) & {str(n) for n in range(len(VALUES))}


class TestModes:
    @pytest.mark.parametrize("refine", ["off", "fast"])
    def test_are_values(self, refine, table, tmp_path):
        outcome, frame = release(table, tmp_path, with_taxonomy("mode"), method={"refine": refine})
        assert set(frame["food"]) <= set(VALUES)
        assert entry_of(outcome, "food")["treatment"] == "mode of its class"
        assert entry_of(outcome, "food")["distance"] == "hierarchical"

    @pytest.mark.parametrize("refine", ["off", "fast"])
    @pytest.mark.parametrize("order", [1, -1])
    def test_of_a_tree_of_height_one_are_those_without(self, refine, order, table, tmp_path):
        """Byte by byte, whatever order the taxonomy lists the values in."""
        method = {"refine": refine}
        flat = with_taxonomy(taxonomy={"any": VALUES[::order]})
        first, _ = release(table, tmp_path / "flat", flat, method=method)
        other, _ = release(table, tmp_path / "plain", "quasi-identifier", method=method)
        assert data_digests(folder_of(first)) == data_digests(folder_of(other))
        losses = [o.manifest.information_loss for o in (first, other)]
        assert losses[0] == losses[1]

    @pytest.mark.parametrize("aggregate", ["mode", "ancestor"])
    @pytest.mark.parametrize("refine", ["off", "fast"])
    def test_are_nearer_than_where_all_values_are_equally_far(self, refine, aggregate, tmp_path):
        """Of the same values, by the distance of the taxonomy: classes hold near values.

        In shares of one class the age counts as much, and clusters would be of records of one age.
        """
        table = write_many_values(tmp_path / "in.parquet")
        given = {
            "method": {"refine": refine, "losses": "absolute"},
            "privacy": {"k": 12, "t": 0.2},
        }  # of a value there are 10
        outcome, near = release(table, tmp_path / "tree", with_taxonomy(aggregate, MANY), **given)
        _, far = release(table, tmp_path / "plain", "quasi-identifier", **given)
        if aggregate == "mode":
            stated = outcome.manifest.information_loss.per_attribute["food"]
            assert stated == pytest.approx(mean_distance(near, "food", OF_MANY), rel=5e-3)
            assert mean_distance(near, "food", OF_MANY) < 0.9 * mean_distance(far, "food", OF_MANY)
        else:
            assert mean_height(near, OF_MANY) < 0.9 * mean_height(far, OF_MANY)


class TestOthers:
    @pytest.mark.parametrize("name", ["mondrian", "incognito"])
    def test_methods_that_generalise_have_the_taxonomy_already(self, name, table, tmp_path):
        _, frame = release(table, tmp_path, with_taxonomy(), method={"name": name})
        assert len(frame) == N_RECORDS

    def test_sabre(self, table, tmp_path):
        _, frame = release(table, tmp_path, with_taxonomy(), method={"name": "sabre"})
        assert len(frame) == N_RECORDS

    @pytest.mark.parametrize("aggregate", [None, "ancestor"])
    def test_values_that_the_taxonomy_does_not_have_are_refused(self, aggregate, table, tmp_path):
        smaller = {"any": {"fruit": VALUES[3:], "root": ["beet"]}}
        with pytest.raises(DataError, match="column 'food': 2 of its values are not in its tax"):
            release(table, tmp_path, with_taxonomy(aggregate, smaller))


ADULT = {"age", "sex", "native-country", "occupation", "hours-per-week"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("refine", ["off", "fast"])
@pytest.mark.nightly
def test_adult(refine, tmp_path):
    """Every value of the data is in the taxonomies; countries leave as regions, work as values."""
    given = load_policy(CONFIG / "adult-taxonomies.yaml").model_dump(
        mode="json", exclude_unset=True
    )
    given["input"]["path"] = str(shared_file("adult.csv"))
    given |= {"output": {"path": str(tmp_path)}, "method": {"refine": refine}}
    outcome = publish(given)
    assert audit_release(outcome.release).findings == []
    frame = pd.read_parquet(outcome.release / "data")
    assert set(frame.columns) == ADULT
    countries = read_taxonomy(CONFIG / "taxonomies" / "countries.yaml")
    occupations = read_taxonomy(CONFIG / "taxonomies" / "occupations.yaml")
    assert set(frame["native-country"]) <= set(countries.names)
    assert {"America", "Caribbean"} <= set(frame["native-country"])
    assert set(frame["occupation"]) <= set(occupations.leaves)
    quasi = ["age", "sex", "native-country", "occupation"]
    assert frame.groupby(quasi).size().min() >= 5


def mean_distance(frame: pd.DataFrame, column: str, taxonomy: Taxonomy = TAXONOMY) -> float:
    """Between the values and what they are released as, values themselves."""
    a, b = (taxonomy.encode(frame[name].tolist(), name) for name in ("original", column))
    return float(taxonomy.distance(a, b).mean())


def mean_height(frame: pd.DataFrame, taxonomy: Taxonomy = TAXONOMY) -> float:
    """Of the lowest node above the values of each class, as a share of the taxonomy's."""
    total = 0.0
    for _, rows in frame.groupby(["age", "food"]):
        leaves = taxonomy.encode(rows["original"].tolist(), "original")
        total += len(rows) * taxonomy.distance(leaves[:1], leaves).max()
    return total / len(frame)
