"""What a plan says ahead of a release: columns, expected loss, the price of suppress, cost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tclose
from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    people,
    policy_for,
    release,
    write_parquet,
)
from tclose.api.calls import plan
from tclose.assess.ahead import plan_ahead as ahead_of_runs
from tclose.assess.ahead.expected_losses import _extrapolate, share_search
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.assess.ahead.trial_release import FIXED_SECONDS, make_trial
from tclose.errors import UsageError
from tclose.passes.plan.search_budget import choose_search_budget
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.plan_document import PlanDocument, PlannedLoss
from tclose.render.plan_tables import plan_rows
from tclose.runtime.monitoring.progress import Progress

N_RECORDS, K = 400, 4
ISOLATED = [3, 77, 150, 201, 333, 399]
ATTRIBUTES = {"age": QUASI, "sex": QUASI, "rent": QUASI, "pay": CONFIDENTIAL, "id": PASSTHROUGH}


def records(n_records: int = N_RECORDS) -> pa.Table:
    rng = np.random.default_rng(3)
    rent = rng.integers(400, 900, n_records).astype(np.float64)
    rent[ISOLATED] = [5e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4]
    return people(n_records, rent=rent, id=np.arange(n_records))


def make_document(path: Path, **changes: Any) -> dict[str, Any]:
    keys: dict[str, Any] = {"attributes": ATTRIBUTES, "privacy": {"k": K, "t": 0.4}}
    return policy_for(path, **(keys | changes))


def look_ahead(document: dict[str, Any], n_sampled: int = 10_000) -> PlanDocument:
    return plan_ahead(parse_policy(document), Progress("none"), n_sampled)[0]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parquet(tmp_path_factory.mktemp("ahead") / "in.parquet", records())


def test_of_a_whole_table_it_is_the_loss_of_the_release(path: Path) -> None:
    document = make_document(path)
    planned, released = look_ahead(document), release(document)
    lost = released.manifest["information_loss"]
    assert planned.expected_loss is not None
    assert planned.expected_loss.total == planned.expected_loss.of_sample == lost["total"]
    assert planned.expected_loss.sampled == planned.expected_loss.of == N_RECORDS
    told = {c.name: c.expected_loss for c in planned.columns if c.expected_loss is not None}
    assert told == lost["per_attribute"]


def test_changed_shares_of_categories_are_told(path: Path) -> None:
    """As they are of the release, by its internal manifest."""
    keys: dict[str, Any] = {"method": {"name": "t-closeness-first", "refine": "off"}}
    attributes = ATTRIBUTES | {"sex": {"role": QUASI, "aggregate": "mode"}}
    document = make_document(path, attributes=attributes, **keys)
    planned, released = look_ahead(document), release(document)
    shares = {c.name: c.shares for c in planned.columns}
    assert {name for name, of in shares.items() if of is not None} == {"sex"}
    assert shares["sex"] is not None
    assert shares["sex"].to_json() == released.internal["utility"]["shares"]["sex"]
    rows = dict(plan_rows(planned, plan_ahead(parse_policy(document), Progress("none"))[1], 0))
    said = f"of {shares['sex'].categories} categories {shares['sex'].lost} lost; of those with 2k"
    assert said in rows["column sex"]


def test_values_that_a_class_gives_are_no_losses_of_a_plan(tmp_path: Path) -> None:
    table = records()
    ages = [None if i % 7 == 0 else age for i, age in enumerate(table["age"].to_pylist())]
    gaps = table.set_column(table.column_names.index("age"), "age", pa.array(ages))
    path = write_parquet(tmp_path / "gaps.parquet", gaps)
    attributes = ATTRIBUTES | {"age": {"role": "quasi-identifier", "missing": "class"}}
    document = make_document(path, attributes=attributes)
    planned, lost = look_ahead(document), release(document).manifest["information_loss"]
    assert planned.expected_loss is not None
    assert planned.expected_loss.sampled == planned.expected_loss.of == N_RECORDS
    assert planned.expected_loss.total == lost["total"]
    told = {c.name: c.expected_loss for c in planned.columns if c.expected_loss is not None}
    assert told == lost["per_attribute"]


def test_records_of_a_sample_are_searched_for_as_long_as_those_of_the_table(path: Path) -> None:
    """A share of the table's perturbations, until rounds save as little as the table's have to."""
    policy = parse_policy(make_document(path, method={"refine": "fast"}))
    of_table = choose_search_budget("fast", 400_000)
    shared = share_search(policy, 400_000, 4_000)
    assert 0 < shared.n_perturbed == of_table.n_perturbed // 100
    assert replace(shared, n_perturbed=of_table.n_perturbed) == of_table


@pytest.mark.parametrize(
    ("method", "about"),
    [
        ({}, 1_000),
        ({"name": "mondrian"}, 1_000),
        ({"name": "mdav"}, 500),
        ({"refine": "lean"}, 2_000),
        ({"refine": "off"}, 2_000),
    ],
)
def test_methods_that_take_long_are_tried_on_fewer(
    method: dict[str, Any], about: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead_of_runs, "SAMPLED", 500)
    monkeypatch.setattr(ahead_of_runs, "SAMPLED_BY_PARTS", 1_000)
    monkeypatch.setattr(ahead_of_runs, "SAMPLED_SOON", 2_000)
    monkeypatch.setattr(ahead_of_runs, "WHOLE_SOON", 2_500)
    path = write_parquet(tmp_path / "in.parquet", records(3_000))
    policy = parse_policy(make_document(path, method=method))
    loss = plan_ahead(policy, Progress("none"))[0].expected_loss
    assert loss is not None
    assert loss.sampled is not None
    assert 0.8 * about < loss.sampled < 1.2 * about


def test_a_table_that_is_soon_released_is_tried_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead_of_runs, "SAMPLED_SOON", 2_000)
    path = write_parquet(tmp_path / "in.parquet", records(3_000))
    policy = parse_policy(make_document(path, method={"refine": "off"}))
    loss = plan_ahead(policy, Progress("none"))[0].expected_loss
    assert loss is not None
    assert loss.sampled == loss.of == 3_000
    assert loss.total == loss.of_sample


def test_a_trial_tells_the_search_from_all_else(tmp_path: Path) -> None:
    """Without a search there is the repair alone; seconds of both are those of the pass."""
    table, works = records(800), {}
    for refine in ("off", "fast"):
        policy = parse_policy(make_document(tmp_path / "none.parquet", method={"refine": refine}))
        make_trial(policy, table, tmp_path / f"{refine}-to-load")
        trial = make_trial(policy, table, tmp_path / refine)
        works[refine] = trial.class_work
        both = works[refine].clusters + works[refine].search + FIXED_SECONDS
        assert both == pytest.approx(trial.seconds["microaggregate"])
    assert works["fast"].search > 2 * works["off"].search
    assert works["fast"].search > works["fast"].clusters


def test_a_plan_says_what_is_taken_of_disk_too(path: Path) -> None:
    _, estimate, _ = plan_ahead(parse_policy(make_document(path)), Progress("none"), 0)
    assert estimate.disk_megabytes is not None
    assert 0.1 < estimate.disk_megabytes < 5
    assert estimate.on == "this process"
    assert dict(plan_rows(look_ahead(make_document(path), 0), estimate, 0))[
        "expected disk"
    ].endswith("working files and the release")


def naive_loss(released: pa.Table, kept: list[int]) -> dict[str, float]:
    """Mean losses of some records, in the ranges that they have."""
    originals = records().take(kept)
    rows = released.sort_by("id")
    rows = rows.filter(pa.array(np.isin(rows["id"].to_numpy(), kept)))
    found = {}
    for name in ("age", "rent"):
        before, after = (table[name].to_numpy().astype(float) for table in (originals, rows))
        found[name] = float(np.mean(((before - after) / np.ptp(before)) ** 2))
    sexes = zip(originals["sex"].to_pylist(), rows["sex"].to_pylist(), strict=True)
    return found | {"sex": float(np.mean([a != b for a, b in sexes]))}


def naive_loss_of_one_class(kept: list[int]) -> dict[str, float]:
    """What one class of some records loses, in the ranges that they have."""
    originals = records().take(kept)
    found = {}
    for name in ("age", "rent"):
        values = originals[name].to_numpy().astype(float)
        found[name] = float(np.var(values) / np.ptp(values) ** 2)
    _, counts = np.unique(originals["sex"].to_pylist(), return_counts=True)
    return found | {"sex": 1 - float(counts.max() / counts.sum())}


@pytest.mark.every_case
@pytest.mark.parametrize("losses", ["absolute", "relative"])
def test_the_price_is_what_both_releases_lose_of_the_records_that_are_kept(
    path: Path, losses: str
) -> None:
    kept = [i for i in range(N_RECORDS) if i not in ISOLATED]
    method = {"losses": losses, "refine": "lean"}
    document = make_document(path, suppress={"at_most": "1.5%"}, method=method)
    planned = look_ahead(document).suppression
    assert planned is not None
    assert planned.price is not None
    price = planned.price
    assert (price.sampled, price.sampled_left_out) == (len(kept), len(ISOLATED))
    without = naive_loss(release(document).table, kept)
    with_all = naive_loss(release(make_document(path, method=method)).table, kept)
    assert price.loss_of == pytest.approx(without, rel=0.005)  # three digits
    assert price.loss_with_all_of == pytest.approx(with_all, rel=0.005)
    assert price.loss == pytest.approx(np.mean(list(without.values())), rel=0.005)
    assert price.loss_with_all == pytest.approx(np.mean(list(with_all.values())), rel=0.005)
    text = repr(plan(path, document))
    change = price.loss / price.loss_with_all - 1
    said = f"the others lose {price.loss:.3g} without and {price.loss_with_all:.3g} with these "
    said += f"({change:+.0%}), in ranges of their own"
    one_class = naive_loss_of_one_class(kept) if losses == "relative" else {}
    for shares, lost in ((price.of_one_class, without), (price.of_one_class_with_all, with_all)):
        expected = {name: lost[name] / one_class[name] for name in one_class}
        assert shares == pytest.approx(expected, rel=0.02)
    if one_class:
        own, whole = (
            100 * float(np.mean(list(shares.values())))
            for shares in (price.of_one_class, price.of_one_class_with_all)
        )
        said = f"the others lose {own:.3g} % without and {whole:.3g} % with these "
        said += f"({own / whole - 1:+.0%}) of what one class of them loses"
    assert f"beside 6 isolated ones, {said}: an estimate" in text


def test_a_sample_is_the_same_however_the_input_is_cut(tmp_path: Path) -> None:
    table = records(3_000)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    write_parquet(tmp_path / "one" / "a.parquet", table)
    for name, part in (("a", table.slice(0, 700)), ("b", table.slice(700))):
        write_parquet(tmp_path / "two" / f"{name}.parquet", part)
    suppress = {"at_most": "1%"}
    one, two = (
        look_ahead(make_document(tmp_path / name, suppress=suppress), 1_000)
        for name in ("one", "two")
    )
    assert one.expected_loss == two.expected_loss
    assert one.suppression == two.suppression
    found = one.expected_loss
    assert isinstance(found, PlannedLoss)
    assert found.sampled is not None
    assert 800 < found.sampled < 1_200
    assert found.total is not None
    assert found.of_sample is not None
    assert 0 < found.total <= found.of_sample


def test_no_sample_and_one_of_a_few_records(path: Path) -> None:
    planned = look_ahead(make_document(path), 0)
    assert planned.expected_loss is None
    assert all(column.expected_loss is None for column in planned.columns)
    with pytest.raises(UsageError, match="--sample 5: has to be 0, or at least 100"):
        look_ahead(make_document(path), 5)
    with pytest.raises(UsageError, match=r"^sample 5"):
        tclose.plan(path, make_document(path), sample=5)


def test_a_sample_that_cannot_be_released_is_told(path: Path) -> None:
    document = make_document(path, privacy={"k": 150, "t": 0.4})
    planned = look_ahead(document, 100)
    assert planned.expected_loss is not None
    assert planned.expected_loss.total is None
    assert "a trial release of" in str(planned.expected_loss.reason)


def test_persons_who_stay_together_are_not_sampled_by_records(path: Path) -> None:
    privacy = {"k": K, "t": 0.4, "persons": "together"}
    attributes = ATTRIBUTES | {"id": "person"}
    document = make_document(path, privacy=privacy, attributes=attributes)
    assert "all records of a person" in str(look_ahead(document, 100).expected_loss)
    whole = look_ahead(document).expected_loss
    assert whole is not None
    assert whole.total == release(document).manifest["information_loss"]["total"]


@pytest.mark.parametrize(
    ("least", "most", "falls", "expected"),
    [
        (0.02, 0.04, True, 0.01),  # a half with four times as many, and so once more
        (0.02, 0.04, False, 0.02),
        (0.02, 0.01, True, 0.02),  # what has risen does not go on
        (0.0, 0.01, True, 0.0),
        (0.01, 100.0, True, 0.01 / 16),  # by the square of the number at most
    ],
)
def test_losses_go_on_as_they_fell(least: float, most: float, falls: bool, expected: float) -> None:
    losses = [np.array([most]), np.array([least])]
    found = _extrapolate([100, 400], losses, 1_600, np.array([falls]))
    assert found == pytest.approx([expected])


def test_columns_are_told_one_by_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [
        f"{i};{rng.integers(1, 29):02}.0{rng.integers(1, 9)}.2021;{rng.integers(20, 60)};"
        f"{rng.integers(10, 90)},{rng.integers(0, 9)};{'' if i % 9 == 0 else 'a' * (i % 3 + 1)}"
        for i in range(200)
    ]
    source = tmp_path / "in.csv"
    source.write_text("\n".join(["no;day;age;pay;group", *rows]) + "\n")
    attributes = {
        "no": "identifier",
        "day": {"role": "quasi-identifier", "date_format": "%d.%m.%Y"},
        "age": "quasi-identifier",
        "group": "quasi-identifier",
        "pay": {"role": "confidential", "decimal": ","},
    }
    document = policy_for(source, attributes=attributes, privacy={"k": 3, "t": 0.5}, missing="drop")
    planned = look_ahead(document | {"input": {"path": str(source), "delimiter": ";"}})
    told = {column.name: column for column in planned.columns}
    assert list(told) == list(attributes)
    assert (told["no"].kind, told["no"].treatment) == (None, "never read, never released")
    assert (told["day"].kind, told["day"].format) == ("date", "dates %d.%m.%Y")
    assert told["pay"].format == "decimal ','"
    assert (told["group"].distinct, told["group"].missing) == (3, 23)
    assert told["group"].treatment.startswith("one value of its class, chosen so that")
    assert told["age"].distinct_among is None  # all complete records were counted
    assert told["pay"].treatment == "as it is"
    shown = repr(plan(source, document | {"input": {"path": str(source), "delimiter": ";"}}))
    assert "column group      quasi-identifier, nominal (string); 3 distinct; 23 missing;" in shown


def test_each_pass_has_its_time_and_memory(path: Path) -> None:
    _, estimate, _ = plan_ahead(parse_policy(make_document(path)), Progress("none"), 10_000)
    names = [step.name for step in estimate.steps]
    assert names == ["summarise", "plan", "encode", "microaggregate", "verify", "publish"]
    assert sum(step.seconds for step in estimate.steps) < estimate.seconds
    assert max(step.megabytes for step in estimate.steps) <= estimate.megabytes * 1.01
