"""What is lost where each class has to meet a further model that classes of k records hardly meet.

``python -m benchmarks.loss.further_models [--rows N ...] [--seeds N ...] [--out RESULTS.md]``

Generated records with two quasi-identifiers, or with four of which two are categories, an illness
of which some of eight are rare, and an income; or with three, which a state (ill, 5 %, or well) and
a shift (of three, one of 5 %) follow. Beside the default its shorter searches, `mondrian`, whose
halves meet models by construction, and the default with k 20, or within t .04: which is stricter,
and should not lose less.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results import describe_call, render_table, say, show_section
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.releases.repository.repository import read_internal
from tclose.runtime.monitoring.progress import Progress

K = 5
ILLNESSES = 0.4, 0.3, 0.1, 0.08, 0.05, 0.03, 0.02, 0.02
QUASI = {
    2: ("age", "weight"),
    4: ("age", "weight", "region", "trade"),
    3: ("height", "pulse", "sleep"),
}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "8 illnesses": ("illness", {"name": "distinct-l-diversity", "l": 8}),
    "5 illnesses": ("illness", {"name": "distinct-l-diversity", "l": 5}),
    "entropy 3.5": ("illness", {"name": "entropy-l-diversity", "l": 3.5}),
    "ratio 1.5": ("income", {"name": "ratio-closeness", "t": 1.5, "buckets": 5}),
    "2 states": ("state", {"name": "distinct-l-diversity", "l": 2}),
    "3 shifts": ("shift", {"name": "distinct-l-diversity", "l": 3}),
}
FOLLOWING = ("state", "shift")
METHODS: dict[str, dict[str, Any]] = {
    **{refine: {"refine": refine} for refine in ("fast", "lean", "off")},
    "mondrian": {"name": "mondrian"},
}
# What is stricter, by whether the confidential values follow the quasi-identifiers.
STRICTER: dict[bool, tuple[str, dict[str, Any]]] = {
    False: ("k 20", {"k": 20}),
    True: ("t .04", {"t": 0.04}),
}
COLUMNS = ("records", "quasi-identifiers", "model", "seed", "method", "shares", "loss", "classes",
           "range counts", "seconds")  # fmt: skip


def write_records(path: Path, n_rows: int, seed: int) -> None:
    """Quasi-identifiers, and confidential values that do not depend on them, or on three do."""
    rng = np.random.default_rng(seed)
    table = {
        "age": rng.integers(0, 95, n_rows),
        "weight": np.round(rng.normal(70, 15, n_rows), 1),
        "region": rng.choice(list("ABCDEFGHIJ"), n_rows, p=np.arange(1, 11) / 55),
        "trade": rng.choice([f"trade {i}" for i in range(30)], n_rows),
        "illness": rng.choice(list("abcdefgh"), n_rows, p=ILLNESSES),
        "income": np.round(rng.lognormal(8, 1, n_rows), -2),
    }
    for name in QUASI[3]:
        table[name] = rng.normal(size=n_rows).round(4)
    is_ill = table["height"] + rng.normal(size=n_rows) / 2 > 1.85
    table["state"] = np.where(is_ill, "ill", "well")
    early = np.where(table["pulse"] > 0.6, "early", "late")
    table["shift"] = np.where(table["height"] > 1.6, "night", early)
    pq.write_table(pa.table(table), path)


def measure(source: Path, n_quasi: int, model: str, folder: Path) -> Iterator[list[str]]:
    """Cells of each method: loss in shares and by eq. (5), classes, range counts, seconds."""
    confidential, asked = MODELS[model]
    stricter, more = STRICTER[confidential in FOLLOWING]
    for name, method in (METHODS | {stricter: {}}).items():
        document = {
            "name": "models",
            "input": {"path": str(source)},
            "unlisted": "drop",
            "attributes": dict.fromkeys(QUASI[n_quasi], "quasi-identifier")
            | {confidential: "confidential"},
            "privacy": {"k": K, "models": [asked]} | (more if name == stricter else {}),
            "method": method,
            "output": {"path": str(folder / name)},
        }
        began = time.perf_counter()
        inside = read_internal(run_release(parse_policy(document), Progress("none")).release)
        seconds = time.perf_counter() - began
        assert inside is not None
        lost = inside.exact_information_loss
        assert lost is not None
        shares = f"{sum(lost.of_one_class.values()):.3f}" if lost.of_one_class else "-"
        analyses = inside.utility.analyses if inside.utility is not None else None
        counts = analyses.range_counts if analyses is not None else None
        error = "-" if counts is None else f"{counts.median_error:.1%}"
        yield [name, shares, f"{lost.total:.5f}", f"{inside.classes.n_classes:,}", error,
               f"{seconds:.1f}"]  # fmt: skip


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[3_000, 20_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for n_rows in given.rows:
        for seed in given.seeds:
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "source.parquet"
                write_records(source, n_rows, seed)
                for n_quasi in QUASI:
                    models = [m for m in MODELS if (MODELS[m][0] in FOLLOWING) == (n_quasi == 3)]
                    for model in models:
                        say(f"measuring {n_rows:,}, {n_quasi}, {model}, seed {seed}")
                        case = [f"{n_rows:,}", str(n_quasi), model, str(seed)]
                        place = Path(folder) / f"{n_quasi} {model}"
                        rows += [case + cells for cells in measure(source, n_quasi, model, place)]
    how = (
        f"{describe_call('benchmarks.loss.further_models')}: k {K}, no t, one process. Shares: the "
        "sum over the quasi-identifiers of what each loses of what one class loses; what mondrian "
        "loses is measured to the middle of an interval, and by the share of the values that a set "
        "covers."
    )
    show_section("Further models", f"{how}\n\n{render_table(COLUMNS, rows)}", given.out)


if __name__ == "__main__":
    main()
