"""Files that are made of a table or of a release later on name no record's value either."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    people,
    policy_for,
    write_parquet,
    write_policy,
)
from tclose.cli.main import main

pytestmark = pytest.mark.usefixtures("small_regions")

N_RECORDS = 300
LATER = "releases/people --originals policy.yaml --set privacy.k=4"
PERSON, UNLISTED, PLACE = "CANARY-person-7f3a", "CANARY-unlisted-99e0", "CANARY-place-c41d"
NOTE, AGE, PAY, DAY = "CANARY-note-50b2", 73_141_592, 271_828_182, "1907-05-23"
# Digits as pages and JSON write numbers; a rare value that is released stands in data/ alone.
CANARIES = (
    PERSON,
    UNLISTED,
    PLACE,
    NOTE,
    DAY,
    *(f"{n:{mark}}" for n in (AGE, PAY) for mark in ("", ",")),
)


def plant() -> pa.Table:
    """One record that all of its values single out."""
    rng = np.random.default_rng(5)
    odd = N_RECORDS // 2
    table = people(
        N_RECORDS,
        place=[PLACE if i == odd else str(rng.choice(["Bonn", "Köln"])) for i in range(N_RECORDS)],
        day=[DAY if i == odd else f"2020-01-{1 + i % 28:02d}" for i in range(N_RECORDS)],
        person=[f"{PERSON}-{i}" for i in range(N_RECORDS)],
        note=[f"{NOTE}-{i}" for i in range(N_RECORDS)],
        more=[f"{UNLISTED}-{i}" for i in range(N_RECORDS)],
    ).to_pandas()
    table["day"] = table["day"].astype("datetime64[s]").dt.date
    table.loc[odd, ["age", "pay"]] = [AGE, PAY]
    return pa.Table.from_pandas(table, preserve_index=False)


def test_they_hold_no_canary(tmp_path, monkeypatch, capsys) -> None:
    """Of every command that writes or prints: the drafted policy, plans, pages, sites, figures."""
    monkeypatch.chdir(tmp_path)
    write_parquet(tmp_path / "in.parquet", plant())
    attributes = {
        "age": QUASI, "sex": QUASI, "place": QUASI, "day": QUASI, "pay": CONFIDENTIAL,
        "person": "person", "note": PASSTHROUGH,
    }  # fmt: skip
    document = policy_for(Path("in.parquet"), attributes=attributes, unlisted="drop")
    write_policy(tmp_path / "policy.yaml", document)
    for command in (
        "init in.parquet --out drafted.yaml",
        "plan policy.yaml",
        "plan policy.yaml --json",
        "run policy.yaml",
        "run policy.yaml --set privacy.k=4",
        "frontier policy.yaml --k 3 --t .2,.3",
        "frontier policy.yaml --k 3 --t .3 --json",
        f"audit {LATER} --population in.parquet --frontier --out assessed.html",
        f"audit {LATER} --json",
        "site releases --out site",
        "releases releases --json",
        "show releases/people --json",
    ):
        assert main(command.split()) == 0, command
    printed = "".join(capsys.readouterr())
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".parquet"]
    names = {path.name for path in files}
    assert {"drafted.yaml", "assessed.html", "index.html", "dictionary.html", "plan.json"} <= names
    for place, text in [(p, p.read_bytes().decode(errors="replace")) for p in files] + [
        ("what is printed", printed)
    ]:
        found = [canary for canary in CANARIES if canary in text]
        assert not found, place
    for data in tmp_path.glob("releases/people/*/data/*.parquet"):
        assert pq.read_table(data)["pay"].to_pylist().count(PAY) == 1
