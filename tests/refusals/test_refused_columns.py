"""Columns that are refused, whatever the format: by name, kind of value and remedy."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    N_PEOPLE,
    QUASI,
    people,
    policy_for,
    tree,
    write_csv,
    write_parquet,
    write_policy,
)
from support.checks.refusals import SECRET, csv_of, with_secret
from tclose.cli.main import main


class TestColumns:
    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_column_not_in_the_data(self, write, tmp_path, refuse):
        path = write(tmp_path / "people.x", with_secret())
        document = policy_for(path)
        document["attributes"]["pey"] = CONFIDENTIAL
        document["attributes"]["colour"] = QUASI
        refuse(
            document, "people.x: has no column 'pey' (column 3 has a name like it), 'colour', which"
        )

    def test_index_of_pandas(self, tmp_path, refuse):
        table = with_secret()
        path = tmp_path / "people.parquet"
        table.to_pandas().sort_values("age").to_parquet(path)
        refuse(policy_for(path), "column 4 of 4 is not in the policy", "index=False")

    def test_column_in_the_names_of_folders(self, tmp_path, refuse):
        for year in (2023, 2024):
            (tmp_path / "people" / f"year={year}").mkdir(parents=True)
            write_parquet(tmp_path / "people" / f"year={year}" / "a.parquet", with_secret())
        document = policy_for(tmp_path / "people")
        document["attributes"]["year"] = QUASI
        refuse(document, "people: has no column 'year'", "write the column into the files")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_column_not_in_the_policy(self, write, tmp_path, refuse):
        path = write(tmp_path / "people.x", people(colour=[SECRET] * N_PEOPLE))
        refuse(policy_for(path), "people.x: column 4 of 4 is not in the policy", "unlisted: drop")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_text_has_no_order(self, write, tmp_path, refuse):
        document = policy_for(write(tmp_path / "people.x", with_secret()))
        document["attributes"]["sex"] = {"role": CONFIDENTIAL, "distance": "ordered"}
        refuse(
            document,
            "people.x: column 'sex': distance: ordered needs values with an order, the data hold t",
            "give it type: ordinal and an order, or take distance: equal",
        )

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    @pytest.mark.parametrize("keys", [{}, {"subsets_by": "frequency"}], ids=["tree", "frequency"])
    def test_value_that_the_taxonomy_has_not(self, keys, write, tmp_path, refuse):
        document = policy_for(write(tmp_path / "people.x", with_secret()))
        taxonomy = {"any": ["m", "f"]}
        document["attributes"]["sex"] = {"role": CONFIDENTIAL, "taxonomy": taxonomy} | keys
        message = refuse(document, "column 'sex': 1 of its values is not in its taxonomy; add it")
        assert message.count("\n") == 1

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_taxonomy_of_numbers(self, write, tmp_path, refuse):
        document = policy_for(write(tmp_path / "people.x", people()))
        document["attributes"]["pay"] = {"role": CONFIDENTIAL, "taxonomy": {"any": ["1", "2"]}}
        refuse(
            document,
            "of its values are not in its taxonomy; add them to it, or name them",
        )

    @pytest.mark.parametrize(
        ("name", "text", "fragment"),
        [
            ("t.yaml", "any: [m", "t.yaml: not valid YAML at line 1"),
            ("t.yaml", "any: [m, f, m]\n", "t.yaml: below 'any': a value that appears twice"),
            ("t.yaml", "", "t.yaml: at the top: nothing where a name or a list of values is due"),
            ("t.csv", "m;any\nf;all\n", "t.csv: it has 2 roots; put one above them all"),
            ("t.csv", "m\n", "t.csv: line 1: a value with nothing above it; put a root"),
            ("t.csv", b"m\xff;any\n", "t.csv: not UTF-8 text; convert it"),
            ("t.json", "{}", "t.json: has to be a file .yaml, .yml or .csv; rename it"),
        ],
    )
    def test_taxonomy_file_that_is_none(self, name, text, fragment, tmp_path, refuse):
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        path = csv_of(tmp_path, text, name)
        document["attributes"]["sex"] = {"role": CONFIDENTIAL, "taxonomy": str(path)}
        message = refuse(document, f"attributes.sex.taxonomy: taxonomy {tmp_path}/{fragment}")
        assert message.count("\n") == 2

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_missing_values(self, write, tmp_path, refuse):
        table = people(
            age=pa.array([None, None, *range(N_PEOPLE - 2)]),
            pay=pa.array([*range(N_PEOPLE - 1), None]),
            note=pa.array([None] * N_PEOPLE, pa.string()),
        )
        document = policy_for(write(tmp_path / "people.x", table))
        document["attributes"]["note"] = "non-confidential"
        message = refuse(
            document,
            "people.x: the data cannot be used",
            "column 'age': 2 missing values",
            "column 'pay': 1 missing value",
            "missing: drop",
        )
        assert "note" not in message

    @pytest.mark.parametrize("name", ["sex", "note"])
    def test_missing_partition_value(self, name, tmp_path, refuse):
        notes = pa.array([None, *(["x"] * (N_PEOPLE - 1))])
        table = people(**{"note": notes, name: notes})
        document = policy_for(write_parquet(tmp_path / "people.parquet", table))
        document["attributes"]["note"] = "non-confidential"
        document["output"]["partition_by"] = [name]
        refuse(document, f"column '{name}': 1 missing value")

    def test_nothing_left(self, tmp_path, refuse):
        table = people(age=pa.array([None] * N_PEOPLE, pa.int64()))
        document = policy_for(write_parquet(tmp_path / "p.parquet", table), missing="drop")
        refuse(document, f"all {N_PEOPLE} records have a missing value")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    @pytest.mark.parametrize("missing", ["error", "drop"])
    @pytest.mark.parametrize("name", ["age", "pay"])
    @pytest.mark.parametrize(
        ("value", "counted"),
        [(float("nan"), "1 NaN and 0 infinite"), (float("-inf"), "0 NaN and 1 infinite")],
    )
    def test_nan_and_infinity(self, write, missing, name, value, counted, tmp_path, refuse):
        values = np.linspace(0, 1, N_PEOPLE)
        values[3] = value
        document = policy_for(write(tmp_path / "p.x", people(**{name: values})), missing=missing)
        refuse(document, f"p.x: the data cannot be used\n  column {name!r}: {counted} values")

    @pytest.mark.parametrize("role", [QUASI, "non-confidential"])
    def test_nan_as_a_category(self, role, tmp_path, refuse):
        values = pa.array([float("nan"), *([1.5] * (N_PEOPLE - 1))])
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(more=values)))
        document["attributes"]["more"] = {"role": role, "type": "nominal"}
        if role != QUASI:
            document["output"]["partition_by"] = ["more"]
        refuse(document, "column 'more': 1 NaN and 0 infinite values")

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    @pytest.mark.parametrize("role", [QUASI, CONFIDENTIAL])
    def test_outside_the_order(self, write, role, tmp_path, refuse):
        document = policy_for(write(tmp_path / "p.x", with_secret()))
        document["attributes"]["sex"] = {"role": role, "type": "ordinal", "order": ["f", "m"]}
        refuse(document, "p.x: the data cannot be used\n  column 'sex': 1 value outside its order")

    @pytest.mark.parametrize(
        ("values", "aggregate", "fragment"),
        [
            (
                ["a"] * N_PEOPLE,
                "mean",
                "is nominal, its aggregate can be mode or representative, not mean",
            ),
            (list(range(N_PEOPLE)), "mode", "is numeric, its aggregate can be mean or median"),
        ],
    )
    def test_aggregate_of_another_kind(self, values, aggregate, fragment, tmp_path, refuse):
        document = policy_for(write_csv(tmp_path / "people.csv", people(age=values)))
        document["attributes"]["age"] = {"role": QUASI, "aggregate": aggregate}
        refuse(document, "people.csv: column 'age'", fragment)

    def test_unrounded_date(self, tmp_path, refuse):
        days = [datetime.date(2020, 1, 1)] * N_PEOPLE
        document = policy_for(write_csv(tmp_path / "people.csv", people(age=days)))
        document["attributes"]["age"] = {"role": QUASI, "round": False}
        refuse(document, "column 'age': is date; round: false goes with numbers")

    @pytest.mark.parametrize(
        "values",
        [
            pa.array([-(2**62), 2**62, *([0] * (N_PEOPLE - 2))]),
            pa.array([-1e308, 1e308, *([0.0] * (N_PEOPLE - 2))]),
        ],
        ids=["integers", "floats"],
    )
    def test_range_too_wide(self, values, tmp_path, refuse):
        document = policy_for(write_parquet(tmp_path / "people.parquet", people(age=values)))
        refuse(document, "people.parquet: column 'age': the range of its values is too wide")

    def test_more_than_there_are(self, tmp_path, refuse):
        document = policy_for(write_csv(tmp_path / "people.csv", people()))
        document["privacy"]["k"] = N_PEOPLE + 1
        refuse(document, f"privacy.k: {N_PEOPLE + 1} is more than the {N_PEOPLE} records")

    def test_single_record(self, tmp_path, refuse):
        source = write_csv(tmp_path / "people.csv", people(1))
        refuse(policy_for(source), "privacy.k: there is 1 record, and no class has fewer")

    @pytest.mark.parametrize(
        "values",
        [
            pa.array(np.linspace(0, 1, N_PEOPLE)),
            pa.array([decimal.Decimal("1.5")] * N_PEOPLE),
            pa.array([decimal.Decimal("1.5")] * N_PEOPLE, pa.decimal64(9, 2)),
        ],
        ids=["float", "decimal", "decimal of few bits"],
    )
    def test_partition_by_what_cannot_name_folders(self, values, tmp_path, refuse):
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(age=values)))
        document["output"]["partition_by"] = ["age"]
        refuse(document, "output.partition_by: column 'age'", "cannot name folders")

    @pytest.mark.parametrize("day", [-(2**31), 2**31 - 1])
    def test_partition_by_dates_without_a_name(self, day, tmp_path, refuse):
        values = pa.array([day, *range(N_PEOPLE - 1)], pa.int32()).cast(pa.date32())
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(age=values)))
        document["output"]["partition_by"] = ["age"]
        refuse(
            document,
            "output.partition_by: column 'age' has dates that are too early or too late to name "
            "folders; take another, or correct them",
        )

    def test_partition_by_times_of_a_zone_that_is_not_known(self, tmp_path, refuse):
        values = pa.array(range(N_PEOPLE), pa.timestamp("s", "Mars/Phobos"))
        document = policy_for(write_parquet(tmp_path / "p.parquet", people(visit=values)))
        document["attributes"]["visit"] = "non-confidential"
        document["output"]["partition_by"] = ["visit"]
        refuse(document, "column 'visit': its time zone is not known here; store it in UTC")


def test_plan_refuses_in_the_same_words(tmp_path, capsys):
    path = write_csv(tmp_path / "people.csv", with_secret("pay"))
    policy = write_policy(tmp_path / "policy.yaml", policy_for(path))
    messages = []
    for command in ("run", "plan"):
        assert main([command, str(policy), "--quiet"]) == 2
        messages.append(capsys.readouterr().err)
    assert messages[0] == messages[1]
    assert sorted(tree(tmp_path)) == ["people.csv", "policy.yaml"]
