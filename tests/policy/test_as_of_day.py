"""The day in a policy: where it goes, what is refused; the same day is the same release."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pandas
import pytest

from support.cases.people import people, policy_for, write_csv, write_policy
from tclose.cli.main import main
from tclose.errors import PolicyError, UsageError
from tclose.policy.as_of_day import fill_as_of
from tclose.policy.policy import parse_policy, policy_schema

DAY = date(2026, 11, 1)


def policy(name: str = "people", path: str = "people.csv", **keys: Any) -> dict[str, Any]:
    return policy_for(path, name=name, **({"output": {"path": "out"}} | keys))


class TestFill:
    @pytest.mark.parametrize(
        ("day", "pattern", "filled"),
        [
            (DAY, "{as_of}", "2026-11-01"),
            (DAY, "{as_of:%Y-%m}", "2026-11"),
            (DAY, "{as_of:%Y%m%d}", "20261101"),
            (DAY, "{as_of:%Y}q{as_of:%q}", "2026q4"),
            (date(2026, 3, 31), "{as_of:%y.q%q.%j}", "26.q1.090"),
            (date(2027, 1, 1), "{as_of:%G-W%V-%u}", "2026-W53-5"),
            (date(33, 4, 3), "{as_of:%Y}", "0033"),
        ],
    )
    def test_name_and_path_hold_the_day_in_the_pattern(self, day, pattern, filled):
        made = parse_policy(policy(f"p-{pattern}", f"in/{pattern}.csv"), as_of=day)
        assert (made.name, made.input.path) == (f"p-{filled}", f"in/{filled}.csv")

    def test_either_place_is_enough_and_the_other_stays_as_it_is(self):
        assert parse_policy(policy("p-{as_of}"), as_of=DAY).input.path == "people.csv"
        made = parse_policy(policy(path="{as_of:%Y/%m}/*.csv"), as_of=DAY)
        assert (made.name, made.input.path) == ("people", "2026/11/*.csv")

    def test_words_about_the_data_hold_the_day_too(self):
        about = {"title": "Of {as_of:%Y}q{as_of:%q}", "citation": "Until\n{as_of}", "contact": "us"}
        made = parse_policy(policy("p-{as_of}", about=about), as_of=DAY).about
        assert made is not None
        assert (made.title, made.citation, made.contact) == (
            "Of 2026q4", "Until\n2026-11-01", "us",
        )  # fmt: skip

    def test_document_stays_as_it_was_read(self):
        given = policy("p-{as_of}", "{as_of}.csv")
        fill_as_of(given, DAY)
        assert given == policy("p-{as_of}", "{as_of}.csv")

    def test_overrides_can_bring_a_place_for_the_day(self):
        made = parse_policy(policy(), ["name=p-{as_of:%Y-%m}"], as_of=DAY)
        assert made.name == "p-2026-11"

    def test_filled_policy_is_the_one_that_names_the_day_itself(self):
        assert parse_policy(policy("p-{as_of:%Y-%m}"), as_of=DAY) == parse_policy(
            policy("p-2026-11")
        )

    @pytest.mark.parametrize("given", ["2026-11-01", datetime(2026, 11, 1, 23, 59, tzinfo=UTC)])
    def test_text_and_times_are_their_day(self, given):
        made = parse_policy(policy("p-{as_of}", "{as_of:%Y-%m}.csv"), as_of=given)
        assert (made.name, made.input.path) == ("p-2026-11-01", "2026-11.csv")


class TestRefusal:
    def refused(self, document: dict[str, Any], day: date | None) -> str:
        with pytest.raises(PolicyError) as caught:
            parse_policy(document, source="p.yaml", as_of=day)
        return str(caught.value)

    def test_a_place_without_a_day(self):
        message = self.refused(policy("p-{as_of}", "{as_of}.csv"), None)
        assert message == (
            "policy p.yaml: name and input.path: {as_of} needs a day, and none was given; "
            "give one, as in --as-of 2026-11-01"
        )

    def test_a_day_without_a_place(self):
        message = self.refused(policy(), DAY)
        assert "as of 2026-11-01: neither name nor input.path says where the day goes" in message

    @pytest.mark.parametrize("pattern", ["{as_of:%B}", "{as_of:}", "{as_of:%Y %m}", "{as_off}",
                                         "{as_of:%Y*}", "{as_of:%}", "{as_of.year}"])  # fmt: skip
    def test_a_pattern_that_could_bring_anything_but_digits(self, pattern):
        message = self.refused(policy(path=f"in/{pattern}.csv"), DAY)
        assert message.startswith(f"policy p.yaml: input.path: {pattern} is not a date pattern")

    def test_a_name_that_would_be_a_path(self):
        assert "name: has to be letters" in self.refused(policy("{as_of:%Y/%m}"), DAY)

    def test_another_place(self):
        given = policy("p-{as_of}", output={"path": "releases/{as_of}"})
        assert "output.path: {as_of} is allowed in name, input.path and about only" in self.refused(
            given, DAY
        )

    @pytest.mark.parametrize(
        ("keys", "place"),
        [
            ({"series": "p-{as_of}"}, "series"),
            ({"input": {"path": "a.csv", "missing_values": ["{as_of}"]}}, "input.missing_values.0"),
            ({"engine": {"work_path": "{as_of:%Y}"}}, "engine.work_path"),
            (
                {"attributes": {"age": {"role": "quasi-identifier", "label": "at {as_of}"}}},
                "attributes.age.label",
            ),
        ],
    )
    @pytest.mark.parametrize("day", [DAY, None])
    def test_other_places_are_named(self, keys, place, day):
        message = self.refused(policy("p-{as_of}", **keys), day)
        assert message.startswith(f"policy p.yaml: {place}: {{as_of}} is allowed in name, input.p")

    def test_words_alone_do_not_tell_releases_apart(self):
        given = policy(about={"title": "of {as_of}"})
        assert "as of 2026-11-01: neither name nor input.path says" in self.refused(given, DAY)
        assert "about.title: {as_of} needs a day" in self.refused(given, None)

    @pytest.mark.parametrize("given", ["2026-11", "20261101", "2026-02-30", "2026-W44-7", "today"])
    def test_a_day_that_is_none(self, given, tmp_path, capsys):
        path = write_policy(tmp_path / "p.yaml", policy("p-{as_of}"))
        with pytest.raises(SystemExit) as caught:
            main(["plan", str(path), "--as-of", given])
        assert caught.value.code == 2
        assert "day" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ("2026-11", "'2026-11' has to be a day as in 2026-11-01"),
            ("2026-02-30", "a day that no calendar has"),
            (20261101, r"a date, or text as in 2026-11-01 \(given: int"),
            (pandas.NaT, "has to be a day"),
        ],
    )
    def test_what_is_neither_a_day_nor_its_text(self, given, said):
        with pytest.raises(UsageError, match=f"^as_of: .*{said}"):
            parse_policy(policy("p-{as_of}"), as_of=given)

    def test_as_of_of_an_audit_without_originals(self, tmp_path, capsys):
        assert main(["audit", str(tmp_path), "--as-of", "2026-11-01"]) == 2
        assert "go with --originals" in capsys.readouterr().err


def test_schema_takes_a_name_with_a_day():
    check = jsonschema.Draft202012Validator(policy_schema())
    assert check.is_valid(policy("p-{as_of:%Y-%m}", "in/{as_of}.csv"))
    assert not check.is_valid(policy("p-{day}"))


def test_a_day_is_a_release_and_the_same_day_the_same_one(tmp_path: Path, capsys):
    """Months have files and names of their own; all commands fill in the day alike."""
    for month, n_records in (("10", 60), ("11", 80)):
        write_csv(tmp_path / f"people-2026-{month}.csv", people(n_records))
    given = policy("p-{as_of:%Y-%m}", str(tmp_path / "people-{as_of:%Y-%m}.csv"),
                   output={"path": str(tmp_path / "out")})  # fmt: skip
    path = str(write_policy(tmp_path / "p.yaml", given))

    def run(day: str, *options: str) -> dict[str, Any]:
        assert main(["run", path, "--as-of", day, "--quiet", "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)

    october, november, again = run("2026-10-31"), run("2026-11-01"), run("2026-11-30")
    assert [made["records"] for made in (october, november, again)] == [60, 80, 80]
    assert [made["name"] for made in (october, november)] == ["p-2026-10", "p-2026-11"]
    assert again["already_published"]
    assert again["release"] == november["release"]

    originals = ["--originals", path, "--quiet"]
    assert main(["audit", november["release"], *originals, "--as-of", "2026-11-01"]) == 0
    assert main(["audit", november["release"], *originals]) == 2
    assert "needs a day" in capsys.readouterr().err
