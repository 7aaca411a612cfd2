"""What a manifest says of a column is what stands in the files."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from support.cases.method_cases import BY_MAP, BY_WIDTH, CASES, CONFIDENTIAL, LOOSE, QUASI
from support.cases.patients import TOWNS, patient_document
from support.cases.people import folder_of, publish
from support.checks.released import as_tree, quoted, read_rows
from support.naive import naive_taxonomy
from tclose.releases.manifest.public_manifest import Manifest

pytestmark = pytest.mark.usefixtures("small_regions")


def transformations(manifest: Manifest) -> dict[str, str]:
    return {column.name: column.treatment for column in manifest.columns}


class TestTransformations:
    """What a manifest says of a column is what stands in the files."""

    @pytest.mark.parametrize("k", [2, 5, 40])
    def test_of_full_domains(self, k: int, source: Path, table: pa.Table, tmp_path: Path) -> None:
        method, keys = CASES["incognito"]
        document = patient_document(source, tmp_path, method, privacy={"k": k, "t": 0.5}, **keys)
        made = publish(document)
        rows = read_rows(folder_of(made))
        own = table.to_pandas().set_index("id").loc[rows["id"].tolist()]
        said = transformations(made.manifest)
        heights = {"age": 3, "height": 4, "town": 3, "day": 1, "stage": 1}
        for name, height in heights.items():
            found = re.fullmatch(
                rf"full-domain generalisation to level (\d) of {height}: (.+)", said[name]
            )
            assert found, said[name]
            assert rows[name].tolist() == [
                at_level(name, value, int(found[1]), found[2]) for value in own[name]
            ]
        dictionary = (made.release / "dictionary.md").read_text()
        assert f"treatment: {said['age']}".replace("*", "\\*") in dictionary
        events = (made.release / "internal" / "lineage.jsonl").read_text().splitlines()
        fields = json.loads(events[-1])["outputs"][0]["facets"]["columnLineage"]["fields"]
        change = fields["age"]["inputFields"][0]["transformations"][0]
        assert change["description"] == said["age"]
        assert change["masking"]

    def test_of_full_domains_in_a_plan(self, source: Path, tmp_path: Path) -> None:
        """Levels are not known yet, and no value is an interval of its class."""
        method, keys = CASES["incognito"]
        document = patient_document(source, tmp_path, method, **keys)
        planned = tclose.plan(None, document, sample=0).details.columns
        said = {column.name: column.treatment for column in planned}
        start = "full-domain generalisation to a level that is to be found, of 0 to"
        assert [said["age"], said["town"]] == [f"{start} 3", f"{start} 3"]

    def test_of_full_domains_of_partitions(self, tmp_path: Path) -> None:
        """All of one age here, none of the same there."""
        ages = [30] * 20 + list(range(20, 40))
        table = pa.table({"age": ages, "site": ["a"] * 20 + ["b"] * 20, "pay": [1, 2] * 20})
        pq.write_table(table, tmp_path / "in.parquet")
        document = patient_document(
            tmp_path / "in.parquet", tmp_path, {"name": "incognito"}, privacy={"k": 5, "t": 1}
        )
        document["attributes"] = {"age": QUASI, "site": "non-confidential", "pay": CONFIDENTIAL}
        document["output"]["partition_by"] = ["site"]
        made = publish(document)
        assert transformations(made.manifest)["age"] == (
            "full-domain generalisation, in each partition to a level of its own: level 0 of 1: "
            "the value itself, in 1 of 2; level 1 of 1: * for all values, in 1 of 2"
        )
        assert set(read_rows(folder_of(made))["age"]) == {"30", "*"}

    @pytest.mark.parametrize("case", ["mondrian several", "sabre"])
    def test_of_classes(self, case: str, source: Path, tmp_path: Path) -> None:
        method, keys = CASES[case]
        keys = keys | {"attributes": keys["attributes"] | BY_MAP | {"site": QUASI}}
        made = publish(patient_document(source, tmp_path, method, **keys))
        said = transformations(made.manifest)
        ends = "; where all are equal, that one"
        cover = "generalised class by class: "
        interval = f"{cover}the interval from its smallest to its largest value{ends}"
        assert said["age"] == said["height"] == interval
        assert said["town"] == f"{cover}the lowest node of the taxonomy above its values{ends}"
        assert said["site"] == f"{cover}the set of its values{ends}"
        assert said["pay"] == "as it is"

    def test_of_aggregates(self, source: Path, tmp_path: Path) -> None:
        made = publish(patient_document(source, tmp_path, {"name": "mdav"}, privacy=LOOSE))
        said = transformations(made.manifest)
        assert said["age"] == "mean of its class"
        assert said["town"] == (
            "one value of its class, chosen so that all values keep their shares, as far as 3% "
            "more loss allows"
        )


def at_level(name: str, value: Any, level: int, what: str) -> str:
    """A value at a level, by its definition; ``what`` has to say which level that is."""
    if what == "* for all values":
        return "*"
    if what == "the value itself":
        assert level == 0
        return quoted(str(value))
    if name == "town":
        tree = as_tree(TOWNS)
        top = level == naive_taxonomy.height(tree)
        assert what == (
            "the root of the taxonomy" if top else f"nodes of level {level} of the taxonomy"
        )
        return quoted(naive_taxonomy.generalised(tree, value, level))
    given: Any = BY_WIDTH[name]["intervals"]
    width = given["widths"][level - 1]
    assert what == f"intervals of width {width}"
    low = Fraction(str(given.get("origin", 0)))
    low += (Fraction(str(value)) - low) // Fraction(str(width)) * Fraction(str(width))
    return f"[{shortest(low)}, {shortest(low + Fraction(str(width)))})"


def shortest(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))
