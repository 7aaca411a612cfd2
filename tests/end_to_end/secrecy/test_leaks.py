"""What must not leave does not leave: searched for in everything that a run writes or prints."""

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import discharge_document
from support.cases.people import publish, write_policy
from support.checks.canaries import CANARY_AGE, CANARY_ID, CANARY_PLACE
from support.length import every
from tclose.data.synthetic import generate_rows

pytestmark = pytest.mark.usefixtures("small_regions")

CANARY_DATE = datetime.date(1907, 5, 23)
CANARY_CHARGE = 271_828_182.84  # rare and confidential: released, and told of nowhere else
CANARY_UNLISTED = "CANARY-UNLISTED-99e0"


def plant(rows: int) -> pa.Table:
    """Generated discharges with one record that is singled out by every quasi-identifier."""
    frame = generate_rows(0, rows, 1).to_pandas()
    frame["patient_id"] = [f"{CANARY_ID}-{i}" for i in range(rows)]
    frame["note"] = [f"{CANARY_UNLISTED}-{i}" for i in range(rows)]
    frame["age"] = frame["age"].astype("int32")
    frame.loc[rows // 2, "diagnosis_group"] = CANARY_PLACE
    frame.loc[rows // 2, "age"] = CANARY_AGE
    frame.loc[rows // 2, "admission_date"] = CANARY_DATE
    frame["charge"] = frame["charge"].astype("float64")
    frame.loc[rows // 2, "charge"] = CANARY_CHARGE
    return pa.Table.from_pandas(frame, preserve_index=False)


def plant_policy(folder: Path, **keys: Any) -> Path:
    """A policy over the records with the singled-out one, both in a folder."""
    pq.write_table(plant(5_000), folder / "input.parquet")
    document = discharge_document(folder / "input.parquet", folder / "releases", **keys)
    return write_policy(folder / "policy.yaml", document)


def run_tclose(policy: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tclose", "run", str(policy)]
    environment = os.environ | {"TMPDIR": str(policy.parent / "tmp")}
    (policy.parent / "tmp").mkdir(exist_ok=True)
    return subprocess.run(command, capture_output=True, env=environment, check=False, timeout=300)


@pytest.mark.parametrize("workers", every(2, [2, "auto"]))
def test_canaries_are_nowhere(workers, tmp_path):
    ended = run_tclose(plant_policy(tmp_path, engine={"workers": workers}))
    assert ended.returncode == 0, ended.stderr
    written = [p for p in (tmp_path / "releases").rglob("*") if p.is_file()]
    written += [p for p in (tmp_path / "tmp").rglob("*") if p.is_file()]
    assert len(written) > 6
    texts = [p.read_bytes() for p in written] + [ended.stdout, ended.stderr]
    tables = [pq.read_table(p) for p in written if p.suffix == ".parquet"]
    texts += [repr(table.to_pydict()).encode() for table in tables]
    for canary in (CANARY_ID, CANARY_UNLISTED, CANARY_PLACE, repr(CANARY_DATE)):
        assert not [text for text in texts if canary.encode() in text], canary
    for table in tables:
        assert CANARY_AGE not in table["age"].to_pylist()
    for text in (*(p.read_bytes() for p in written if p.suffix != ".parquet"), ended.stderr):
        assert str(CANARY_AGE).encode() not in text
        assert str(CANARY_DATE).encode() not in text
        assert b"271828182" not in text
    assert sum(table["charge"].to_pylist().count(CANARY_CHARGE) for table in tables) == 1


@pytest.mark.nightly
def test_released_rows_are_ordered_by_released_values_alone(tmp_path):
    """The same records in another order give a table with the same rows in the same places."""
    assert run_tclose(plant_policy(tmp_path)).returncode == 0
    current = (tmp_path / "releases/discharges/CURRENT").read_text().strip()
    frame = pq.read_table(tmp_path / "releases/discharges" / current / "data").to_pandas()
    quasi = [name for name in frame.columns if name != "charge"]
    expected = frame.sort_values([*quasi, "charge"], kind="stable", ignore_index=True)
    assert frame.equals(expected)


def test_working_files_are_private_and_gone(tmp_path):
    assert run_tclose(plant_policy(tmp_path)).returncode == 0
    root = tmp_path / "releases" / "discharges"
    release = root / (root / "CURRENT").read_text().strip()
    assert not (root / ".work").exists()
    assert (release / "internal").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "releases" / ".release-key").stat().st_mode & 0o777 == 0o600
    public = {"manifest.json", "datapackage.json", "dictionary.md", "report.html"}
    assert {p.name for p in release.iterdir()} == {"data", "internal", *public}
    for name in public:
        text = (release / name).read_text()
        for inside in (str(tmp_path), "seed", "seconds", "input.parquet", "patient_id", "note"):
            assert inside not in text


def test_crash_message_holds_no_values(tmp_path):
    """An error that nobody foresaw is told by type and place."""
    policy = plant_policy(tmp_path)
    script = (
        "import sys\n"
        "from tclose.cli import main as cli\n"
        "from tclose.data import keys\n"
        "def broken(self, array):\n"
        "    raise ValueError(str(array.to_pylist()))\n"
        "keys.Encoding.encode = broken\n"
        f"sys.exit(cli.main(['run', {str(policy)!r}]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=False, timeout=300
    )
    assert ended.returncode == 1
    assert b"stopped by ValueError" in ended.stderr
    assert CANARY_PLACE.encode() not in ended.stderr + ended.stdout
    assert b"Traceback" not in ended.stderr


def test_public_loss_does_not_undo_the_rounding(tmp_path):
    """Ages that give the same released mean give the same public manifest, but for the id."""
    public = []
    for age in (42, 43):
        frame = {"age": [20, 22, 24, 26, 40, 41, 41, age, 70, 72, 74, 90], "pay": list(range(12))}
        pq.write_table(pa.table(frame), tmp_path / f"{age}.parquet")
        document = {
            "name": "people",
            "input": {"path": str(tmp_path / f"{age}.parquet")},
            "attributes": {"age": "quasi-identifier", "pay": "non-confidential"},
            "privacy": {"k": 4},
            "output": {"path": str(tmp_path / str(age))},
        }
        manifest = publish(document).manifest
        loss = manifest.information_loss
        assert loss.total == float(f"{loss.total:.3g}")
        public.append([manifest.files, manifest.classes])
    assert public[0] == public[1]
