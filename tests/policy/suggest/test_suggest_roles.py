"""Roles that are suggested: what names or numbers persons is left out, whatever it is called."""

import numpy as np
import pyarrow as pa
import pytest

from tclose.model.column_terms import Kind, Role
from tclose.policy.suggest.column_profile import profile_column
from tclose.policy.suggest.column_words import find_word, split_name
from tclose.policy.suggest.spellings import PLAIN
from tclose.policy.suggest.suggest_roles import Suggestion, suggest_prefixes, suggest_roles

N_RECORDS = 1_000
RNG = np.random.default_rng(8)


def suggest(**columns: list[str]) -> dict[str, Suggestion]:
    profiles = [
        profile_column(name.replace("_", " "), pa.chunked_array([texts]), PLAIN, ("?",))
        for name, texts in columns.items()
    ]
    return {s.profile.name: s for s in suggest_roles(profiles)}


def numbers(low: int, high: int, form: str = "{}") -> list[str]:
    return [form.format(i) for i in RNG.integers(low, high, N_RECORDS)]


AGES = numbers(18, 90)


class TestIdentifiers:
    @pytest.mark.parametrize(
        ("name", "texts"),
        [
            ("Kundennummer", numbers(10**6, 10**7)),
            ("x", numbers(10**6, 10**9)),
            ("x", [str(i) for i in range(5, N_RECORDS + 5)]),
            ("x", numbers(0, 300, "P{:06d}")),
            ("patient", numbers(0, 300)),
            ("x", [f"user{i}@example.org" for i in range(N_RECORDS)]),
            ("x", numbers(10, 99, "123-{0}-98{0}")),
            ("x", numbers(10, 99, "+49 {} 1234567")),
            ("x", numbers(10, 99, "10.0.3.{}")),
            ("x", numbers(0, 10**9, "she was seen again on ward {} at night")),
            ("x", numbers(0, 200, "name{}")),
            ("last name", ["Roth", "Ivers"] * (N_RECORDS // 2)),
            ("Straße", ["Am Hof", "Am See"] * (N_RECORDS // 2)),
            ("fnlwgt", numbers(10_000, 90_000)),
            ("survey weight", numbers(100, 9_000, "{}.5")),
            ("Gewicht Haushalt", numbers(100, 9_000, "{}.5")),
            ("x", ["only"] * N_RECORDS),
            ("x", ["?"] * N_RECORDS),
        ],
    )  # fmt: skip
    def test_left_out(self, name, texts):
        found = suggest(**{"age": AGES, name: texts})
        assert found[name].role is Role.IDENTIFIER, found[name]
        assert found["age"].role is Role.QUASI_IDENTIFIER

    def test_rows_of_a_person_are_counted(self):
        found = suggest(age=AGES, patient_id=[f"{i // 4}" for i in range(N_RECORDS)])
        assert found["patient id"].repeats == 4


class TestRoles:
    @pytest.mark.parametrize(
        ("name", "texts", "role"),
        [
            ("country name", ["Chad", "Mali"], Role.QUASI_IDENTIFIER),
            ("Geschlecht", ["m", "w"], Role.QUASI_IDENTIFIER),
            ("PLZ", ["01067", "10115"], Role.QUASI_IDENTIFIER),
            ("Gehalt", numbers(20_000, 90_000), Role.CONFIDENTIAL),
            ("coût total", numbers(20_000, 90_000), Role.CONFIDENTIAL),
            ("diagnosis code", ["I10", "E11"], Role.CONFIDENTIAL),
            ("x", ["a", "b"], Role.QUASI_IDENTIFIER),
            ("weight", numbers(40, 140), Role.QUASI_IDENTIFIER),  # of a body
        ],
    )
    def test_by_name(self, name, texts, role):
        found = suggest(age=AGES, debt=AGES, **{name: (texts * N_RECORDS)[:N_RECORDS]})
        assert found[name].role is role, found[name]

    def test_nothing_is_released_without_protection(self):
        found = suggest(age=AGES, pay=AGES, x=AGES, y=["a", "b"] * (N_RECORDS // 2))
        assert Role.NON_CONFIDENTIAL not in {s.role for s in found.values()}

    def test_few_are_confidential_those_of_one_value_last(self):
        ties = ["0"] * 900 + AGES[:100]
        found = suggest(age=AGES, gain=ties, loss=AGES, tax=AGES, debt=AGES, pay=AGES)
        confidential = [n for n, s in found.items() if s.role is Role.CONFIDENTIAL]
        assert confidential == ["loss", "tax", "debt"]

    def test_one_is_confidential_if_no_name_says_which(self):
        found = suggest(age=AGES, x=numbers(0, 500), y=["a", "b"] * (N_RECORDS // 2))
        assert found["x"].role is Role.CONFIDENTIAL

    def test_one_is_known_if_all_look_confidential(self):
        found = suggest(pay=AGES, debt=AGES)
        assert [s.role for s in found.values()] == [Role.CONFIDENTIAL, Role.QUASI_IDENTIFIER]


class TestKinds:
    @pytest.mark.parametrize(
        ("name", "texts", "kind"),
        [
            ("zip", ["10115", "20095", "80331"], Kind.NOMINAL),
            ("x", ["04897", "10115"], Kind.NOMINAL),
            ("x", ["1", "2"], Kind.NOMINAL),
            ("x", ["1", "2", "3"], Kind.NUMERIC),
            ("capital", ["1", "2", "3"], Kind.NUMERIC),
            ("x", ["true", "false"], Kind.BOOLEAN),
            ("x", ["2021-01-06", "?"], Kind.DATE),
        ],
    )
    def test_kinds(self, name, texts, kind):
        found = profile_column(name, pa.chunked_array([texts * 100]), PLAIN, ("?",))
        assert found.kind is kind

    def test_odd_texts_among_numbers(self):
        found = profile_column("x", pa.chunked_array([[*AGES, "about 40"]]), PLAIN, ())
        assert (found.kind, found.n_odd) == (Kind.NOMINAL, 1)

    @pytest.mark.parametrize(
        ("texts", "has_blanks"),
        [(AGES, False), ([f" {age}" for age in AGES], True), (["2021-01-06 "] * 9, True),
         ([" 04897", "10115 "], False), ([" a", "b "], False)],
    )  # fmt: skip
    def test_blanks_around_numbers(self, texts, has_blanks):
        found = profile_column("x", pa.chunked_array([texts]), PLAIN, ())
        assert found.has_blanks is has_blanks
        assert found.is_faulty is has_blanks

    @pytest.mark.parametrize(
        ("forms", "is_mixed"),
        [
            (["{}.02.1990", "1990-02-{}"], True),
            (["1990-02-{}"], False),
            (["v{}.2.3"], False),
            (["{}-Jan-2025", "{} March 2024"], True),
            (["Dez. {}, 1999", "May {}, 2001"], True),
            (["{} Marks 2"], False),
        ],
    )
    def test_dates_of_several_formats(self, forms, is_mixed):
        texts = [form.format(day) for day in range(10, 28) for form in forms]
        found = profile_column("x", pa.chunked_array([texts * 2]), PLAIN, ())
        assert found.has_mixed_dates is is_mixed

    @pytest.mark.parametrize(
        ("forms", "is_mixed"),
        [
            (["{}.5", "{},5"], True), (["1.{}5,25", "1,{}4.25"], True), (["{}.5"], False),
            (["0{}", "{}1"], False), (["1.{}5", "{}"], False), (["{}.5", "v{}"], False),
        ],
    )  # fmt: skip
    def test_numbers_of_several_marks(self, forms, is_mixed):
        texts = [form.format(number) for number in range(10, 40) for form in forms]
        found = profile_column("x", pa.chunked_array([texts * 2]), PLAIN, ())
        assert found.has_mixed_marks is found.is_faulty is is_mixed

    def test_values_that_differ_in_capitals_alone(self):
        found = profile_column("x", pa.chunked_array([["a", "A", "b"] * 50]), PLAIN, ())
        assert (found.n_alike, found.n_distinct) == (2, 3)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("DateOfBirth", ("date", "of", "birth")), ("E-Mail", ("e", "mail")),
        ("Straße_2", ("strasse",)), ("coût", ("cout",)), ("AGI", ("agi",)),
    ],
)  # fmt: skip
def test_words_of_names(name, parts) -> None:
    assert split_name(name) == parts


def test_short_words_are_found_whole_only() -> None:
    assert find_word("storage", "age") is None
    assert find_word("Kundennummer", "nummer") == "nummer"


class TestPrefixes:
    @pytest.mark.parametrize(
        ("texts", "prefixes"),
        [
            (numbers(1_000, 1_300, "0{}"), (2, 3)),
            (numbers(100, 300, "A{}"), (2,)),
            (["04897", "10115"] * (N_RECORDS // 2), ()),
            (numbers(0, 300, "ward {}"), ()),
            (numbers(10**8, 10**8 + 300, "{}x"), ()),
        ],
        ids=["postcodes", "letters and digits", "few", "of many lengths", "long"],
    )
    def test_of_codes(self, texts, prefixes):
        assert suggest_prefixes(suggest(age=AGES, debt=AGES, zip=texts)["zip"]) == prefixes

    def test_not_of_numbers(self):
        found = suggest(PLZ=AGES, debt=AGES, **{"year born": numbers(1_000, 9_000)})
        assert [suggest_prefixes(one) for one in found.values()] == [(), (), ()]
