"""dp-confidential on times, moments and days: listed values, written as people write them."""

import json
import re
from datetime import datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, policy_for, release
from tclose.assess.auditing.audit import audit_release

pytestmark = pytest.mark.usefixtures("small_regions")

pytest.importorskip("opendp")

N_RECORDS = 400
HOUR = 3_600
MORNING, NOON = (datetime.fromisoformat(f"1970-01-01 {hour}:00") for hour in ("08", "12"))
CASES: dict[str, Any] = {
    "time32[s]": (pa.time32("s"), 1, ["08:00", "12:00:00"], {time(8), time(12)}),
    "time64[us]": (pa.time64("us"), 10**6, ["08:00", "12:00"], {time(8), time(12)}),
    "timestamp[us]": (
        pa.timestamp("us"), 10**6, ["1970-01-01 08:00", "1970-01-01 12:00"],
        {MORNING, NOON},
    ),
    "timestamp[ms, tz=UTC]": (
        pa.timestamp("ms", "UTC"), 10**3, ["1970-01-01T08:00Z", "1970-01-01T13:00:00+01:00"],
        {MORNING, NOON},
    ),
}  # fmt: skip


def release_of(case: str, folder: Path, **attribute: Any) -> Any:
    dtype, factor, listed, _ = CASES[case]
    hours = np.where(np.arange(N_RECORDS) % 4, 8, 12) * HOUR * factor
    wide = pa.array(hours, pa.int32() if dtype.bit_width == 32 else pa.int64())
    table = pa.table({"age": np.arange(N_RECORDS) % 70, "at": wide.cast(dtype)})
    pq.write_table(table, folder / "people.parquet")
    method = {"name": "dp-confidential"}
    noise = {"epsilon": 1}
    attributes: dict[str, Any] = {
        "age": QUASI,
        "at": {"role": CONFIDENTIAL, "noise": noise} | attribute,
    }
    if "order" not in attribute:
        attributes["at"]["noise"]["values"] = listed
    document = policy_for(
        folder / "people.parquet", attributes=attributes, method=method, privacy={"k": 5}
    )
    return release(document), pq.read_table(folder / "people.parquet")  # with the types of Parquet


def values_of(table: pa.Table) -> list[Any]:
    values = table["at"].to_pylist()
    return [v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in values]


@pytest.mark.parametrize("case", CASES)
def test_listed_values(case: str, tmp_path: Path) -> None:
    """Randomised response among two values with epsilon 1 keeps e / (1 + e) of them: 73 %."""
    made, table = release_of(case, tmp_path)
    assert made.schema.field("at").type == table["at"].type
    assert set(values_of(made.table)) == CASES[case][3]
    ours, drawn = (values_of(t) for t in (table, made.table))
    late = max(CASES[case][3])
    assert 0.25 < sum(v == late for v in drawn) / N_RECORDS < 0.52  # 0.385 expected, 5 deviations
    assert sum(v == late for v in ours) == N_RECORDS // 4
    assert audit_release(made.folder).findings == []


def test_ordered_times(tmp_path: Path) -> None:
    made, _ = release_of("time64[us]", tmp_path, type="ordinal", order=["08:00:00", "12:00:00"])
    assert set(values_of(made.table)) == {time(8), time(12)}
    assert audit_release(made.folder).findings == []


def test_audit_of_a_manifest_with_other_values(tmp_path: Path) -> None:
    made, _ = release_of("time64[us]", tmp_path)
    says = r"rows? ha(s a value|ve values) that it does not"
    for values, finding in ((["08:00", "09:00"], says), (["x"], "")):
        path = made.folder / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["noise"]["at"]["values"] = values
        path.write_text(json.dumps(manifest))
        assert any(re.search(finding, found) for found in audit_release(made.folder).findings)
