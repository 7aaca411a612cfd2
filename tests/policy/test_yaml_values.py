"""YAML of policies: each value is what it looks like, or refused."""

import math
from pathlib import Path
from typing import Any

import pytest

from tclose.errors import PolicyError
from tclose.policy.policy import parse_policy
from tclose.policy.taxonomy_files import read_taxonomy
from tclose.policy.yaml_values import read_yaml

LEVELS = 40


def bomb(levels: int = LEVELS) -> str:
    """Ten times as many values with each level."""
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *lines])


@pytest.mark.parametrize(
    "text",
    [
        *("1:30", "22:22:22", "1:30.5", "-1:30", "1_000", "0o10", "0x1F", "0b11", "1e", "e5"),
        *("yes", "no", "on", "off", "y", "n", "Yes", "NO", "On"),
        *("2020-01-30", "2020-13-45", "2020-01-30T08:00:00Z", "2020-01-30 08:00:00", "08:00"),
        *("inf", "nan", "+", "-a", ".", "1.2.3", "tRuE", "nULL", "=", "1,000"),
    ],
)
def test_text_stays_text(text: str) -> None:
    assert read_yaml(text) == text
    assert read_yaml(f"[{text}]" if "," not in text else f"- {text}") == [text]
    assert read_yaml(f"{text}: a") == {text: "a"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("0", 0), ("7", 7), ("-12", -12), ("+3", 3), ("1000", 1000), (str(10**40), 10**40)),
        *(("0.05", 0.05), (".5", 0.5), ("1.", 1.0), ("1e5", 1e5), ("-2.5E-3", -0.0025)),
        *((".inf", math.inf), ("-.INF", -math.inf), ("1e999", math.inf)),
        *(("true", True), ("False", False), ("TRUE", True)),
        *(("null", None), ("~", None), ("", None)),
        *(("'010'", "010"), ('"1"', "1"), ("'no'", "no"), ("!!str 5", "5")),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = read_yaml(f"[{text}]")[0] if text else read_yaml("")
    assert (found, type(found)) == (value, type(value))


def test_not_a_number() -> None:
    assert math.isnan(read_yaml(".nan"))


@pytest.mark.parametrize("text", ["010", "-007", "00", "0_1", "k: 010", "[a, 08]", "010: a"])
def test_leading_zeros_are_refused(text: str) -> None:
    with pytest.raises(PolicyError, match=r"line 1: -?0\w+ begins with a zero, and some read it"):
        read_yaml(text)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (bomb(), "its aliases (*name) expand to more than 1,000,000 values; write out what is"),
        ("a: &a [*a]", "line 1: an alias is inside what it names; write it out"),
        ("a: &a\n  b: {c: *a}", "an alias is inside what it names"),
        ("<<: {a: 1}\n<<: {a: 2}", "key '<<' appears twice (line 2); say it once"),
        ("a: 1\n'a': 2", "key 'a' appears twice (line 2); say it once"),
        ("9" * 5_000, "not valid YAML"),
        ("[" * 5_000, "not valid YAML"),
        ("!!python/object/apply:os.system [ls]", "not valid YAML"),
        ("!!timestamp 2020-13-45", "not valid YAML"),
        ("a: 1\n---\nb: 2", "not valid YAML at line 2; leave out the line ---"),
        ("a:\n\tb: 2", "not valid YAML at line 2; indent by blanks, not by tabs"),
        ("a: *.csv", "not valid YAML at line 1; put a text that begins with * in quotes"),
        ("a: *b", "not valid YAML at line 1; put a text that begins with * in quotes"),
        ("a: %d.%m.%Y", "not valid YAML at line 1; put a text that begins with this character in"),
        ("a: {as_of}.csv", "not valid YAML at line 1; put a text that begins with a brace"),
        ("a: {b: c/{as_of}.csv}", "not valid YAML at line 1; put a text with a brace in it in"),
        ("a: {b: {as_of}.csv}", "not valid YAML at line 1; put a text with a brace in it in"),
        ("a: b: c", "not valid YAML at line 1; put a text with a colon and a blank in quotes"),
        ("a: [b", "not valid YAML at line 1; correct it"),
    ],
)
def test_refused(text: str, fragment: str) -> None:
    with pytest.raises(PolicyError) as refusal:
        read_yaml(text)
    assert fragment in str(refusal.value)


def test_aliases_and_merges_that_are_in_order() -> None:
    text = "a: &a {role: confidential, t: 0.2}\nb: *a\nc: {<<: *a, t: 0.1}"
    confidential = {"role": "confidential", "t": 0.2}
    expected = {"a": confidential, "b": confidential, "c": confidential | {"t": 0.1}}
    assert read_yaml(text) == expected
    assert len(read_yaml(bomb(5))["a4"]) == 10


def test_a_taxonomy_of_aliases(tmp_path: Path) -> None:
    path = tmp_path / "tree.yaml"
    path.write_text(bomb())
    with pytest.raises(PolicyError, match=r"its aliases \(\*name\) expand to more than"):
        read_taxonomy(path)
    path.write_text("any: [010, 1:30, no, 2020-01-01]")
    assert [row[0] for row in read_taxonomy(path).rows] == ["010", "1:30", "no", "2020-01-01"]


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("k", "1:30", r"privacy\.k: has to be a whole number \(given: '1:30'\)"),
        ("k", "0o10", r"privacy\.k: has to be a whole number \(given: '0o10'\)"),
        ("k", "yes", r"privacy\.k: has to be a whole number \(given: 'yes'\)"),
        ("k", ".inf", r"privacy\.k: has to be a "),
        ("k", "2020-01-01", r"privacy\.k: has to be a whole number"),
        ("t", "1:30", r"privacy\.t: has to be a number"),
        ("t", ".nan", r"privacy\.t: has to be a number"),
        ("t", "1e999", r"privacy\.t: has to be a"),
    ],
)
def test_what_numbers_cannot_be(key: str, text: str, message: str) -> None:
    privacy = {"k": 5, "t": 0.1} | {key: read_yaml(text)}
    document = {
        "name": "x",
        "input": {"path": "x.csv"},
        "attributes": {"age": "quasi-identifier", "pay": "confidential"},
        "privacy": privacy,
    }
    with pytest.raises(PolicyError, match=message):
        parse_policy(document)


def test_words_and_days_as_values() -> None:
    """Values of columns are those of the data, as they are written there."""
    document = read_yaml(
        "name: x\n"
        "input: {path: x.csv, missing_values: [no, 1:30, 2020-01-01]}\n"
        "attributes:\n"
        "  no: quasi-identifier\n"
        "  a: {role: confidential, type: ordinal, order: [no, yes, 22:22:22, 2020-01-01], t: 0.2}\n"
        "  b: {role: confidential, taxonomy: {any: [no, yes, 1:30]}, t: 0.2}\n"
        "privacy: {k: 5}\n"
        "method: {refine: off}\n"
    )
    policy = parse_policy(document)
    assert policy.input.missing_values == ("no", "1:30", "2020-01-01")
    assert policy.attributes["a"].order == ("no", "yes", "22:22:22", "2020-01-01")
    assert [row[0] for row in policy.attributes["b"].taxonomy] == ["no", "yes", "1:30"]
    assert policy.method.refine == "off"
