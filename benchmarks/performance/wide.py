"""Memory of wide tables: what is predicted of a worker, and what it held.

``python -m benchmarks.performance.wide [--folder DATA] [--only SHAPE ...] [--out PAGE]``

Every table is released by one worker. What it held is the most that the system knows of its process
(`VmHWM`, pages of mapped files among it), in any pass.
"""

import argparse
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

from benchmarks.performance.run import working_folder
from benchmarks.results import describe_call, render_table, say, show_section
from tclose.errors import TcloseError
from tclose.passes.plan.notices.estimate import task_megabytes
from tclose.passes.plan.plan import PLAN
from tclose.passes.release import RELEASE, open_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import INSPECTION

TITLE = "Memory: wide tables"
COLUMNS = ("table", "file", "decoded", "predicted", "held", "predicted / held", "seconds")
MEMORY = "2GB"
SEED = 12
Columns = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """A wide table: records, the columns beside the usual ones, and how its file is written.

    ``confidential``: the column that is confidential; the others are passed through.
    """

    name: str
    n_records: int
    make: Callable[[int, np.random.Generator], Columns]
    row_group: int = 1 << 20
    is_csv: bool = False
    confidential: str = "pay"

    def write(self, path: Path) -> None:
        """Write the file."""
        rng = np.random.default_rng(SEED)
        usual = {
            "age": rng.integers(18, 90, self.n_records),
            "zip": rng.integers(1_000, 1_100, self.n_records),
            "pay": rng.integers(0, 4_000, self.n_records),
        }
        table = pa.table(usual | self.make(self.n_records, rng))
        if self.is_csv:
            pv.write_csv(table, path)
        else:
            pq.write_table(table, path, row_group_size=self.row_group)

    def policy(self, path: Path, names: list[str], place: Path) -> dict[str, Any]:
        """The target of the case."""
        roles: dict[str, Any] = dict.fromkeys(names, "non-confidential")
        roles |= dict.fromkeys(("age", "zip"), "quasi-identifier")
        roles[self.confidential] = {"role": "confidential", "t": 0.15}
        if self.confidential != "pay":
            roles[self.confidential]["t"] = 0.99
        return {
            "name": "wide",
            "input": {"path": str(path)},
            "attributes": roles,
            "privacy": {"k": 5, "t": 0.15},
            "method": {"refine": "off"},
            "output": {"path": str(place)},
            "engine": {"workers": 1, "memory_per_worker": MEMORY},
        }


def _texts(n_records: int, n_bytes: int, rng: np.random.Generator) -> pa.Array:
    """Random texts of one length."""
    letters = rng.integers(97, 123, n_records * n_bytes, dtype=np.uint8)
    ends = np.arange(0, letters.size + 1, n_bytes, dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.string(), n_records, buffers)


def _long(n: int, rng: np.random.Generator) -> Columns:
    return {"text": _texts(n, 2_000, rng)}


def _with_one(n_bytes: int) -> Callable[[int, np.random.Generator], Columns]:
    def make(n: int, rng: np.random.Generator) -> Columns:
        texts = _texts(n, 20, rng).to_pylist()
        texts[n // 3] = "x" * n_bytes
        return {"text": texts}

    return make


def _numbers(n: int, rng: np.random.Generator) -> Columns:
    return {f"number{i}": rng.random(n) for i in range(300)}


def _many_texts(n: int, rng: np.random.Generator) -> Columns:
    return {f"text{i}": _texts(n, 20, rng) for i in range(300)}


def _repeated(n_bytes: int) -> Callable[[int, np.random.Generator], Columns]:
    def make(n: int, _: np.random.Generator) -> Columns:
        places = pa.array(np.zeros(n, dtype=np.int32))
        return {"text": pa.DictionaryArray.from_arrays(places, pa.array(["x" * n_bytes]))}

    return make


def _nested(n: int, _: np.random.Generator) -> Columns:
    return {"list": pa.array([[1, 2]] * n)}


SHAPES = (
    Shape("text of 2 kB", 200_000, _long),
    Shape("one text of 50 MB among short ones", 100_000, _with_one(50_000_000)),
    Shape("one text of 1 GB among short ones", 20_000, _with_one(1_000_000_000)),
    Shape("300 columns of numbers", 100_000, _numbers),
    Shape("300 columns of texts", 50_000, _many_texts),
    Shape("20 kB of text, the same 20,000 times", 20_000, _repeated(20_000)),
    Shape("1 MB of text, the same 100,000 times", 100_000, _repeated(1_000_000)),
    Shape("nested column", 2_000, _nested),
    Shape("CSV, text of 2 kB", 100_000, _long, is_csv=True),
    Shape("text of 2 kB, row groups of 500", 100_000, _long, row_group=500),
    Shape("text of 2 kB, one row group", 400_000, _long),
    Shape("confidential texts of 500 bytes, all different", 20_000,
          lambda n, rng: {"text": _texts(n, 500, rng)}, confidential="text"),
)  # fmt: skip


def main() -> None:
    """Release every table, and print what it took."""
    given = _parse()
    chosen = [s for s in SHAPES if not given.only or s.name in given.only]
    with working_folder(given.folder) as folder:
        rows = [_measure(number, shape, folder) for number, shape in enumerate(chosen)]
    call = describe_call("benchmarks.performance.wide")
    how = (
        f"{call}: one worker of {MEMORY}, `refine: off`, kernels "
        "compiled. Megabytes: of the file; of its columns when they are decoded, all at once; of "
        "what `tclose plan` says of a worker; and the most that its process held. What was refused "
        "is shown with the end of the message and how long that took."
    )
    body = f"{how}\n\n{render_table(COLUMNS, rows)}"
    show_section(TITLE, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what wide tables take of memory.")
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    parser.add_argument("--only", nargs="+", default=[], help="names of tables")
    parser.add_argument("--out", type=Path, help="write the table into this page, too")
    return parser.parse_args()


def _measure(number: int, shape: Shape, folder: Path) -> list[str]:
    """A row: a table released, or refused."""
    say(f"measuring: {shape.name}")
    path = folder / f"wide-{number:02d}.{'csv' if shape.is_csv else 'parquet'}"
    if not path.exists():
        shape.write(path)
    progress, start = Progress("none", profiled=True), time.perf_counter()
    size = f"{path.stat().st_size / 1e6:,.2f}"
    try:
        decoded, predicted = _release(shape, path, folder / "wide-releases", progress)
    except TcloseError as error:
        seconds = f"{time.perf_counter() - start:.0f}"
        return [shape.name, size, "", f"refused: {_quote(error)}", _held(progress), "", seconds]
    finally:
        shutil.rmtree(folder / "wide-releases", ignore_errors=True)
    seconds, held = f"{time.perf_counter() - start:.0f}", _held(progress)
    ratio = predicted / float(held.replace(",", ""))
    return [shape.name, size, f"{decoded:,.0f}", f"{predicted:,.0f}", held, f"{ratio:.2f}", seconds]


def _release(shape: Shape, path: Path, place: Path, progress: Progress) -> tuple[float, float]:
    """Megabytes: of the columns when decoded, and predicted."""
    names = _names(path)
    with open_release(parse_policy(shape.policy(path, names, place)), progress) as run:
        passes = RELEASE.after(INSPECTION)
        run_pipeline(passes.until(PLAN), run, progress)
        widths = [w for c in run.workspace.load(INSPECTION) for w in c.widths]
        made = run.workspace.load(PLAN)
        run_pipeline(passes, run, progress)  # what is done already is not done again
    return sum(w.held + w.passthrough for w in widths) / 1e6, task_megabytes(made)


def _names(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return list(pq.read_schema(path).names)
    with path.open(encoding="utf-8") as stream:
        return stream.readline().strip().replace('"', "").split(",")


def _held(progress: Progress) -> str:
    peaks = [max(trace.peaks.values(), default=0) for trace in progress.traces]
    return f"{max(peaks, default=0) / 1e6:,.0f}"


def _quote(error: TcloseError) -> str:
    """A message without its place, for a cell."""
    return str(error).partition(": ")[2].replace("|", "/").replace("\n", " ")[:200]


if __name__ == "__main__":
    main()
