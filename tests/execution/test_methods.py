"""Every method from a policy: released, verified, audited, and true by an independent look."""

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from pipeline.execution.audit import audit_release
from pipeline.execution.progress import Progress
from pipeline.execution.release import run_release
from pipeline.execution.run import Outcome
from pipeline.report import report_release
from pipeline.settings import load_policy, parse_policy
from pipeline.stages import tree
from pipeline.stages.methods import method as methods
from pipeline.stages.notation import parse_interval, parse_set
from pipeline.storage import inputs
from support import naive, naive_taxonomy
from support.patients import ILLS, STAGES, TOWNS, patient_document, patients, write_patients
from support.policies import data_digests, shared_file, write_discharges
from support.released import as_tree, check_release, classes_in, read_rows

QUASI, CONFIDENTIAL = "quasi-identifier", "confidential"
N_RECORDS = 2_000
LOOSE = {"k": 5, "t": 0.6}  # for methods that know nothing of t
BY_MAP = {"town": {"role": QUASI, "taxonomy": TOWNS}}
BY_WIDTH = {
    "age": {"role": QUASI, "intervals": {"widths": [5, 20]}},
    "height": {"role": QUASI, "intervals": {"widths": [2.5, 10, 40], "origin": 0.5}},
}
STAGE = {"role": CONFIDENTIAL, "type": "ordinal", "order": STAGES}
SEVERAL = {
    "stage": STAGE | {"t": 0.25},
    "ill": {"role": CONFIDENTIAL, "taxonomy": ILLS, "t": 0.5},
}
ILL_ALONE = {"pay": "identifier", "ill": {"role": CONFIDENTIAL, "distance": "equal"}}
ILL_BY_TREE = {"pay": "identifier", "ill": {"role": CONFIDENTIAL, "taxonomy": ILLS}}
STAGE_ALONE = {"pay": "identifier", "stage": STAGE}
DAYS = {"day": QUASI, "stage": {"role": QUASI, "type": "ordinal", "order": STAGES}}
VALUES = {"release": "value"}
BY_SITE = {"attributes": {"site": "non-confidential"}, "output": {"partition_by": ["site"]}}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "blocks": ({"name": "t-closeness-first"}, {}),
    "table": ({"name": "t-closeness-first", "scope": "table"}, {}),
    "mdav": ({"name": "mdav"}, {"privacy": LOOSE}),
    "mdav refined": ({"name": "mdav", "refine": 2}, {"privacy": LOOSE}),
    "mdav by site": ({"name": "mdav"}, {"privacy": LOOSE} | BY_SITE),
    "v-mdav": ({"name": "v-mdav", "gamma": 0.6}, {"privacy": LOOSE}),
    "merge": ({"name": "microaggregate-and-merge"}, {}),
    "merge v-mdav": ({"name": "microaggregate-and-merge", "start": "v-mdav"}, {}),
    "merge several": ({"name": "microaggregate-and-merge"}, {"attributes": SEVERAL}),
    "merge by site": ({"name": "microaggregate-and-merge"}, BY_SITE),
    "k first": ({"name": "k-anonymity-first"}, {}),
    "k first several": ({"name": "k-anonymity-first"}, {"attributes": {"stage": STAGE}}),
    "k first by site": ({"name": "k-anonymity-first"}, BY_SITE),
    "buckets": ({"name": "bucketization", "ratio": 2}, {"privacy": {"k": 5}}),
    "few buckets": (
        {"name": "bucketization", "ratio": 3.5, "buckets": 3},
        {"privacy": {"k": 5}, "attributes": STAGE_ALONE},
    ),
    "buckets of ills": (
        {"name": "bucketization", "ratio": 1.6, "buckets": 4},
        {"privacy": {"k": 12}, "attributes": ILL_ALONE},
    ),
    "values in buckets": ({"name": "bucketization", "ratio": 2} | VALUES, {}),
    "stages in buckets": (
        {"name": "bucketization", "ratio": 3.5, "buckets": 3} | VALUES,
        {"privacy": {"k": 5}, "attributes": STAGE_ALONE},
    ),
    "ills in buckets": (
        {"name": "bucketization", "ratio": 1.6, "buckets": 3} | VALUES,
        {"privacy": {"k": 12, "t": 0.3}, "attributes": ILL_ALONE},
    ),
    "ills by tree in buckets": (
        {"name": "bucketization", "ratio": 2, "buckets": 2} | VALUES,
        {"privacy": {"k": 12, "t": 0.3}, "attributes": ILL_BY_TREE},
    ),
    "mondrian": ({"name": "mondrian"}, {"attributes": BY_MAP}),
    "mondrian several": ({"name": "mondrian"}, {"attributes": SEVERAL | DAYS}),
    "mondrian by site": ({"name": "mondrian"}, BY_SITE),
    "mondrian in folders": (
        {"name": "mondrian"},
        {
            "attributes": BY_MAP,
            "privacy": {"k": 50, "t": 0.2},
            "output": {"partition_by": ["town"]},
        },
    ),
    "incognito": ({"name": "incognito"}, {"attributes": BY_MAP | BY_WIDTH | DAYS}),
    "incognito several": ({"name": "incognito"}, {"attributes": BY_MAP | BY_WIDTH | SEVERAL}),
    "incognito by site": (
        {"name": "incognito"},
        {
            "attributes": BY_MAP | BY_WIDTH | BY_SITE["attributes"],
            "output": BY_SITE["output"],
        },
    ),
    "sabre": ({"name": "sabre"}, {"attributes": BY_MAP}),
    "sabre equal": ({"name": "sabre"}, {"attributes": ILL_ALONE}),
    "sabre by tree": ({"name": "sabre"}, {"attributes": ILL_BY_TREE}),
}  # fmt: skip
# One of each method, whose bytes are compared.
EACH = ["blocks", "mdav", "v-mdav", "merge", "k first", "buckets", "mondrian", "incognito", "sabre"]


def publish(document: dict[str, Any]) -> Outcome:
    return run_release(parse_policy(document), Progress("none"))


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return patients(N_RECORDS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "input", N_RECORDS)


@pytest.mark.parametrize("case", CASES)
def test_release_is_what_it_says(case: str, source: Path, table: pa.Table, tmp_path: Path) -> None:
    method, keys = CASES[case]
    document = patient_document(source, tmp_path, method, **keys)
    made = publish(document)
    assert made.manifest["verdict"] == "pass"
    assert made.manifest["method"] == method["name"]
    assert made.manifest["classes"]["n_classes"] > 3
    assert audit_release(made.release)["findings"] == []
    check_release(made.release, table, document)


@pytest.fixture(scope="module")
def clusters() -> Iterator[list[str]]:
    """Addresses of a cluster of one worker and of one of two."""
    with contextlib.ExitStack() as stack:
        made = [
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            for n_workers in (1, 2)
        ]
        yield [stack.enter_context(cluster).scheduler_address for cluster in made]


class TestRegions:
    """The same bytes whatever runs the units and however the input is cut, in several regions."""

    @pytest.fixture(autouse=True)
    def four_regions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tree, "MIN_REGION_RECORDS", 500)
        monkeypatch.setattr(methods, "MAX_QUADRATIC_RECORDS", 500)

    @pytest.mark.parametrize("case", EACH[1:])
    def test_bytes(
        self,
        case: str,
        source: Path,
        table: pa.Table,
        clusters: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        method, keys = CASES[case]
        document = patient_document(source, tmp_path / "here", method, **keys)
        made = publish(document)
        assert audit_release(made.release)["findings"] == []
        check_release(made.release, table, document)
        plan = json.loads((made.release / "internal" / "plan.json").read_text())
        assert plan["domains"][0]["regions"] == (1 if method["name"] in methods.WHOLE else 4)
        expected = data_digests(made.release)
        for number, address in enumerate(clusters):
            document["engine"] = {"scheduler": address}
            document["output"] = {"path": str(tmp_path / f"{number}")}
            assert data_digests(publish(document).release) == expected
        monkeypatch.setattr(inputs, "PARTITION_ROWS", 400)
        monkeypatch.setattr(inputs, "MIN_PARTITION_ROWS", 1)
        cut = write_patients(tmp_path / "cut", N_RECORDS, cuts=3)
        document = patient_document(cut, tmp_path / "out", method, **keys)
        assert data_digests(publish(document).release) == expected

    @pytest.mark.parametrize("case", ["mondrian", "merge", "k first"])
    def test_region_that_is_above_t_as_a_whole_is_joined(
        self, case: str, source: Path, table: pa.Table, tmp_path: Path
    ) -> None:
        """The table has no distance to itself, so there is always a release."""
        tight = {"stage": STAGE | {"t": 0.002}}
        method, _ = CASES[case]
        document = patient_document(
            source, tmp_path, method, privacy={"k": 5, "t": 0.01}, attributes=tight
        )
        check_release(publish(document).release, table, document)


def test_shares_of_buckets_are_within_the_ratio_by_pandas(source: Path, tmp_path: Path) -> None:
    """Counted once more, another way than in `check_release`."""
    method, keys = CASES["buckets"]
    made = publish(patient_document(source, tmp_path, method, **keys))
    frame = pd.read_parquet(made.release / "data")
    counts = pd.crosstab([frame["age"], frame["height"], frame["town"]], frame["pay"]).to_numpy()
    assert counts.shape[1] == 3  # floor(ratio) + 1
    size, total = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    n_records = counts.sum()
    assert (counts * n_records <= 2 * size * total).all()
    assert (size * total <= 2 * counts * n_records).all()


class TestBucketization:
    """What is told of a release of buckets, and of one of values."""

    def test_of_buckets(self, source: Path, tmp_path: Path) -> None:
        method, _ = CASES["buckets"]
        made = publish(patient_document(source, tmp_path, method)).manifest
        column = next(c for c in made["columns"] if c["name"] == "pay")
        assert column["treatment"].startswith("bucket of its value: one of 3 buckets of neighbour")
        t = made["privacy"]["t"]["pay"]
        assert (t["asked"], t["of"], t["distance"]) == (0.2, "buckets", "ordered")
        assert t["largest_emd"] <= 0.2
        (model,) = made["privacy"]["models"]
        assert model["epsilon"] == pytest.approx(2 * np.log(2))
        assert model["epsilon_is_about"].startswith("the bucket that is released in place of")
        assert "the buckets are distributed" in (
            (tmp_path / "patients" / made["release_id"] / "dictionary.md").read_text()
        )

    def test_of_values(self, source: Path, tmp_path: Path) -> None:
        method, keys = CASES["values in buckets"]
        made = publish(patient_document(source, tmp_path, method, **keys))
        column = next(c for c in made.manifest["columns"] if c["name"] == "pay")
        assert column["type"] == "int64"
        assert column["treatment"].startswith("as it is; classes were made by its 3 buckets")
        t = made.manifest["privacy"]["t"]["pay"]
        assert "of" not in t
        assert t["asked"] == 0.2
        (model,) = made.manifest["privacy"]["models"]
        assert model["asked"] == {"t": 2.0, "buckets": 3, "release": "value"}
        assert model["reached"] <= 2
        assert "no epsilon of Proposition 3 is claimed" in model["holds_for"]
        assert not [key for key in model if "epsilon" in key]
        told = report_release(made.manifest, "", {})
        assert "no epsilon of Proposition 3" in told
        assert "no epsilon of Proposition 3" in (made.release / "dictionary.md").read_text()

    def test_t_of_values_is_measured_where_none_is_asked(
        self, source: Path, tmp_path: Path
    ) -> None:
        method, _ = CASES["values in buckets"]
        loose = publish(patient_document(source, tmp_path, method, privacy={"k": 5}))
        found = loose.manifest["privacy"]["t"]["pay"]
        assert found["asked"] == 1
        assert found["largest_emd"] > 0.05
        tight = patient_document(source, tmp_path, method, privacy={"k": 5, "t": 0.05})
        tight_classes = publish(tight).manifest["classes"]["n_classes"]
        assert 1 < tight_classes < loose.manifest["classes"]["n_classes"]

    @pytest.mark.parametrize(
        "change",
        [
            lambda model: model["asked"].update(buckets=2),
            lambda model: model["asked"].pop("release"),
            lambda model: model.update(epsilon=1.0),
            lambda model: model.pop("holds_for"),
        ],
    )
    def test_edits_are_found(self, change: Any, source: Path, tmp_path: Path) -> None:
        """Where what stays inside is not at hand, too."""
        method, keys = CASES["values in buckets"]
        made = publish(patient_document(source, tmp_path, method, **keys))
        shutil.rmtree(made.release / "internal")
        assert audit_release(made.release)["findings"] == []
        manifest = json.loads((made.release / "manifest.json").read_text())
        change(manifest["privacy"]["models"][0])
        (made.release / "manifest.json").write_text(json.dumps(manifest))
        assert audit_release(made.release)["findings"]


class TestIncognito:
    LEVELS = (
        ("age", [str, lambda v: half_open(v, 20), lambda v: half_open(v, 40), lambda v: "*"]),
        ("town", None),
        ("stage", [str, lambda v: "*"]),
    )

    @pytest.mark.parametrize("seed", range(6))
    def test_levels_are_minimal(self, seed: int, tmp_path: Path) -> None:
        """Against every combination of levels, and every text against its definition."""
        table = patients(150, seed)
        pq.write_table(table, tmp_path / "in.parquet")
        privacy = {"k": 2 + seed, "t": [0.5, 0.3, 0.2][seed % 3]}
        attributes = {
            "height": "identifier",
            "age": {"role": QUASI, "intervals": {"widths": [20, 40]}},
            "town": {"role": QUASI, "taxonomy": TOWNS},
            "stage": {"role": QUASI, "type": "ordinal", "order": STAGES},
        }
        document = patient_document(
            tmp_path / "in.parquet",
            tmp_path / "out",
            {"name": "incognito"},
            attributes=attributes,
            privacy=privacy,
        )
        rows = check_release(publish(document).release, table, document).sort_values("id")
        texts = {
            name: [[spell(v) for v in table[name].to_pylist()] for spell in spellings(name, levels)]
            for name, levels in self.LEVELS
        }
        node = tuple(
            next(i for i, at in enumerate(texts[name]) if at == rows[name].tolist())
            for name, _ in self.LEVELS
        )
        assert node in minimal_levels(list(texts.values()), table["pay"].to_pylist(), privacy)


def treatments(manifest: dict[str, Any]) -> dict[str, str]:
    return {column["name"]: column["treatment"] for column in manifest["columns"]}


class TestTreatments:
    """What a manifest says of a column is what stands in the files."""

    @pytest.mark.parametrize("k", [2, 5, 40])
    def test_of_full_domains(self, k: int, source: Path, table: pa.Table, tmp_path: Path) -> None:
        method, keys = CASES["incognito"]
        document = patient_document(source, tmp_path, method, privacy={"k": k, "t": 0.5}, **keys)
        made = publish(document)
        rows = read_rows(made.release)
        own = table.to_pandas().set_index("id").loc[rows["id"].tolist()]
        said = treatments(made.manifest)
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
        assert treatments(made.manifest)["age"] == (
            "full-domain generalisation, in each partition to a level of its own: level 0 of 1: "
            "the value itself, in 1 of 2; level 1 of 1: * for all values, in 1 of 2"
        )
        assert set(read_rows(made.release)["age"]) == {"30", "*"}

    @pytest.mark.parametrize("case", ["mondrian several", "sabre"])
    def test_of_classes(self, case: str, source: Path, tmp_path: Path) -> None:
        method, keys = CASES[case]
        keys = keys | {"attributes": keys["attributes"] | BY_MAP | {"site": QUASI}}
        made = publish(patient_document(source, tmp_path, method, **keys))
        said = treatments(made.manifest)
        ends = "; where all are equal, that one"
        cover = "generalised class by class: "
        interval = f"{cover}the interval from its smallest to its largest value{ends}"
        assert said["age"] == said["height"] == interval
        assert said["town"] == f"{cover}the lowest node of the taxonomy above its values{ends}"
        assert said["site"] == f"{cover}the set of its values{ends}"
        assert said["pay"] == "as it is"

    def test_of_aggregates(self, source: Path, tmp_path: Path) -> None:
        made = publish(patient_document(source, tmp_path, {"name": "mdav"}, privacy=LOOSE))
        said = treatments(made.manifest)
        assert (said["age"], said["town"]) == ("mean of its class", "mode of its class")


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
    given = BY_WIDTH[name]["intervals"]
    width = given["widths"][level - 1]
    assert what == f"intervals of width {width}"
    low = Fraction(str(given.get("origin", 0)))
    low += (Fraction(str(value)) - low) // Fraction(str(width)) * Fraction(str(width))
    return f"[{shortest(low)}, {shortest(low + Fraction(str(width)))})"


def shortest(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def half_open(value: int, width: int) -> str:
    low = value // width * width
    return f"[{low}, {low + width})"


def spellings(name: str, levels: Any) -> list[Any]:
    """What a value becomes at each level."""
    if levels is not None:
        return levels
    whole = as_tree(TOWNS)
    return [
        lambda v, level=level: quoted(naive_taxonomy.generalised(whole, v, level))
        for level in range(naive_taxonomy.height(whole) + 1)
    ]


def quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name


def minimal_levels(
    texts: list[list[list[str]]], pay: list[int], privacy: dict[str, Any]
) -> list[tuple[int, ...]]:
    """Levels that hold while none less general does: all of them are tried."""
    limit = Fraction(str(privacy["t"]))

    def holds(node: tuple[int, ...]) -> bool:
        keys = zip(*(at[level] for at, level in zip(texts, node, strict=True)), strict=True)
        classes: dict[Any, list[int]] = {}
        for key, value in zip(keys, pay, strict=True):
            classes.setdefault(key, []).append(value)
        return all(
            len(members) >= privacy["k"] and naive.ordered_emd(members, pay) <= limit
            for members in classes.values()
        )

    good = [n for n in product(*(range(len(at)) for at in texts)) if holds(n)]
    below = {n: [m for m in good if m != n and np.all(np.array(m) <= n)] for n in good}
    return [n for n in good if not below[n]]


def test_mondrian_cuts_between_the_leaves_of_a_taxonomy(tmp_path: Path) -> None:
    """By the alphabet a half would hold towns of both branches, which only the root covers."""
    towns = ["a-east", "b-west", "c-east", "d-west"] * 50
    ways = {"any": {"west": ["b-west", "d-west"], "east": ["a-east", "c-east"]}}
    table = pa.table({"id": range(200), "town": towns, "pay": [i // 4 for i in range(200)]})
    pq.write_table(table, tmp_path / "in.parquet")
    document = patient_document(tmp_path / "in.parquet", tmp_path, {"name": "mondrian"})
    document["attributes"] = {
        "id": "non-confidential",
        "town": {"role": QUASI, "taxonomy": ways},
        "pay": CONFIDENTIAL,
    }
    document["privacy"] = {"k": 80, "t": 0.5}
    rows = check_release(publish(document).release, table, document)
    assert sorted(rows["town"].unique()) == ["east", "west"]


ADULT = {
    "id": "non-confidential",
    "age": QUASI,
    "education-num": QUASI,
    "marital-status": {
        "role": QUASI,
        "taxonomy": {
            "any": {
                "once": ["Divorced", "Separated", "Widowed"],
                "now": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
                "never": ["Never-married"],
            }
        },
    },
    "sex": QUASI,
    "hours-per-week": CONFIDENTIAL,
}


@pytest.fixture(scope="module")
def adults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pd.read_csv(shared_file("adult.csv"), nrows=5_000, skipinitialspace=True)
    frame.insert(0, "id", range(len(frame)))
    path = tmp_path_factory.mktemp("adult") / "adult.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


@pytest.mark.parametrize("case", EACH)
def test_adult(case: str, adults: Path, tmp_path: Path) -> None:
    method, keys = CASES[case]
    privacy = keys.get("privacy", {"k": 5, "t": 0.1})
    document = patient_document(adults, tmp_path, method, privacy=privacy)
    by_width = {"age": {"role": QUASI, "intervals": {"widths": [5, 10, 20]}}}
    document["attributes"] = ADULT | (by_width if case == "incognito" else {})
    made = publish(document)
    assert audit_release(made.release)["findings"] == []
    check_release(made.release, pq.read_table(adults), document)


def test_example_of_generalised_discharges(tmp_path: Path) -> None:
    """The policy that stands in config, on what `make demo` generates."""
    source = write_discharges(tmp_path / "discharges.parquet", 6_000)
    path = Path(__file__).parents[2] / "config" / "generalise.yaml"
    places = [f"input.path={source}", f"output.path={tmp_path / 'releases'}"]
    made = run_release(load_policy(path, places), Progress("none"))
    assert audit_release(made.release)["findings"] == []
    frame = pd.read_parquet(made.release / "data")
    quasi = [c["name"] for c in made.manifest["columns"] if c["role"] == QUASI]
    assert len(quasi) == 7
    assert frame.groupby(quasi).size().min() >= 5
    assert frame.groupby(quasi).ngroups == made.manifest["classes"]["n_classes"] > 50
    for text in frame["admission_date"].unique():
        low, high = parse_interval(text)
        assert date.fromisoformat(low) <= date.fromisoformat(high)
    groups = {"any diagnosis", "whole body", "heart and lungs"}
    assert groups < set(frame["diagnosis_group"])
    assert {parse_set(text) for text in frame["insurance_type"]} > {("private", "public")}


def test_helpers_can_fail(source: Path, table: pa.Table, tmp_path: Path) -> None:
    """The independent look finds a forged row: else it would prove nothing."""
    method, keys = CASES["mondrian"]
    document = patient_document(source, tmp_path, method, **keys)
    made = publish(document)
    tight = document | {"privacy": {"k": 5, "t": 0.01}}
    with pytest.raises(AssertionError):
        check_release(made.release, table, tight)
    with pytest.raises(AssertionError):
        check_release(made.release, table, document | {"privacy": {"k": 50, "t": 0.2}})
    moved = table.set_column(1, "age", pa.array(np.roll(table["age"].to_numpy(), 1)))
    with pytest.raises(AssertionError):
        check_release(made.release, moved, document)
    assert (
        len(classes_in(read_rows(made.release), document)) == made.manifest["classes"]["n_classes"]
    )
