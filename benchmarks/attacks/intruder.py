"""An independent attack library, Anonymeter, on releases of Adult with a hold-out.

``python -m benchmarks.attacks.intruder --python PYTHON [--out RESULTS.md]``

``make bench-intruder`` makes that Python. Adult is split by lot and the larger part is released.
Attacked are each release, and for comparison that part itself, as if it had been handed out without
names.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from benchmarks.microdata.sources import REAL_DATA
from benchmarks.results import (
    Target,
    describe_command,
    describe_machine,
    render_table,
    render_targets,
    show_section,
)
from tclose.assess.complete_records import read_complete
from tclose.assess.intrusion.compared_tables import CONTROL, ORIGINAL, RELEASED, compare_tables
from tclose.assess.intrusion.motivated_intruder import attack_tables, intrude
from tclose.assess.intrusion.other_python import find_python
from tclose.model.column_terms import UNRELEASED
from tclose.passes.release import run_release
from tclose.policy.policy import Policy, load_policy
from tclose.policy.yaml_values import quote_yaml
from tclose.releases.manifest.inside_sections import IntrusionAttack, IntrusionSection
from tclose.releases.report.intrusion_report import list_figures
from tclose.runtime.monitoring.progress import Progress

TITLE = "A motivated intruder with Anonymeter"
POLICY = Path(__file__).parents[2] / "config" / "adult.yaml"
HELD_OUT = 0.15
ASKED = (("5", "0.1"), ("10", "0.1"), ("20", "0.1"), ("5", "0.15"))
UNCHANGED = "as it is"
SEEDS = (1, 2)
WANTED = 0.05
END = "upper end of the interval, larger of the seeds"
COLUMNS = ("released", "seed", "attack", "succeed", "on hold-out", "at random", "risk", "95 %")

EXPLAINED = """\
- *Linkability*: many rows share half of the columns, and the library takes one of them. The \
records themselves are hardly linked either: of a release of Adult this attack says little.
- *Inference*: the guess is the hours of the nearest row. Of those whose class is found, one in \
k at most hits her own row; the rest is what persons with such quasi-identifiers have in \
common, in the hold-out as well. So it goes down with k. Two shares of about 30 % have an interval \
of about 0.04 to either side with 2,000 attacks each, and of 0.026 with 4,700, whatever the risk: \
the upper end says as much of their number as of the release.
- *Singling out*: the library takes a released record and makes bounds or equalities of up to \
three of its columns, of numbers away from the median (`hours >= 84 and age <= 23 and sex = \
Female`), and keeps what holds for one distinct released record. It succeeds if that holds for \
one distinct original record, too. Hours are released as the records have them, so that a rare \
or extreme value is as rare among the originals; with bounds that the class's other values meet \
as well, it is that record. Without hours little is left, as predicates then are of values that \
whole classes share. Neither k nor t is about this: a predicate says that such a record is \
there, and its quasi-identifiers are those of a class of k.
- *On hold-out*, scaled to as many records as were released, the same predicates hold for one \
record now and then: that much is chance. The rest is of the records that were released, and \
comes from the values that were released as they are; `round`, `top` and `bottom` make them rare \
no more.
- *At random*: predicates of released values and of any operators, drawn without looking whether \
they hold for one record.
- The share of predicates that succeed is of as many as were wanted, also where fewer were \
found, as of one column.
"""

Found = dict[tuple[str, int], IntrusionSection]


def main() -> None:
    """Attack the releases, print the section, and write it into the page."""
    parser = argparse.ArgumentParser(description="Attack releases of Adult with Anonymeter.")
    parser.add_argument("--python", required=True, help="that has Anonymeter")
    parser.add_argument("--attacks", type=int, help="of each kind (default: 2,000)")
    parser.add_argument("--out", type=Path, help="write the section into this page, too")
    given = parser.parse_args()
    found = measure(find_python(given.python), given.attacks)
    section = render_section(found, sys.argv[1:])
    show_section(TITLE, section, given.out)


def measure(python: Path, n_attacks: int | None) -> Found:
    """What was found, by what was released and by seed; nothing stays on disk."""
    found: Found = {}
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            split_adult(place, seed)
            for k, t in ASKED:
                policy = load_policy(str(POLICY), override(place, k, t))
                found[f"k {k}, t {t}", seed] = attack_release(
                    policy, place, python, n_attacks, seed
                )
            found[UNCHANGED, seed] = attack_originals(policy, place, python, n_attacks, seed)
        for name in (*(f"k {k}, t {t}" for k, t in ASKED), UNCHANGED):
            print(found[name, seed].to_json(), file=sys.stderr, flush=True)
    return found


def split_adult(place: Path, seed: int) -> None:
    """Write the records that are released and those that are kept out, drawn by lot."""
    table = pa_csv.read_csv(REAL_DATA / "adult.csv")
    order = np.random.default_rng(seed).permutation(len(table))
    n_kept = round(HELD_OUT * len(table))
    for name, chosen in (("holdout", order[:n_kept]), ("released", order[n_kept:])):
        pa_csv.write_csv(table.take(pa.array(np.sort(chosen))), place / f"{name}.csv")


def override(place: Path, k: str, t: str) -> list[str]:
    """The keys of the policy that are others here."""
    return [
        f"input.path={quote_yaml(str(place / 'released.csv'))}",
        f"output.path={quote_yaml(str(place / f'{k}-{t}'))}",
        f"privacy.k={k}",
        f"privacy.t={t}",
    ]


def attack_release(
    policy: Policy, place: Path, python: Path, n_attacks: int | None, seed: int
) -> IntrusionSection:
    """Release the records and attack that."""
    progress = Progress("none")
    outcome = run_release(policy, progress)
    holdout = str(place / "holdout.csv")
    return intrude(
        outcome.release, policy, holdout, python, progress, n_attacks=n_attacks, seed=seed
    )


def attack_originals(
    policy: Policy, place: Path, python: Path, n_attacks: int | None, seed: int
) -> IntrusionSection:
    """Attack the records themselves, as if they had been handed out."""
    progress = Progress("none")
    held_out = policy.input.model_copy(update={"path": str(place / "holdout.csv")})
    summary, original = read_complete(policy, "intrude", None, progress)
    _, control = read_complete(
        policy.model_copy(update={"input": held_out}), "intrude", None, progress
    )
    columns = [c for c in summary.source.columns if c.role not in UNRELEASED]
    tables = {ORIGINAL: original, RELEASED: original, CONTROL: control}
    return attack_tables(compare_tables(columns, tables), python, progress, n_attacks, seed)


def render_section(found: Found, arguments: Sequence[str]) -> str:
    """The section of the page."""
    first = next(iter(found.values()))
    command = describe_command("benchmarks.attacks.intruder", hide_python(arguments))
    how = (
        f"{first.library} on `config/adult.yaml` (hours confidential), {first.records:,} records "
        f"released and {first.held_out:,} kept out by lot, for each seed anew; "
        f"{first.attacks[0].attacks:,} attacks of each kind. *as it is*: the records themselves "
        "in place of the release, for comparison. *risk*: (succeed - on hold-out) / (1 - on "
        "hold-out), of the library's estimates."
    )
    parts = [
        f"`{command}` (`make bench-intruder`); {describe_machine()}.",
        how,
        render_table(COLUMNS, list_rows(found)),
        render_targets(list_targets(found)),
        EXPLAINED,
    ]
    return "\n\n".join(parts)


def hide_python(arguments: Sequence[str]) -> list[str]:
    """The arguments without the path of the other Python, which is this machine's."""
    kept = list(arguments)
    if "--python" in kept:
        kept[kept.index("--python") + 1] = "PYTHON"
    return kept


def list_rows(found: Found) -> Iterator[list[str]]:
    """A row for each attack on each release."""
    for (name, seed), section in found.items():
        for attack in section.attacks:
            yield [name, str(seed), name_attack(attack), *list_figures(attack)]


def name_attack(attack: IntrusionAttack) -> str:
    """The attack, and what it needs."""
    known = ", ".join(attack.known)
    if attack.kind == "linkability":
        return f"linkability: {known} / {', '.join(attack.secret)}"
    if attack.kind == "inference":
        return f"inference of {attack.secret[0]}"
    n_columns = "one column" if attack.kind == "singling-out-univariate" else "several columns"
    which = "with" if "hours-per-week" in attack.known else "without"
    return f"singling out, {n_columns}, {which} hours: {attack.predicates:,} predicates"


def list_targets(found: Found) -> list[Target]:
    """The upper ends of the intervals, of both seeds: of all releases, and of each."""
    releases = list(dict.fromkeys(name for name, _ in found if name != UNCHANGED))
    of_each = [
        Target(f"inference of {n}, {END}", WANTED, _find_end(found, "inference", [n]))
        for n in releases
    ]
    linkability = _find_end(found, "linkability", releases)
    return [Target(f"linkability of all releases, {END}", WANTED, linkability), *of_each]


def _find_end(found: Found, kind: str, releases: Sequence[str]) -> float | None:
    """The largest upper end of attacks of a kind; None where there were none."""
    ends = (
        attack.high
        for (name, _), section in found.items()
        for attack in section.attacks
        if attack.kind == kind and name in releases
    )
    return max(ends, default=None)


if __name__ == "__main__":
    main()
