"""Which method makes the classes, and what it needs to know."""

from dataclasses import dataclass
from fractions import Fraction

T_CLOSENESS_FIRST = "t-closeness-first"
# Released as intervals, sets and nodes rather than as one value.
GENERALISING = ("mondrian", "incognito", "sabre")
# These look at all records of a domain together: a domain is one region.
WHOLE = ("incognito", "sabre", "bucketization")
# Their time grows with the square of the records that are looked at together.
QUADRATIC = ("mdav", "v-mdav", "microaggregate-and-merge", "k-anonymity-first", "dp-confidential")
MAX_QUADRATIC_RECORDS = 32_768
# These know nothing of t: what they make is held to it, and nothing is done about it.
WITHOUT_T = ("mdav", "v-mdav", "dp-confidential")


@dataclass(frozen=True)
class Method:
    """A method by its name in a policy.

    ``start``: the microaggregation that `microaggregate-and-merge` and `dp-confidential` begin
    with; ``gamma``: of v-mdav; ``n_buckets``, ``ratio``, its t, and ``release``, bucket or value:
    of `bucketization`.
    """

    name: str = T_CLOSENESS_FIRST
    start: str = "mdav"
    gamma: float = 0.2
    n_buckets: int | None = None
    ratio: Fraction | None = None
    release: str = "bucket"

    @property
    def releases_buckets(self) -> bool:
        """Whether the confidential attribute is released as its buckets."""
        return self.ratio is not None and self.release == "bucket"

    @property
    def generalises(self) -> bool:
        """Whether quasi-identifiers are released generalised."""
        return self.name in GENERALISING

    @property
    def merges(self) -> bool:
        """Whether classes that are above t are merged."""
        return self.name not in WITHOUT_T

    @property
    def most_records(self) -> int | None:
        """Records that are looked at together at most, if that is not as for all methods."""
        return MAX_QUADRATIC_RECORDS if self.name in QUADRATIC else None


AS_USUAL = Method()
