"""Digests of releases of real data and of 200,000 generated records, by every method.

``python -m support.real_bytes`` in the folder of the tests writes them anew, which takes minutes:
after a version was raised, as for `support.golden`.
"""

import hashlib
import json
import platform
import tempfile
from pathlib import Path
from typing import Any

from support.cases.discharge_policies import shared_file, write_discharges
from support.cases.method_cases import CONFIDENTIAL, QUASI
from support.cases.people import publish
from tclose.releases.provenance import library_versions

PLACE = Path(__file__).parents[1] / "nightly" / "real_bytes.json"
N_GENERATED = 200_000
TABLES: dict[str, dict[str, Any]] = {
    "census": dict.fromkeys(["TAXINC", "POTHVAL"], QUASI) | {"FEDTAX": CONFIDENTIAL},
    "adult": dict.fromkeys(["age", "education", "sex", "native-country"], QUASI)
    | {"hours-per-week": CONFIDENTIAL},
    "fars": dict.fromkeys(["age", "year", "modelyr", "sex"], QUASI)
    | {"injury": {"role": CONFIDENTIAL, "type": "numeric"}},
    "generated": dict.fromkeys(["age", "sex", "zip", "length_of_stay"], QUASI)
    | {"charge": CONFIDENTIAL},
}
FILES = {"census": "casc_census.csv", "adult": "adult.csv", "fars": "fars_gamclass.csv"}
METHODS: dict[str, dict[str, Any]] = {
    "t-closeness-first": {},
    "t-closeness-first, not refined": {"name": "t-closeness-first", "refine": "off"},
    "mdav": {"t": 0.9},
    "v-mdav": {"t": 0.9},
    "microaggregate-and-merge": {},
    "k-anonymity-first": {},
    "bucketization": {"t": 0.9, "ratio": 3},
    "mondrian": {},
    "incognito": {},
    "sabre": {},
}
CASES = [(table, method) for table in TABLES for method in METHODS]


def read_real_bytes() -> dict[str, Any]:
    """The digests as they were written: libraries, machine, and that of each case."""
    document: dict[str, Any] = json.loads(PLACE.read_text())
    return document


def digest_release(table: str, method: str, folder: Path, n_workers: int = 1) -> str:
    """SHA-256 of the data files of a release that is made in an empty folder."""
    keys = dict(METHODS[method])
    privacy = {"k": 5, "t": keys.pop("t", 0.2)}
    document = {
        "name": table,
        "input": _describe_input(table, folder),
        "unlisted": "drop",
        "missing": "drop",
        "attributes": dict(TABLES[table]),
        "privacy": privacy,
        "method": {"name": method, **keys},
        "output": {"path": str(folder / "out")},
        "engine": {"workers": n_workers},
    }
    digest = hashlib.sha256()
    for path in sorted(Path(str(publish(document).release), "data").rglob("*.parquet")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _describe_input(table: str, folder: Path) -> dict[str, Any]:
    if table not in FILES:
        return {"path": str(write_discharges(folder / "in.parquet", N_GENERATED))}
    missing = {"missing_values": ["?"]} if table == "adult" else {}
    return {"path": str(shared_file(FILES[table]))} | missing


def write_real_bytes() -> None:
    """Write the digests of all cases anew."""
    digests = {}
    for table, method in CASES:
        with tempfile.TemporaryDirectory() as folder:
            digests[f"{table}, {method}"] = digest_release(table, method, Path(folder))
    head = {"libraries": library_versions(), "machine": platform.machine()}
    PLACE.write_text(json.dumps(head | {"digests": digests}, indent=1) + "\n")


if __name__ == "__main__":
    write_real_bytes()
