"""Taxonomies that are made of the values: prefixes of codes, months and years of dates."""

from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    Released,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.errors import DataError
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

N_RECORDS = 300
ATTRIBUTES = {
    "age": {"role": QUASI, "weight": 0.01},
    "zip": {"role": QUASI, "prefixes": [3, 2]},
    "born": {"role": QUASI, "calendar": ["year", "month"]},
    "pay": CONFIDENTIAL,
    "number": PASSTHROUGH,
}


def table() -> pa.Table:
    rng = np.random.default_rng(2)
    zips = [f"{code:05d}" for code in rng.integers(4_000, 8_900, N_RECORDS)]
    zips[:2] = ["7", "080"]
    days = rng.integers(18_000, 19_000, N_RECORDS).astype(np.int32)
    born = pa.array(days).cast(pa.date32())
    return people(N_RECORDS, zip=zips, born=born, number=np.arange(N_RECORDS)).drop_columns("sex")


def make_document(path: Path, **changes: Any) -> dict[str, Any]:
    as_asked = {"attributes": ATTRIBUTES, "privacy": {"k": 4, "t": 0.4}}
    return policy_for(path, **(as_asked | changes))


@pytest.fixture(scope="module", params=["parquet", "csv"])
def released(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Released:
    write = write_parquet if request.param == "parquet" else write_csv
    path = write(tmp_path_factory.mktemp("grouped") / f"in.{request.param}", table())
    return release(make_document(path, method={}))


def name_prefix(codes: list[str]) -> str:
    """The longest prefix of two or three characters that all codes share."""
    if len(set(codes)) == 1:
        return codes[0]
    for n in (3, 2):
        if min(map(len, codes)) >= n and len({code[:n] for code in codes}) == 1:
            return f"{codes[0][:n]}*"
    return "*"


def name_period(days: list[date]) -> str:
    """The day, month or year that all days share."""
    for form in ("%Y-%m-%d", "%Y-%m", "%Y"):
        named = {day.strftime(form) for day in days}
        if len(named) == 1:
            return named.pop()
    return "*"


def test_classes_release_the_finest_group_of_their_values(released: Released) -> None:
    originals = {row["number"]: row for row in table().to_pylist()}
    classes: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in released.table.to_pylist():
        classes[row["age"], row["zip"], row["born"]].append(originals[row["number"]])
    assert len(classes) > 15
    for (_, code, day), members in classes.items():
        assert len(members) >= 4
        assert code == name_prefix([m["zip"] for m in members])
        assert day == name_period([m["born"] for m in members])
    assert {len(code) for _, code, _ in classes} > {3}


def test_loss_is_the_hierarchical_distance(released: Released) -> None:
    originals = {row["number"]: row for row in table().to_pylist()}
    heights = {"7": 0, "*": 3}
    losses = []
    for row in released.table.to_pylist():
        code = row["zip"]
        if code == originals[row["number"]]["zip"]:
            losses.append(0)
        else:
            losses.append(heights.get(code, 5 - len(code)))
    expected = sum(losses) / 3 / N_RECORDS
    found = released.manifest["information_loss"]["per_attribute"]["zip"]
    assert found == pytest.approx(expected, rel=0.006)  # has three digits


def test_documents_say_the_rule_and_list_no_values(released: Released) -> None:
    columns = {column["name"]: column for column in released.manifest["columns"]}
    assert columns["zip"]["prefixes"] == [2, 3]
    assert columns["born"]["calendar"] == ["month", "year"]
    said = "lowest common ancestor of its class; values are grouped by the first 3 and 2 characters"
    assert columns["zip"]["treatment"] == said
    assert columns["born"]["treatment"].endswith("values are grouped by month and year")
    assert "taxonomy" not in columns["zip"] | columns["born"]
    gone = set(table()["zip"].to_pylist()) - set(released.table["zip"].to_pylist())
    assert len(gone) > N_RECORDS / 2
    for name in ("manifest.json", "dictionary.md", "report.html", "datapackage.json"):
        text = (released.folder / name).read_text()
        assert not [code for code in gone if f'"{code}"' in text or f">{code}<" in text]
    assert (
        "grouped by the first 3 and 2 characters" in (released.folder / "report.html").read_text()
    )


@pytest.mark.parametrize("method", ["mondrian", "incognito"])
def test_methods_that_generalise(method: str, tmp_path: Path) -> None:
    attributes = ATTRIBUTES | {"age": {"role": QUASI}}
    if method == "incognito":
        attributes["age"] = {"role": QUASI, "intervals": {"widths": [10, 20]}}
    path = write_parquet(tmp_path / "in.parquet", table())
    made = release(make_document(path, attributes=attributes, method={"name": method}))
    nodes = {code[:2] for code in made.table["zip"].to_pylist()}
    assert nodes <= {'"*', "7"} | {f"{n:02d}" for n in range(4, 9)}
    assert audit_release(made.folder).passed


def test_audits(released: Released) -> None:
    audit = audit_release(released.folder)
    assert audit.passed
    [path] = released.folder.parents[2].glob("in.*")
    policy = parse_policy(make_document(path, method={}))
    assert add_originals(audit, policy, Progress("none")).passed


def test_values_that_could_be_groups_are_refused(tmp_path: Path) -> None:
    codes = table()["zip"].to_pylist()
    codes[3] = "08*"
    changed = table().drop_columns("zip").append_column("zip", pa.array(codes))
    path = write_parquet(tmp_path / "in.parquet", changed)
    with pytest.raises(DataError, match=r"'zip': 1 of its values end in '\*'"):
        release(make_document(path))
    codes[3] = ""
    write_parquet(path, table().drop_columns("zip").append_column("zip", pa.array(codes)))
    with pytest.raises(DataError, match=r"'zip': has empty values, which are in no group"):
        release(make_document(path))


@pytest.mark.parametrize("blank", [" ", "\n", "\u3000"])
def test_blanks_are_in_no_group(blank: str, tmp_path: Path) -> None:
    codes = [blank, *table()["zip"].to_pylist()[1:]]
    changed = table().drop_columns("zip").append_column("zip", pa.array(codes))
    path = write_parquet(tmp_path / "in.parquet", changed)
    with pytest.raises(DataError, match=r"'zip': has values of blanks alone, which are in no gr"):
        release(make_document(path))


def test_both_zeros_are_one_value(tmp_path: Path) -> None:
    zeros = np.where(np.arange(table().num_rows) % 2, 0.0, -0.0)
    attributes = ATTRIBUTES | {"zip": {"role": QUASI, "type": "nominal", "prefixes": [1]}}
    tables = []
    for name, values in (("both", zeros), ("one", zeros + 0.0)):
        changed = table().drop_columns("zip").append_column("zip", pa.array(values))
        path = write_parquet(tmp_path / f"{name}.parquet", changed)
        tables.append(release(make_document(path, name=name, attributes=attributes)).table)
    assert set(tables[0]["zip"].to_pylist()) == {"0.0"}
    assert tables[0].equals(tables[1])


def test_calendar_goes_with_dates(tmp_path: Path) -> None:
    attributes = ATTRIBUTES | {"zip": {"role": QUASI, "calendar": ["year"]}}
    path = write_parquet(tmp_path / "in.parquet", table())
    with pytest.raises(DataError, match="'zip': calendar goes with dates, the data hold type"):
        release(make_document(path, attributes=attributes))


@pytest.mark.parametrize(
    "keys",
    [
        {"role": QUASI, "calendar": ["month"]},
        {"role": QUASI, "type": "nominal"},
        {"role": CONFIDENTIAL, "type": "nominal"},
    ],
    ids=["calendar", "nominal", "confidential"],
)
def test_both_hours_of_a_clock_that_is_put_back(keys: dict[str, Any], tmp_path: Path) -> None:
    hours = pa.array([1603585800, 1603589400, 1606000000] * 20).cast(pa.timestamp("s"))
    zoned = people(60, seen=hours.cast(pa.timestamp("s", tz="Europe/Berlin")))
    path = write_parquet(tmp_path / "in.parquet", zoned)
    attributes = {"age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL, "seen": keys}
    document = make_document(path, attributes=attributes, privacy={"k": 4, "t": 0.9})
    made = release(document)
    audit = audit_release(made.folder)
    assert audit.passed
    assert add_originals(audit, parse_policy(document), Progress("none")).passed
    if keys["role"] == CONFIDENTIAL:
        assert made.table["seen"].value_counts().field("counts").to_pylist() == [20, 20, 20]


def test_codes_are_kept_where_classes_can_share_one(tmp_path: Path) -> None:
    """A stray is one of many in a class that releases the commonest code: here all lose by it."""
    rng, n_records = np.random.default_rng(5), 1_500
    zips = [f"{code:05d}" for code in rng.choice(np.arange(1_000, 9_000, 100), n_records)]
    columns = people(n_records, zip=zips)
    attributes = {
        "age": QUASI,
        "sex": QUASI,
        "zip": {"role": QUASI, "prefixes": [2]},
        "pay": CONFIDENTIAL,
    }
    path = write_parquet(tmp_path / "in.parquet", columns)
    privacy = {"k": 4, "t": 0.3}
    made = release(make_document(path, attributes=attributes, privacy=privacy, method={})).table
    kept = [code for code in made["zip"].to_pylist() if len(code) == 5]
    assert len(kept) > 0.8 * n_records
