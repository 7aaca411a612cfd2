"""What room in t is worth to a series: loss, and records left out, by how much new classes take.

``python -m benchmarks.series.room [--persons N] [--months N] [--within SHARE ...] [--seed N]
[--out RESULTS.md]``

A generated panel (2 % leave and 2 % join a month), k 5, t 0.1, held for all months. New classes are
made within so much of t; the less, the more of it is left for what departures do to cells. Who
comes back after an absence is in a cell of those with the same absence and classes alone, whatever
room there is, and is counted apart.
"""

import argparse
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.results import describe_call, render_table, say, show_section
from benchmarks.series.held_parts import Followed, add_earlier, read_rows
from benchmarks.series.held_series import K, T, lose_in_shares, measure_each_alone, release_month
from tclose.data.synthetic.panel_files import write_panel

COLUMNS = (
    *("made within", "first month", "last month", "mean", "left out", "had been away", "others"),
    "others left out in the last month",
)


def follow_series(files: list[Path], folder: Path, within: float, alone: list[float]) -> list[str]:
    """Release all months; the row of the table."""
    over_time = {"k": K, "t": T, "window": len(files), "made_within": within}
    followed, known, ratios, left_out, back = Followed(), None, [], [], []
    n_records = 0
    for month, file in enumerate(files):
        table = pq.read_table(file)
        known = add_earlier(table, known)
        place, inside = release_month(file, folder / f"{within:g}", over_time)
        assert inside.over_time is not None
        rows = read_rows(place, known)
        back.append(followed.follow(month, rows, table)[1])
        ratios.append(lose_in_shares(inside) / alone[month])
        left_out.append(inside.over_time.left_out)
        n_records += inside.records + left_out[-1]
    others = sum(left_out) - sum(back)
    return [
        *(f"{within:g}", f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}"),
        f"{sum(ratios) / len(ratios):.2f}",
        *(f"{n:,} ({n / n_records:.2%})" for n in (sum(left_out), sum(back), others)),
        f"{left_out[-1] - back[-1]:,}",
    ]


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=50_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--within", type=float, nargs="+", default=[0.5, 0.6, 0.7, 0.8, 0.9])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the table into this page, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_panel(folder / "panel", given.persons, given.seed, range(given.months))
        alone = measure_each_alone(files, folder)
        rows = []
        for within in given.within:
            say(f"measuring: the series made within {within:g} of t")
            rows.append(follow_series(files, folder, within, alone))
    title = f"Series: what room in t is worth, {given.persons:,} persons, seed {given.seed}"
    call = describe_call("benchmarks.series.room")
    how = (
        f"{call}. Loss is in times that of a release of the same "
        f"month by itself; k {K}, t {T:g}, {given.months} months."
    )
    body = f"{how}\n\n{render_table(COLUMNS, rows)}"
    show_section(title, body, given.out)


if __name__ == "__main__":
    main()
