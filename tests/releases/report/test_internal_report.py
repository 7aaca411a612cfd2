"""The report that stays inside: what it says, that it is sealed, and that nothing public has it."""

import json
import re
import shutil
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats.contingency import association

from support.cases.people import (
    CONFIDENTIAL,
    QUASI,
    Released,
    people,
    policy_for,
    release,
    write_parquet,
)
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.releases.manifest.internal_manifest import InternalManifest
from tclose.releases.manifest.sections import ClassesSection
from tclose.releases.report.identification_risk import measure_identification
from tclose.releases.report.internal_report import write_internal_report
from tclose.releases.repository.contents import is_intact

N_RECORDS = 300
CANARY = "canary-town-c41d"
INSIDE = (
    *("loss_by_class", "prosecutor", "sampling_fraction", "internal/report"),
    *("analyses", "range_count", "cramers", "unchanged"),
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: Any) -> tuple[Released, Released]:
    """Two releases of one name; the second is of fewer columns."""
    rng = np.random.default_rng(2)
    table = people(
        N_RECORDS,
        town=["a", "b", CANARY, *rng.choice(["a", "b"], N_RECORDS - 3)],
        born=pa.array(rng.integers(0, 9_000, N_RECORDS).astype(np.int32)).cast(pa.date32()),
        bonus=pa.array(rng.integers(0, 99, N_RECORDS), mask=rng.random(N_RECORDS) < 0.2),
    )
    path = write_parquet(tmp_path_factory.mktemp("people") / "in.parquet", table)
    document = policy_for(path, missing="drop", unlisted="drop")
    document["attributes"] |= {"town": QUASI, "born": QUASI, "bonus": CONFIDENTIAL}
    first = release(document)
    del document["attributes"]["bonus"]
    document["input"]["sampling_fraction"] = 0.1
    return first, release(document)


def text_of(made: Released) -> str:
    page = (made.folder / "internal" / "report.html").read_text()
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_where_k_counts_persons_their_number_is_said(tmp_path, capsys):
    """Of persons with several records a class has fewer than it has records."""
    table = people(120, who=[i // 4 for i in range(120)])
    document = policy_for(write_parquet(tmp_path / "in.parquet", table))
    document["attributes"]["who"] = "person"
    document["privacy"] = {"k": 3, "t": 0.3, "persons": "together"}
    made = release(document)
    privacy = made.manifest["privacy"]
    k = privacy["persons"]["k"]["achieved"]
    assert k < privacy["k"]["achieved"]
    said = text_of(made)
    assert f"Every class has {k:,} persons at least." in said
    assert f"k, asked and reached 3 and {k:,} " in said
    assert f"shares them with those of {k - 1:,} other persons at least" in said
    assert f"to a class of at least {k:,} persons, not to a record" in said
    assert main(["releases", str(made.folder.parent)]) == 0
    assert f" {k} of 3 " in capsys.readouterr().out


def test_it_says_what_was_left_out_and_how_it_differs_from_the_one_before(both):
    first, second = both
    n_missing = N_RECORDS - first.manifest["records"]
    said = text_of(first)
    assert f"300 records were read, {n_missing} of them" in said
    assert f"bonus {n_missing} " in said
    assert "There is none of this name." in said
    assert "TC-W004" in said
    said = text_of(second)
    assert first.manifest["release_id"] in said
    assert f"records {first.manifest['records']} 300" in said
    assert "column bonus there gone" in said
    assert second.internal["previous"]["n_classes"] == first.manifest["classes"]["n_classes"]


def test_values_before_are_those_of_the_records(both):
    found = both[1].internal["analysis"]
    ages = people(N_RECORDS)["age"].to_numpy()
    age = found["marginals"]["age"]["original"]
    assert age["mean"] == pytest.approx(ages.mean(), rel=0.005)
    assert age["deviation"] == pytest.approx(ages.std(ddof=1), rel=0.005)
    released = both[1].table["age"].to_numpy()
    assert found["marginals"]["age"]["released"]["deviation"] == pytest.approx(
        released.std(ddof=1), rel=0.005
    )
    assert re.fullmatch(r"19\d\d-\d\d-\d\d", found["marginals"]["born"]["original"]["mean"])
    assert set(found["correlations"]) >= {"age and born", "age and pay"}


def test_special_uniques_are_those_of_the_records_and_the_release_has_none(both):
    originals = pq.read_table(both[1].folder.parents[2] / "in.parquet")
    columns = [originals[name].to_pylist() for name in ("age", "sex", "town", "born")]
    found = both[1].internal["analysis"]["special_uniques"]
    assert (found["records"], found["of"], found["fraction"]) == (N_RECORDS, N_RECORDS, 0.1)
    alone = [n for column in columns for n in Counter(column).values() if n == 1]
    assert found["by_size"][0]["sets"] == len(alone) > 1
    assert found["unique"] == list(Counter(zip(*columns, strict=True)).values()).count(1)
    assert sum(found["scores"]) == N_RECORDS
    smallest = both[1].manifest["classes"]["smallest"]
    assert found["after"] == {"rows": N_RECORDS, "sets": 0, "smallest_class": smallest}
    said = text_of(both[1])
    assert f"No released row is alone by any quasi-identifiers: {smallest} rows" in said
    assert "among all 300 records." in said


def test_associations_are_those_of_the_records_and_of_the_release(both):
    made = both[1]
    found = made.internal["utility"]["analyses"]["associations"]
    original = pq.read_table(made.folder.parents[2] / "in.parquet").to_pandas()
    apart = [
        abs(
            associate(frame := made.table.to_pandas(), "sex", "town")
            - associate(original, "sex", "town")
        )
    ]
    v = found["cramers_v"]
    assert (v["pairs"], v["largest_of"]) == (1, "sex and town")
    assert v["largest"] == v["mean"] == pytest.approx(apart[0], abs=0.0005)
    ratios = {
        f"{of} and {number}": abs(relate(frame, of, number) - relate(original, of, number))
        for of in ("sex", "town")
        for number in ("age", "pay", "born")
    }
    ratio = found["correlation_ratio"]
    assert ratio["pairs"] == len(ratios)
    assert ratio["mean"] == pytest.approx(np.mean(list(ratios.values())), abs=0.0005)
    assert ratio["largest_of"] == max(ratios, key=lambda name: ratios[name])
    changes = made.internal["utility"]["changes_of_correlations"]
    known = [abs(change) for change in changes.values()]
    assert found["correlation"]["largest"] == pytest.approx(max(known), abs=0.0005)
    assert "What analysts would find" in text_of(made)


def associate(frame: Any, one: str, other: str) -> float:
    """Cramér's V by scipy; a column of one value is associated with nothing."""
    table = pd.crosstab(frame[one], frame[other])
    return float(association(table, method="cramer")) if min(table.shape) > 1 else 0.0


def relate(frame: Any, of: str, number: str) -> float:
    """The correlation ratio by pandas."""
    values = pd.to_datetime(frame[number]).astype(int) if number == "born" else frame[number]
    means = values.groupby(frame[of]).transform("mean")
    return float(means.std() / values.std())


def test_analyses_count_what_is_unchanged_and_what_is_off(both):
    for made in both:
        found = made.internal["utility"]["analyses"]
        names = ["age", "sex", "town", "born"]
        assert list(found["unchanged_by_column"]) == list(found["marginals"]) == names
        assert 0 <= found["unchanged"] <= min(found["unchanged_by_column"].values()) < 1
        shares = made.internal["utility"]["shares"]
        assert found["marginals"]["town"] == shares["town"]["total_variation"]
        assert found["range_counts"]["queries"] == 1_000
        assert found["range_counts"]["floor"] == 10
        errors = found["range_counts"]
        assert 0 < errors["median_error"] < errors["ninth_tenth_error"]


def test_losses_by_class_size_add_up_to_the_loss(both):
    for made in both:
        sizes = made.internal["analysis"]["loss_by_class_size"]
        assert sum(one["records"] for one in sizes) == made.manifest["records"]
        total = sum(one["records"] * one["loss"] for one in sizes) / made.manifest["records"]
        assert total == pytest.approx(made.internal["information_loss"]["total"], rel=0.01)
        largest = made.manifest["classes"]["largest"]
        ends = [(max(3, one["smallest"]), min(largest, one["largest"])) for one in sizes]
        said = re.split("Information loss by class size, as classes were made ", text_of(made))[-1]
        for (low, high), one in zip(ends, sizes, strict=True):  # no class of fewer than k = 3
            shown = f"{low} to {high}" if low < high else f"{high}"
            assert f" {shown} {one['records']} " in said


def test_screen_readers_find_their_way(both):
    """Every table has heads with words, and no two regions have one name."""
    page = (both[1].folder / "internal" / "report.html").read_text()
    assert re.findall(r"<th[^>]*></th>", page) == []
    names = re.findall(r'role="region" tabindex="0" aria-label="([^"]*)"', page)
    names += re.findall(r"<h2[^>]*>([^<]*)</h2>", page)
    assert len(names) == len(set(names)) > 15
    assert "<script" not in page


def test_risks_follow_from_the_sizes_of_the_classes(both):
    classes = ClassesSection(n_classes=20, smallest=4, largest=9, mean=5.0)
    risk = measure_identification(classes, 100, 0.1)
    assert (risk.prosecutor, risk.journalist) == (0.25, 0.025)
    assert risk.marketer == pytest.approx(0.02)
    assert measure_identification(classes, 100).journalist == 0.25
    assert "No sampling fraction is given" in text_of(both[0])
    assert "The records are 10 % of their population" in text_of(both[1])


def test_it_is_made_of_the_internal_manifest_alone(both):
    for made in both:
        manifest = InternalManifest.model_validate(made.internal)
        written = (made.folder / "internal" / "report.html").read_text()
        assert written == write_internal_report(manifest)
        assert manifest.unknown_keys() is not None
        assert list(manifest.unknown_keys("m")) == [
            key for key in manifest.unknown_keys("m") if key.startswith("m.code.")
        ]


def test_nothing_public_has_it_and_it_has_no_value(both):
    for made in both:
        assert (made.folder / "internal" / "report.html").stat().st_mode & 0o777 == 0o600
        assert CANARY not in (made.folder / "internal" / "report.html").read_text()
        for name in ("manifest.json", "datapackage.json", "dictionary.md", "report.html"):
            public = (made.folder / name).read_text()
            for inside in INSIDE:
                assert inside not in public, (name, inside)


@pytest.fixture
def copied(both: tuple[Released, Released], tmp_path: Any) -> Any:
    """The second release in a folder that a test may change, with the key."""
    root = both[1].folder.parents[1]
    shutil.copytree(root, tmp_path / "releases")
    return tmp_path / "releases" / both[1].folder.parent.name / both[1].folder.name


def test_a_changed_report_is_found(copied):
    assert audit_release(copied).findings == []
    report = copied / "internal" / "report.html"
    report.write_bytes(report.read_bytes() + b" ")
    assert audit_release(copied).findings == ["internal/report.html: its content has changed"]
    report.unlink()
    assert audit_release(copied).findings == ["internal/report.html: is missing"]
    assert not is_intact(copied)


def test_it_cannot_be_taken_away_with_its_seal(copied):
    (copied / "internal" / "report.html").unlink()
    place = copied / "internal" / "seal.json"
    seals = json.loads(place.read_text())
    del seals["internal/report.html"]
    place.write_text(json.dumps(seals, indent=2) + "\n")
    assert audit_release(copied).findings == ["internal/seal.json: is damaged"]
    full = copied / "internal" / "manifest.json"
    full.write_text(
        json.dumps({k: v for k, v in json.loads(full.read_text()).items() if k != "inside"})
    )
    assert "internal/manifest.json: its content has changed" in audit_release(copied).findings


def test_distributions_before_and_after_are_drawn_without_values(both):
    made = both[1]
    shares = made.internal["analysis"]["shares"]
    ages = people(N_RECORDS)["age"].to_numpy()
    parts = np.histogram(ages, 10, (ages.min(), ages.max()))[0] / N_RECORDS
    assert shares["age"]["original"] == pytest.approx(parts, abs=0.0005)
    assert shares["age"]["labels"][0] == "0 to 10 % of the range"
    sexes = sorted(people(N_RECORDS)["sex"].value_counts().to_pylist(), key=lambda v: -v["counts"])
    assert shares["sex"]["original"] == pytest.approx(
        [one["counts"] / N_RECORDS for one in sexes], abs=0.0005
    )
    released = made.table["sex"].to_pylist()
    assert shares["sex"]["released"][0] == pytest.approx(
        released.count(sexes[0]["values"]) / N_RECORDS, abs=0.0005
    )
    page = (made.folder / "internal" / "report.html").read_text()
    assert page.count("<svg ") - 1 == len(shares) == 4  # one is of special uniques
    assert CANARY not in page
