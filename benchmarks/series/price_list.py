"""What each way to treat departures costs: loss, records left out, leavers exposed, by churn.

``python -m benchmarks.series.price_list [--persons N] [--months N] [--k N ...] [--t T ...]
[--churn C ...] [--departures HOW ...] [--workers N] [--out RESULTS.md]``

Each series is a generated panel with one confidential value that lasts, the income, and is beside a
release of each month by itself. All are held to k 5 and t 0.1; cells to the ``--k`` and ``--t``.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from benchmarks.reproduction.pictures import Chart, Curve, draw_charts, write_picture
from benchmarks.results import describe_call, render_table, update_page
from benchmarks.series.held_series import lose_in_shares, release_month, treat_departures
from tclose.data.synthetic.panel_files import write_panel
from tclose.errors import InfeasibleError

TITLE = "Series: the price list"
PICTURE = "series-prices"
WAYS = ("report", "unite", "drop")
HOLD = "hold"  # beside these
NOTE = """
Losses are sums over the quasi-identifiers, each in shares of what one class loses, in times those
of releases of the same months by themselves. Left out: records of all months after the first.
Exposed: of the persons who left in these months, those whose cell has fewer than k' persons or is
above t'; under `unite` only a value that nobody else of her old class had tells one of them. Groups
below k': of 1 to k' - 1 persons, found by subtracting classes from those of any earlier month. Held
at the end: records of persons who left, in the last month. `drop` is refused where more than half
of a month would have to be left out; its figures are then of the months before."""


@dataclass(frozen=True)
class Terms:
    """What a series is held to, and what happens in it."""

    k: int
    t: float
    churn: float
    departures: str

    @property
    def held_to(self) -> tuple[int, float]:
        """The k' and t' of its cells."""
        return self.k, self.t


@dataclass(frozen=True)
class Price:
    """What a series costs, month by month; fewer months than were asked for if one was refused.

    ``held``: of the last month, records of persons who left.
    """

    losses: tuple[float, ...]
    n_records: int
    left_out: int
    leavers: int
    exposed: int
    small_groups: int
    held: int = 0

    def compare(self, alone: Sequence[float]) -> list[float]:
        """Its losses in times those of releases by themselves."""
        return [held / one for held, one in zip(self.losses, alone, strict=False)]


def measure_alone(file: Path) -> float:
    """The loss of a month's release by itself, in shares."""
    with tempfile.TemporaryDirectory() as folder:
        return lose_in_shares(release_month(file, Path(folder), None)[1])


def measure_price(terms: Terms, files: Sequence[Path]) -> Price:
    """Release the months of a series."""
    asked = {
        "k": terms.k,
        "t": terms.t,
        "window": len(files),
        "churn": terms.churn,
        **treat_departures(terms.departures),
    }
    losses: list[float] = []
    counts, held = [0, 0, 0, 0, 0], 0
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            try:
                _, inside = release_month(file, Path(folder), asked)
            except InfeasibleError:
                break
            said = inside.over_time
            assert said is not None
            losses.append(lose_in_shares(inside))
            if len(losses) > 1:
                held = said.stale
                n_read = inside.records + said.left_out - held
                of_month = (
                    n_read,
                    said.left_out,
                    said.leavers,
                    said.leavers_exposed,
                    said.leaver_groups_below_k or 0,
                )
                counts = [total + n for total, n in zip(counts, of_month, strict=True)]
    return replace(Price(tuple(losses), *counts), held=held)


def render_prices(
    prices: dict[Terms, Price], alone: dict[float, list[float]], n_months: int
) -> str:
    """The price list as a table."""
    rows = []
    for terms, price in prices.items():
        ratios = price.compare(alone[terms.churn])
        by_month = [f"{ratio:.2f}" for ratio in ratios]
        by_month += ["refused"] * (n_months - len(ratios))
        share = price.left_out / max(1, price.n_records)
        row = [f"{terms.k}", f"{terms.t:g}", f"{terms.churn:.0%}", terms.departures, *by_month]
        row += [f"{statistics.mean(ratios):.2f}" if ratios else "-"]
        row += [f"{price.left_out:,} ({share:.2%})", f"{price.held:,}"]
        row += [f"{price.exposed:,} of {price.leavers:,}", f"{price.small_groups:,}"]
        rows.append(row)
    months = [f"month {number}" for number in range(1, n_months + 1)]
    head = ["k'", "t'", "churn", "departures", *months, "mean"]
    head += ["left out", "held at the end", "exposed", "groups below k'"]
    return render_table(head, rows)


def draw_prices(
    prices: dict[Terms, Price], alone: dict[float, list[float]], basis: str, n_months: int
) -> str:
    """The mean losses of the series that came to their end, over churn, as a picture."""
    charts = []
    for held_to in dict.fromkeys(terms.held_to for terms in prices):
        curves = []
        for way in dict.fromkeys(terms.departures for terms in prices):
            points = [
                (terms.churn * 100, statistics.mean(price.compare(alone[terms.churn])))
                for terms, price in prices.items()
                if (terms.held_to, terms.departures) == (held_to, way)
                and len(price.losses) == n_months
            ]
            if points:
                curves.append(Curve(way, tuple(points)))
        k, t = held_to
        name = "loss, in times an independent release's"
        charts.append(Chart(f"k' {k}, t' {t:g}", "churn a month, %", name, tuple(curves)))
    return draw_charts("What a held series costs", basis, charts, like=True)


def measure_prices(
    given: argparse.Namespace, folder: Path
) -> tuple[dict[Terms, Price], dict[float, list[float]]]:
    """All series, and by churn the losses of the months by themselves."""
    files = {
        churn: write_panel(
            folder / f"panel-{churn:g}", given.persons, 1, range(given.months), churn=churn
        )
        for churn in given.churn
    }
    asked = [
        Terms(k, t, churn, way)
        for k, t, churn, way in itertools.product(given.k, given.t, given.churn, given.departures)
    ]
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        alone = {churn: list(pool.map(measure_alone, files[churn])) for churn in given.churn}
        found = pool.map(measure_price, asked, [files[terms.churn] for terms in asked])
        prices = {}
        for terms, price in zip(asked, found, strict=True):
            prices[terms] = price
            print(f"{terms}: {price}", file=sys.stderr, flush=True)
    return prices, alone


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What is measured; by default in some ten minutes on two cores."""
    parser = argparse.ArgumentParser(description="What each way to treat departures costs.")
    parser.add_argument("--persons", type=int, default=5_000)
    parser.add_argument("--months", type=int, default=4)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--t", type=float, nargs="+", default=[0.1, 0.2])
    parser.add_argument("--churn", type=float, nargs="+", default=[0.01, 0.02, 0.05, 0.1])
    parser.add_argument("--departures", nargs="+", choices=(*WAYS, HOLD), default=list(WAYS))
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="write the table into this page, too")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, and print the table or write it to a page, with its picture."""
    given = parse_arguments(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        prices, alone = measure_prices(given, Path(folder))
    basis = f"generated panel, {given.persons:,} persons, {given.months} months"
    call = describe_call("benchmarks.series.price_list")
    text = f"{call}: {basis}.\n{NOTE}\n\n{render_prices(prices, alone, given.months)}"
    print(text)
    if given.out is not None:
        picture = f"![Loss by churn](figures/{PICTURE}.svg)"
        update_page(given.out, {TITLE: f"{text}\n\n{picture}"})
        write_picture(
            given.out.parent / "figures", PICTURE, draw_prices(prices, alone, basis, given.months)
        )


if __name__ == "__main__":
    main()
