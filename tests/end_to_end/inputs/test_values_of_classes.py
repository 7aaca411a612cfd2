"""Missing quasi-identifiers that take the aggregate of their class: of the values that it has."""

from collections import Counter, defaultdict
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    Released,
    people,
    policy_for,
    punch_gaps,
    release,
    write_csv,
    write_parquet,
)
from support.cases.visits import QUASI_NAMES, visit_policy, visits
from support.sizes import Sizes
from tclose.api.calls import plan
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.errors import DataError, PolicyError
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

N_RECORDS, K = 600, 4
ORDER = ["low", "mid", "high", "top"]
TREE = {"any": {"early": ["day", "dawn"], "late": ["night", "dusk"]}}
SHARES = {
    "age": 0.3, "rent": 0.2, "born": 0.1, "grade": 0.15, "work": 0.2, "shift": 0.1, "town": 0.1,
    "code": 0.05, "owns": 0.1,
}  # fmt: skip
TREATED: dict[str, dict[str, Any]] = {
    "age": {},
    "rent": {"aggregate": "median"},
    "born": {"aggregate": "low-median"},
    "grade": {"type": "ordinal", "order": ORDER, "aggregate": "median"},
    "work": {"type": "nominal", "aggregate": "mode"},
    "shift": {"type": "nominal", "taxonomy": TREE, "aggregate": "ancestor"},
    "town": {"type": "nominal", "aggregate": "representative"},
    "code": {"prefixes": [1]},
    "owns": {"type": "boolean", "aggregate": "mode"},
}
OTHERS = {"sex": QUASI, "number": PASSTHROUGH, "pay": CONFIDENTIAL}
OF_CLASS = {name: {"role": QUASI, "missing": "class"} | keys for name, keys in TREATED.items()}
ATTRIBUTES = OF_CLASS | OTHERS
Row = dict[str, Any]


def whole() -> pa.Table:
    rng = np.random.default_rng(17)
    days = [date(1950, 1, 1) + timedelta(days=int(n)) for n in rng.integers(0, 9_000, N_RECORDS)]
    return people(
        N_RECORDS,
        rent=np.round(rng.lognormal(7, 1, N_RECORDS), 2),
        born=pa.array(days),
        grade=rng.choice(ORDER, N_RECORDS, p=[0.1, 0.5, 0.3, 0.1]),
        work=rng.choice(["field", "desk", "road"], N_RECORDS),
        shift=rng.choice(["day", "dawn", "night", "dusk"], N_RECORDS),
        town=rng.choice(["A", "B", "C", "D"], N_RECORDS, p=[0.5, 0.3, 0.1, 0.1]),
        code=rng.choice(["a1", "a2", "b1", "b2", "c1"], N_RECORDS),
        owns=pa.array(rng.random(N_RECORDS) < 0.4),
        number=np.arange(N_RECORDS),
    )


def with_gaps(table: pa.Table | None = None, shares: dict[str, float] = SHARES) -> pa.Table:
    return punch_gaps(whole() if table is None else table, shares, 18)


def make_document(path: Path, **changes: Any) -> dict[str, Any]:
    keys = {"attributes": ATTRIBUTES, "privacy": {"k": K, "t": 0.3}}
    return policy_for(path, **(keys | changes))


def commonest(values: list[Any]) -> set[Any]:
    counted = Counter(values)
    return {value for value, n in counted.items() if n == max(counted.values())}


def lower_median(name: str, values: list[Any]) -> Any:
    ordered = sorted(values, key=ORDER.index if name == "grade" else None)
    return ordered[(len(ordered) - 1) // 2]


def find_centre(name: str, values: list[Any]) -> Any:
    """The lower median or the commonest value of a whole column, as sorted() and Counter say."""
    if name in ("age", "rent", "born", "grade"):
        return lower_median(name, values)
    return min(commonest(values), key=str)


def find_ancestor(name: str, values: list[Any]) -> Any:
    """The lowest group above all values."""
    if len(set(values)) == 1:
        return values[0]
    if name == "code":
        first = {value[0] for value in values}
        return f"{min(first)}*" if len(first) == 1 else "*"
    tops = {group for group, leaves in TREE["any"].items() if set(leaves) & set(values)}
    return min(tops) if len(tops) == 1 else "any"


def check_class(name: str, values: list[Any], released: Any, commoner: Counter[Any]) -> None:
    """See that what a class releases of a column is the aggregate of these values of it."""
    if name == "age":  # of whole numbers, halves upward
        assert released == int(np.floor(sum(values) / len(values) + 0.5))
    elif name == "rent":
        assert released == pytest.approx(float(np.median(values)), rel=1e-12)
    elif name in ("born", "grade"):
        assert released == lower_median(name, values)
    elif name in ("work", "owns"):
        best = commonest(values)
        most = max(commoner[value] for value in best)
        assert released in {value for value in best if commoner[value] == most}
    elif name == "town":
        assert released in values
    else:
        assert released == find_ancestor(name, values)


def group_rows(made: Released, quasi: list[str]) -> dict[tuple[Any, ...], list[int]]:
    """Numbers of the records of each class, by what it releases."""
    classes: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in made.table.to_pylist():
        classes[tuple(row[name] for name in quasi)].append(row["number"])
    return classes


def check_release(made: Released, table: pa.Table, names: list[str]) -> int:
    """See what every class releases; returns how many times all of a class lacked a column."""
    columns = {name: table[name].to_pylist() for name in names}
    present = {name: [v for v in values if v is not None] for name, values in columns.items()}
    centres = {name: find_centre(name, values) for name, values in present.items()}
    n_alone = 0
    for released, members in group_rows(made, names).items():
        assert len(members) >= K
        for name, value in zip(names, released, strict=True):
            values = [columns[name][i] for i in members if columns[name][i] is not None]
            n_alone += not values
            filled = [centres[name] if v is None else v for v in columns[name]]
            check_class(name, values or [centres[name]], value, Counter(filled))
    return n_alone


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gaps")
    return write_parquet(folder / "in.parquet", with_gaps(), row_group_size=170)


@pytest.fixture(scope="module")
def made(source: Path) -> Released:
    return release(make_document(source))


def test_every_class_releases_the_aggregate_of_its_values(made: Released) -> None:
    assert len(made.table) == N_RECORDS
    check_release(made, with_gaps(), [*TREATED])


def test_a_class_without_a_value_releases_the_centre(tmp_path: Path) -> None:
    shares = {"age": 0.6, "work": 0.6}
    table = with_gaps(shares=shares)
    attributes = {name: OF_CLASS[name] for name in shares} | OTHERS
    path = write_parquet(tmp_path / "in.parquet", table)
    found = release(make_document(path, attributes=attributes, unlisted="drop"))
    assert check_release(found, table, [*shares]) > 0


def test_representatives_keep_the_shares_of_the_values_that_there_are(made: Released) -> None:
    known = Counter(v for v in with_gaps()["town"].to_pylist() if v is not None)
    released = Counter(made.table["town"].to_pylist())
    for town, n in known.items():
        assert released[town] / N_RECORDS == pytest.approx(n / known.total(), abs=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 4])
def test_workers_change_no_byte(workers: int, made: Released, source: Path, tmp_path: Path) -> None:
    changes = {"engine": {"workers": workers}, "output": {"path": str(tmp_path / "out")}}
    assert release(make_document(source, **changes)).data == made.data


@pytest.mark.parametrize("cuts", [(0, 3, 250, N_RECORDS), (0, N_RECORDS)])
def test_cuts_of_the_input_change_no_byte(
    cuts: tuple[int, ...], made: Released, tmp_path: Path, sizes: Sizes
) -> None:
    sizes.pieces(rows=90, least=10)
    folder, table = tmp_path / "in", with_gaps()
    folder.mkdir()
    for number, (start, stop) in enumerate(pairwise(cuts)):
        write_parquet(folder / f"{number}.parquet", table.slice(start, stop - start))
    document = make_document(folder, output={"path": str(tmp_path / "out")})
    assert release(document).data == made.data


def test_a_csv_gives_the_same(made: Released, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "in.csv", with_gaps())
    assert release(make_document(path)).table.equals(made.table)


def test_without_a_missing_value_it_is_the_release_without_the_key(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", whole())
    plain = {name: {"role": QUASI} | keys for name, keys in TREATED.items()} | OTHERS
    one, other = (
        release(make_document(path, attributes=attributes, output={"path": str(tmp_path / name)}))
        for name, attributes in (("with", ATTRIBUTES), ("without", plain))
    )
    assert one.data == other.data
    for key in ("exact_information_loss", "utility", "analysis"):
        assert one.internal[key] == other.internal[key]


def test_losses_count_the_values_that_exist(made: Released) -> None:
    """Those of the records that have a value, from what was read and what is released."""
    table, rows = with_gaps(), {row["number"]: row for row in made.table.to_pylist()}
    lost = made.internal["exact_information_loss"]["per_attribute"]
    ages = table["age"].to_pylist()
    known = [i for i, age in enumerate(ages) if age is not None]
    filled = [find_centre("age", [ages[i] for i in known]) if a is None else a for a in ages]
    span = max(filled) - min(filled)
    squares = [((ages[i] - rows[i]["age"]) / span) ** 2 for i in known]
    assert lost["age"] == pytest.approx(sum(squares) / len(known), rel=1e-9)
    works = table["work"].to_pylist()
    differ = [works[i] != rows[i]["work"] for i in range(N_RECORDS) if works[i] is not None]
    assert lost["work"] == pytest.approx(sum(differ) / len(differ), rel=1e-12)
    shares = made.internal["utility"]["shares"]
    assert shares["owns"]["categories"] == 2


def test_comparisons_are_of_records_with_all_values(made: Released) -> None:
    table = with_gaps()
    complete = np.logical_and.reduce([table[n].is_valid().to_numpy() for n in TREATED])
    rows = {row["number"]: row for row in made.table.to_pylist()}
    ages = table["age"].to_pylist()
    pairs = [(ages[i], rows[i]["age"]) for i in np.flatnonzero(complete).tolist()]
    before, after = np.array(pairs, dtype=float).T
    found = made.internal["utility"]["changes_of_means"]["age"]
    assert found == pytest.approx((after.mean() - before.mean()) / before.std(ddof=1), rel=0.02)
    assert made.internal["utility"]["analyses"]["unchanged_by_column"]["age"] == pytest.approx(
        float((before == after).mean()), rel=0.01
    )


def test_it_is_counted_in_percent_and_exactly_inside(made: Released) -> None:
    table = with_gaps()
    gaps = {name: table[name].null_count for name in TREATED}
    columns = {column["name"]: column for column in made.manifest["columns"]}
    for name, n_missing in gaps.items():
        percent = -(-100 * n_missing // N_RECORDS)
        assert columns[name]["prepared"] == {"missing": "class", "imputed_percent": percent}
        said = f"; records without a value, at most {percent} % of all, are not counted in it"
        assert columns[name]["treatment"].endswith(said)
        for page in ("dictionary.md", "report.html"):
            assert said in (made.folder / page).read_text()
    assert made.internal["values_imputed"] == gaps
    page = (made.folder / "internal" / "report.html").read_text()
    assert "count the records that have a value" in page


def test_plan_says_how_many_and_warns_above_five_percent(source: Path) -> None:
    planned = plan(source, make_document(source))
    n_missing = with_gaps()["age"].null_count
    assert f"{n_missing} records without a value get the aggregate of their class" in repr(planned)
    warned = {w.columns[0]: w for w in planned.details.warnings if w.code == "TC-W011"}
    above = {n for n in TREATED if with_gaps()[n].null_count > 0.05 * N_RECORDS}
    assert warned.keys() == above
    assert "get the aggregate of the others of their class" in warned["age"].message


def test_the_audit_makes_it_again(made: Released, source: Path) -> None:
    found = add_originals(
        audit_release(made.folder), parse_policy(make_document(source)), Progress("none")
    )
    assert found.passed
    assert found.originals is not None
    exact = made.internal["exact_information_loss"]["per_attribute"]
    assert found.originals.sse_of == pytest.approx(exact, rel=0.01)
    assert 0 < found.originals.linkage <= 1 / K


def test_with_records_dropped_and_isolated_ones_left_out(tmp_path: Path) -> None:
    """The audit finds the same centres, though they are of records that are left out, too."""
    shares = {"age": 0.3, "pay": 0.2, "sex": 0.2}
    rents = whole()["rent"].to_numpy().copy()
    rents[:3] = 1e6
    table = people(N_RECORDS, rent=rents, number=np.arange(N_RECORDS))
    table = with_gaps(table, shares)
    attributes = {"age": OF_CLASS["age"], "rent": {"role": QUASI, "scale": "range"}} | OTHERS
    path = write_parquet(tmp_path / "in.parquet", table)
    document = make_document(path, attributes=attributes, missing="drop")
    document |= {"suppress": {"at_most": "5%"}, "privacy": {"k": 3, "t": 0.4}}
    found = release(document)
    assert found.internal["records_dropped"] > 0
    assert found.internal["records_suppressed"] >= 3
    beside = add_originals(audit_release(found.folder), parse_policy(document), Progress("none"))
    assert beside.passed
    assert beside.originals is not None


def test_in_partitions_that_are_released_as_they_are(tmp_path: Path) -> None:
    table = with_gaps(shares={"age": 0.3, "work": 0.2})
    path = write_parquet(tmp_path / "in.parquet", table)
    attributes = {n: OF_CLASS[n] for n in ("age", "work")} | OTHERS | {"sex": PASSTHROUGH}
    output = {"path": str(tmp_path / "out"), "partition_by": ["sex"]}
    made = release(make_document(path, attributes=attributes, unlisted="drop", output=output))
    sexes, numbers = table["sex"].to_pylist(), defaultdict(list)
    for file in made.paths:
        part = Released(made.folder, {"files": [{"path": file}]})
        for row in part.table.to_pylist():
            numbers[file.split("sex=")[1][0], row["age"], row["work"]].append(row["number"])
    columns = {n: table[n].to_pylist() for n in ("age", "work")}
    for (sex, age, _), members in numbers.items():
        assert {sexes[i] for i in members} == {sex}
        known = [columns["age"][i] for i in members if columns["age"][i] is not None]
        if known:
            check_class("age", known, age, Counter())


@pytest.mark.parametrize("name", ["mondrian", "incognito", "sabre"])
@pytest.mark.every_case
def test_methods_that_generalise_refuse_it(name: str, source: Path) -> None:
    attributes = {"age": OF_CLASS["age"], "pay": CONFIDENTIAL}
    document = make_document(source, attributes=attributes, method={"name": name})
    with pytest.raises(PolicyError, match=f"age: {name} generalises.*say missing: category, med"):
        parse_policy(document)


@pytest.mark.parametrize("name", ["mdav", "microaggregate-and-merge", "bucketization"])
def test_methods_that_release_aggregates_take_it(name: str, tmp_path: Path) -> None:
    method = {"name": name} | ({"ratio": 3} if name == "bucketization" else {})
    asked = {"k": K} if name == "bucketization" else {"k": K, "t": 0.9}
    attributes = {n: OF_CLASS[n] for n in ("age", "work", "grade")} | OTHERS
    path = write_parquet(tmp_path / "in.parquet", with_gaps())
    document = make_document(path, attributes=attributes, method=method, privacy=asked)
    found = release(document | {"unlisted": "drop"})
    check_release(found, with_gaps(), ["age", "work", "grade"])


def test_a_column_without_any_value_is_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", whole().set_column(
        0, "age", pa.nulls(N_RECORDS, pa.int64())
    ))  # fmt: skip
    with pytest.raises(
        DataError, match="'age': no record has a value, so there is no value that a"
    ):
        release(make_document(path))


def test_numbers_that_are_names_are_refused(tmp_path: Path) -> None:
    attributes = {"age": {"role": QUASI, "type": "nominal", "missing": "class"}} | OTHERS
    path = write_parquet(tmp_path / "in.parquet", with_gaps())
    with pytest.raises(DataError, match="missing: class of categories goes with texts"):
        release(make_document(path, attributes=attributes, unlisted="drop"))


@pytest.mark.parametrize("persons", ["apart", "together"])
def test_with_persons_who_have_several_records(persons: str, tmp_path: Path) -> None:
    """Units of records of a person have gaps record by record; also in several regions."""
    names = ["age", "sex"]
    table = with_gaps(visits(900, 300), {"age": 0.3, "sex": 0.2})
    path = write_parquet(tmp_path / "in.parquet", table, row_group_size=200)
    document = visit_policy(path, tmp_path / "out", privacy={"k": 4, "t": 0.25, "persons": persons})
    document["attributes"] |= {name: {"role": QUASI, "missing": "class"} for name in names}
    document["attributes"]["sex"]["aggregate"] = "mode"
    found = release(document)
    columns = {name: table[name].to_pylist() for name in names}
    classes = group_rows(found, QUASI_NAMES)
    n_filled = 0
    for released, members in classes.items():
        for name in names:
            known = [columns[name][i] for i in members if columns[name][i] is not None]
            n_filled += len(members) - len(known)
            values = known or [find_centre(name, [v for v in columns[name] if v is not None])]
            value = released[QUASI_NAMES.index(name)]
            if name == "age":
                check_class(name, values, value, Counter())
            else:
                assert value in commonest(values)
    assert n_filled == sum(table[name].null_count for name in names)
    beside = add_originals(audit_release(found.folder), parse_policy(document), Progress("none"))
    assert beside.passed
    assert beside.originals is not None


@pytest.mark.parametrize("kept", ["none", "dropped"])
@pytest.mark.every_case
def test_without_a_record_that_has_all_values(kept: str, tmp_path: Path) -> None:
    """Every record lacks one of two columns; or has one only where it is left out."""
    table, odd = whole(), np.arange(N_RECORDS) % 2 == 1
    age = table["age"].to_numpy()
    gaps = {"age": odd, "work": ~odd} if kept == "none" else {"age": ~odd, "pay": odd}
    for name, lacking in gaps.items():
        column = pc.if_else(pa.array(lacking), None, table[name].combine_chunks())
        table = table.set_column(table.column_names.index(name), name, column)
    attributes = {name: OF_CLASS[name] for name in ("age", "work")} | OTHERS
    path = write_parquet(tmp_path / "in.parquet", table)
    document = make_document(path, attributes=attributes, unlisted="drop", missing="drop")
    found = release(document)
    utility = found.internal["utility"]
    if kept == "none":
        assert utility["changes_of_means"]["age"] is None
        assert utility["analyses"]["range_counts"] is None
        check_release(found, table, ["age", "work"])
    else:
        assert set(found.table["age"].to_pylist()) == {lower_median("age", age[odd].tolist())}
        assert found.internal["exact_information_loss"]["per_attribute"]["age"] == 0
    assert audit_release(found.folder).passed
    assert (found.folder / "internal" / "report.html").exists()
