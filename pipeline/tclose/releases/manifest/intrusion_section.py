"""What a motivated intruder with an independent library found: for the internal report alone."""

from typing import Literal

from tclose.releases.manifest.sections import AtMostOne, Count, Names, Positive, Section

AttackKind = Literal[
    "linkability", "inference", "singling-out-univariate", "singling-out-multivariate"
]


class IntrusionAttack(Section):
    """One attack of the library: shares of attacks that succeed, and the risk it makes of them."""

    kind: AttackKind
    known: Names
    """Columns whose values the intruder knows, or makes predicates of."""
    secret: Names
    """What is inferred, or the columns that are linked to those known; empty of singling out."""
    attacks: Positive
    predicates: Count | None = None
    """That hold for one released record and were tried on the originals."""
    rate: AtMostOne
    """Of attacks on the originals."""
    control: AtMostOne | None
    """Of the same attacks on the hold-out; None where the library has none to compare with."""
    baseline: AtMostOne
    """Of guesses at random."""
    risk: AtMostOne
    """What the release adds: (rate - control) / (1 - control), from 0 on."""
    low: AtMostOne
    high: AtMostOne
    """Of the interval of 95 %."""


class IntrusionSection(Section):
    """Attacks of Anonymeter on a release, with records that are not in it for comparison."""

    library: str
    """Name and version."""
    seed: Count
    records: Positive
    """Of the originals."""
    held_out: Positive
    """Records that are not in the release."""
    alike: Count
    """Of those, the ones that are like an original in all columns."""
    left_out: Names
    """Released columns that cannot be compared with the originals' values."""
    attacks: list[IntrusionAttack]
