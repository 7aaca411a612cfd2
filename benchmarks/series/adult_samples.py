"""Two samples of Adult, held together: what of the persons in both can be told, and what it costs.

``python -m benchmarks.series.adult_samples [--seeds N] [--out RESULTS.md]``

Each record is a person, each sample a random nine tenths of them, so that a tenth leaves and as
many come: more than in any month of a panel. k 5, t 0.1; the headroom is for a tenth who leave, and
in t as much as is asked for.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.microdata.sources import adult
from benchmarks.results import describe_call, render_table, show_section
from benchmarks.series.held_parts import PERSON
from benchmarks.series.held_series import measure_month

SHARE = 0.9
CELLS = ((5, 0.1, 0.7), (5, 0.1, 0.9), (3, 0.15, 0.7))
COLUMNS = (
    *(
        "k'",
        "t'",
        "made within",
        "seed",
        "sample",
        "records",
        "loss",
        "in times an independent release's",
        "the same of the sums of shares",
    ),
    *("smallest cell", "largest cell distance", "left out", "left", "of these found"),
)


def measure_samples(k: int, t: float, within: float, seed: int, folder: Path) -> list[list[str]]:
    """The rows of two samples."""
    source = adult("hours-per-week")
    table = source.read().select(source.columns)
    table = table.append_column(PERSON, pa.array(np.arange(table.num_rows)))
    attributes: dict[str, Any] = {PERSON: "person"}
    attributes |= dict.fromkeys(source.numeric, "quasi-identifier")
    attributes |= {name: {"role": "quasi-identifier", "type": "nominal"} for name in source.nominal}
    attributes |= dict.fromkeys(source.confidential, "confidential")
    over_time: dict[str, Any] = {
        "k": k,
        "t": t,
        "window": 2,
        "departures": "report",
        "churn": 1 - SHARE,
    }
    over_time["made_within"] = within
    rng, rows = np.random.default_rng(seed), []
    for number in (1, 2):
        file = folder / f"sample-{number}.parquet"
        pq.write_table(table.filter(pa.array(rng.random(table.num_rows) < SHARE)), file)
        month = measure_month(file, folder, over_time, attributes)
        rows.append([
            *(str(k), f"{t:g}", f"{within:g}", str(seed), str(number), f"{month.n_records:,}"),
            *(f"{month.loss:.5f}", f"{month.ratio:.2f}", f"{month.in_shares:.2f}"),
            *(str(month.smallest), f"{month.largest:.4f}"),
            *(f"{month.left_out:,}", f"{month.leavers:,}"),
            f"{month.exposed:,}",
        ])  # fmt: skip
    return rows


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for k, t, within in CELLS:
        for seed in range(1, given.seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                rows += measure_samples(k, t, within, seed, Path(folder))
    call = describe_call("benchmarks.series.adult_samples")
    body = f"{call}.\n\n{render_table(COLUMNS, rows)}"
    title = "Series: two samples of Adult, a tenth leaves"
    show_section(title, body, given.out)


if __name__ == "__main__":
    main()
