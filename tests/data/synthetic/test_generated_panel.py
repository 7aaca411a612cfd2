"""The generated panel: any month alone, persons who stay the same, and the churn that was asked."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.generated_columns import SEED
from tclose.data.synthetic.panel import (
    FIRST_MONTH,
    MAX_PERSONS,
    N_MONTHS,
    PANEL_SCHEMA,
    SEATS_AT_ONCE,
    generate_panel,
)
from tclose.data.synthetic.panel_files import name_month, read_month, write_panel
from tclose.data.synthetic.panel_shares import DIAGNOSES_THAT_LAST, INSURERS, TARIFFS
from tclose.data.synthetic.spells import draw_uniforms, draw_waits, find_spells, make_key
from tclose.errors import OutputError, UsageError

PERSONS, MONTHS, CHURN = 40_000, 14, 0.02
LASTING = ["sex", "member_since", "diagnosis", "income", "tariff"]


@pytest.fixture(scope="module")
def panel() -> list[pd.DataFrame]:
    """Each month by person."""
    tables = [generate_panel(month, 0, PERSONS, SEED, CHURN) for month in range(MONTHS)]
    return [table.to_pandas().set_index("person_id") for table in tables]


class TestMonths:
    def test_first_record_of_a_seed_never_changes(self) -> None:
        assert generate_panel(0, 0, 1, 1, CHURN).to_pylist() == [
            {
                "person_id": "M23194566062",
                "age": 43,
                "sex": "female",
                "zip": 95_901,
                "insurer": "Cedar",
                "tariff": "standard",
                "member_since": 2016,
                "diagnosis": "diabetes",
                "income": 2_720,
                "cost": 834.37,
            }
        ]

    def test_month_has_one_record_for_each_person(self, panel: list[pd.DataFrame]) -> None:
        assert all(len(month) == PERSONS and month.index.is_unique for month in panel)

    @given(
        month=st.integers(0, N_MONTHS - 1),
        first=st.integers(0, 5_000),
        n_persons=st.integers(1, 50),
        churn=st.floats(0.001, 0.5),
    )
    def test_record_is_the_same_however_many_are_made(
        self, month: int, first: int, n_persons: int, churn: float
    ) -> None:
        alone = generate_panel(month, first, n_persons, SEED, churn)
        among = generate_panel(month, 0, first + n_persons, SEED, churn)
        assert alone.equals(among.slice(first))

    def test_types_and_no_nulls(self) -> None:
        table = generate_panel(5, 0, 1_000, SEED, CHURN)
        assert table.schema.equals(PANEL_SCHEMA)
        assert all(values.null_count == 0 for values in table.columns)

    def test_seeds_differ(self, panel: list[pd.DataFrame]) -> None:
        other = generate_panel(0, 0, PERSONS, SEED + 1, CHURN).to_pandas()
        assert not set(panel[0].index) & set(other["person_id"][:100])
        assert (other["income"].to_numpy() != panel[0]["income"].to_numpy()).mean() > 0.9


class TestPersons:
    def test_share_that_leaves_is_the_churn(self, panel: list[pd.DataFrame]) -> None:
        pairs = list(pairwise(panel))
        left = [1 - len(a.index.intersection(b.index)) / PERSONS for a, b in pairs]
        assert 0.9 * CHURN < np.mean(left) < 1.1 * CHURN
        assert min(left) > 0.7 * CHURN

    @pytest.mark.parametrize("churn", [0.1, 0.3, 0.5])
    def test_other_churns(self, churn: float) -> None:
        months = [generate_panel(m, 0, 20_000, SEED, churn)["person_id"] for m in (20, 21)]
        stayed = np.intersect1d(*(month.to_numpy() for month in months)).size
        assert abs(1 - stayed / 20_000 - churn) < 0.1 * churn

    @pytest.mark.nightly
    def test_some_come_back_after_two_to_five_months(self, panel: list[pd.DataFrame]) -> None:
        there = np.array([panel[0].index.isin(month.index) for month in panel])
        absent = [np.flatnonzero(~of) for of in there.T if not of.all() and of[-1]]
        assert 50 < len(absent) < 0.05 * PERSONS
        lengths = [months.size for months in absent if months[-1] - months[0] + 1 == months.size]
        assert set(lengths) >= {2, 3, 4, 5}
        assert np.isin(lengths, (2, 3, 4, 5)).mean() > 0.95

    def test_what_lasts_never_changes(self, panel: list[pd.DataFrame]) -> None:
        for month in panel[1:]:
            both = panel[0].index.intersection(month.index)
            assert panel[0].loc[both, LASTING].equals(month.loc[both, LASTING])

    def test_everybody_is_a_year_older_after_twelve_months(self, panel: list[pd.DataFrame]) -> None:
        both = panel[0].index.intersection(panel[12].index)
        assert (panel[12].loc[both, "age"] - panel[0].loc[both, "age"] == 1).all()

    @pytest.mark.parametrize("column", ["zip", "insurer"])
    def test_some_move_and_some_change_insurer(
        self, column: str, panel: list[pd.DataFrame]
    ) -> None:
        both = panel[0].index.intersection(panel[12].index)
        changed = (panel[0].loc[both, column] != panel[12].loc[both, column]).mean()
        assert 0.04 < changed < 0.07
        back = panel[0].index.intersection(panel[1].index)
        assert 0.003 < (panel[0].loc[back, column] != panel[1].loc[back, column]).mean() < 0.007

    def test_costs_are_drawn_anew(self, panel: list[pd.DataFrame]) -> None:
        both = panel[0].index.intersection(panel[1].index)
        first, second = (np.log(month.loc[both, "cost"]) for month in panel[:2])
        healthy = panel[0].loc[both, "diagnosis"] == "none"
        assert abs(np.corrcoef(first[healthy], second[healthy])[0, 1]) < 0.03

    def test_values_are_believable(self, panel: list[pd.DataFrame]) -> None:
        first = panel[0]
        assert (first["age"].min(), first["age"].max()) == (0, 95)
        assert set(first["insurer"]) == set(INSURERS)
        assert set(first["tariff"]) == set(TARIFFS)
        assert set(first["diagnosis"]) == set(DIAGNOSES_THAT_LAST)
        assert first["member_since"].max() <= 2024
        assert (2024 - first["member_since"] <= first["age"] + 1).all()
        demented, old = first["diagnosis"] == "dementia", first["age"] > 75
        assert demented[old].mean() > 10 * demented[~old].mean() > 0
        joined = panel[13].index.difference(first.index)
        assert panel[13].loc[joined, "age"].mean() < first["age"].mean()

    def test_names_are_silent_about_order(self, panel: list[pd.DataFrame]) -> None:
        assert panel[0].index.str.fullmatch("M[0-9]{11}").all()
        numbers = panel[0].index.str[1:].astype(np.int64).to_numpy()
        assert abs(np.corrcoef(numbers, np.arange(PERSONS))[0, 1]) < 0.02


class TestSpells:
    def test_numbers_are_uniform_and_independent(self) -> None:
        people = np.arange(200_000)
        drawn = [draw_uniforms(make_key(SEED, 0), people, spell) for spell in (0, 1)]
        drawn.append(draw_uniforms(make_key(SEED, 1), people))
        for uniforms in drawn:
            counts = np.histogram(uniforms, 100, (0, 1))[0]
            assert ((counts - 2_000) ** 2 / 2_000).sum() < 150  # chi-square, 99 degrees
        assert np.abs(np.corrcoef(drawn) - np.eye(3)).max() < 0.01

    def test_waits_are_geometric(self) -> None:
        waits = draw_waits(draw_uniforms(make_key(SEED, 0), np.arange(200_000)), 0.25)
        assert waits.min() == 1
        assert abs(waits.mean() - 4) < 0.05
        assert abs((waits == 1).mean() - 0.25) < 0.005

    @given(month=st.integers(0, 60), rate=st.floats(0.01, 0.9))
    def test_spells_are_those_of_a_walk(self, month: int, rate: float) -> None:
        people, key = np.arange(7), make_key(SEED, 3)
        found = find_spells(key, people, np.full(7, month), rate)
        for person in people:
            number, start = 0, 0
            while True:
                [wait] = draw_waits(draw_uniforms(key, np.array([person]), number), rate)
                if start + wait > month:
                    break
                number, start = number + 1, start + int(wait)
            assert (found.number[person], found.start[person]) == (number, start)


class TestFiles:
    def test_file_for_each_month(self, tmp_path: Path) -> None:
        n_persons = SEATS_AT_ONCE + 10
        seen: list[int] = []
        paths = write_panel(tmp_path / "panel", n_persons, SEED, range(2, 4), progress=seen.append)
        assert paths == [tmp_path / "panel" / f"2024-0{m}.parquet" for m in (3, 4)]
        for month, path in zip((2, 3), paths, strict=True):
            assert pq.read_table(path).equals(generate_panel(month, 0, n_persons, SEED, CHURN))
        assert seen == [SEATS_AT_ONCE, n_persons, n_persons + SEATS_AT_ONCE, 2 * n_persons]

    @pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
    def test_one_month_is_one_file(self, name: str, tmp_path: Path) -> None:
        assert write_panel(tmp_path / name, 10, SEED, range(7, 8)) == [tmp_path / name]
        read = pd.read_csv if name.endswith("csv") else pd.read_parquet
        expected: pa.Table = generate_panel(7, 0, 10, SEED, CHURN)
        assert read(tmp_path / name)["person_id"].tolist() == expected["person_id"].to_pylist()

    def test_names_of_months(self) -> None:
        assert [name_month(m) for m in (0, 12, N_MONTHS - 1)] == ["2024-01", "2025-01", "2033-12"]
        assert all(read_month(name_month(m)) == m for m in range(N_MONTHS))
        assert str(FIRST_MONTH) == "2024-01"
        for text in ("2034-01", "2024-13", "2024", "2023-12"):
            with pytest.raises(UsageError, match=rf"--month {text}: has to be a month as in"):
                read_month(text)

    def test_refuses_several_months_in_one_file(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is one file, and 2 months are asked; name a folder"):
            write_panel(tmp_path / "a.csv", 10, SEED, range(2))
        with pytest.raises(UsageError, match="number of months is 0"):
            write_panel(tmp_path / "a", 10, SEED, range(0))
        (tmp_path / "mine").write_text("mine")
        with pytest.raises(OutputError, match="exists already"):
            write_panel(tmp_path, 10, SEED, range(2))
        assert [p.name for p in tmp_path.iterdir()] == ["mine"]

    @pytest.mark.parametrize(
        ("month", "n_persons", "seed", "churn", "message"),
        [
            (-1, 5, 1, 0.02, "month 2023-12: 2024-01 to 2033-12 exist"),
            (N_MONTHS, 5, 1, 0.02, "month 2034-01: 2024-01 to 2033-12 exist"),
            (0, 0, 1, 0.02, "number of persons is 0"),
            (0, MAX_PERSONS + 1, 1, 0.02, "268,435,456 exist"),
            (0, 5, -1, 0.02, "seed is -1"),
            (0, 5, 1, 0.0, "churn is 0.0; it must be above 0, and 0.5 at most"),
            (0, 5, 1, 0.6, "churn is 0.6"),
            (0, 5, 1, float("nan"), "churn is nan"),
        ],
    )
    def test_refuses_numbers_out_of_range(
        self, month: int, n_persons: int, seed: int, churn: float, message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            generate_panel(month, 0, n_persons, seed, churn)
