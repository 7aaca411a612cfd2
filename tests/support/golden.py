"""Golden digests: the bytes of a small release of each kind, and the versions that they are of.

``make golden`` releases every case anew and writes the digests. It refuses a case whose bytes
changed while no version did, so that a version is raised first: `Method.version` of the method,
`Model.version` of the model, `OutputFormat.version`, or `Pass.version` of the pass whose code,
kernels included, changed.
"""

import hashlib
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from support.cases.method_cases import CASES, ILL_ALONE, ILL_BY_TREE, N_RECORDS, SEVERAL, STAGE
from support.cases.noise_cases import HEIGHT, ILL, PAY
from support.cases.noise_cases import STAGE as NOISY_STAGE
from support.cases.patients import (
    CONFIDENTIAL,
    QUASI,
    TOWNS,
    patient_document,
    patients,
    write_patients,
)
from support.cases.people import folder_of, publish
from tclose.data.files import input_partitions
from tclose.methods.dp import dp_confidential, dp_method
from tclose.passes.plan import coarse_tree
from tclose.passes.release import RELEASE
from tclose.policy.policy import parse_policy
from tclose.releases.provenance import byte_versions, library_versions
from tclose.runtime.run import INSPECTION

PLACE = Path(__file__).parents[1] / "end_to_end" / "golden" / "digests.json"
FIRST = {"name": "t-closeness-first"}
LEAN = FIRST | {"refine": "lean"}  # of what is not about the search
NOISE = {"name": "dp-confidential"}
JOINT = [{"attributes": ["ill", "stage"], "t": 0.5}]
SMALL_REGION = 500
# What the input is.
FOLDER, CSV, PIECES, ODD_TYPES, PERSONS = "folder", "csv", "pieces", "odd types", "persons"
WAYS = {
    "age": {"role": QUASI, "round": False},
    "height": {"role": QUASI, "aggregate": "median"},
    "day": QUASI,
    "town": {"role": QUASI, "taxonomy": TOWNS, "aggregate": "ancestor"},
}
WEIGHED = {
    "age": {"role": QUASI, "weight": 2},
    "ill": {"role": QUASI, "weight": 0.5},
    "town": {"role": QUASI, "weight": 0.25, "taxonomy": TOWNS},
}
FEW = {"height": "identifier", "age": "identifier", "stage": STAGE | {"role": QUASI}}
LOOSE = {"attributes": {"stage": "identifier"}, "privacy": {"k": 5, "t": 0.3}}
OF_PERSONS = {"id": "person", "stage": STAGE | {"t": 0.3}}
ODD = {
    "town": "identifier",
    "smokes": QUASI,
    "seen": QUASI,
    "cost": {"role": CONFIDENTIAL},
    "note": "non-confidential",
}


@dataclass(frozen=True)
class Golden:
    """A release whose bytes are known: its method's keys, others of the policy, and its input."""

    method: dict[str, Any]
    keys: dict[str, Any]
    source: str = FOLDER


def _of_model(method: dict[str, Any] = LEAN, **model: Any) -> Golden:
    attributes = {"stage": STAGE | {"t": 0.4}}
    return Golden(
        method, {"attributes": attributes, "privacy": {"k": 5, "t": 0.4, "models": [model]}}
    )


def _of_noise(attributes: dict[str, Any], privacy: dict[str, Any], **method: Any) -> Golden:
    return Golden(NOISE | method, {"attributes": attributes, "privacy": {"k": 5} | privacy})


GOLDEN = {name: Golden(*case) for name, case in CASES.items()} | {
    "from csv": Golden(LEAN, {}, CSV),
    "from pieces": Golden(LEAN, {}, PIECES),
    "mondrian from pieces": Golden({"name": "mondrian"}, {}, PIECES),
    "another seed": Golden(FIRST, {"seed": 2}),
    "several files": Golden(LEAN, {"output": {"rows_per_file": 700}}),
    "several": Golden(FIRST, {"attributes": SEVERAL}),
    "equal": Golden(FIRST, {"attributes": ILL_ALONE}),
    "by tree": Golden(FIRST, {"attributes": ILL_BY_TREE}),
    "dates, texts": Golden(LEAN, {"attributes": {"day": QUASI, "ill": QUASI}}),
    "ways of release": Golden(LEAN, {"attributes": WAYS}),
    "odd types, gaps": Golden(LEAN, {"attributes": ODD, "missing": "drop"}, ODD_TYPES),
    "odd types in mondrian": Golden(
        {"name": "mondrian"}, {"attributes": ODD, "missing": "drop"}, ODD_TYPES
    ),
    "weights": Golden(FIRST, {"attributes": WEIGHED}),
    "losses as they are": Golden(FIRST | {"losses": "absolute"}, {}),
    "size of the paper": Golden(FIRST | {"class_size": "paper"}, {}),
    "not refined": Golden(FIRST | {"refine": "off"}, {}),
    "natural classes": Golden(FIRST, {"attributes": FEW}),
    "natural classes, not refined": Golden(FIRST | {"refine": "off"}, {"attributes": FEW}),
    "refined lean": Golden(LEAN, {}),
    "halves": Golden(FIRST, LOOSE),
    "halves, refined lean": Golden(LEAN, LOOSE),
    "refined full": Golden(FIRST | {"refine": "full"}, {"attributes": SEVERAL}),
    "refined equal": Golden(FIRST | {"refine": 2}, {"attributes": ILL_ALONE}),
    "persons": Golden(FIRST, {"attributes": OF_PERSONS}, PERSONS),
    "persons, not refined": Golden(
        FIRST | {"refine": "off"}, {"attributes": OF_PERSONS}, PERSONS
    ),
    "joint": Golden(FIRST, {"attributes": SEVERAL, "privacy": {"k": 5, "t": 0.4, "joint": JOINT}}),
    "distinct": _of_model(name="distinct-l-diversity", l=3, attributes=["pay"]),
    "entropy": _of_model(name="entropy-l-diversity", l=2, attributes=["stage"]),
    "recursive": _of_model(FIRST, name="recursive-cl-diversity", c=3, l=2, attributes=["stage"]),
    "sensitive": _of_model(name="p-sensitive-k-anonymity", p=3, attributes=["stage"]),
    "supersets": _of_model(name="n-t-closeness", n=500, t=0.3, attributes=["pay"]),
    "ratio": _of_model(FIRST, name="ratio-closeness", t=4, buckets=3, attributes=["pay"]),
    "noise": _of_noise({"pay": PAY, "stage": NOISY_STAGE}, {}),
    "noise by v-mdav": _of_noise({"pay": "identifier", "ill": ILL}, {}, start="v-mdav"),
    "noise within a t": _of_noise(
        {"pay": PAY, "height": HEIGHT},
        {"models": [{"name": "stochastic-t-closeness", "t": 40.0, "attributes": ["pay"]}]},
    ),
}  # fmt: skip


def read_golden() -> dict[str, Any]:
    """The digests as they were written: libraries, machine, and of each case its entry."""
    document: dict[str, Any] = json.loads(PLACE.read_text())
    return document


def make_entry(golden: Golden, folder: Path) -> dict[str, Any]:
    """Release a case in an empty folder: its versions, and digests of its rows and its files.

    The rows are those of all files as texts, so their digest is the same whatever wrote the files.
    """
    document = patient_document(
        _write_input(golden.source, folder), folder / "out", golden.method, **_copy(golden.keys)
    )
    with _small_parts(), _known_noise():
        release = folder_of(publish(document))
    rows, files = hashlib.sha256(), hashlib.sha256()
    for path in sorted((release / "data").rglob("*.*")):
        name = f"{path.relative_to(release).as_posix()}\n".encode()
        rows.update(name)
        files.update(name + hashlib.sha256(path.read_bytes()).digest())
        for batch in pq.ParquetFile(path).iter_batches():
            rows.update(repr([str(batch.schema.types), batch.to_pydict()]).encode())
    return {
        "versions": byte_versions(parse_policy(document), RELEASE.after(INSPECTION).versions),
        "rows": rows.hexdigest(),
        "files": files.hexdigest(),
    }


def find_fault(name: str, made: dict[str, Any], golden: dict[str, Any]) -> str:
    """Return the differences of an entry from the golden one; empty if there are none.

    On another kind of processor the files are not compared: what compresses them is compiled for
    it. With other libraries, which a release's id has, nothing can be said before a new writing.
    """
    known = golden["cases"].get(name)
    if golden["libraries"] != library_versions():
        return f"{PLACE.name} is of other libraries: write it anew with `make golden`"
    if known is None or known["versions"] != made["versions"]:
        return f"{PLACE.name} has {name!r} of other versions: write it anew with `make golden`"
    if known["rows"] == made["rows"] and golden["machine"] != platform.machine():
        return ""
    if known == made:
        return ""
    raised = _name_versions(made, same_rows=known["rows"] == made["rows"])
    return (
        f"released bytes of {name!r} changed, and no version did, so a release id would stand for "
        f"two releases. Raise {raised}. Then write {PLACE.name} anew with `make golden`"
    )


def _name_versions(made: dict[str, Any], *, same_rows: bool) -> str:
    """The versions of which one has to be raised."""
    if same_rows:
        [output_format] = made["versions"]["format"]
        return f"OutputFormat.version of {output_format}: the rows are the same, their files not"
    of_kind = {"method": "Method", "models": "Model"}
    own = [
        f"{owner}.version of {name}, if its own code changed"
        for kind, owner in of_kind.items()
        for name in made["versions"][kind]
    ]
    passes = ", ".join(made["versions"]["passes"])
    return "; ".join([*own, f"else Pass.version of the pass that works otherwise ({passes})"])


def write_golden(say: Callable[[str], None] = print) -> int:
    """Write the digests anew; the exit status is 1 where bytes changed and no version did."""
    before: dict[str, Any] = {"libraries": library_versions(), "cases": {}}
    if PLACE.exists():
        before = read_golden()
    cases, faults = {}, []
    for name, golden in GOLDEN.items():
        with tempfile.TemporaryDirectory() as folder:
            cases[name] = make_entry(golden, Path(folder))
        is_known = before["cases"].get(name, {}).get("versions") == cases[name]["versions"]
        if is_known and before["libraries"] == library_versions():
            faults += [fault] if (fault := find_fault(name, cases[name], before)) else []
    if faults:
        say("\n".join(faults))
        return 1
    PLACE.write_text(
        _format({"libraries": library_versions(), "machine": platform.machine()}, cases)
    )
    say(f"{len(cases)} cases written")
    return 0


def _format(head: dict[str, Any], cases: dict[str, dict[str, Any]]) -> str:
    """JSON with a line for each case."""
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in cases.items()]
    start = json.dumps(head)[:-1]
    return start + ', "cases": {\n' + ",\n".join(lines) + "\n}}\n"


def _copy(keys: dict[str, Any]) -> dict[str, Any]:
    """A policy is made by taking keys out."""
    copied: dict[str, Any] = json.loads(json.dumps(keys))
    return copied


def _write_input(source: str, folder: Path) -> Path:
    if source == ODD_TYPES:
        pq.write_table(_odd_types(), folder / "in.parquet", row_group_size=333)
        return folder / "in.parquet"
    if source == CSV:
        pa_csv.write_csv(patients(N_RECORDS), folder / "in.csv")
        return folder / "in.csv"
    if source == PERSONS:  # of four records each
        table = patients(N_RECORDS)
        numbers = pa.array(np.arange(N_RECORDS) * 7919 % (N_RECORDS // 4))
        table = table.set_column(table.column_names.index("id"), "id", numbers)
        pq.write_table(table, folder / "in.parquet", row_group_size=400)
        return folder / "in.parquet"
    return write_patients(folder / "in", N_RECORDS, 3 if source == PIECES else 1)


def _odd_types() -> pa.Table:
    """Truths, times and decimals beside the usual columns; ages and notes are missing of some."""
    table, rows = patients(N_RECORDS), np.arange(N_RECORDS)
    columns = {
        "smokes": pa.array(rows * 7 % 3 == 0),
        "seen": pa.array(1_700_000_000 + rows * 7919 % 100_000).cast(pa.timestamp("s")),
        "cost": pa.array([Decimal(int(row) * 31 % 400) / 4 for row in rows], pa.decimal128(9, 2)),
        "note": pa.array([None if row % 5 == 0 else f"n{row % 11}" for row in rows]),
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    ages = pa.array(table["age"].to_numpy(), mask=rows % 17 == 0)
    return table.set_column(table.column_names.index("age"), "age", ages)


@contextmanager
def _small_parts() -> Iterator[None]:
    """Several regions and partitions, as large tables have them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarse_tree, "MIN_REGION_RECORDS", SMALL_REGION)
        patch.setattr(input_partitions, "PARTITION_ROWS", 400)
        patch.setattr(input_partitions, "MIN_PARTITION_ROWS", 1)
        yield


@contextmanager
def _known_noise() -> Iterator[None]:
    """Noise of a fixed sequence, as no seed reaches the one that is drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dp_method, "load_library", lambda: None)
        patch.setattr(
            dp_confidential,
            "laplace",
            lambda *_: lambda steps: [step + i * 7 % 11 - 5 for i, step in enumerate(steps)],
        )
        patch.setattr(dp_confidential, "response", lambda n, _: lambda code: (code * 3 + 1) % n)
        yield


if __name__ == "__main__":
    sys.exit(write_golden())
