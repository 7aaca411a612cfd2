"""Random tables under random policies: a release that is what it says, or a refusal in plain words.

``TCLOSE_CASES`` is how many there are, ``TCLOSE_SEED`` what they are drawn by;
``TCLOSE_CASE=METHOD:SEED:NUMBER`` tries a single one again.
"""

import os
from collections import Counter
from collections.abc import Callable

import pytest

from nightly.counts import report
from nightly.drawn.trial import KINDS, MUTANTS, Number, read_number, try_case

N_CASES = int(os.environ.get("TCLOSE_CASES", "11"))
SEED = int(os.environ.get("TCLOSE_SEED", "1"))
CHUNK = 50
PER_KIND = -(-N_CASES // len(KINDS))
N_CHUNKS = -(-PER_KIND // CHUNK)
# Of one length: of a remainder of few cases more than half are refused now and then.
CHUNKS = [(kind, range(first, PER_KIND, N_CHUNKS)) for first in range(N_CHUNKS) for kind in KINDS]


@pytest.mark.parametrize(("kind", "numbers"), CHUNKS, ids=[f"{k}-{n.start}" for k, n in CHUNKS])
def test_released_or_refused(
    kind: str, numbers: range, record_property: Callable[[str, object], None]
) -> None:
    """At least half of the cases of every method end in a release."""
    ends: Counter[str] = Counter()
    wrong = []
    for number in numbers:
        try:
            ends[try_case(Number(kind, SEED, number))] += 1
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n\n".join(wrong)
    report(record_property, f"cases of {kind}", ends)
    report(record_property, "cases", {"tried": ends.total()} | ends | {"wrong": len(wrong)})
    assert kind == MUTANTS or ends["released"] >= ends["refused"], ends
    assert kind != MUTANTS or ends["refused"], ends


@pytest.mark.skipif("TCLOSE_CASE" not in os.environ, reason="TCLOSE_CASE names no case")
def test_named_case() -> None:
    try_case(read_number(os.environ["TCLOSE_CASE"]))
