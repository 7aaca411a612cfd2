"""Verification over persons: exact k and exact distances of every class, and nobody mixed up.

A person's number is in no released file, so what was verified is compared with what was encoded by
a sum over the records of a hash of the number and the confidential values.
"""

from dataclasses import dataclass, replace

import numpy as np

from tclose.model.array_types import Int64
from tclose.model.counted_words import count_words
from tclose.model.verification import Failure, PersonAttribute, PersonTraces, PersonVerdict, Verdict
from tclose.passes.persons.person_digest import WORD, digest_persons
from tclose.passes.verify.size_counts import count_sizes, merge_sizes
from tclose.privacy.person_closeness import PersonDemand


@dataclass(frozen=True, eq=False)
class PersonChecks:
    """The measures over persons of the classes of a key range; two of them merge.

    ``size_counts`` int64 (2, s): distinct numbers of persons, and how many classes have each;
    ``largest``, ``n_violating``: of each confidential attribute; ``digest``: of `digest_persons`.
    """

    size_counts: Int64
    largest: tuple[float, ...]
    n_violating: tuple[int, ...]
    digest: int

    def merge(self, other: "PersonChecks") -> "PersonChecks":
        """The checks of both key ranges."""
        pairs = zip(self.largest, other.largest, strict=True)
        return PersonChecks(
            merge_sizes(self.size_counts, other.size_counts),
            tuple(float(np.maximum(a, b)) for a, b in pairs),
            tuple(a + b for a, b in zip(self.n_violating, other.n_violating, strict=True)),
            (self.digest + other.digest) % WORD,
        )


def check_persons(
    demand: PersonDemand, starts: Int64, persons: Int64, codes: Int64
) -> PersonChecks:
    """Check classes over persons; the parameters are as in `PersonDemand.measure`."""
    measures = demand.measure(starts, persons, codes)
    return PersonChecks(
        count_sizes(measures.n_persons),
        tuple(measures.distances.max(axis=1, initial=0.0).tolist()),
        tuple(np.count_nonzero(measures.above, axis=1).tolist()),
        digest_persons(persons, codes),
    )


@dataclass(frozen=True, eq=False)
class ExpectedPersons:
    """Limits held over persons, how many there are, and the digest of those that were encoded.

    ``are_together``: whether all records of a person have to be in one class.
    """

    demand: PersonDemand
    n_persons: int
    digest: int
    are_together: bool = False

    def judge(
        self, verdict: Verdict, checks: PersonChecks | None, traces: PersonTraces | None
    ) -> Verdict:
        """The verdict on records with that on persons; that they were not counted fails, too."""
        k = self.demand.k
        k_demand = f"at least {k} persons"
        if checks is None or not checks.size_counts.size:
            failure = Failure("k", k_demand, "persons were not counted")
            return replace(verdict, failures=(*verdict.failures, failure))
        sizes, counts = checks.size_counts
        names = tuple(result.name for result in verdict.attributes)
        too_small = int(counts[sizes < k].sum())
        failures = [Failure("k", k_demand, f"{too_small:,} smaller classes")] if too_small else []
        if checks.digest != self.digest:
            failures.append(Failure("persons", "those of the input", "records of other persons"))
        failures += self._judge_traces(traces)
        for name, limit, largest, above in zip(
            names, self.demand.limits, checks.largest, checks.n_violating, strict=True
        ):
            if above or not largest <= 1:
                what = f"t of {name} over persons"
                finding = (
                    f"{count_words(above, 'class', 'classes')} above, the largest {largest:.6f}"
                )
                failures.append(Failure(what, f"at most {float(limit):g}", finding))
        mean = int((sizes * counts).sum()) / int(counts.sum())
        attributes = tuple(map(PersonAttribute, names, self.demand.limits, checks.largest))
        ends = int(sizes.min()), int(sizes.max())
        persons = PersonVerdict(
            self.n_persons, *ends, mean, attributes, traces, are_together=self.are_together
        )
        return replace(verdict, persons=persons, failures=(*verdict.failures, *failures))

    def _judge_traces(self, traces: PersonTraces | None) -> list[Failure]:
        """Return why persons are not together; one reason is that nobody counted it."""
        if not self.are_together:
            return []
        if traces is None:
            finding = "the classes of persons were not counted"
        elif traces.n_several:
            finding = f"{count_words(traces.n_several, 'person')} in several classes"
        else:
            return []
        return [Failure("persons", "all records of a person in one class", finding)]
