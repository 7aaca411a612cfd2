"""Generated rows: one endless table per seed, however it is cut, and believable in its margins."""

from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from support.tables.generated_columns import SEED, column
from tclose.data import synthetic
from tclose.data.synthetic import CHUNK_ROWS, MAX_ROWS, SCHEMA, generate_rows
from tclose.errors import UsageError


@pytest.fixture(scope="module")
def discharges() -> pa.Table:
    return generate_rows(0, 3 * CHUNK_ROWS, SEED)


class TestRows:
    def test_first_row_of_a_seed_never_changes(self) -> None:
        assert generate_rows(0, 1, 1).to_pylist() == [
            {
                "patient_id": "P23194566062",
                "age": 68,
                "sex": "male",
                "zip": 90_010,
                "admission_date": date(2023, 4, 5),
                "length_of_stay": 1,
                "diagnosis_group": "circulatory",
                "insurance_type": "public",
                "severity": "minor",
                "charge": 13_375.42,
                "discharge_status": "home",
            }
        ]

    @pytest.mark.parametrize(
        ("first", "n_rows"),
        [
            (0, 1),
            (0, CHUNK_ROWS),
            (CHUNK_ROWS - 1, 2),
            (CHUNK_ROWS, 10),
            (12_345, CHUNK_ROWS + 1),
            (3 * CHUNK_ROWS - 1, 1),
        ],
    )
    def test_row_is_the_same_whatever_is_asked(
        self, discharges: pa.Table, first: int, n_rows: int
    ) -> None:
        assert generate_rows(first, n_rows, SEED).equals(discharges.slice(first, n_rows))

    def test_row_is_the_same_whatever_was_made_before(self) -> None:
        before = generate_rows(5 * CHUNK_ROWS, 100, SEED)
        generate_rows(0, 1, SEED + 1)
        assert generate_rows(5 * CHUNK_ROWS, 100, SEED).equals(before)

    def test_seeds_and_chunks_differ(self, discharges: pa.Table) -> None:
        start = discharges.slice(0, 100)
        assert not generate_rows(0, 100, SEED + 1)["charge"].equals(start["charge"])
        assert not generate_rows(0, 100, SEED + 1)["patient_id"].equals(start["patient_id"])
        assert not discharges.slice(CHUNK_ROWS, 100)["charge"].equals(start["charge"])

    def test_types_and_no_nulls(self, discharges: pa.Table) -> None:
        assert discharges.schema.equals(SCHEMA)
        assert [str(kind) for kind in discharges.schema.types] == [
            "string",
            "int16",
            "string",
            "int32",
            "date32[day]",
            "int16",
            "string",
            "string",
            "string",
            "double",
            "string",
        ]
        assert not any(field.nullable for field in discharges.schema)
        assert all(values.null_count == 0 for values in discharges.columns)

    def test_far_rows_exist_up_to_the_limit(self) -> None:
        last = generate_rows(MAX_ROWS - 1, 1, SEED)
        assert last.num_rows == 1
        with pytest.raises(UsageError, match="exist"):
            generate_rows(MAX_ROWS - 1, 2, SEED)

    @pytest.mark.parametrize(
        ("first", "n_rows", "seed", "message"),
        [
            (0, 0, 1, "number of rows is 0"),
            (0, -5, 1, "number of rows is -5"),
            (-1, 5, 1, "rows -1 to 3 asked"),
            (0, 5, -1, "seed is -1"),
        ],
    )
    def test_refuses_numbers_out_of_range(
        self, first: int, n_rows: int, seed: int, message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            generate_rows(first, n_rows, seed)


class TestMargins:
    def test_patient_ids_are_unique_and_silent_about_order(self, discharges: pa.Table) -> None:
        ids = discharges["patient_id"]
        assert pc.count_distinct(ids).as_py() == discharges.num_rows
        assert pc.all(pc.match_substring_regex(ids, "^P[0-9]{11}$")).as_py()
        numbers = pc.utf8_slice_codeunits(ids, 1).cast(pa.int64()).to_numpy()
        assert abs(np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]) < 0.01
        assert abs(np.mean(np.diff(numbers) > 0) - 0.5) < 0.01

    def test_numbers_stay_in_range(self, discharges: pa.Table) -> None:
        age, stay, charge = (
            column(discharges, name) for name in ("age", "length_of_stay", "charge")
        )
        assert (age.min(), age.max()) == (0, 104)
        assert stay.min() == 0
        assert stay.max() <= 365
        assert charge.min() > 100
        assert np.array_equal(charge, np.round(charge, 2))

    def test_categories(self, discharges: pa.Table) -> None:
        assert set(discharges["sex"].unique().to_pylist()) == set(synthetic.SEXES)
        assert set(discharges["severity"].unique().to_pylist()) == set(synthetic.SEVERITIES)
        assert set(discharges["insurance_type"].unique().to_pylist()) == set(synthetic.INSURANCES)
        assert set(discharges["discharge_status"].unique().to_pylist()) == set(synthetic.STATUSES)
        assert pc.count_distinct(discharges["diagnosis_group"]).as_py() == 21

    def test_ages_peak_at_birth_and_late_in_life(self, discharges: pa.Table) -> None:
        counts = np.bincount(column(discharges, "age"), minlength=105)
        assert counts[0] == counts.max()
        assert counts[70] > 3 * counts[10]
        assert counts[104] < counts[85] / 20

    def test_pregnancy_only_in_women_of_15_to_50(self, discharges: pa.Table) -> None:
        is_pregnancy = pc.equal(discharges["diagnosis_group"], "pregnancy and childbirth")
        cases = discharges.filter(is_pregnancy)
        assert cases["sex"].unique().to_pylist() == ["female"]
        assert column(cases, "age").min() == 15
        assert 45 <= column(cases, "age").max() <= 50
        assert 0.07 < cases.num_rows / discharges.num_rows < 0.14

    def test_perinatal_only_in_newborns(self, discharges: pa.Table) -> None:
        cases = discharges.filter(pc.equal(discharges["diagnosis_group"], "perinatal"))
        assert cases["age"].unique().to_pylist() == [0]
        assert cases.num_rows > 0.8 * np.sum(column(discharges, "age") == 0)

    @pytest.mark.parametrize(
        ("group", "sex"), [("male reproductive", "male"), ("female reproductive", "female")]
    )
    def test_reproductive_groups_follow_sex(
        self, discharges: pa.Table, group: str, sex: str
    ) -> None:
        cases = discharges.filter(pc.equal(discharges["diagnosis_group"], group))
        assert cases["sex"].unique().to_pylist() == [sex]

    def test_zip_codes_are_many_uneven_and_in_six_neighbourhoods(
        self, discharges: pa.Table
    ) -> None:
        codes, counts = np.unique(column(discharges, "zip"), return_counts=True)
        assert len(codes) == 900
        assert (codes.min(), codes.max()) == (90_001, 96_099)
        assert np.sum(np.diff(codes) > 200) == 5
        assert counts.max() > 50 * counts.min()

    def test_dates_cover_three_years_with_quiet_weekends_and_a_winter(
        self, discharges: pa.Table
    ) -> None:
        dates = column(discharges, "admission_date").astype("datetime64[D]")
        assert (str(dates.min()), str(dates.max())) == ("2022-01-01", "2024-12-31")
        by_weekday = np.bincount((dates.astype(int) + 3) % 7)
        assert by_weekday[5:].max() < 0.9 * by_weekday[:5].min()
        is_chest = pc.equal(discharges["diagnosis_group"], "respiratory").to_numpy()
        by_month = np.bincount(dates[is_chest].astype("datetime64[M]").astype(int) % 12)
        assert by_month[0] > 1.5 * by_month[6]

    def test_stays_are_short_tied_and_skewed(self, discharges: pa.Table) -> None:
        stay = column(discharges, "length_of_stay")
        assert 0.45 < np.mean((stay >= 1) & (stay <= 3)) < 0.7
        assert stay.mean() > 1.3 * np.median(stay)

    def test_charges_are_tied_and_skewed(self, discharges: pa.Table) -> None:
        charge = column(discharges, "charge")
        values, counts = np.unique(charge, return_counts=True)
        assert 0.25 < counts[counts >= 20].sum() / len(charge) < 0.45
        assert len(values) > len(charge) / 2
        assert charge.mean() > 1.3 * np.median(charge)

    def test_charges_follow_stay_and_severity(self, discharges: pa.Table) -> None:
        charge, stay = column(discharges, "charge"), column(discharges, "length_of_stay")
        assert np.corrcoef(charge, stay)[0, 1] > 0.3
        severity = column(discharges, "severity")
        medians = [np.median(charge[severity == level]) for level in synthetic.SEVERITIES]
        assert medians == sorted(medians)

    def test_insurance_follows_age_and_region(self, discharges: pa.Table) -> None:
        age, insurance = column(discharges, "age"), column(discharges, "insurance_type")
        is_coast = column(discharges, "zip") // 1_000 == 92
        is_private = insurance == "private"
        assert is_private[age < 60].mean() > 5 * is_private[age > 70].mean()
        is_adult = (age >= 18) & (age < 60)
        assert is_private[is_adult & is_coast].mean() > is_private[is_adult].mean() + 0.1

    def test_deaths_follow_severity_and_age(self, discharges: pa.Table) -> None:
        died = column(discharges, "discharge_status") == "died"
        is_extreme = column(discharges, "severity") == "extreme"
        is_old = column(discharges, "age") >= 75
        assert 0.01 < died.mean() < 0.03
        assert died[is_extreme].mean() > 10 * died[~is_extreme].mean()
        assert died[is_old].mean() > 2 * died[~is_old].mean()
