"""Run time and loss of the three algorithms, Figures 5 to 7.

Soria-Comas et al. 2015, sections 8.2 and 8.3.

The figures are pictures, so what is compared is what the text says of them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.microdata.sources import census, fars, generated
from benchmarks.reproduction.algorithms import ALGORITHMS, NAMES, warm_up
from benchmarks.reproduction.page import Claim, claim_often, render_claims
from benchmarks.reproduction.pictures import Chart, Curve, draw_charts, write_picture
from benchmarks.reproduction.printed import CENSUS
from benchmarks.reproduction.records import Records, load_records
from benchmarks.reproduction.series import (
    Read,
    Series,
    measure_growth,
    measure_improvement,
    measure_spikes,
    read_loss,
    read_seconds,
    run_series,
)
from benchmarks.results import render_table

TS = ("0.02", "0.05", "0.09", "0.13", "0.17", "0.21", "0.25")
LOW_TS = ("0.02", "0.05", "0.09")
KS = tuple(range(2, 31))
PATIENT_CORRELATION = 0.129  # Soria-Comas et al. 2015, section 8.2
FARS_RECORDS = 23_435  # as many as the paper's large file has
CENSUS_DATA = (
    "Data as for the tables. SSE is that of eq. (5), over all quasi-identifiers. The paper shows "
    "curves, so what is compared is what it says of them; its names MCD and HCD are kept, though "
    "here the correlations are the other way round (see the tables). Columns 1 to 3: the "
    "algorithms; Figure 6 has k = 2, Figure 7 all k from 2 to 30 on MCD."
)
LARGE_DATA = (
    "The Patient Discharge file is not at hand: generated data of its size (7 quasi-identifiers, "
    f"multiple correlation {PATIENT_CORRELATION}) stand in for it, and beside them "
    f"{FARS_RECORDS:,} records of FARS drawn at random (5 quasi-identifiers, two of them nominal; "
    "6 confidential values, so that t-closeness first as printed leaves classes above t). "
    "Algorithm 2 is cubic: on all 134,332 it took 343 seconds at t = 0.25 alone. Seconds are those "
    "of the processor; all three algorithms are compiled and use one core."
)
RUN_COLUMNS = ("data", "t", *(f"{what} {n}" for what in ("seconds", "SSE") for n in ALGORITHMS))


def load_patients() -> Records:
    """Generated records: as many, with as many quasi-identifiers and the correlation printed."""
    return load_records(generated(7, PATIENT_CORRELATION))


def report_large(folder: Path | None, say: Callable[[str], None]) -> str:
    """Figure 5 and the lower part of Figure 6, on generated data and on FARS."""
    loaders: dict[str, Callable[[], Records]] = {
        "generated": load_patients,
        "FARS": lambda: load_records(fars(), n_sample=FARS_RECORDS),
    }
    found, missing = [], []
    for name, load in loaders.items():
        try:
            records = load()
        except FileNotFoundError as error:
            missing.append(f"{name} is left out: {error}.")
            continue
        warm_up(records)
        say(f"Figure 5: {name}, {records.n_records:,} records")
        found.append(run_series(f"{name}, {records.n_records:,} records", records, (2,), TS))
    _draw(
        folder, "run-time", "Run time of the three algorithms, k = 2", found, read_seconds,
        "seconds",
    )  # fmt: skip
    _draw(folder, "loss-large", "SSE of the three algorithms, k = 2", found, read_loss, "SSE")
    return "\n\n".join(
        [
            " ".join([LARGE_DATA, *missing]),
            "![Run time](figures/run-time.svg)",
            "![SSE](figures/loss-large.svg)",
            _render_runs(found),
            render_claims([*_claim_times(found), *_claim_losses(found)]),
            _say_above(found),
        ]
    )


def report_census_loss(ts: Sequence[str], ks: Sequence[int], folder: Path | None) -> str:
    """Figure 6 on the Census data, k = 2, and Figure 7, k against loss."""
    found = []
    for label, name, _ in CENSUS:
        records = load_records(census(name))
        warm_up(records)
        found.append(run_series(f"{label} ({name})", records, (2,), ts))
    grid = run_series(f"{CENSUS[0][0]} ({CENSUS[0][1]})", load_records(census("FEDTAX")), ks, ts)
    _draw(folder, "loss-census", "SSE of the three algorithms, k = 2", found, read_loss, "SSE")
    _draw_grid(folder, grid)
    return "\n\n".join(
        [
            CENSUS_DATA,
            "![SSE](figures/loss-census.svg)",
            _render_runs(found),
            render_claims([*_claim_losses(found), _claim_improvement(found)]),
            "![SSE by k and t](figures/loss-by-k.svg)",
            render_claims(_claim_grid(grid)),
        ]
    )


def _render_runs(found: Sequence[Series]) -> str:
    rows = []
    for series in found:
        for t in series.ts:
            runs = [series.find(number, 2, t) for number in ALGORITHMS]
            seconds = [f"{run.seconds:.2f}" for run in runs]
            rows.append([series.name, t, *seconds, *(f"{r.partition.loss:.5f}" for r in runs)])
    return render_table(RUN_COLUMNS, rows)


def _claim_times(found: Sequence[Series]) -> list[Claim]:
    """Check the statements of section 8.2 on Figure 5."""
    claims = []
    for series in found:
        for number in (1, 3):
            what = f"{series.name}: Algorithm {number} is faster than Algorithm 2"
            claims.append(claim_often(what, *series.count(read_seconds, number, 2), "t"))
        what = f"{series.name}: Algorithm 3 is faster than Algorithm 1 for low t (up to 0.09)"
        claims.append(claim_often(what, *series.count(read_seconds, 3, 1, LOW_TS), "t"))
        first, last = (series.find(2, 2, series.ts[at]).seconds for at in (0, -1))
        claims.append(
            Claim(
                f"{series.name}: Algorithm 2 takes less time for large t",
                f"{first:.2f} s at t = {series.ts[0]}, {last:.2f} s at t = {series.ts[-1]}",
                last < first,
            )
        )
    return claims


def _claim_losses(found: Sequence[Series]) -> list[Claim]:
    """Check the statements of section 8.3 on Figure 6: by pair, then the order of all three."""
    claims = []
    for series in found:
        for lower, upper in ((2, 1), (3, 2), (3, 1)):
            what = f"{series.name}: Algorithm {lower} loses less than Algorithm {upper}"
            claims.append(claim_often(what, *series.count(read_loss, lower, upper), "t"))
        held = series.find_order(read_loss, (3, 2, 1))
        said = ", ".join(held)
        claims.append(
            Claim(
                f"{series.name}: so from the least loss, the order is 3, 2, 1",
                f"at t = {said}" if held else "at no t",
                True if len(held) == len(series.ts) else None if held else False,
            )
        )
    return claims


def _claim_improvement(found: Sequence[Series]) -> Claim:
    """Check the statements of section 8.3 on the two Census data sets."""
    moderate, high = (measure_improvement(series) for series in found)
    return Claim(
        f"Algorithm 3 improves more on the others for {found[0].name} than for {found[1].name}",
        "SSE of the others in times of that of Algorithm 3, geometric mean: "
        f"{moderate:.2f} and {high:.2f}",
        moderate > high if min(moderate, high) > 1 else None if moderate > high else False,
    )


def _say_above(found: Sequence[Series]) -> str:
    """Clusters that the algorithms as printed leave above t."""
    counts = [
        f"Algorithm {number} on {series.name.split(',')[0]} "
        f"{sum(r.partition.n_violating for r in series.runs if r.number == number):,}"
        for series in found
        for number in ALGORITHMS
    ]
    return f"Clusters above t, exactly counted, over all t: {'; '.join(counts)}."


def _claim_grid(grid: Series) -> list[Claim]:
    """Check the statements of section 8.3 on Figure 7."""
    what = "Algorithm {} loses more than Algorithm 3, for any k"
    claims = [
        claim_often(what.format(n), *grid.count(read_loss, 3, n), "pairs of k and t")
        for n in (1, 2)
    ]
    growth = {n: measure_growth(grid, n) for n in ALGORITHMS}
    said = ", ".join(f"{n}: {times:.2f}" for n, times in growth.items())
    claims.append(
        Claim(
            "of the three, the SSE of Algorithm 3 increases the most with k",
            f"SSE at k = {grid.ks[-1]} in times of that at k = {grid.ks[0]}, mean over t: {said}",
            max(growth, key=growth.__getitem__) == 3,
        )
    )
    spikes = {n: measure_spikes(grid, n) for n in ALGORITHMS}
    said = ", ".join(f"{n}: {times:.2f}" for n, times in spikes.items())
    claims.append(
        Claim(
            "SSE has spikes where k does not divide n, most of all that of Algorithm 1, and hardly "
            "that of Algorithm 3",
            "SSE at such k between two that divide n, in times of the mean of these two, mean over "
            f"k and t: {said}",
            spikes[1] > spikes[2] > spikes[3] and spikes[1] > 1,
        )
    )
    return claims


def _draw(
    folder: Path | None, name: str, title: str, found: Sequence[Series], read: Read, y_name: str
) -> None:
    """Write a picture: a chart for each table, a line for each algorithm."""
    if folder is None:
        return
    charts = [
        Chart(
            series.name,
            "t",
            y_name,
            tuple(
                Curve(NAMES[n], tuple((float(t), read(series.find(n, 2, t))) for t in series.ts))
                for n in ALGORITHMS
            ),
        )
        for series in found
    ]
    write_picture(folder, name, draw_charts(title, "against t; logarithm of y", charts))


def _draw_grid(folder: Path | None, grid: Series) -> None:
    """Write the picture of loss by k: a chart for each algorithm, a line for each t."""
    if folder is None:
        return
    charts = [
        Chart(
            NAMES[n],
            "k",
            "SSE",
            tuple(
                Curve(f"t = {t}", tuple((float(k), read_loss(grid.find(n, k, t))) for k in grid.ks))
                for t in grid.ts
            ),
        )
        for n in ALGORITHMS
    ]
    title = f"SSE against k: {grid.name}"
    write_picture(folder, "loss-by-k", draw_charts(title, "logarithm of y", charts, like=True))
