"""The independent checker: its arithmetic by hand, and each of its checks finds what it is for."""

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from nightly.independent import distances, models
from nightly.independent.asked import Asked
from nightly.independent.checker import check_release
from nightly.independent.gaps import fill_gaps, find_centre, find_centres
from nightly.independent.notation import Covered, MalformedError, parse
from support.cases.people import policy_for, release

TESTS = Path(__file__).resolve().parents[1]
INCOMES = [3, 4, 5, 6, 7, 8, 9, 10, 11]
TREE = {"any": [{"lungs": ["flu", "cold"]}, {"other": ["ulcer", "gastritis"]}]}


def test_nothing_of_the_pipeline_is_imported() -> None:
    script = (
        "import sys, nightly.independent.checker; "
        "sys.exit(any(m.split('.')[0] in ('tclose', 'tclose_flows') for m in sys.modules))"
    )
    environment = {"PYTHONPATH": str(TESTS)}
    assert subprocess.call([sys.executable, "-c", script], env=environment) == 0


class TestDistances:
    """By the examples of *t-Closeness*, sections 5.1 and 5.2, and by hand."""

    def test_ordered(self) -> None:
        assert distances.ordered([3, 4, 5], INCOMES, INCOMES) == Fraction(3, 8)
        assert distances.ordered([6, 8, 11], INCOMES, INCOMES) == Fraction(1, 6)
        assert distances.ordered([7, 7], [7, 7, 7], [7]) == 0
        assert distances.ordered(["a"], ["a", "b"], ["b", "a"]) == Fraction(1, 2)

    def test_equal(self) -> None:
        assert distances.equal(["a", "a"], ["a", "b", "c", "d"]) == Fraction(3, 4)
        assert distances.equal(["a", "b"], ["b", "a", "a", "b"]) == 0

    def test_hierarchical(self) -> None:
        tree = distances.read_tree(TREE)
        table = ["flu", "cold", "ulcer", "gastritis"]
        assert distances.hierarchical(["flu", "cold"], table, tree) == Fraction(1, 2)
        assert distances.hierarchical(["flu", "ulcer"], table, tree) == Fraction(1, 4)
        assert distances.hierarchical(["flu"], ["flu", "cold"], tree) == Fraction(1, 4)
        assert distances.hierarchical(table, table, tree) == 0

    def test_trees(self) -> None:
        tree = distances.read_tree({"any": {"x": ["a", {"deep": ["b"]}], "y": ["c"]}})
        assert distances.height(tree) == 3
        assert distances.path_to(tree, "b") == ["any", "x", "deep", "b"]
        assert distances.lowest_above(tree, ["a", "b"]) == "x"
        assert distances.lowest_above(tree, ["b", "b"]) == "b"


class TestModels:
    def test_entropy(self) -> None:
        assert models.has_entropy("aabb", Fraction(2))
        assert not models.has_entropy("aabb", Fraction("2.0001"))
        assert not models.has_entropy("aaab", Fraction(2))

    def test_recursive(self) -> None:
        assert models.is_recursive("aaabbc", Fraction(4), 3)
        assert not models.is_recursive("aaabbc", Fraction(3), 3)
        assert not models.is_recursive("aab", Fraction(100), 3)

    def test_ratio(self) -> None:
        assert models.has_ratio("aab", "aabb", Fraction(3, 2))
        assert not models.has_ratio("aab", "aabb", Fraction("1.49"))
        assert not models.has_ratio("aa", "aabb", Fraction(10**9))

    def test_cuts(self) -> None:
        assert models.cut_stretches([1, 1, 1, 2, 3, 4], 2) == {1: 0, 2: 1, 3: 1, 4: 1}
        assert models.cut_stretches([1, 2, 2, 2], 2) == {1: 0, 2: 1}
        assert models.cut_at_ranks([1, 2, 3, 4], 2) == {1: 0, 2: 0, 3: 1, 4: 1}
        assert models.cut_at_ranks([1, 2, 2, 2, 2, 3], 2) == {1: 0, 2: 1, 3: 1}

    def test_noise(self) -> None:
        assert float(models.reached_by_noise(Fraction(1), 4, 4)) == 1
        assert float(models.reached_by_noise(Fraction(1), 10**9, 1)) == pytest.approx(math.e)

    def test_boxes(self) -> None:
        ordered = models.Boxes([[1, 2, 3]], [True])
        assert {tuple(box.tolist()) for box in ordered.around(0)} == {
            (True, False, False),
            (True, True, False),
            (True, True, True),
        }
        assert len(list(models.Boxes([["a", "b", "c"]], [False]).around(0))) == 4
        assert len(list(models.Boxes([[1, 2], ["a", "b"]], [True, False]).around(0))) == 2


class TestGaps:
    def asked(self, **age: Any) -> Asked:
        attributes = {"age": {"role": "quasi-identifier"} | age}
        return Asked({"attributes": attributes, "privacy": {}, "method": {}}, {"age": pa.int64()})

    def test_centres(self) -> None:
        ordered = ["low", "mid", "high"]
        assert find_centre(self.asked(), "age", [4, None, 1, 9, 5]) == 4
        assert find_centre(self.asked(type="nominal"), "age", ["b", "a", None, "b", "a"]) == "a"
        assert find_centre(self.asked(type="ordinal", order=ordered), "age", [*ordered, "low"]) == (
            "low"
        )
        assert find_centre(self.asked(), "age", [None]) is None

    def test_only_classes_leave_gaps(self) -> None:
        ages = {"age": [7, None, 3, 5]}
        assert fill_gaps(self.asked(missing="median"), ages)["age"] == [7, 5, 3, 5]
        assert fill_gaps(self.asked(missing="category"), ages)["age"] == [7, "(missing)", 3, 5]
        assert fill_gaps(self.asked(missing="class"), ages) == ages
        assert fill_gaps(self.asked(), ages) == ages
        assert find_centres(self.asked(missing="class"), ages) == {"age": 5}

    @pytest.mark.parametrize("missing", ["class", "median"])
    def test_means_of_other_values_are_found(
        self, missing: str, table: pa.Table, tmp_path: Path
    ) -> None:
        """A mean is of the ages that are there, or of all with the centre for the others."""
        ages = [None if i % 7 == 0 else age for i, age in enumerate(table["age"].to_pylist())]
        gappy = replace(table, "age", ages)
        pq.write_table(gappy, tmp_path / "in.parquet")
        document = document_for("t-closeness-first", tmp_path)
        document["attributes"]["age"]["missing"] = missing
        folder = release(document).folder
        assert check_release(document, gappy, folder, tie="record") == []
        other = {"class": "median", "median": "class"}[missing]
        document["attributes"]["age"]["missing"] = other
        assert "mean of its class" in "".join(check_release(document, gappy, folder, tie="record"))


class TestNotation:
    @pytest.mark.parametrize(
        ("text", "form", "parts"),
        [
            ("*", "any", ()),
            ("[18, 25]", "interval", ("18", "25")),
            ("[20, 40)", "half-open", ("20", "40")),
            ('{"a, b", c}', "set", ("a, b", "c")),
            ('"[1, 2]"', "one", ("[1, 2]",)),
            ("(a) or b", "one", ("(a) or b",)),
            ('["x)", "y]"]', "interval", ("x)", "y]")),
        ],
    )
    def test_parse(self, text: str, form: str, parts: tuple[str, ...]) -> None:
        assert parse(text) == Covered(form, parts)

    @pytest.mark.parametrize(
        "text", ["", "[1]", "[1, 2", "{a}", "a, b", '"a', "[1, 2, 3]", "{a,b}"]
    )
    def test_malformed(self, text: str) -> None:
        with pytest.raises(MalformedError):
            parse(text)


N = 60
METHODS: dict[str, dict[str, Any]] = {
    "t-closeness-first": {},
    "mondrian": {},
    "incognito": {},
    "bucketization": {"ratio": 3},
    "dp-confidential": {},
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "record": np.arange(N),
            "age": rng.integers(18, 60, N),
            "town": rng.choice(["Bonn", "Köln", "Lyon"], N),
            "pay": rng.integers(0, 9, N),
        }
    )


def document_for(method: str, place: Path) -> dict[str, Any]:
    pay: dict[str, Any] = {"role": "confidential"}
    if method == "dp-confidential":
        pay["noise"] = {"epsilon": 1, "low": 0, "high": 10, "step": 2}
    age: dict[str, Any] = {"role": "quasi-identifier"}
    if method == "incognito":
        age["intervals"] = {"widths": [10, 20]}
    return policy_for(
        place / "in.parquet",
        attributes={
            "record": "non-confidential",
            "age": age,
            "town": "quasi-identifier",
            "pay": pay,
        },
        method={"name": method} | METHODS[method],
        privacy={"k": 3} if "noise" in pay else {"k": 3, "t": 0.4},
    )


@pytest.fixture(params=METHODS)
def made(request: Any, table: pa.Table, tmp_path: Path) -> tuple[dict[str, Any], pa.Table, Path]:
    """A policy, the records, and a release of them in a single file."""
    pq.write_table(table, tmp_path / "in.parquet")
    document = document_for(request.param, tmp_path)
    return document, table, release(document).folder


def find(made: tuple[dict[str, Any], pa.Table, Path]) -> str:
    return "\n".join(check_release(*made, tie="record"))


def rewrite(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the rows as a forger would: digests, sizes and rows of the manifest follow."""
    path = folder / "data" / "part-00000.parquet"
    pq.write_table(change(pq.ParquetFile(path).read()), path)
    content = path.read_bytes()
    stated = {
        "rows": pq.read_metadata(path).num_rows,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    edit(folder, lambda manifest: manifest["files"][0].update(stated))


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def replace(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table[name].type))


def swap_first(name: str) -> Callable[[pa.Table], pa.Table]:
    """Exchange the first value with the next one that differs and is of another class."""

    def swap(table: pa.Table) -> pa.Table:
        values, classes = table[name].to_pylist(), list_classes(table)
        other = next(i for i in range(N) if values[i] != values[0] and classes[i] != classes[0])
        values[0], values[other] = values[other], values[0]
        return replace(table, name, values)

    return swap


def swap_record(originals: pa.Table, *, is_noisy: bool) -> Callable[[pa.Table], pa.Table]:
    """Exchange the first record with that of another class whose age is farthest from its own.

    With one whose pay is the same, so that only the class is wrong then; where noise is drawn for
    pay nobody can say whose it is.
    """

    def swap(table: pa.Table) -> pa.Table:
        records, classes = table["record"].to_pylist(), list_classes(table)
        pay = [0] * N if is_noisy or "pay" not in table.column_names else table["pay"].to_pylist()
        age_of = dict(
            zip(*(originals[name].to_pylist() for name in ("record", "age")), strict=True)
        )
        ages = [age_of[record] for record in records]
        others = [i for i in range(N) if classes[i] != classes[0] and pay[i] == pay[0]]
        other = max(others, key=lambda i: abs(ages[i] - ages[0]))
        records[0], records[other] = records[other], records[0]
        return replace(table, "record", records)

    return swap


def list_classes(table: pa.Table) -> list[tuple[Any, Any]]:
    """What is released of the quasi-identifiers of each row."""
    return list(zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True))


class TestBrokenReleases:
    def test_nothing_is_wrong_with_a_whole_one(self, made: Any) -> None:
        assert find(made) == ""

    def test_lost_and_doubled_records(self, made: Any) -> None:
        rewrite(made[2], lambda t: t.slice(1))
        assert "1 records are not there and 0 rows" in find(made)
        rewrite(made[2], lambda t: pa.concat_tables([t, t.slice(0, 2)]))
        assert "does not name each record once" in find(made)

    def test_record_in_another_class(self, made: Any) -> None:
        is_noisy = made[0]["method"]["name"] == "dp-confidential"
        rewrite(made[2], swap_record(made[1], is_noisy=is_noisy))
        found = find(made)
        assert any(w in found for w in ("of its class", "commonest", "cover", "two texts")), found

    def test_confidential_values_exchanged(self, made: Any) -> None:
        rewrite(made[2], swap_first("pay"))
        method = made[0]["method"]["name"]
        expected = {
            "dp-confidential": "",
            "bucketization": "is not that of its records",
        }.get(method, "records are not there")
        assert expected in find(made)

    def test_small_class(self, made: Any) -> None:
        other = "Paris"
        rewrite(made[2], lambda t: replace(t, "town", [other, *t["town"].to_pylist()[1:]]))
        assert "classes have fewer than 3 records" in find(made)

    def test_aggregate(self, made: Any) -> None:
        def shift(table: pa.Table) -> pa.Table:
            ages = table["age"]
            if pa.types.is_integer(ages.type):
                return replace(table, "age", pc.add(ages, 1).to_pylist())
            return replace(table, "age", ["[1, 2]"] * N)

        rewrite(made[2], shift)
        assert "age: " in find(made)

    def test_manifest(self, made: Any) -> None:
        edit(made[2], lambda m: m["classes"].update(n_classes=1))
        edit(made[2], lambda m: m["privacy"]["k"].update(achieved=9))
        edit(made[2], lambda m: m["risk"].update(discernibility=9))
        edit(made[2], lambda m: m.update(records=9, verdict="perhaps", partition_by=["age"]))
        found = find(made)
        for what in ("classes", "k {", "discernibility", "records of", "perhaps", "partition"):
            assert f"the manifest states {what}" in found or what in found

    def test_files(self, made: Any) -> None:
        folder = made[2]
        (folder / "data" / "more.parquet").write_bytes(b"")
        assert "cannot be read" in find(made)
        (folder / "data" / "more.parquet").unlink()
        (folder / "notes.txt").write_text("")
        assert "too many or too few" in find(made)
        (folder / "notes.txt").unlink()
        document = (folder / "dictionary.md").read_text()
        (folder / "dictionary.md").write_text(document + " ")
        assert "dictionary.md has another digest" in find(made)

    def test_more_and_other_columns(self, made: Any) -> None:
        rewrite(made[2], lambda t: t.append_column("more", pa.array(range(N))))
        assert "cannot be read" in find(made)

    def test_metadata(self, made: Any) -> None:
        rewrite(made[2], lambda t: t.replace_schema_metadata({"pandas": "index"}))
        assert "metadata of its own" in find(made)


def broken(
    method: str, table: pa.Table, place: Path, change: Callable[[pa.Table], pa.Table]
) -> str:
    """What is found in a release of a method, changed."""
    pq.write_table(table, place / "in.parquet")
    document = document_for(method, place)
    folder = release(document).folder
    rewrite(folder, change)
    return "\n".join(check_release(document, table, folder, tie="record"))


def sort_by_pay(table: pa.Table) -> pa.Table:
    """The released quasi-identifiers dealt out in the order of the confidential values."""
    names = [n for n in table.column_names if n not in ("pay", "record")]
    quasi, rest = table.select(names), table.select(["pay", "record"]).sort_by("pay")
    joined = {n: (quasi if n in names else rest)[n] for n in table.column_names}
    return pa.table(joined)


def test_distance_above_t(table: pa.Table, tmp_path: Path) -> None:
    found = broken("t-closeness-first", table, tmp_path, sort_by_pay)
    assert "above 0.4" in found
    assert "the manifest states" in found


def test_share_beyond_the_ratio(table: pa.Table, tmp_path: Path) -> None:
    assert "beyond the ratio" in broken("bucketization", table, tmp_path, sort_by_pay)


def test_noise_off_its_grid(table: pa.Table, tmp_path: Path) -> None:
    found = broken("dp-confidential", table, tmp_path, lambda t: replace(t, "pay", [7] * N))
    assert "has a value that its noise does not give" in found


def test_wider_interval(table: pa.Table, tmp_path: Path) -> None:
    found = broken("mondrian", table, tmp_path, lambda t: replace(t, "age", ["[0, 99]"] * N))
    assert "covers more than its class" in found


def test_interval_of_no_width(table: pa.Table, tmp_path: Path) -> None:
    found = broken("incognito", table, tmp_path, lambda t: replace(t, "age", ["[0, 99)"] * N))
    assert "is an interval of no width" in found


MODELS: list[dict[str, Any]] = [
    {"name": "distinct-l-diversity", "l": 9},
    {"name": "entropy-l-diversity", "l": 6.5},
    {"name": "recursive-cl-diversity", "c": 0.1, "l": 2},
    {"name": "p-sensitive-k-anonymity", "p": 9},
    {"name": "n-t-closeness", "n": 30, "t": 0.0001},
    {"name": "ratio-closeness", "t": 1.0001, "buckets": 2},
]


@pytest.mark.parametrize("model", MODELS, ids=[m["name"] for m in MODELS])
def test_model_that_was_not_asked_for(model: Any, table: pa.Table, tmp_path: Path) -> None:
    """A release that knew nothing of a model does not have it, and the checker says so."""
    pq.write_table(table, tmp_path / "in.parquet")
    document = document_for("t-closeness-first", tmp_path)
    folder = release(document).folder
    document["privacy"]["models"] = [model]
    (found,) = check_release(document, table, folder, tie="record")
    assert found.startswith("pay: ")


def test_combinations_that_were_not_asked_for(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "in.parquet")
    document = document_for("t-closeness-first", tmp_path)
    document["attributes"]["town"] = {"role": "confidential", "t": 1}
    folder = release(document).folder
    document["privacy"]["joint"] = [{"t": 0.01}]
    (found,) = check_release(document, table, folder, tie="record")
    assert "combinations of a class are at" in found
