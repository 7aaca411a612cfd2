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
CHUNKS = [(kind, start) for start in range(0, PER_KIND, CHUNK) for kind in KINDS]


@pytest.mark.parametrize(("kind", "start"), CHUNKS, ids=[f"{k}-{s}" for k, s in CHUNKS])
def test_released_or_refused(
    kind: str, start: int, record_property: Callable[[str, object], None]
) -> None:
    """At least half of the cases of every method end in a release."""
    ends: Counter[str] = Counter()
    wrong = []
    for number in range(start, min(start + CHUNK, PER_KIND)):
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
