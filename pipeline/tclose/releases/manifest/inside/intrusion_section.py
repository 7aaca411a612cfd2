"""Results of a motivated intruder with an independent library: for the internal report alone."""

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
    """Columns that are inferred, or that are linked to those known; none where records are singled
    out."""
    attacks: Positive
    predicates: Count | None = None
    """Predicates that hold for one released record and were tried on the originals."""
    rate: AtMostOne
    """Share of the attacks on the originals that succeed."""
    control: AtMostOne | None
    """The same of the hold-out; None where the library has none to compare with."""
    baseline: AtMostOne
    """Share of guesses at random that succeed."""
    risk: AtMostOne
    """Risk that the release adds: (rate - control) / (1 - control), from 0 on."""
    low: AtMostOne
    high: AtMostOne
    """The ends of the interval of 95 %: ``low`` and ``high``."""


class IntrusionSection(Section):
    """Attacks of Anonymeter on a release, with records that are not in it for comparison."""

    library: str
    """Name and version."""
    seed: Count
    records: Positive
    """Number of the originals."""
    held_out: Positive
    """Records that are not in the release."""
    alike: Count
    """Records held out that are like an original in all columns."""
    left_out: Names
    """Released columns that cannot be compared with the originals' values."""
    attacks: list[IntrusionAttack]
