"""Representatives: shares are those of the records, at k and t, for any cut and workers."""

import functools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from support.cases.discharge_policies import data_digests
from support.cases.people import CONFIDENTIAL, PASSTHROUGH, QUASI, folder_of, policy_for, publish
from support.length import every
from support.sizes import Sizes
from tclose.runtime.run import Outcome

N_ROWS = 40_000
K = 5
GRADES = ("low", "mid", "high", "top")
TREE = {"any": {"near": ["c0", "c1", "c2", "c3"], "far": ["c4", "c5", "c6", "c7", "c8", "c9"]}}
NAMES = ("country", "town", "grade", "insured")


@functools.cache
def draw_table(n_rows: int = N_ROWS, seed: int = 5) -> pa.Table:
    """Common and rare categories, which go with the age and with each other."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n_rows)
    rare = 0.5 ** np.arange(10)
    country = rng.choice(10, n_rows, p=rare / rare.sum())
    town = (country + rng.choice(10, n_rows, p=rare / rare.sum())) % 10
    grade = np.minimum(rng.poisson(0.6, n_rows), 3)
    return pa.table(
        {
            "id": np.arange(n_rows),
            "age": age,
            "country": [f"c{c}" for c in country],
            "town": [f"c{c}" for c in town],
            "grade": [GRADES[g] for g in grade],
            "insured": rng.random(n_rows) < 0.03,
            "pay": rng.integers(0, 3_000, n_rows) + 20 * age,
        }
    )


def document(path: Path, aggregate: str | None = "representative", **keys: Any) -> dict[str, Any]:
    """A policy that releases all categories in one way, or as by default."""
    of = {} if aggregate is None else {"aggregate": aggregate}
    of_grades = of if aggregate != "mode" else {"aggregate": "median"}
    asked = policy_for(path, privacy={"k": K, "t": 0.1}) | keys
    asked["method"] = {"refine": "off", "losses": "absolute"} | keys.get("method", {})
    asked["attributes"] = {
        "id": PASSTHROUGH,
        "age": QUASI,
        "country": {"role": QUASI} | of,
        "town": {"role": QUASI, "taxonomy": TREE} | of,
        "grade": {"role": QUASI, "type": "ordinal", "order": list(GRADES)} | of_grades,
        "insured": {"role": QUASI} | of,
        "pay": CONFIDENTIAL,
    }
    return asked


@pytest.fixture(scope="module", autouse=True)
def several_regions() -> Iterator[None]:
    """Two, each of records enough that shares can be kept in it."""
    with pytest.MonkeyPatch.context() as patch:
        Sizes(patch).regions(12_000)
        yield


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("input") / "in.parquet"
    pq.write_table(draw_table(), path)
    return path


@pytest.fixture(scope="module")
def made(source: Path) -> Outcome:
    return publish(document(source))


@pytest.fixture(scope="module")
def usual(source: Path) -> Outcome:
    return publish(document(source, aggregate="mode"))


@pytest.fixture(scope="module")
def by_default(source: Path) -> Outcome:
    return publish(document(source, aggregate=None))


def rows_of(outcome: Outcome) -> pa.Table:
    return pq.read_table(folder_of(outcome) / "data").sort_by("id")


def shares_of(outcome: Outcome, name: str) -> tuple[Counter[Any], Counter[Any]]:
    """Records that have each value, and that release it."""
    return shares_in(folder_of(outcome), name)


@functools.cache
def shares_in(release: Path, name: str) -> tuple[Counter[Any], Counter[Any]]:
    released = pq.read_table(release / "data", columns=[name])
    return Counter(draw_table()[name].to_pylist()), Counter(released[name].to_pylist())


@pytest.mark.parametrize("name", NAMES)
def test_released_shares_are_those_of_the_records(name: str, made: Outcome, usual: Outcome) -> None:
    own, released = shares_of(made, name)
    apart = records_apart(made, name)
    assert apart / 2 / N_ROWS <= 0.005
    common = [value for value, count in own.items() if count >= 2 * K]
    assert len(common) >= 2
    # A class is all that a value can be released by; sizes are k, or few more.
    off = {v: abs(released[v] - own[v]) for v in common}
    assert all(off[v] <= max(own[v] / 10, K / 2) for v in common)
    assert released.keys() <= own.keys()
    # What the mode gains and loses may cancel in a column of two values, as it does in `insured`.
    assert apart <= records_apart(usual, name)


def records_apart(outcome: Outcome, name: str) -> int:
    """Records by which the released counts of a column differ from its own, over all values."""
    own, released = shares_of(outcome, name)
    return sum(abs(own[value] - released[value]) for value in own)


def count_lacking(outcome: Outcome, name: str) -> int:
    """Categories of 2 k records or more of which a tenth is not released, and half of k."""
    own, released = shares_of(outcome, name)
    common = (value for value, count in own.items() if count >= 2 * K)
    return sum(own[value] - released[value] > max(own[value] / 10, K / 2) for value in common)


def test_shares_are_kept_better_than_by_the_mode(made: Outcome, usual: Outcome) -> None:
    apart, by_modes = ([records_apart(of, name) for name in NAMES] for of in (made, usual))
    assert sum(apart) < sum(by_modes) / 2


def check_kept(asked: Outcome, by_default: Outcome, usual: Outcome) -> None:
    """By default shares are kept as where that was asked for, for little more loss."""
    loss = [one.manifest.information_loss.total for one in (usual, by_default)]
    assert loss[0] <= loss[1] <= 1.03 * loss[0]
    lacking = [sum(count_lacking(one, name) for name in NAMES) for one in (asked, by_default)]
    assert lacking == [0, 0] < [sum(count_lacking(usual, name) for name in NAMES)]
    for name in NAMES:
        assert max(records_apart(one, name) for one in (asked, by_default)) / 2 / N_ROWS <= 0.005
        own, released = shares_of(by_default, name)
        assert all(released[value] for value, count in own.items() if count >= 2 * K)


def test_by_default_shares_are_kept_over_several_regions(
    by_default: Outcome, made: Outcome, usual: Outcome
) -> None:
    check_kept(made, by_default, usual)
    ways = (made, by_default, usual)
    apart = [sum(records_apart(one, name) for name in NAMES) for one in ways]
    assert apart[0] <= apart[1] < apart[2] / 2
    assert tclose.audit(folder_of(by_default)).passed


def test_by_default_shares_are_kept_in_one_region(
    source: Path, tmp_path: Path, sizes: Sizes
) -> None:
    sizes.regions(2 * N_ROWS)
    keys = {"output": {"path": str(tmp_path)}, "method": {"class_size": 10}}
    check_kept(
        *(publish(document(source, way, **keys)) for way in ("representative", None, "mode"))
    )


def test_each_class_releases_a_value_of_one_of_its_records(made: Outcome) -> None:
    rows, own = rows_of(made), draw_table()
    quasi = ("age", *NAMES)
    class_of = list(zip(*(rows[name].to_pylist() for name in quasi), strict=True))
    for name in NAMES:
        values: dict[Any, set[Any]] = {}
        for key, value in zip(class_of, own[name].to_pylist(), strict=True):
            values.setdefault(key, set()).add(value)
        at = quasi.index(name)
        assert all(key[at] in found for key, found in values.items())
    assert min(Counter(class_of).values()) >= K


def test_k_and_t_hold_and_the_loss_is_little_more(made: Outcome, usual: Outcome) -> None:
    audit = tclose.audit(folder_of(made))
    assert audit.passed
    assert made.manifest.privacy.t["pay"].largest_emd <= 0.15
    by_mode, losses = (one.manifest.information_loss.per_attribute for one in (usual, made))
    assert losses["age"] == by_mode["age"]
    for name in ("country", "town", "insured"):
        assert by_mode[name] <= losses[name] <= 1.6 * by_mode[name]
    assert sum(losses.values()) <= 1.3 * sum(by_mode.values())


def test_what_is_lost_is_said_inside_and_not_outside(made: Outcome, usual: Outcome) -> None:
    for outcome in (made, usual):
        folder = folder_of(outcome)
        inside = json.loads((folder / "internal" / "manifest.json").read_text())
        assert "utility" not in json.loads((folder / "manifest.json").read_text())
        for name in NAMES:
            own, released = shares_of(outcome, name)
            said = inside["utility"]["shares"][name]
            apart = sum(abs(own[v] - released[v]) for v in own) / 2 / N_ROWS
            assert said["total_variation"] == pytest.approx(apart, rel=0.01)
            assert said["categories"] == len(own)
            assert said["lost"] == sum(released[v] == 0 for v in own)
            common = [v for v in own if own[v] >= 2 * K]
            assert said["shrunk"] == sum(10 * released[v] < 9 * own[v] for v in common)
            assert said["grown"] == sum(10 * released[v] > 11 * own[v] for v in common)
    treated = {column.name: column.treatment for column in made.manifest.columns}
    assert treated["country"] == (
        "one value of its class, chosen so that all values keep their shares"
    )


def test_what_the_default_is_held_to_is_said(by_default: Outcome) -> None:
    treated = {column.name: column.treatment for column in by_default.manifest.columns}
    assert treated["grade"] == (
        "one value of its class, chosen so that all values keep their shares, as far as 3% more "
        "loss allows"
    )


@pytest.mark.parametrize("workers", every(2, [2, 1]))
def test_workers_change_no_byte(workers: int, source: Path, made: Outcome, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"engine": {"workers": workers}, "output": {"path": str(tmp_path)}}
    other = publish(document(source, **keys))
    assert data_digests(folder_of(other)) == data_digests(folder_of(made))


def test_the_cut_of_the_input_changes_no_byte(made: Outcome, tmp_path: Path, sizes: Sizes) -> None:
    folder = tmp_path / "pieces"
    folder.mkdir()
    for number, (start, stop) in enumerate([(0, 1), (1, 31_500), (31_500, N_ROWS)]):
        piece = draw_table().slice(start, stop - start)
        pq.write_table(piece, folder / f"{number}.parquet", row_group_size=3_333)
    sizes.pieces(rows=5_000, least=1_000)
    other = publish(document(folder, output={"path": str(tmp_path / "out")}))
    assert data_digests(folder_of(other)) == data_digests(folder_of(made))


@pytest.mark.parametrize("method", ["mdav", "microaggregate-and-merge", "k-anonymity-first"])
def test_with_other_methods(method: str, tmp_path: Path) -> None:
    pq.write_table(draw_table(3_000), tmp_path / "in.parquet")
    keys: dict[str, Any] = {
        "method": {"name": method},
        "privacy": {"k": K, "t": 0.9 if method == "mdav" else 0.3},
    }
    outcome = publish(document(tmp_path / "in.parquet", **keys))
    own = Counter(draw_table(3_000)["country"].to_pylist())
    released = Counter(rows_of(outcome)["country"].to_pylist())
    assert sum(abs(own[v] - released[v]) for v in own) / 6_000 <= 0.01
    assert tclose.audit(folder_of(outcome)).passed


def test_with_persons(tmp_path: Path) -> None:
    """Persons have up to five rows each; k and t hold over them, too, and shares are kept."""
    table, rng = draw_table(8_000), np.random.default_rng(3)
    who = np.repeat(np.arange(8_000), rng.integers(1, 6, 8_000))[:8_000]
    pq.write_table(table.append_column("who", pa.array(who)), tmp_path / "in.parquet")
    apart = {}
    for aggregate in ("representative", "mode", None):
        asked = document(tmp_path / "in.parquet", aggregate)
        asked["output"] = {"path": str(tmp_path / f"out-{aggregate}")}
        asked["attributes"] |= {"who": "person", "id": "identifier"}
        outcome = publish(asked)
        assert outcome.manifest.privacy.k.achieved >= K
        assert tclose.audit(folder_of(outcome)).passed
        inside = json.loads((folder_of(outcome) / "internal" / "manifest.json").read_text())
        shares = inside["utility"]["shares"].values()
        apart[aggregate] = sum(of["total_variation"] for of in shares)
    assert apart["representative"] <= apart[None] < apart["mode"]


def test_in_partitions(tmp_path: Path) -> None:
    """No class holds two sites; shares are kept over all of them."""
    table = draw_table(6_000)
    sites = np.where(np.arange(6_000) % 3 == 0, "a", "b")
    pq.write_table(table.append_column("site", pa.array(sites)), tmp_path / "in.parquet")
    asked = document(tmp_path / "in.parquet")
    asked["attributes"]["site"] = PASSTHROUGH
    asked["output"]["partition_by"] = ["site"]
    outcome = publish(asked)
    released = Counter(rows_of(outcome)["country"].to_pylist())
    own = Counter(table["country"].to_pylist())
    assert sum(abs(own[v] - released[v]) for v in own) / 12_000 <= 0.01
