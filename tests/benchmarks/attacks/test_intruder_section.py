"""The section on the intruder: its rows, and what is wanted of them."""

from benchmarks.attacks.intruder import hide_python, list_rows, list_targets, render_section
from tclose.releases.manifest.inside_sections import (
    AttackKind,
    IntrusionAttack,
    IntrusionSection,
)


def found(kind: AttackKind, high: float, predicates: int | None = None) -> IntrusionSection:
    attack = IntrusionAttack(
        kind=kind,
        known=["age", "sex"],
        secret=["hours-per-week"],
        attacks=100,
        predicates=predicates,
        rate=0.25,
        control=None,
        baseline=0.0,
        risk=0.01,
        low=0.0,
        high=high,
    )
    return IntrusionSection(
        library="anonymeter 1.1.0",
        seed=1,
        records=1_000,
        held_out=150,
        alike=0,
        left_out=[],
        attacks=[attack],
    )


SECTIONS = {
    ("k 5, t 0.1", 1): found("inference", 0.04),
    ("k 5, t 0.1", 2): found("inference", 0.06),
    ("k 5, t 0.15", 1): found("linkability", 0.01),
    ("k 5, t 0.15", 2): found("singling-out-univariate", 0.5, 7),
    ("as it is", 1): found("linkability", 0.9),
}


def test_targets_are_of_releases_and_of_the_larger_upper_end() -> None:
    linkability, *inference = list_targets(SECTIONS)
    assert (linkability.found, linkability.is_met) == (0.01, True)
    assert [one.found for one in inference] == [0.06, None]
    assert inference[0].what.startswith("inference of k 5, t 0.1, ")
    assert not inference[0].is_met


def test_rows_name_what_was_attacked_and_how() -> None:
    rows = list(list_rows(SECTIONS))
    assert rows[0] == [
        "k 5, t 0.1", "1", "inference of hours-per-week", "25 %", "-", "0 %", "0.010",
        "0.000 to 0.040",
    ]  # fmt: skip
    assert rows[3][2] == "singling out, one column, without hours: 7 predicates"


def test_no_path_of_this_machine_is_written() -> None:
    arguments = ["--python", "/home/somebody/python", "--out", "RESULTS.md"]
    assert hide_python(arguments) == ["--python", "PYTHON", "--out", "RESULTS.md"]
    section = render_section(SECTIONS, arguments)
    assert section.startswith(
        "`python -m benchmarks.attacks.intruder --python PYTHON` (`make bench-"
    )
