"""The budget of a region's refinement, by the policy's ``refine``."""

from dataclasses import dataclass, replace

SWEEPS_BEFORE_MERGING = 6
# Until a round saves less than this share of the usual loss several starts are compared: that tells
# nearly as well as all rounds do which of them ends with the least loss.
GAIN_TO_COMPARE = 0.12
# Records of a class for which `SearchBudget.least_exchange` was chosen.
USUAL_SIZE = 14


@dataclass(frozen=True)
class SearchBudget:
    """The rounds, time and width of a refinement.

    ``block_classes``: classes that are searched together; ``n_partners``, ``n_searches``,
    ``n_sweeps``: as in the search; ``least_exchange``: share of a class's usual loss that an
    exchange has to save, see `share_of_exchange`;
    ``least_gain``: share of the usual loss that a round has to save for another one to follow;
    ``seconds``: computing time for the whole table, over all workers; ``n_pooled``: neighbours of a
    class that pools are made of, 0 for no pools; ``n_perturbed``: records that are perturbed after
    the rounds, each counted as often as its group is, for the whole table: some seconds, so that
    small tables are searched thoroughly; ``n_more``: so many more as long as that saves much;
    ``is_compared``: whether several starts are, where what a
    round saves ends it; ``first``: what the first rounds search by, as many as it has.
    """

    n_rounds: int
    block_classes: int = 1024
    n_partners: int = 16
    n_searches: int = 1
    n_sweeps: int = 4
    least_exchange: float = 0.0
    least_gain: float = 0.0
    seconds: float | None = None
    n_pooled: int = 10
    n_perturbed: int = 0
    n_more: int = 0
    is_compared: bool = True
    first: "SearchBudget | None" = None

    @property
    def rounds_before_merging(self) -> int:
        """Rounds after which classes above t are merged, so that later ones recover its loss."""
        n_rounds = n_sweeps = 0
        while n_sweeps < SWEEPS_BEFORE_MERGING:
            one = self.of_round(n_rounds)
            n_rounds, n_sweeps = n_rounds + 1, n_sweeps + one.n_searches * one.n_sweeps
        return n_rounds

    def of_round(self, r: int) -> "SearchBudget":
        """Return the budget that a round is searched by."""
        return self if self.first is None or r >= self.first.n_rounds else self.first

    def share_of_exchange(self, size: float) -> float:
        """Share of the usual loss that an exchange has to save: of a large class it is little."""
        return self.least_exchange * min(1.0, USUAL_SIZE / size)

    @property
    def to_compare(self) -> "SearchBudget | None":
        """The part of it that several starts are compared by, if a part tells which ends best."""
        if not self.ends_by_gain or not self.is_compared:
            return None
        return replace(self, n_perturbed=0, n_more=0, least_gain=GAIN_TO_COMPARE)

    @property
    def is_short(self) -> bool:
        """Return whether it is that of lean, or none: it takes no longer than all else does."""
        return self in (OFF, LEAN, LEAN_LARGE)

    @property
    def ends_by_gain(self) -> bool:
        """Return whether what a round still gains ends it, and neither a time nor a number."""
        return self.seconds is None and self.least_gain > 0


OFF = SearchBudget(0)
# Between off and fast: as much time as off, for most of what fast saves.
LEAN = SearchBudget(
    2,
    block_classes=256,
    n_partners=3,
    n_searches=2,
    n_sweeps=1,
    least_exchange=0.01,
    n_pooled=0,
)
# Of any table, ended by what a round still saves; the number of rounds only ends a search that
# would go on for ever. The first rounds save most, however little they look: as lean's they leave a
# tenth more loss in half of the time.
FAST = SearchBudget(
    256,
    n_perturbed=4_000_000,
    block_classes=512,
    n_partners=6,
    n_searches=2,
    n_sweeps=1,
    least_exchange=0.003,
    least_gain=0.003,
    first=LEAN,
)
# What a round of fast has to save of a million records or more, which lose 4 % more by it in half
# of the time; of fewer as much less as there are.
LEAST_GAIN_OF_A_MILLION = 0.05
# Of a larger table starts are not compared, as each takes long.
LARGE_TABLE = 2_000_000
# Of a large table, where all else takes little: a fifth less time, and of discharges 4 % more loss.
LEAN_LARGE = replace(LEAN, block_classes=128, least_exchange=0.015)
# Perturbations of a group of classes in a pass, which the search of all its pairs comes before.
TIMES = 4
# How often fast perturbs a record of a small table, at most, and the records of a table that it
# perturbs: one pass of a larger one saves little, and takes the time of a round. As long as that
# saves much, each record so many times: two tables of twelve lost a tenth less by it.
MOST_PER_RECORD, LARGEST_PERTURBED = 150, 500_000
MORE_PER_RECORD = 300
# In times what fast perturbs, and each record at least: up to ten times fast's time.
FULL_TIMES, FULL_PER_RECORD = 13, 55
UNLIMITED = 10**18
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def choose_search_budget(refine: str | int, n_records: int) -> SearchBudget:
    """Return the budget of a policy's ``method.refine`` on a table of ``n_records``."""
    if isinstance(refine, int):
        return SearchBudget(refine)
    named = {"off": OFF, "lean": LEAN_LARGE if n_records > LARGE_TABLE else LEAN}
    if refine in named:
        return named[refine]
    n_perturbed = 0
    if n_records <= LARGEST_PERTURBED:
        n_perturbed = min(FAST.n_perturbed, MOST_PER_RECORD * n_records)
    if refine == "full":
        most = max(FULL_TIMES * n_perturbed, FULL_PER_RECORD * n_records)
        return replace(FAST, n_perturbed=most)
    if refine == "fast":
        least_gain = max(FAST.least_gain, LEAST_GAIN_OF_A_MILLION * min(n_records / 1e6, 1.0))
        return replace(
            FAST,
            n_perturbed=n_perturbed,
            n_more=min(FAST.n_perturbed, MORE_PER_RECORD * n_records) - n_perturbed
            if n_perturbed
            else 0,
            least_gain=least_gain,
            is_compared=n_records <= LARGE_TABLE,
        )
    number = refine.rstrip("sminh ")
    seconds = float(number) * UNITS[refine[len(number) :].strip()]
    return replace(FAST, n_rounds=10_000, n_perturbed=UNLIMITED, seconds=seconds)


# Larger classes are left as they are: the sums of a table that distances are made of are held for
# every size, and grow with the square of the largest.
MAX_SEARCHED = 2_000
# Blocks of large classes have fewer of them.
MOST_OF_BLOCK = 102_400


def count_block_classes(budget: SearchBudget, size: float) -> int:
    """Return how many classes of that many records a block of a search has at most."""
    return max(2, min(budget.block_classes, int(MOST_OF_BLOCK / size)))
