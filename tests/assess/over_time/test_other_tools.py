"""The attack on tables that other tools made, which are published as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tclose.assess.over_time.attack import attack_releases
from tclose.assess.over_time.attack_result import AttackResult, PersonExposure
from tclose.errors import DataError
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

QUIET = Progress("none")


class TestOtherTools:
    """Tables that are published as files; the classes of persons are not known."""

    OURS = ("[20, 30]", "[40, 50]"), ("[20, 40]", "50")
    # As ARX writes intervals, R's cut, and Amnesia.
    OTHERS = (
        (("[20, 31[", "[40, 51["), ("[20, 41[", "[50, 51[")),
        (("(19,30]", "(39,50]"), ("(19,40]", "(49,50]")),
        (("20-30", "40-50"), ("20-40", "5*")),
    )

    def originals(self, folder: Path, number: int, ages: dict[str, int], pay: list[int]) -> Any:
        table = pa.table(
            {"who": list(ages), "age": list(ages.values()), "sex": ["f"] * len(ages), "pay": pay}
        )
        pq.write_table(table, folder / f"{number}.parquet")
        attributes = {"who": "identifier", "age": "quasi-identifier", "sex": "quasi-identifier",
                      "pay": "confidential"}  # fmt: skip
        return parse_policy(
            {
                "name": "people",
                "input": {"path": str(folder / f"{number}.parquet")},
                "attributes": attributes,
                "privacy": {"k": 2, "t": 1},
            }
        )

    def people(self, folder: Path) -> list[Any]:
        return [
            self.originals(folder, 1, {"ann": 20, "bob": 30, "cyd": 40, "dan": 50}, [1, 2, 3, 4]),
            self.originals(folder, 2, {"ann": 20, "cyd": 40, "dan": 50, "eve": 50}, [1, 3, 4, 5]),
        ]

    def attack(self, folder: Path, suffix: str, ages: Any = OURS) -> AttackResult:
        places = [folder / f"first{suffix}", folder / f"second{suffix}"]
        for place, of_release, pay in zip(places, ages, ([1, 2, 3, 4], [1, 3, 4, 5]), strict=True):
            age = np.repeat(of_release, 2).tolist()
            table = pa.table({"age": age, "sex": ["*"] * 4, "pay": pay})
            (pa_csv.write_csv if suffix == ".csv" else pq.write_table)(table, place)
        return attack_releases(places, self.people(folder), "who", None, QUIET)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_everybody_is_found(self, suffix: str, tmp_path: Path) -> None:
        """bob has left and eve has come; ann and bob, cyd and dan, dan and eve share a class."""
        result = self.attack(tmp_path, suffix)
        assert result.classes_known is None
        assert result.refinement is None
        assert [note.split(": ")[1] for note in result.notes] == [
            "is no release of tclose, so the class of each person is not known"
        ] * 2
        linked = result.by_linking
        assert linked.below_k_in_one == (0, 0)
        assert linked.linked == (None, None)
        assert linked.stayed == PersonExposure(3, 3, 3, 1.0, linked.stayed.values)
        assert linked.changed == PersonExposure(2, 2, 2, 1.0, linked.changed.values)
        for exposure in (linked.stayed, linked.changed):
            [pay] = exposure.values
            assert (pay.attribute, pay.persons, pay.right) == (
                "pay",
                exposure.persons,
                exposure.persons,
            )

    @pytest.mark.parametrize("ages", OTHERS)
    def test_notations_of_other_tools_say_the_same(self, ages: Any, tmp_path: Path) -> None:
        found = self.attack(tmp_path, ".csv", ages)
        assert found.by_linking == self.attack(tmp_path, ".csv").by_linking

    def test_fields_may_be_cut_by_semicolons(self, tmp_path: Path) -> None:
        """As ARX exports them."""
        expected = self.attack(tmp_path, ".csv")
        for name, (low, high), pays in zip(
            ("first", "second"), self.OTHERS[0], ((1, 2, 3, 4), (1, 3, 4, 5)), strict=True
        ):
            rows = zip((low, low, high, high), pays, strict=True)
            lines = ["age;sex;pay", *(f"{age};*;{pay}" for age, pay in rows)]
            (tmp_path / f"{name}.csv").write_text("\n".join(lines))
        places = [tmp_path / "first.csv", tmp_path / "second.csv"]
        found = attack_releases(places, self.people(tmp_path), "who", None, QUIET)
        assert found.by_linking == expected.by_linking

    def test_a_notation_that_is_not_known_is_refused(self, tmp_path: Path) -> None:
        message = r"first.csv: column 'age': 1 different values .* write intervals as \[20, 40\]"
        with pytest.raises(DataError, match=message):
            self.attack(tmp_path, ".csv", (("twenties", "40-50"), ("20-40", "50")))

    def test_nearest_where_values_are_plain(self, tmp_path: Path) -> None:
        policies = [
            self.originals(tmp_path, n, {"ann": 20, "bob": 30, "cyd": 50, "dan": 58}, [1, 2, 3, 4])
            for n in (1, 2)
        ]
        table = pa.table({"age": [25.0, 25.0, 54.0, 54.0], "sex": ["f"] * 4, "pay": [1, 2, 3, 4]})
        pq.write_table(table, tmp_path / "released.parquet")
        places = [tmp_path / "released.parquet"] * 2
        stayed = attack_releases(places, policies, "who", None, QUIET).by_linking.stayed
        assert (stayed.persons, stayed.alone, stayed.found) == (4, 0, 0.5)

    def test_codes_in_csv_keep_their_zeros(self, tmp_path: Path) -> None:
        """Beside a column of intervals values are compared as texts."""
        policy = self.coded_originals(tmp_path)
        place = tmp_path / "released.csv"
        place.write_text('age,zip,pay\n"[20, 40]",04103,1\n"[20, 40]",04103,2\n*,12345,3\n')
        stayed = attack_releases([place] * 2, [policy] * 2, "who", None, QUIET).by_linking.stayed
        assert (stayed.persons, stayed.alone, stayed.found) == (3, 1, 2 / 3)

    @pytest.mark.parametrize("pays", [("001", "002", "003"), ("01.1", "01.2", "11.3")])
    def test_confidential_codes_keep_their_zeros(
        self, pays: tuple[str, ...], tmp_path: Path
    ) -> None:
        policy = self.coded_originals(tmp_path, pays, type="nominal")
        ages = ("[20, 40]", "[20, 40]", "*")
        rows = zip(ages, ("04103", "04103", "12345"), pays, strict=True)
        place = tmp_path / "released.csv"
        place.write_text("age,zip,pay\n" + "".join(f'"{a}",{z},{p}\n' for a, z, p in rows))
        stayed = attack_releases([place] * 2, [policy] * 2, "who", None, QUIET).by_linking.stayed
        assert [(pay.attribute, pay.right) for pay in stayed.values] == [("pay", 1)]

    def coded_originals(
        self, folder: Path, pays: Sequence[object] = (1, 2, 3), **settings: str
    ) -> Any:
        rows = zip(("a,20,04103", "b,30,04103", "c,40,12345"), pays, strict=True)
        text = "who,age,zip,pay\n" + "".join(f"{row},{pay}\n" for row, pay in rows)
        (folder / "originals.csv").write_text(text)
        return parse_policy(
            {
                "name": "people",
                "input": {"path": str(folder / "originals.csv")},
                "attributes": {"who": "identifier", "age": "quasi-identifier",
                               "zip": "quasi-identifier",
                               "pay": {"role": "confidential"} | settings},
                "privacy": {"k": 2, "t": 1},
            }
        )  # fmt: skip

    @pytest.mark.parametrize(
        "age", [pa.array([25.0, None, 54, 54]), pa.array(["25", None, "*", "54"])]
    )
    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_rows_without_a_value_are_refused(
        self, suffix: str, age: pa.Array, tmp_path: Path
    ) -> None:
        """They are at no distance from anybody: all persons were linked to the first class."""
        policy = self.originals(tmp_path, 1, {"ann": 20, "bob": 30, "cyd": 50, "dan": 58}, [1] * 4)
        place = tmp_path / f"released{suffix}"
        table = pa.table({"age": age, "sex": ["f"] * 4, "pay": [1, 2, 3, 4]})
        (pa_csv.write_csv if suffix == ".csv" else pq.write_table)(table, place)
        with pytest.raises(DataError, match=r"1 row has no value in column 'age'.*write \*"):
            attack_releases([place] * 2, [policy] * 2, "who", None, QUIET)
