"""The page of attacks."""

from collections.abc import Sequence

from benchmarks.attacks.adult_subtables import METHODS, Method
from benchmarks.attacks.attack_measures import Figures, Setting, estimate
from benchmarks.attacks.minimality import SearchBudget
from benchmarks.results import render_table

Found = dict[tuple[str, int], list[Figures]]
SETTINGS = {
    "Who knows everybody else's value": Setting(100, 5, 0.1, 6, 3, SearchBudget(1_260, 200, 1_500)),
    "Who knows nobody's value": Setting(12, 3, 0.25, None, 4, SearchBudget(1_296, 500, 5_000)),
}
COLUMNS = (
    "method",
    "records of a class",
    "arrangements left",
    "right by the class",
    "right with the algorithm",
    "of each seed",
    "largest gain",
    "certain",
    "beyond t",
    "unresolved",
)
INTRODUCTION = """# What an intruder who knows the algorithm gains

Written by `{command}` (`make attacks`).

A class says how common each confidential value is among its records, and t bounds how far that \
is from the table. It does not bound what can be read off the *choice* of the class. Wong, Fu, \
Wang and Pei (*Minimality attack in privacy preserving data publishing*, VLDB 2007) show that a \
method which merges or cuts no more than k and t need gives something away by it: had the parts \
of a class been within t, they would not have been merged.

**The intruder** knows the quasi-identifiers of everybody and whose record is in the table, the \
method, the policy, the seed, the order of the input, and the release. This is more than most \
have: the order of the input and the seed are not handed out, though the seed is 1 where a \
policy has none. He deals the values of a class to its records in every way, runs the method on \
each such table, and keeps those from which the same release comes out. Each way is as likely as \
any other beforehand, so the share of those kept in which a record has a value is his belief \
(the paper's credibility), without a model of anything. The tables are small random samples of \
Adult (`config/adult.yaml`, hours confidential; `bucketization`: the bucket of the hours), \
released by the pipeline's own passes, the same tables for each method, less those that it \
refuses. t-closeness-first is with `refine: fast` where nothing else is said.

- *records of a class*: of the class that a record is in, on average over records.
- *arrangements left*: share of the ways to deal the values that give the release. 100 %: the \
choice of the classes says nothing; 50 %: it says one bit, of all the values together that are \
dealt, 1 %: nearly seven. What is learnt of a single record is at most that.
- *right by the class*, *right with the algorithm*: probability of naming a record's value, \
always the one believed in most (of `dp-confidential` as if he had the class's true values, \
which noise hides). *of each seed*: the latter for the tables of each seed alone.
- *largest gain*: by how much the belief in one value of one record rose, at most.
- *certain*: records of which one value is left, and the class has several. Only where all \
arrangements were tried.
- *beyond t*: records with a belief whose ordered distance to the table is above the policy's t; \
by the class alone none is. `-`: the method is not held to t.
- *unresolved*: of the classes (above) or tables (below) attacked, those with too many \
arrangements to try all, of which fewer than 30 that were drawn gave the release. The belief is \
left as the class has it there: the methods with many of these lose more than the table says.

± is twice the standard error over tables. Where arrangements are drawn, a belief is changed \
only if chance does not explain the difference (Bernstein's bound, one error in 10,000), so the \
figures are rather too small.
"""
READING = """## What follows

- Methods that choose records by their confidential values (`t-closeness-first`, `sabre`, \
`bucketization`, and `k-anonymity-first`, which exchanges records) give away most: whoever knows \
the others' values and runs the method finds that few arrangements, often one, give the release. \
That `refine: fast` looks better than `off` is for its larger classes: those that could not be \
searched are unresolved, and of those that could nearly every value was found.
- Methods that merge or cut by quasi-identifiers and look at confidential values only to decide \
whether they go on (`microaggregate-and-merge`, `mondrian`, `incognito`) give away little of all, \
but a single record can still lose much, which is what the paper shows. The coarser the choice, \
the less.
- `mdav` and `v-mdav` choose by quasi-identifiers, but equally near records are taken in the \
order of the confidential quantiles that the pipeline lays them in: what is gained is through \
ties. `dp-confidential` does not read the confidential values before noise is on them: nothing \
to gain.
- k and t hold whether the seed is known or not. A seed that cannot be guessed is in the way of \
this attack on `t-closeness-first`; how much it hinders was not measured, and the others need it \
for ties alone. What bounds every intruder, this one too, is noise (`dp-confidential`), at its \
price.
- *Limits*. The tables have 12 to 100 records. In a large table the intruder of the first section \
has to know the values of all other records of the region that a class is in, and the one of the \
second (who is that of the paper) has more unknowns than can be tried: what a cleverer search \
would find there is not known. Other beliefs beforehand, and intruders who know less (not the \
order of the input, not all quasi-identifiers), were not measured.
"""


def render_page(bodies: dict[str, str], command: str) -> str:
    """The page of all sections."""
    parts = [INTRODUCTION.format(command=command).strip()]
    parts += [f"## {title}\n\n{body}" for title, body in bodies.items()]
    return "\n\n".join([*parts, READING.strip()]) + "\n"


def render_section(setting: Setting, found: Found, seeds: Sequence[int]) -> str:
    """Return the section on the parameters, and the table by method."""
    rows = [
        _render_row(method, [found[method.name, seed] for seed in seeds], setting.n_tables)
        for method in METHODS
    ]
    return f"{_describe(setting, seeds)}\n\n{render_table(COLUMNS, rows)}"


def _describe(setting: Setting, seeds: Sequence[int]) -> str:
    effort = setting.effort
    whom = "all classes of each together"
    if setting.n_targets is not None:
        whom = f"the classes of {setting.n_targets} records of each, drawn at random, one by one"
    return (
        f"{setting.n_tables} tables of {setting.n_records} records for each of the seeds "
        f"{', '.join(map(str, seeds))}; k = {setting.k}, t = {setting.t:g}; {whom}; all "
        f"arrangements where there are at most {effort.all_of:,}, else {effort.drawn:,} drawn, or "
        f"up to {effort.most:,} where more are needed."
    )


def _render_row(method: Method, by_seed: Sequence[list[Figures]], n_tables: int) -> list[str]:
    tables = [figures for of_seed in by_seed for figures in of_seed]
    n_asked = n_tables * len(by_seed)
    is_intact = len(tables) == n_asked
    name = method.name if is_intact else f"{method.name}, {len(tables)} of {n_asked} tables"
    if not all(by_seed):
        return [name] + ["-"] * (len(COLUMNS) - 1)

    def share(name: str) -> str:
        found = estimate(tables, name)
        return f"{100 * found.mean:.1f} ± {100 * found.error:.1f} %"

    return [
        name,
        f"{estimate(tables, 'class_size').mean:.1f}",
        share("acceptance"),
        share("before"),
        share("after"),
        ", ".join(f"{100 * estimate(of_seed, 'after').mean:.1f}" for of_seed in by_seed) + " %",
        f"{max(one.largest_gain for one in tables):.2f}",
        share("certain"),
        share("beyond") if method.is_held_to_t else "-",
        share("unresolved"),
    ]
