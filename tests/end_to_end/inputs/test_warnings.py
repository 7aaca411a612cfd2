"""Numbered warnings: what would pass unnoticed is said, and refused where a policy is strict."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from support.cases.people import people, policy_for, write_csv, write_parquet
from support.pages import ROOT
from tclose.cli.main import main
from tclose.model.column_terms import Role
from tclose.passes.plan.notices.plan_warnings import warn_of_carried
from tclose.policy.warning_kinds import KINDS

N = 600
RNG = np.random.default_rng(17)
DAYS = np.datetime64("1940-01-01") + RNG.integers(0, 25_000, N)
COLUMNS = {
    "birth": [f"{day.day:02}.{day.month:02}.{day.year}" for day in DAYS.tolist()],
    "postcode": [f"{code:05}" for code in RNG.integers(1_000, 9_999, N)],
    "sex": RNG.choice(["f", "m"], N).tolist(),
    "city": [*RNG.choice(["Ulm", "Bonn"], N - 2).tolist(), "Melle", "Hof"],
    "salary": [
        f"{whole // 1000}.{whole % 1000:03},{cents:02}"
        for whole, cents in zip(
            RNG.choice(np.arange(20_000, 99_000), N, replace=False).tolist(),
            RNG.integers(0, 100, N).tolist(),
            strict=True,
        )
    ],
    "grade": RNG.integers(1, 6, N).tolist(),
    "bonus": [str(b) if b < 80 else "" for b in RNG.integers(0, 100, N).tolist()],
}
QUASI, SECRET = "quasi-identifier", "confidential"


def write(folder: Path, roles: dict, **more) -> str:
    """A policy over a file with these columns of a German payroll."""
    rows = zip(*(COLUMNS[name] for name in roles), strict=True)
    lines = [";".join(roles), *(";".join(map(str, row)) for row in rows)]
    (folder / "payroll.csv").write_text("\n".join(lines) + "\n")
    document = {
        "name": "payroll",
        "input": {"path": str(folder / "payroll.csv"), "delimiter": ";"} | more.pop("input", {}),
        "attributes": roles,
        "privacy": {"k": 3, "t": 0.5},
        "output": {"path": str(folder / "releases")},
    }
    (folder / "payroll.yaml").write_text(yaml.safe_dump(document | more, sort_keys=False))
    return str(folder / "payroll.yaml")


def planned(capsys, policy: str, n_sampled: int = 0) -> dict[str, dict]:
    """The warnings of ``tclose plan --json``, by their numbers; of a trial with so many records."""
    assert main(["plan", policy, "--json", "--quiet", f"--sample={n_sampled}"]) == 0
    said = json.loads(capsys.readouterr().out)["warnings"]
    assert all(w["remedy"] == KINDS[w["code"]].remedy for w in said)
    return {w["code"]: w for w in said}


class TestCases:
    def test_a_date_of_another_format_is_warned_of_and_read_when_its_format_is_said(
        self, tmp_path, capsys
    ):
        roles = {"birth": QUASI, "sex": QUASI, "grade": SECRET}
        said = planned(capsys, write(tmp_path, roles))
        assert said["TC-W002"]["columns"] == ["birth"]
        assert "TC-W001" in said
        right = write(tmp_path, roles, input={"date_format": "%d.%m.%Y"})
        assert planned(capsys, right) == {}

    def test_years_of_two_digits_that_are_read_as_some_to_come(self, tmp_path, capsys, monkeypatch):
        years = RNG.integers(1930, 2000, N).tolist()
        born = [f"{i % 28 + 1:02}.03.{year % 100:02}" for i, year in enumerate(years)]
        monkeypatch.setitem(COLUMNS, "birth", born)
        roles = {"birth": QUASI, "sex": QUASI, "grade": SECRET}
        policy = write(tmp_path, roles, input={"date_format": "%d.%m.%y"})
        said = planned(capsys, policy)
        assert said.keys() == {"TC-W020"}
        assert said["TC-W020"]["columns"] == ["birth"]
        n_ahead = sum(year < 1969 for year in years)
        found = f"column 'birth': {n_ahead} of {N} dates, in payroll.csv, have years of two digits"
        assert found in said["TC-W020"]["message"]
        assert main(["run", policy, "--quiet"]) == 0
        assert f"warning TC-W020: {found}" in capsys.readouterr().err
        past = [f"{day[:6]}{year}" for day, year in zip(born, years, strict=True)]
        monkeypatch.setitem(COLUMNS, "birth", past)
        policy = write(tmp_path, roles, input={"date_format": "%d.%m.%Y"})
        assert "TC-W020" not in planned(capsys, policy)

    @pytest.mark.parametrize("is_parquet", [False, True])
    def test_files_without_records(self, tmp_path, capsys, is_parquet):
        """A month's export that came out empty beside those of other months."""
        (tmp_path / "in").mkdir()
        for month, n_records in (("2026-01", 60), ("2026-02", 0), ("2026-03", 60)):
            write_in = write_parquet if is_parquet else write_csv
            write_in(tmp_path / f"in/{month}.{'parquet' if is_parquet else 'csv'}",
                     people(60).slice(0, n_records))  # fmt: skip
        document = policy_for(tmp_path / "in")
        policy = str(tmp_path / "policy.yaml")
        Path(policy).write_text(yaml.safe_dump(document))
        said = planned(capsys, policy)["TC-W022"]["message"]
        suffix = "parquet" if is_parquet else "csv"
        assert said == f"1 of 3 files has no records: 2026-02.{suffix}"
        assert main(["run", policy, "--quiet"]) == 0
        assert f"warning TC-W022: {said}" in capsys.readouterr().err
        (tmp_path / f"in/2026-02.{suffix}").unlink()
        assert "TC-W022" not in planned(capsys, policy)

    def test_days_of_which_all_classes_release_the_group_of_all(
        self, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setitem(COLUMNS, "birth", [str(day) for day in DAYS])
        roles = {
            "birth": {"role": QUASI, "calendar": ["month", "year"]},
            "sex": QUASI,
            "salary": SECRET,
        }
        read = {"decimal": ",", "thousands": "."}
        policy = write(tmp_path, roles, input=read, privacy={"k": 40, "t": 0.1})
        said = planned(capsys, policy, N)
        assert said["TC-W021"]["columns"] == ["birth"]
        assert main(["run", policy, "--quiet"]) == 0
        found = "TC-W021: column 'birth': the release loses 100.0% of what"
        assert found in capsys.readouterr().err
        assert main(["show", str(tmp_path / "releases/payroll")]) == 0
        assert found.replace(": column", "  column") in capsys.readouterr().out
        [report] = (tmp_path / "releases").glob("payroll/*/internal/report.html")
        assert "TC-W021" in report.read_text()
        for command in ("plan", "run"):
            strict = ["--strict", "--set", "engine.accepted_warnings=[TC-W006, TC-W014]"]
            assert main([command, policy, "--quiet", *strict, "--set", "privacy.k=41"]) == 3
            assert "TC-W021" in capsys.readouterr().err
        finer = write(tmp_path, roles | {"birth": QUASI}, input=read)
        assert "TC-W021" not in planned(capsys, finer, N)

    def test_a_postcode_is_a_code_of_which_little_would_be_left(self, tmp_path, capsys):
        said = planned(capsys, write(tmp_path, {"postcode": QUASI, "grade": SECRET}))
        assert said.keys() == {"TC-W001"}
        assert said["TC-W001"]["columns"] == ["postcode"]

    def test_an_amount_of_other_marks_is_warned_of_and_read_when_they_are_said(
        self, tmp_path, capsys
    ):
        roles = {"sex": QUASI, "salary": SECRET}
        said = planned(capsys, write(tmp_path, roles, method={"refine": "off"}))
        assert said["TC-W003"]["columns"] == ["salary"]
        assert said["TC-W006"]["columns"] == ["salary"]
        assert "a small t leaves one class" in said["TC-W006"]["message"]
        right = write(tmp_path, roles, input={"decimal": ",", "thousands": "."})
        said = planned(capsys, right)
        assert said.keys() == {"TC-W006"}
        assert "not the amounts" in said["TC-W006"]["message"]

    def test_values_without_protection_that_nearly_all_differ_find_a_record(self, tmp_path, capsys):
        roles = {"sex": QUASI, "grade": SECRET, "salary": "non-confidential"}
        said = planned(capsys, write(tmp_path, roles))
        assert said.keys() == {"TC-W017"}
        assert said["TC-W017"]["columns"] == ["salary"]
        assert f"{N} of {N} values" in said["TC-W017"]["message"]
        assert planned(capsys, write(tmp_path, roles | {"salary": "identifier"})) == {}

    def test_of_a_sample_few_repeat_a_value_that_each_record_shares(self):
        """Of 10,000 of a million records with 100,000 values some 480 do."""
        column = SimpleNamespace(name="id", role=Role.NON_CONFIDENTIAL)
        plan: Any = SimpleNamespace(passthrough=[column])
        drawn = RNG.choice(1_000_000, 10_000, replace=False)
        assert not list(warn_of_carried(plan, {"id": drawn % 100_000}, 0.01))
        assert len(list(warn_of_carried(plan, {"id": drawn}, 0.01))) == 1

    def test_values_without_protection_that_records_share_do_not(self, tmp_path, capsys):
        roles = {"sex": QUASI, "grade": SECRET, "city": "non-confidential"}
        assert planned(capsys, write(tmp_path, roles)) == {}

    def test_categories_that_differ_in_capitals_or_blanks_alone(
        self, tmp_path, capsys, monkeypatch
    ):
        written = ["m", "M", "f", "F ", "x"]
        monkeypatch.setitem(COLUMNS, "sex", [written[i % 5] for i in range(N)])
        monkeypatch.setitem(COLUMNS, "grade", ["ill", "Ill"] * (N // 2))
        roles = {"sex": QUASI, "grade": {"role": SECRET, "type": "nominal"}, "city": QUASI}
        assert main(["plan", write(tmp_path, roles), "--json", "--quiet"]) == 0
        warnings = json.loads(capsys.readouterr().out)["warnings"]
        said = [w for w in warnings if w["code"] == "TC-W018"]
        assert [w["columns"] for w in said] == [["sex"], ["grade"]]
        assert "4 of its 5 values" in said[0]["message"]
        assert "2 of its 2 values" in said[1]["message"]

    def test_gaps_that_cost_records_are_named_by_column(self, tmp_path, capsys):
        roles = {"sex": QUASI, "grade": SECRET, "bonus": SECRET}
        policy = write(tmp_path, roles, missing="drop")
        said = planned(capsys, policy)
        share = COLUMNS["bonus"].count("") / N
        assert 0.15 < share < 0.25
        assert f"'bonus' {share:.1%}" in said["TC-W004"]["message"]
        assert said["TC-W004"]["columns"] == ["bonus"]

    def test_few_gaps_are_not_warned_of(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setitem(COLUMNS, "bonus", ["7"] * (N - 20) + [""] * 20)
        roles = {"sex": QUASI, "grade": SECRET, "bonus": QUASI}
        assert planned(capsys, write(tmp_path, roles, missing="drop")) == {}


@pytest.mark.parametrize(
    ("spell", "code", "what"),
    [
        (" {}", "TC-W003", "numbers"),
        ("{}\u00a0", "TC-W003", "numbers"),
        (" 0{}.01.2021", "TC-W002", "dates"),
    ],
)
def test_blanks_around_numbers_and_dates_are_named(
    spell, code, what, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(COLUMNS, "city", [spell.format(1 + i % 9) for i in range(N)])
    said = planned(capsys, write(tmp_path, {"city": QUASI, "grade": SECRET}))
    assert f"look like {what} with blanks before or after them" in said[code]["message"]
    assert "take blanks around them out" in said[code]["remedy"]


@pytest.mark.parametrize("spell", ["+{}", "{}%", "{},5\u00a0%", "{}.234,50 €", "({})"])
def test_numbers_with_signs_are_warned_of(spell, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(COLUMNS, "city", [spell.format(1 + i % 9) for i in range(N)])
    said = planned(capsys, write(tmp_path, {"city": QUASI, "grade": SECRET}))
    assert said.keys() == {"TC-W003"}
    assert "plus and percent signs" in said["TC-W003"]["remedy"]


def test_codes_that_were_said_to_be_categories_are_no_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(COLUMNS, "city", [f"{i % 9},5" for i in range(N)])
    roles: dict = {"city": QUASI, "grade": SECRET}
    assert planned(capsys, write(tmp_path, roles)).keys() == {"TC-W003"}
    roles["city"] = {"role": QUASI, "type": "nominal"}
    assert planned(capsys, write(tmp_path, roles)) == {}


def test_rare_categories_are_counted_and_not_named(tmp_path, capsys):
    said = planned(capsys, write(tmp_path, {"city": QUASI, "grade": SECRET}))
    message = said["TC-W007"]["message"]
    assert "2 of 4 categories" in message
    assert "Melle" not in json.dumps(said)


def test_a_table_that_would_be_one_class(tmp_path, capsys):
    roles = {"sex": QUASI, "salary": {"role": SECRET, "distance": "equal"}}
    policy = write(tmp_path, roles, privacy={"k": 3, "t": 0.01})
    said = planned(capsys, policy)
    assert said["TC-W005"]["message"].startswith(f"all {N} records are one class")


def test_classes_that_were_merged_to_one_are_warned_of_when_they_are_made(tmp_path, capsys):
    roles = {"sex": QUASI, "salary": {"role": SECRET, "distance": "equal", "type": "nominal"}}
    more = {"method": {"name": "microaggregate-and-merge"}, "privacy": {"k": 3, "t": 0.01}}
    policy = write(tmp_path, roles, **more)
    assert "TC-W005" not in planned(capsys, policy)
    assert main(["run", policy, "--quiet"]) == 0
    shown = capsys.readouterr()
    assert f"warning TC-W005: all {N} records are one class" in shown.err
    [inside] = (tmp_path / "releases").glob("payroll/*/internal/manifest.json")
    assert "TC-W005" in [w["code"] for w in json.loads(inside.read_text())["warnings"]]
    assert "TC-W" not in (inside.parents[1] / "manifest.json").read_text()
    followed = json.loads((inside.parent / "plan.json").read_text())
    assert "TC-W005" in [w["code"] for w in followed["warnings"]]


class TestTelling:
    @pytest.fixture(autouse=True)
    def _pay_scale(self, monkeypatch):
        years = RNG.integers(0, 4, N)
        rank = RNG.integers(0, 4, N)
        steps = 1_000 * (7 * rank + years)
        monkeypatch.setitem(COLUMNS, "years", years.tolist())
        monkeypatch.setitem(COLUMNS, "rank", [f"rank {r}" for r in rank])
        monkeypatch.setitem(COLUMNS, "scale", steps.tolist())

    def test_two_columns_that_tell_a_third(self, tmp_path, capsys):
        roles = {"years": QUASI, "sex": QUASI, "rank": QUASI, "scale": SECRET, "grade": SECRET}
        said = planned(capsys, write(tmp_path, roles))
        assert said.keys() == {"TC-W009"}
        assert said["TC-W009"]["columns"] == ["scale", "years", "rank"]
        assert (
            "'years' and 'rank' together tell its value for 100% of" in said["TC-W009"]["message"]
        )

    def test_one_of_them_tells_nothing(self, tmp_path, capsys):
        roles = {"years": QUASI, "sex": QUASI, "scale": SECRET}
        assert planned(capsys, write(tmp_path, roles)) == {}

    def test_strict_runs_refuse_it(self, tmp_path, capsys):
        policy = write(tmp_path, {"years": QUASI, "rank": QUASI, "scale": SECRET})
        assert main(["plan", policy, "--quiet", "--strict"]) == 3
        assert "TC-W009: column 'scale'" in capsys.readouterr().err


class TestTails:
    @pytest.fixture(autouse=True)
    def _debts(self, monkeypatch):
        monkeypatch.setitem(COLUMNS, "debt", [*RNG.integers(0, 900, N - 1).tolist(), 90_000])

    def test_a_record_far_from_all_others(self, tmp_path, capsys):
        said = planned(capsys, write(tmp_path, {"debt": QUASI, "grade": SECRET}))
        assert said.keys() == {"TC-W010"}
        assert said["TC-W010"]["columns"] == ["debt"]
        assert "90" not in said["TC-W010"]["message"].replace("98 %", "")

    def test_a_scale_says_that_it_is_meant(self, tmp_path, capsys):
        roles = {"debt": {"role": QUASI, "scale": "trimmed"}, "grade": SECRET}
        assert planned(capsys, write(tmp_path, roles)) == {}

    def test_strict_runs_refuse_it(self, tmp_path, capsys):
        policy = write(tmp_path, {"debt": QUASI, "grade": SECRET})
        assert main(["plan", policy, "--quiet", "--strict"]) == 3
        assert "TC-W010: column 'debt'" in capsys.readouterr().err


class TestStrict:
    @pytest.fixture
    def policy(self, tmp_path):
        return write(tmp_path, {"city": QUASI, "grade": SECRET})

    def published(self, tmp_path):
        return list((tmp_path / "releases").glob("payroll/*/manifest.json"))

    @pytest.mark.parametrize("command", ["plan", "run"])
    def test_refuses_with_status_three_and_publishes_nothing(
        self, policy, tmp_path, capsys, command
    ):
        assert main([command, policy, "--quiet", "--strict"]) == 3
        shown = capsys.readouterr()
        assert "the policy is strict, and there are warnings\n  TC-W007: column 'city'" in shown.err
        assert shown.out == ""
        assert self.published(tmp_path) == []

    def test_a_policy_can_be_strict_itself(self, tmp_path):
        policy = write(tmp_path, {"city": QUASI, "grade": SECRET}, engine={"strict": True})
        assert main(["run", policy, "--quiet"]) == 3
        assert self.published(tmp_path) == []

    def test_numbers_can_be_accepted(self, policy, tmp_path, capsys):
        accepted = ["--set", "engine.accepted_warnings=[TC-W007]"]
        assert main(["run", policy, "--quiet", "--strict", *accepted]) == 0
        assert "warning TC-W007" in capsys.readouterr().err
        assert len(self.published(tmp_path)) == 1

    def test_a_release_that_stands_with_warnings_is_refused_too(self, policy):
        assert main(["run", policy, "--quiet"]) == 0
        assert main(["run", policy, "--quiet"]) == 0
        assert main(["run", policy, "--quiet", "--strict"]) == 3

    def test_a_table_without_warnings_is_released(self, tmp_path):
        policy = write(tmp_path, {"sex": QUASI, "grade": SECRET})
        assert main(["run", policy, "--quiet", "--strict"]) == 0
        assert len(self.published(tmp_path)) == 1

    def test_numbers_that_are_none_are_refused(self, policy, capsys):
        assert main(["plan", policy, "--set", "engine.accepted_warnings=[TC-W999]"]) == 2
        assert "engine.accepted_warnings: has no warning's number" in capsys.readouterr().err


def test_the_page_lists_every_number():
    text = (ROOT / "docs" / "warnings.md").read_text()
    for kind in KINDS.values():
        assert f"| `{kind.code}` | {kind.title} |" in text
