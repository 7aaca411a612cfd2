"""The internal report's section on a motivated intruder, who has an independent library."""

from collections.abc import Iterable

from tclose.releases.manifest.inside_sections import (
    AttackKind,
    IntrusionAttack,
    IntrusionSection,
)
from tclose.releases.report.html_parts import data_table, element, paragraph, section
from tclose.releases.report.svg_charts import percent

_SAID: dict[str, str] = {
    "Linkability": "The intruder has two files about the same persons, each with some of their "
    "columns, and links what has the same nearest released record in both.",
    "Inference": "The intruder takes the confidential value of the released record that is nearest "
    "to a person. Numbers count as found within 5 %, other values if they are the same.",
    "Singling out": "The intruder makes predicates that hold for exactly one distinct released "
    "record, and succeeds with those that hold for exactly one distinct original. A predicate of "
    "one column is a least, a greatest or a rare value; one of several has up to three columns of "
    "a released record, numbers as bounds away from the median. Confidential values that are "
    "released as they are stand in such predicates as the original record has them: k and t do not "
    "hide that a rare value is there, only whose it is among the class. The figures without "
    "confidential columns say what is left of that. A predicate that was wanted and not found "
    "counts as a failure: where few were found, shares and risk are low for that alone.",
}
_KINDS: dict[str, tuple[AttackKind, ...]] = {
    "Linkability": ("linkability",),
    "Inference": ("inference",),
    "Singling out": ("singling-out-univariate", "singling-out-multivariate"),
}
_HEAD = ("succeed", "on hold-out", "at random", "risk", "interval of 95 %")


def show_intrusion(intrusion: IntrusionSection | None) -> Iterable[str]:
    """Show what was found; nothing where nobody tried."""
    if intrusion is None:
        return
    yield section("intruder", "Motivated intruder", _say_how(intrusion), *_show_attacks(intrusion))


def _say_how(intrusion: IntrusionSection) -> str:
    intro = paragraph(
        f"{intrusion.library}, an independent library, attacked the release "
        f"(seed {intrusion.seed}): {intrusion.records:,} original records, and "
        f"{intrusion.held_out:,} that were kept out of it. "
        "Who is not in a release can be guessed at, too, by what persons have in common; so the "
        "risk is what attacks on originals succeed more often than the same on the hold-out, of "
        "what is left there. Where no share of the hold-out is given, the risk is that of the "
        "originals alone.",
        f"Hold-out records that are like an original one in all columns: {intrusion.alike:,}.",
    )
    if not intrusion.left_out:
        return intro
    names = ", ".join(intrusion.left_out)
    return intro + paragraph(f"Not attacked, as they are released in another form: {names}.")


def _show_attacks(intrusion: IntrusionSection) -> Iterable[str]:
    for title, kinds in _KINDS.items():
        attacks = [attack for attack in intrusion.attacks if attack.kind in kinds]
        if not attacks:
            continue
        yield element("h3", title) + paragraph(_SAID[title])
        rows = [(_describe(attack), *list_figures(attack)) for attack in attacks]
        yield data_table(f"Attacks of the intruder: {title.lower()}", ("attack", *_HEAD), rows)


def _describe(attack: IntrusionAttack) -> str:
    known = ", ".join(attack.known)
    if attack.kind == "linkability":
        return f"{known}, with {', '.join(attack.secret)} ({attack.attacks:,} persons)"
    if attack.kind == "inference":
        return f"{attack.secret[0]}, from {known} ({attack.attacks:,} persons)"
    n_columns = "one column" if attack.kind == "singling-out-univariate" else "several columns"
    return f"{n_columns} of {known} ({attack.predicates or 0:,} predicates of {attack.attacks:,})"


def list_figures(attack: IntrusionAttack) -> tuple[str, ...]:
    """The figures of an attack as text: shares of successes, risk, interval."""
    return (
        percent(attack.rate),
        "-" if attack.control is None else percent(attack.control),
        percent(attack.baseline),
        f"{attack.risk:.3f}",
        f"{attack.low:.3f} to {attack.high:.3f}",
    )
