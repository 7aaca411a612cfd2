"""Releases beside a population: who could be in a class, and the page that says so."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from support.cases.people import (
    QUASI,
    Released,
    people,
    policy_for,
    release,
    tree,
    write_parquet,
    write_policy,
)
from tclose.cli.main import main
from tclose.kernels.record_linkage import SAME_DISTANCE, count_covered, count_near
from tclose.releases.manifest.originals_section import PopulationResult
from tclose.releases.report.originals_report import show_linkage
from tclose.releases.repository.contents import is_intact

N_RECORDS = 300
CANARY = "canary-town-90ac"
METHODS: dict[str, dict[str, Any]] = {"nearness": {"refine": 1}, "intervals": {"name": "mondrian"}}


def make(folder: Path, method: dict[str, Any]) -> Released:
    """A release in a folder, its policy and the persons of a population beside it."""
    rng = np.random.default_rng(4)
    town = [CANARY, CANARY, *rng.choice(["a", "b"], N_RECORDS - 2)]
    table = people(N_RECORDS, town=town)
    document = policy_for(write_parquet(folder / "in.parquet", table))
    document["attributes"] |= {"town": {"role": QUASI, "type": "nominal"}}
    document["method"] = method
    write_policy(folder / "people.yaml", document)
    write_parquet(folder / "population.parquet", table.select(["town", "age", "sex"]))
    return release(document)


@pytest.fixture(scope="module", params=METHODS)
def made(request: Any, tmp_path_factory: Any) -> Released:
    return make(tmp_path_factory.mktemp("people"), METHODS[request.param])


def place_of(made: Released) -> Path:
    return made.folder.parents[2]


def audit(made: Released, population: pa.Table, *more: str, capsys: Any = None) -> Any:
    place = place_of(made)
    path = write_parquet(place / "asked.parquet", population)
    given = ["--originals", str(place / "people.yaml"), "--population", str(path), "--quiet"]
    status = main(["audit", str(made.folder), *given, *more])
    if capsys is None:
        return status
    assert status == 0
    return json.loads(capsys.readouterr().out)["originals"]["population"]


def population_of(made: Released) -> pa.Table:
    return pq.read_table(place_of(made) / "population.parquet")


@pytest.mark.parametrize("n_numeric", [0, 2])
def test_persons_as_near_as_a_class_is_wide_are_counted(n_numeric):
    rng = np.random.default_rng(n_numeric)
    n_nominal, n_persons, n_points, n_members = 2, 300, 7, 8
    persons = rng.integers(0, 9, (n_numeric, n_persons)) / 9, codes(rng, n_nominal, n_persons)
    points = rng.integers(0, 9, (n_numeric, n_points)) / 9, codes(rng, n_nominal, n_points)
    members = rng.integers(0, 9, (n_numeric, n_members)) / 9, codes(rng, n_nominal, n_members)
    own, weights = np.arange(n_members) % n_points, np.array([0.5, 1.0])

    def distance(i: int, of: Any, c: int) -> float:
        square = ((of[0][:, i] - points[0][:, c]) ** 2).sum()
        return float(np.sqrt(square + weights[of[1][:, i] != points[1][:, c]].sum()))

    expected = []
    for c in range(n_points):
        radius = max(distance(i, members, c) for i in np.flatnonzero(own == c).tolist())
        near = [distance(i, persons, c) <= radius + SAME_DISTANCE for i in range(n_persons)]
        expected.append(sum(near))
    assert count_near(*persons, weights, own, *points, members).tolist() == expected
    assert len(set(expected)) > 1


def codes(rng: np.random.Generator, n_rows: int, n_columns: int) -> np.ndarray:
    return rng.integers(0, 3, (n_rows, n_columns)).astype(np.int32)


def test_persons_inside_of_intervals_and_sets_are_counted():
    rng = np.random.default_rng(1)
    numbers, names = rng.random((1, 200)), rng.integers(0, 3, (1, 200))
    lows, highs = np.array([[0.0, 0.5]]), np.array([[0.4, 1.0]])
    texts, covers = np.array([[1, 0]]), np.array([[[True, True, True], [True, False, True]]])
    expected = [
        int(((numbers[0] <= 0.4) & (names[0] != 1)).sum()),
        int((numbers[0] >= 0.5).sum()),
    ]
    assert count_covered(numbers, names, lows, highs, texts, covers).tolist() == expected


def test_of_the_records_themselves_k_could_be_in_each_class(made, capsys):
    found = audit(made, population_of(made), "--json", capsys=capsys)
    k, classes = made.manifest["privacy"]["k"], made.manifest["classes"]
    assert (found["persons"], found["left_out"], found["below_k"]) == (N_RECORDS, 0, 0)
    assert found["smallest"] >= k["achieved"]
    assert found["classes"] == found["of_classes"] == classes["n_classes"]
    assert found["journalist"] == float(f"{1 / found['smallest']:.3g}")
    assert found["marketer"] <= found["journalist"]
    twice = pa.concat_tables([population_of(made)] * 2)
    again = audit(made, twice, "--json", capsys=capsys)
    assert again["smallest"] == 2 * found["smallest"]
    assert again["marketer"] == pytest.approx(found["marketer"] / 2, rel=0.01)


def test_persons_who_cannot_be_compared_are_nobodys_double(made, capsys):
    table = population_of(made)
    others = table.slice(0, 40).to_pydict()
    others["town"] = ["elsewhere"] * 20 + [None] * 20
    strangers = pa.table(others, table.schema)
    found = audit(made, pa.concat_tables([table, strangers]), "--json", capsys=capsys)
    alone = audit(made, table, "--json", capsys=capsys)
    assert found == alone | {"left_out": 40}


def test_a_file_that_lacks_the_records_is_said_to(made, capsys):
    found = audit(made, population_of(made).slice(0, 3), "--json", capsys=capsys)
    assert (found["persons"], found["smallest"], found["journalist"]) == (3, 0, 1)
    assert found["below_k"] == found["classes"]
    assert audit(made, population_of(made).slice(0, 3)) == 0
    section = "".join(show_linkage(fake_originals(found)))
    assert "they are fewer than k: the file lacks persons of the data" in section


def fake_originals(found: dict[str, Any]) -> Any:
    from tclose.releases.manifest.originals_section import OriginalsResult

    population = PopulationResult.model_validate(found)
    return OriginalsResult.model_construct(
        attackers=5, linkage=0.1, sse=0.2, sse_of={}, population=population
    )


def test_a_page_outside_of_the_release_has_linkage_population_and_frontier(made, tmp_path):
    before, out = tree(made.folder), tmp_path / "assessed.html"
    assert audit(made, population_of(made), "--frontier", "--out", str(out)) == 0
    page = out.read_text()
    for said in ("Record linkage", "Among the population", "What other k and t would cost"):
        assert page.count(f"{said}") == 1, said
    assert "(this release)" in page
    assert "and the original records; not sealed" in page
    assert CANARY not in page
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert tree(made.folder) == before
    assert is_intact(made.folder)


def test_no_page_of_other_originals(made, tmp_path, capsys):
    place, out = place_of(made), tmp_path / "assessed.html"
    document = yaml.safe_load((place / "people.yaml").read_text())
    other = pq.read_table(place / "in.parquet").slice(1)
    document["input"]["path"] = str(write_parquet(tmp_path / "other.parquet", other))
    policy = write_policy(tmp_path / "other.yaml", document)
    given = ["--originals", str(policy), "--out", str(out)]
    assert main(["audit", str(made.folder), *given, "--quiet"]) == 3
    assert f"--out {out}: not written" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("age", pa.array(["x"] * 30), "--population: column 'age' is of type string, and of int64"),
        ("sex", None, "asked.parquet"),
    ],
)
def test_a_population_of_another_form_is_refused(made, capsys, column, values, said):
    table = population_of(made).slice(0, 30)
    at = table.column_names.index(column)
    table = table.remove_column(at)
    if values is not None:
        table = table.add_column(at, column, values)
    assert audit(made, table) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line
    assert repr(column) in line
    assert CANARY not in line


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--population", "x"], "--population and --out go with --originals POLICY"),
        (["--out", "x.html"], "--population and --out go with --originals POLICY"),
        (["--originals", "p.yaml", "--frontier"], "--frontier goes with --out FILE.html"),
        (["--originals", "p.yaml", "--out", "x.txt"], "--out x.txt: has to end in .html"),
    ],
)
def test_options_that_mean_nothing_alone_are_refused(made, capsys, given, said):
    assert main(["audit", str(made.folder), *given]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line


def test_partitions_of_a_release_are_no_quasi_identifiers(made, tmp_path, capsys):
    place = place_of(made)
    document = yaml.safe_load((place / "people.yaml").read_text())
    document["output"] |= {"partition_by": ["town"]}
    policy = write_policy(tmp_path / "parts.yaml", document)
    given = ["--originals", str(policy), "--population", str(place / "population.parquet")]
    status = main(["audit", str(made.folder), *given, "--quiet"])
    [line] = capsys.readouterr().err.splitlines()
    assert status == 2
    assert "--population: does not go with output.partition_by" in line
