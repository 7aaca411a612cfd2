"""Missing quasi-identifiers that get the centre of the others: exactly, counted, and not told."""

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    QUASI,
    Released,
    people,
    policy_for,
    punch_gaps,
    release,
    write_csv,
    write_parquet,
)
from tclose.api.calls import plan
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.errors import DataError
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

N_RECORDS, K = 400, 4
SHARES = {"age": 0.1, "born": 0.04, "rent": 0.06, "work": 0.03, "grade": 0.02}
ORDER = ["low", "mid", "high"]
ATTRIBUTES = {
    "age": {"role": QUASI, "missing": "median"},
    "sex": QUASI,
    "born": {"role": QUASI, "missing": "median"},
    "rent": {"role": QUASI, "missing": "median"},
    "work": {"role": QUASI, "type": "nominal", "missing": "mode"},
    "grade": {"role": QUASI, "type": "ordinal", "order": ORDER, "missing": "median"},
    "pay": CONFIDENTIAL,
}


def whole() -> pa.Table:
    rng = np.random.default_rng(7)
    days = [date(1950, 1, 1) + timedelta(days=int(n)) for n in rng.integers(0, 9_000, N_RECORDS)]
    return people(
        N_RECORDS,
        born=pa.array(days),
        rent=np.round(rng.lognormal(7, 1, N_RECORDS), 2),
        work=rng.choice(["day", "night", "both"], N_RECORDS),
        grade=rng.choice(ORDER, N_RECORDS),
    )


def with_gaps() -> pa.Table:
    return punch_gaps(whole(), SHARES, 8)


def find_naively(table: pa.Table, name: str) -> Any:
    """The lower median or the commonest value, as sorted() and Counter say."""
    present = [value for value in table[name].to_pylist() if value is not None]
    if name == "work":
        counted = Counter(present)
        return min(counted, key=lambda text: (-counted[text], text))
    ordered = sorted(present, key=ORDER.index if name == "grade" else None)
    return ordered[(len(ordered) - 1) // 2]


def filled_by_hand() -> pa.Table:
    table = with_gaps()
    for name in SHARES:
        centre = pa.scalar(find_naively(table, name), table[name].type)
        filled = pc.fill_null(table[name], centre)
        table = table.set_column(table.column_names.index(name), name, filled)
    return table


def make_document(path: Path, **changes: Any) -> dict[str, Any]:
    keys = {"attributes": ATTRIBUTES, "privacy": {"k": K, "t": 0.3}}
    return policy_for(path, **(keys | changes))


@pytest.fixture(scope="module", params=["parquet", "csv"])
def released(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Released:
    write = write_parquet if request.param == "parquet" else write_csv
    path = write(tmp_path_factory.mktemp("imputed") / f"in.{request.param}", with_gaps())
    return release(make_document(path))


def n_gaps() -> dict[str, int]:
    table = with_gaps()
    return {name: table[name].null_count for name in SHARES}


def test_the_release_is_that_of_a_table_without_gaps(released: Released, tmp_path: Path) -> None:
    """Byte for byte, so that nothing in it tells whose value was missing."""
    same = release(make_document(write_parquet(tmp_path / "in.parquet", filled_by_hand())))
    assert len(released.table) == N_RECORDS
    assert released.table.equals(same.table)
    mine, theirs = ([f["sha256"] for f in one.manifest["files"]] for one in (released, same))
    assert mine == theirs


def test_it_is_counted_in_percent_and_exactly_inside(released: Released) -> None:
    columns = {column["name"]: column for column in released.manifest["columns"]}
    percents = {name: -(-100 * n // N_RECORDS) for name, n in n_gaps().items()}
    for name, percent in percents.items():
        centre = "mode" if name == "work" else "median"
        assert columns[name]["prepared"] == {"missing": centre, "imputed_percent": percent}
        said = (
            f"records without a value, at most {percent} % of all, have the {centre} of the others"
        )
        assert said in columns[name]["treatment"]
        for page in ("dictionary.md", "report.html"):
            assert said in (released.folder / page).read_text()
    assert "prepared" not in columns["sex"]
    assert released.internal["values_imputed"] == n_gaps()
    assert released.internal["records_dropped"] == 0
    assert "left_out" not in released.manifest


def test_classes_have_k_records_and_the_audit_passes(released: Released, tmp_path: Path) -> None:
    rows = released.table.select([n for n in ATTRIBUTES if n != "pay"]).to_pylist()
    assert min(Counter(tuple(row.values()) for row in rows).values()) >= K
    found = audit_release(released.folder)
    assert found.passed
    document = make_document(write_parquet(tmp_path / "in.parquet", with_gaps()))
    made = release(document)
    beside = add_originals(audit_release(made.folder), parse_policy(document), Progress("none"))
    assert beside.passed
    assert beside.originals is not None


def test_plan_says_how_many_and_warns_above_five_percent(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", with_gaps())
    planned = plan(path, make_document(path))
    gaps = n_gaps()
    assert f"{gaps['age']} records without a value get the median" in repr(planned)
    assert f"{gaps['work']} records without a value get the mode" in repr(planned)
    warned = [w for w in planned.details.warnings if w.code == "TC-W011"]
    above = [name for name, n in gaps.items() if n > N_RECORDS * 0.05]
    assert [w.columns for w in warned] == [[name] for name in above]
    assert above


@pytest.mark.parametrize(
    ("values", "keys", "reason"),
    [
        (["a", None], {"missing": "median"}, "say missing: mode"),
        ([1, None], {"missing": "mode"}, "say missing: median"),
        ([1, None], {"missing": "mode", "type": "nominal"}, "goes with texts, the data hold"),
        ([None, None], {"missing": "mode"}, "no record has a value, so there is no mode; leave"),
    ],
)
def test_refused(values: list[Any], keys: dict[str, Any], reason: str, tmp_path: Path) -> None:
    column = pa.array(values * (N_RECORDS // 2), pa.string() if values == [None, None] else None)
    path = write_parquet(tmp_path / "in.parquet", people(N_RECORDS, extra=column))
    attributes = {"age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL, "extra": {"role": QUASI} | keys}
    with pytest.raises(DataError, match=reason):
        release(make_document(path, attributes=attributes))
