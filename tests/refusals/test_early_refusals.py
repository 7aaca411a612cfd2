"""What cannot be met is refused by `tclose plan` already, whatever the method, with what could be.

The plan's words are those of the run; with the value that they name there is a release.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import people, tree, write_policy
from tclose.cli.main import main

QUASI, CONFIDENTIAL = "quasi-identifier", "confidential"
METHODS = [
    "t-closeness-first", "mdav", "v-mdav", "microaggregate-and-merge", "k-anonymity-first",
    "mondrian", "incognito", "sabre", "bucketization", "dp-confidential",
]  # fmt: skip
# Those that take tables which are cut by a column that is released as it is, and hold t.
CUT = [m for m in METHODS if m not in ("sabre", "bucketization", "dp-confidential")]
N = 60


def table() -> pa.Table:
    """Two sites, one of which has the low pays; three different ranks."""
    site = np.repeat(["a", "b"], N // 2)
    pay = np.where(site == "a", 100, 200) + np.arange(N) % 30
    return people(N, site=site, pay=pay, rank=np.arange(N) % 3)


def document_of(name: str, place: Path, **keys: Any) -> dict[str, Any]:
    pq.write_table(table(), place / "people.parquet")
    method: dict[str, Any] = {"name": name} | ({"ratio": 4} if name == "bucketization" else {})
    pay: Any = CONFIDENTIAL
    if name == "dp-confidential":
        pay = {"role": CONFIDENTIAL, "noise": {"epsilon": 1, "low": 0, "high": 300}}
    return {
        "name": "people",
        "input": {"path": str(place / "people.parquet")},
        "unlisted": "drop",
        "attributes": {"age": QUASI, "sex": QUASI, "pay": pay} | keys.pop("attributes", {}),
        "privacy": {"k": 3, "t": 1} | keys.pop("privacy", {}),
        "method": method,
        "output": {"path": str(place / "releases")} | keys.pop("output", {}),
    }


class Tried:
    """A policy that is refused: what the plan and the run say, and whether another key helps."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place, self.capsys = place, capsys
        self.policy = place / "policy.yaml"

    def refuse(self, document: dict[str, Any], status: int) -> str:
        write_policy(self.policy, document)
        before = tree(self.place)
        said = []
        for command in ("plan", "run"):
            assert main([command, str(self.policy), "--quiet"]) == status
            printed, message = self.capsys.readouterr()
            assert not printed
            assert message.startswith("tclose: ")
            assert "Traceback" not in message
            said.append(message)
            if command == "plan":
                assert tree(self.place) == before
        assert not list(self.place.glob("releases/people/CURRENT"))
        assert not list(self.place.glob("releases/people/.work"))
        assert said[0] == said[1]
        return said[0]

    def works_with(self, *keys: str) -> None:
        sets = [f"--set={key}" for key in keys]
        for command in ("plan", "run"):
            assert main([command, str(self.policy), "--quiet", *sets]) == 0
        self.capsys.readouterr()


@pytest.fixture
def tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tried:
    return Tried(tmp_path, capsys)


@pytest.mark.parametrize("name", METHODS)
def test_k_above_the_records(name: str, tried: Tried) -> None:
    message = tried.refuse(document_of(name, tried.place, privacy={"k": 61}), 2)
    assert "privacy.k: 61 is more than the 60 records there are; lower it to 60 at most" in message
    tried.works_with("privacy.k=60")


@pytest.mark.parametrize("name", CUT)
def test_k_above_the_records_of_a_partition(name: str, tried: Tried) -> None:
    cut = {"attributes": {"site": "non-confidential"}, "output": {"partition_by": ["site"]}}
    message = tried.refuse(document_of(name, tried.place, privacy={"k": 31}, **cut), 3)
    assert "a partition: has 30 records, a class needs k = 31; lower privacy.k to 30" in message
    tried.works_with("privacy.k=30")


def cut_into(place: Path, *sizes: int, **privacy: Any) -> dict[str, Any]:
    """A policy with a partition for each of these numbers of records."""
    document = document_of(
        "mdav",
        place,
        attributes={"site": "non-confidential", "rank": CONFIDENTIAL},
        output={"partition_by": ["site"]},
        privacy=privacy,
    )
    site = np.repeat([f"s{i}" for i in range(len(sizes))], sizes)
    rank = np.arange(site.size) % (2 + (site == "s0"))  # three ranks in the first, else two
    pq.write_table(people(site.size, site=site, rank=rank), place / "people.parquet")
    return document


def test_smallest_partition_names_the_k_that_works(tried: Tried) -> None:
    message = tried.refuse(cut_into(tried.place, 30, 8, 20, k=25), 3)
    assert "a partition: has 8 records, a class needs k = 25; lower privacy.k to 8" in message
    tried.works_with("privacy.k=8")


def test_partition_of_one_record_has_no_k(tried: Tried) -> None:
    message = tried.refuse(cut_into(tried.place, 30, 1, k=5), 3)
    assert "a partition: has 1 record, and no class has fewer than 2; publish a coarser" in message
    tried.works_with("output.partition_by=[]")


def test_table_of_one_record_has_no_k(tried: Tried) -> None:
    document = document_of("mdav", tried.place)
    pq.write_table(table().slice(0, 1), tried.place / "people.parquet")
    message = tried.refuse(document, 2)
    assert "privacy.k: there is 1 record, and no class has fewer than 2; name more" in message


def test_partition_with_the_fewest_values_names_the_l_that_works(tried: Tried) -> None:
    model = {"name": "distinct-l-diversity", "attributes": ["rank"]}
    asked = [model | {"l": 4}]
    message = tried.refuse(cut_into(tried.place, 30, 30, k=5, models=asked), 3)
    assert "partition site=s1: cannot meet distinct-l-diversity of 'rank'" in message
    assert "it has 2 different values: l can be at most that" in message
    tried.works_with("privacy.models=[{name: distinct-l-diversity, l: 2, attributes: [rank]}]")


def test_n_above_the_records(tried: Tried) -> None:
    models = [{"name": "n-t-closeness", "n": 61, "t": 0.5}]
    message = tried.refuse(document_of("mondrian", tried.place, privacy={"models": models}), 2)
    assert "privacy.models: n = 61 of n-t-closeness is more than the 60 records there" in message
    assert "lower it to 60 at most" in message
    tried.works_with("privacy.models=[{name: n-t-closeness, n: 60, t: 0.5}]")


def test_farthest_attribute_names_the_t_that_works(tried: Tried) -> None:
    """Sites tell the half of the pays, and all of the degrees."""
    attributes = {"site": "non-confidential", "degree": CONFIDENTIAL}
    output = {"partition_by": ["site"]}
    document = document_of(
        "mdav", tried.place, privacy={"k": 30, "t": 0.1}, attributes=attributes, output=output
    )
    with_degree = table().append_column("degree", pa.array([0] * 30 + [1] * 30))
    pq.write_table(with_degree, tried.place / "people.parquet")
    message = tried.refuse(document, 3)
    named = re.search(r"'degree' is .* The smallest t that could work is ([\d.]+)", message)
    assert named
    tried.works_with(f"privacy.t={named[1]}")


@pytest.mark.parametrize("name", CUT)
def test_t_below_what_a_partition_has(name: str, tried: Tried) -> None:
    cut = {"attributes": {"site": "non-confidential"}, "output": {"partition_by": ["site"]}}
    message = tried.refuse(document_of(name, tried.place, privacy={"k": 30, "t": 0.1}, **cut), 3)
    assert re.search(r"partition site=[ab]: 'pay' is at distance [\d.]+ from the whole", message)
    named = re.search(r"The smallest t that could work is ([\d.]+)", message)
    assert named
    tried.works_with(f"privacy.t={named[1]}")


@pytest.mark.parametrize("name", [m for m in METHODS if m != "dp-confidential"])
def test_l_above_the_number_of_values(name: str, tried: Tried) -> None:
    models = [{"name": "distinct-l-diversity", "l": 4, "attributes": ["rank"]}]
    attributes = {"pay": "identifier", "rank": CONFIDENTIAL}
    document = document_of(
        name, tried.place, attributes=attributes, privacy={"k": 30, "models": models}
    )
    if name == "bucketization":
        document["method"]["ratio"] = 10
    message = tried.refuse(document, 3)
    assert "cannot meet distinct-l-diversity of 'rank' even as one class" in message
    assert "it has 3 different values: l can be at most that" in message
    tried.works_with("privacy.models=[{name: distinct-l-diversity, l: 3}]")


@pytest.mark.parametrize("name", ["mdav", "mondrian", "microaggregate-and-merge"])
def test_n_t_below_what_a_partition_has(name: str, tried: Tried) -> None:
    models = [{"name": "n-t-closeness", "n": 40, "t": 0.1}]
    cut = {"attributes": {"site": "non-confidential"}, "output": {"partition_by": ["site"]}}
    message = tried.refuse(document_of(name, tried.place, privacy={"models": models}, **cut), 3)
    assert "n-t-closeness is made by way of t-closeness with the same t" in message
    assert re.search(r"the smallest t that works is [\d.]+", message)


def test_sets_that_name_no_folder(tried: Tried) -> None:
    """A partition column that is released as a set of its values, in the name of a folder."""
    towns = [f"a town with a long name {i:02d}" for i in range(20)] * 3
    document = document_of("mondrian", tried.place, output={"partition_by": ["town"]})
    document["attributes"]["town"] = QUASI
    pq.write_table(people(N, town=towns), tried.place / "people.parquet")
    message = tried.refuse(document, 2)
    assert "output.partition_by: column 'town' is released as sets of values, which" in message
    assert "give it a taxonomy, or take another" in message
    tried.works_with("output.partition_by=[]")


@pytest.mark.parametrize("name", ["mdav", "v-mdav"])
def test_plan_of_what_only_verification_can_tell(name: str, tried: Tried) -> None:
    write_policy(tried.policy, document_of(name, tried.place, privacy={"t": 0.3}))
    assert main(["plan", str(tried.policy), "--quiet"]) == 0
    told = tried.capsys.readouterr().out
    assert f"perhaps: {name} knows nothing of t and of further models" in told
    assert main(["plan", str(tried.policy), "--quiet", "--set=privacy.t=1"]) == 0
    assert re.search(r"feasible +yes\n", tried.capsys.readouterr().out)
