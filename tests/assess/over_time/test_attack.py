"""The attack on releases of a panel, next to the definition; refusals; the command."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import write_policy
from tclose.assess.over_time import person_records
from tclose.assess.over_time.attack import attack_releases
from tclose.assess.over_time.attack_result import AttackResult
from tclose.cli.main import main
from tclose.data.synthetic.panel_files import write_panel
from tclose.errors import DataError, PolicyError, UsageError
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

QUASI = ["age", "sex", "zip", "insurer"]
QUIET = Progress("none")


def document(source: Path, output: Path, method: str, **more: Any) -> dict[str, Any]:
    return {
        "name": source.stem,
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": {
            "person_id": "identifier",
            **dict.fromkeys(QUASI, "quasi-identifier"),
            "income": "confidential",
            "cost": "confidential",
        },
        "method": {"name": method},
        "privacy": {"k": 4, "t": 0.4},
        "output": {"path": str(output)},
    } | more


class Series:
    """Months of a panel, released by one method."""

    def __init__(self, folder: Path, method: str, months: range = range(2)) -> None:
        self.files = write_panel(folder / "panel", 400, 5, months, churn=0.1)
        self.documents = [document(file, folder / "releases", method) for file in self.files]
        self.policies = [parse_policy(one) for one in self.documents]
        self.releases = [Path(str(run_release(one, QUIET).release)) for one in self.policies]

    def attack(self, persistent: list[str] | None = None) -> AttackResult:
        return attack_releases(self.releases, self.policies, "person_id", persistent, QUIET)

    def true_classes(self) -> pd.DataFrame:
        """The class of each person by month; costs and incomes tell rows apart."""
        found = {}
        for i, (file, release) in enumerate(zip(self.files, self.releases, strict=True)):
            released = pd.read_parquet(release / "data")
            number = released.groupby(QUASI, sort=False).ngroup().rename("class")
            rows = released[["income", "cost"]].join(number)
            originals = pd.read_parquet(file)[["person_id", "income", "cost"]]
            merged = originals.merge(rows, on=["income", "cost"], validate="one_to_one")
            assert len(merged) == len(originals)
            found[i] = merged.set_index("person_id")["class"]
        return pd.DataFrame(found)


@pytest.fixture(scope="module")
def nearest(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return Series(tmp_path_factory.mktemp("nearest"), "mdav")


@pytest.fixture(scope="module")
def covering(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return Series(tmp_path_factory.mktemp("covering"), "mondrian", range(3))


def check_known(result: AttackResult, series: Series) -> None:
    """The cells are those of the definition, by another way."""
    classes = series.true_classes().fillna(-1)
    sizes = classes.groupby(list(classes.columns))[0].transform("size")
    stayed = (classes >= 0).all(axis=1)
    known = result.classes_known
    for exposure, who in ((known.stayed, stayed), (known.changed, ~stayed)):
        assert exposure.persons == who.sum()
        assert exposure.alone == (sizes[who] == 1).sum()
        assert exposure.below_k == (sizes[who] < 4).sum()
        assert exposure.found == pytest.approx((1 / sizes[who]).mean())
        [income] = exposure.values
        assert income.right == income.persons  # he is never wrong
        assert income.persons >= 0.95 * exposure.alone  # some have the same income
    assert known.below_k_in_one == (0,) * len(series.releases)
    assert known.linked == known.one_class == (1.0,) * len(series.releases)


def test_classes_known_and_nearest_linked(nearest: Series) -> None:
    result = nearest.attack()
    check_known(result, nearest)
    assert result.persons == (400, 400)
    assert result.persistent == ("income",)
    assert result.persists["income"] == 1.0
    assert result.persists["cost"] < 0.05
    assert result.classes_known.stayed.alone > 50  # releases that know nothing of each other
    linked = result.by_linking
    assert all(share is not None and 0.25 < share < 1 for share in linked.linked)
    assert linked.one_class == (1.0, 1.0)
    assert result.notes == ()


def test_covering_classes_are_never_wrong(covering: Series) -> None:
    result = covering.attack()
    check_known(result, covering)
    known, linked = result.classes_known, result.by_linking
    assert linked.linked == (1.0,) * 3
    assert linked.below_k_in_one == (0, 0, 0)
    for by_links, by_classes in ((linked.stayed, known.stayed), (linked.changed, known.changed)):
        assert by_links.persons == by_classes.persons
        assert by_links.alone <= by_classes.alone
        assert by_links.below_k <= by_classes.below_k
        [income] = by_links.values
        assert income.right == income.persons <= by_classes.values[0].persons
    assert linked.stayed.below_k > 0.1 * linked.stayed.persons


@pytest.mark.nightly
def test_column_of_persons_is_that_of_the_role(tmp_path: Path) -> None:
    """k counts persons then, and the releases are made again as they were."""
    files = write_panel(tmp_path / "panel", 400, 5, range(2), churn=0.1)
    policies = []
    for file in files:
        given = document(file, tmp_path / "releases", "t-closeness-first")
        given["attributes"]["person_id"] = "person"
        policies.append(parse_policy(given))
    releases = [Path(str(run_release(policy, QUIET).release)) for policy in policies]
    result = attack_releases(releases, policies, None, None, QUIET)
    assert result.classes_known.below_k_in_one == (0, 0)
    stayed = result.classes_known.stayed
    assert stayed.alone > 0.1 * stayed.persons  # though in no class of either release


def test_nothing_is_gained_by_a_release_that_is_there_twice(nearest: Series) -> None:
    again = [nearest.releases[0]] * 2, [nearest.policies[0]] * 2
    result = attack_releases(*again, "person_id", None, QUIET)
    assert result.classes_known.changed.persons == 0
    stayed = result.classes_known.stayed
    assert (stayed.alone, stayed.below_k) == (0, 0)
    assert stayed.found <= 1 / 4
    assert [value.attribute for value in stayed.values] == ["income", "cost"]


def test_without_values_that_last_cells_alone_are_counted(covering: Series) -> None:
    result = covering.attack([])
    assert result.persistent == ()
    assert result.classes_known.stayed.values == ()
    check = covering.attack().classes_known.stayed
    assert result.classes_known.stayed.alone == check.alone


def cell_distances(series: Series, column: str) -> list[Fraction]:
    """Ordered distance of every cell to each release that it is in, without rounding."""
    classes = series.true_classes().fillna(-1)
    cells = classes.groupby(list(classes.columns)).ngroup()
    distances = []
    for file in series.files:
        values = pd.read_parquet(file).set_index("person_id")[column]
        ranks = values.rank(method="dense").astype(int) - 1
        table = np.cumsum(np.bincount(ranks))
        for _, persons in ranks.groupby(cells.loc[ranks.index]):
            cell = np.cumsum(np.bincount(persons, minlength=table.size))
            parts = np.abs(cell * len(ranks) - table * len(persons)).sum()
            distances.append(Fraction(int(parts), len(ranks) * len(persons) * (table.size - 1)))
    return distances


class TestRefinement:
    def test_decided_as_by_the_definition(self, covering: Series) -> None:
        check = covering.attack().refinement
        cells = covering.true_classes().fillna(-1).value_counts()
        assert (check.k, check.cells, check.smallest) == (4, cells.size, cells.min())
        assert check.below_k == (cells < 4).sum()
        assert not check.passed
        assert [one.attribute for one in check.distances] == ["income", "cost"]
        for one in check.distances:
            expected = cell_distances(covering, one.attribute)
            assert one.t == 0.4
            assert one.cells_above == sum(distance > Fraction(2, 5) for distance in expected) > 0
            assert one.largest_emd == pytest.approx(float(max(expected)))

    def test_other_k_and_t(self, nearest: Series) -> None:
        again = [nearest.releases[0]] * 2, [nearest.policies[0]] * 2, "person_id", None, QUIET
        asked = nearest.policies[0].privacy
        assert attack_releases(*again).refinement.passed
        assert not attack_releases(*again, k=asked.k + 40).refinement.passed
        tight = attack_releases(*again, t=Fraction(1, 1000)).refinement
        assert not tight.below_k
        assert all(one.cells_above == 2 * tight.cells for one in tight.distances)


class TestRefusals:
    def refused(self, series: Series, error: type[Exception], message: str, **changes: Any) -> None:
        given: dict[str, Any] = {
            "places": series.releases,
            "policies": series.policies,
            "person": "person_id",
            "persistent": None,
        } | changes
        with pytest.raises(error, match=message):
            attack_releases(**given, progress=QUIET)

    def test_what_is_given(self, nearest: Series, tmp_path: Path) -> None:
        one = {"policies": nearest.policies[:1]}
        self.refused(nearest, UsageError, "2 releases and 1 --originals: give the policy", **one)
        alone = {"places": nearest.releases[:1]}
        self.refused(nearest, UsageError, "1 release and 2 --originals: give the policy", **alone)
        self.refused(
            nearest, PolicyError, r"no such column; did you mean person_id\?", person="person"
        )
        self.refused(nearest, PolicyError, "is a quasi-identifier column; name", person="age")
        self.refused(
            nearest, UsageError, "--persistent pay: is no confidential", persistent=["pay"]
        )
        (tmp_path / "a.csv").write_text("")
        (tmp_path / "b.csv").write_text("age,sex\n1,f\n")
        for name, message in (("a", "cannot be read as Parquet or CSV"), ("b", "no column 'zip'")):
            places = [tmp_path / f"{name}.csv"] * 2
            self.refused(nearest, DataError, message, places=places)

    def test_several_records_of_a_person(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Refused before the release is made again, which takes long."""
        [file] = write_panel(tmp_path / "panel", 40, 5, range(1))
        table = pq.read_table(file)
        pq.write_table(pa.concat_tables([table, table.slice(0, 3)]), file)
        policy = parse_policy(document(file, tmp_path / "releases", "mdav"))
        release = Path(str(run_release(policy, QUIET).release))
        monkeypatch.setattr(person_records, "run_pipeline", lambda *_: pytest.fail("made again"))
        with pytest.raises(DataError, match="3 records are about persons who have another one"):
            attack_releases([release] * 2, [policy] * 2, "person_id", None, QUIET)

    def test_persons_that_are_missing(self, tmp_path: Path) -> None:
        [file] = write_panel(tmp_path / "panel", 40, 5, range(1))
        table = pq.read_table(file)
        names = pa.array([None, *table["person_id"].to_pylist()[1:]])
        pq.write_table(table.set_column(0, "person_id", names), file)
        policy = parse_policy(document(file, tmp_path / "releases", "mdav"))
        release = Path(str(run_release(policy, QUIET).release))
        with pytest.raises(DataError, match="column 'person_id' has 1 missing value"):
            attack_releases([release] * 2, [policy] * 2, "person_id", None, QUIET)

    def test_other_originals_leave_classes_unknown(self, nearest: Series) -> None:
        policies = nearest.policies[::-1]
        result = attack_releases(nearest.releases, policies, "person_id", None, QUIET)
        assert result.classes_known is None
        assert "the policy and its input do not give its rows" in result.notes[0]


class TestCommand:
    def run(self, series: Series, tmp_path: Path, *options: str) -> int:
        paths = [write_policy(tmp_path / f"{i}.yaml", d) for i, d in enumerate(series.documents)]
        releases, policies = map(str, series.releases), map(str, paths)
        return main(
            [
                "attack",
                *releases,
                "--originals",
                *policies,
                "--person",
                "person_id",
                "--quiet",
                *options,
            ]
        )

    def test_table(
        self, nearest: Series, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(nearest, tmp_path) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        lines = [" ".join(line.split()) for line in shown.out.splitlines()]
        for start in ("classes known by linking", "persons in every release", "one income left"):
            assert any(line.startswith(start) for line in lines)

    def test_json(
        self, nearest: Series, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(nearest, tmp_path, "--json", "--persistent", "income,cost") == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["persistent"] == ["income", "cost"]
        assert printed["classes_known"]["stayed"]["persons"] > 300
        # cost is drawn anew: the intruder who takes it to last is left with nothing, or is wrong
        assert printed["classes_known"]["stayed"]["values"][0]["persons"] < 20

    def test_status_of_a_verification(self, nearest: Series, tmp_path: Path, capsys) -> None:
        assert self.run(nearest, tmp_path, "--verify") == 3
        assert re.search(r"all releases together +FAIL", capsys.readouterr().out)
        assert self.run(nearest, tmp_path, "--verify", "--k", "1", "--t", "1", "--json") == 0
        assert json.loads(capsys.readouterr().out)["refinement"]["passed"] is True
        for wrong in ("2", "0", "x", "1/0"):
            with pytest.raises(SystemExit):
                self.run(nearest, tmp_path, "--t", wrong)
            assert "argument --t" in capsys.readouterr().err

    def test_errors_are_one_message(
        self, nearest: Series, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(nearest, tmp_path, "--persistent", "zip") == 2
        assert capsys.readouterr().err.startswith("tclose: --persistent zip: is no confidential")

    def test_day_behind_the_policy(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = write_panel(tmp_path / "panel", 200, 5, range(1))[0]
        given = document(file, tmp_path / "releases", "mdav")
        given["input"] = {"path": str(tmp_path / "panel" / "{as_of:%Y-%m}.parquet")}
        path = str(write_policy(tmp_path / "p.yaml", given))
        assert main(["run", path, "--as-of", "2024-01-01", "--quiet"]) == 0
        release = str(tmp_path / "releases" / file.stem)
        command = ["attack", release, release, "--person", "person_id", "--quiet", "--originals"]
        capsys.readouterr()
        assert main([*command, *[f"{path}@2024-01-01"] * 2]) == 0
        assert "200 persons" in capsys.readouterr().out
        assert main([*command, path, path]) == 2
        assert "as_of" in capsys.readouterr().err
