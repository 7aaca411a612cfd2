"""Loss saved by leaving isolated records out: with 0, 0.5, 1 and 2 % left out at most.

``python -m benchmarks.loss.suppression [--only WORD] [--share S ...] [--out RESULTS.md]``

The loss of all records, and of the same records by themselves: so much of the gain is that outliers
are not counted. Without outliers one class of all would lose less, and classes are made by shares
of that: what the release of all records loses of those that are kept stands beside in these shares.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.microdata.sources import SEED, Source, adult, census, generated
from benchmarks.results import describe_call, render_table, show_section
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.model.array_types import Float64, Int64
from tclose.passes.release import run_release
from tclose.policy.policy import Policy, parse_policy
from tclose.runtime.monitoring.progress import Progress

TITLE = "Loss: isolated records left out"
SHARES = (0.005, 0.01, 0.02)
HEAVY_ROWS = 20_000
NUMBER = "record-number"
NOTE = """
Losses are mean squared differences to the original over records and quasi-identifiers, in ranges of
the input: of the release, with its change against the release of all records; then what that one
loses of the records that are kept. Then what the kept records lose of what one class of them does,
which is what searches lower: the mean over quasi-identifiers, by both releases, and the change.
Distances: by how much the squared distance to the neighbour falls, as `tclose plan` says."""


@dataclass(frozen=True)
class Priced:
    """A release with isolated records left out, beside the one of all records."""

    n_left_out: int
    loss: float
    loss_before: float
    share: float
    share_before: float
    expected: float


def heavy_tails() -> Source:
    """Numbers with log-normal and Pareto tails."""

    def read() -> pa.Table:
        rng = np.random.default_rng(SEED)
        return pa.table(
            {
                "age": rng.integers(18, 90, HEAVY_ROWS),
                "income": np.round(rng.lognormal(7, 1.2, HEAVY_ROWS), 2),
                "wealth": np.round(rng.pareto(1.5, HEAVY_ROWS) * 1_000),
                "region": rng.choice(list("abcdef"), HEAVY_ROWS),
                "pay": rng.integers(0, 5_000, HEAVY_ROWS),
            }
        )

    return Source(
        f"generated, income log-normal, wealth Pareto of 1.5, {HEAVY_ROWS:,} records",
        read,
        ("age", "income", "wealth", "region"),
        ("pay",),
        nominal=("region",),
    )


SOURCES: dict[str, Callable[[], Source]] = {
    "heavy tails": heavy_tails,
    "Adult": lambda: adult("hours-per-week"),
    "Census": lambda: census("FEDTAX"),
    "generated": lambda: generated(7, 0.13),
}
T = {"heavy tails": 0.2, "Adult": 0.1, "Census": 0.2, "generated": 0.2}


def describe_policy_of(source: Source, path: Path, folder: Path, t: float, share: float) -> Policy:
    """A policy for a source, whose records are told by their numbers."""
    attributes: dict[str, Any] = {
        name: {"role": "quasi-identifier", "scale": "range"} for name in source.numeric
    }
    attributes |= dict.fromkeys(source.nominal, "quasi-identifier")
    attributes |= dict.fromkeys(source.confidential, "confidential")
    document = {
        "name": "priced",
        "input": {"path": str(path)},
        "attributes": attributes | {NUMBER: "non-confidential"},
        "privacy": {"k": 5, "t": t},
        "output": {"path": str(folder / f"{share}")},
    }
    if share:
        document["suppress"] = {"at_most": share}
    return parse_policy(document)


def release_records(policy: Policy) -> pa.Table:
    """The released rows, in the order of the records' numbers."""
    release = Path(str(run_release(policy, Progress("none")).release))
    files = sorted((release / "data").rglob("*.parquet"))
    rows = pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
    return rows.sort_by(NUMBER)


def measure_losses(source: Source, originals: pa.Table, released: pa.Table) -> Float64:
    """Each released record's loss, in ranges of the originals: float64 (n,)."""
    numbers = released[NUMBER].to_numpy()
    total = np.zeros(numbers.size)
    for name in source.quasi_identifiers:
        before, after = originals[name].to_numpy(), released[name].to_numpy()
        if name in source.nominal:
            total += before[numbers] != after
        else:
            total += ((before[numbers] - after) / np.ptp(before)) ** 2
    losses: Float64 = total / len(source.quasi_identifiers)
    return losses


def measure_share(source: Source, originals: pa.Table, released: pa.Table, kept: Int64) -> float:
    """What kept records lose of what one class of them does: the mean of the quasi-identifiers."""
    rows = np.isin(released[NUMBER].to_numpy(), kept)
    shares = []
    for name in source.quasi_identifiers:
        before, after = originals[name].to_numpy()[kept], released[name].to_numpy()[rows]
        if name in source.nominal:
            _, counts = np.unique(before, return_counts=True)
            shares.append(np.mean(before != after) / (1 - counts.max() / counts.sum()))
        else:
            shares.append(np.mean((before - after) ** 2) / np.var(before))
    return float(np.mean(shares))


def price_source(source: Source, t: float, shares: Sequence[float]) -> list[Priced]:
    """Release a source with each share, beside the release of all records."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        originals = source.read().select(source.columns)
        originals = originals.append_column(NUMBER, pa.array(np.arange(len(originals))))
        path = folder / "in.parquet"
        pq.write_table(originals, path)
        whole = release_records(describe_policy_of(source, path, folder, t, 0))
        every = np.arange(len(originals))
        before = measure_losses(source, originals, whole)
        mean, share_of_all = float(before.mean()), measure_share(source, originals, whole, every)
        priced = [Priced(0, mean, mean, share_of_all, share_of_all, 0.0)]
        for share in shares:
            policy = describe_policy_of(source, path, folder, t, share)
            planned = plan_ahead(policy, Progress("none"), 0)[0].suppression
            assert planned is not None
            kept = release_records(policy)
            numbers = kept[NUMBER].to_numpy()
            priced.append(
                Priced(
                    planned.left_out,
                    float(measure_losses(source, originals, kept).mean()),
                    float(before[numbers].mean()),
                    measure_share(source, originals, kept, numbers),
                    measure_share(source, originals, whole, numbers),
                    1 - planned.remaining,
                )
            )
        return priced


def render_prices_of(
    name: str, shares: Sequence[float], priced: Sequence[Priced]
) -> list[list[str]]:
    """Rows of the table."""
    whole = priced[0].loss
    return [
        [
            name,
            f"{share:.1%}",
            f"{one.n_left_out:,}",
            f"{one.loss:.3g}",
            f"{one.loss / whole - 1:+.0%}" if share else "",
            f"{one.loss_before / whole - 1:+.0%}" if share else "",
            f"{one.share_before:.2%}",
            f"{one.share:.2%}",
            f"{one.share / one.share_before - 1:+.0%}" if share else "",
            f"{-one.expected:+.0%}" if share else "",
        ]
        for share, one in zip((0.0, *shares), priced, strict=True)
    ]


def main(arguments: Sequence[str]) -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loss.suppression")
    parser.add_argument("--only", default="", help="of the sources whose name has this")
    parser.add_argument("--share", type=float, nargs="+", default=list(SHARES))
    parser.add_argument("--out", type=Path, help="page whose section is written")
    given = parser.parse_args(arguments)
    rows, described = [], []
    for name, make in SOURCES.items():
        if given.only in name:
            source = make()
            priced = price_source(source, T[name], given.share)
            rows += render_prices_of(f"{name}, t = {T[name]:g}", given.share, priced)
            described.append(f"{name}: {source.describes}")
    head = ["data", "at most", "left out", "loss", "change", "same records"]
    head += ["of one class: all", "left out", "change", "distances"]
    call = describe_call("benchmarks.loss.suppression", arguments)
    text = f"{call}: k = 5, differences in ranges. "
    text += f"{'; '.join(described)}.\n\n{render_table(head, rows)}\n{NOTE}"
    show_section(TITLE, text, given.out)


if __name__ == "__main__":
    main(sys.argv[1:])
