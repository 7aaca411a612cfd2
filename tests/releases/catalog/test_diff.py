"""What differs between two releases, told without a value of the data."""

import copy
import shutil
from pathlib import Path

import pytest

from support.cases.repositories import FAKE_POLICY, fake_id, fake_manifest, write_fake
from tclose.errors import OutputError
from tclose.releases.catalog.diff import compare_releases

A, B = fake_id("a"), fake_id("b")
NOISE = {"pay": {"epsilon": 0.5, "mechanism": "randomised response", "values": ["poor", "rich"],
                 "low": None, "high": None, "step": 1.0, "stochastic_t": 2.0}}  # fmt: skip


def compare(folder, change=None, change_policy=None):
    """Differences of two releases that are alike but for the changes, by section and key."""
    manifest, policy = fake_manifest(B, day=3), copy.deepcopy(FAKE_POLICY)
    if change is not None:
        change(manifest)
    if change_policy is not None:
        change_policy(policy)
    first = write_fake(folder, fake_manifest(A))
    second = write_fake(folder, manifest, policy=policy)
    found = compare_releases(first, second)
    return {(d.section, d.key): (d.first, d.second) for d in found.differences}


def test_releases_that_differ_in_id_and_date_alone_do_not_differ(tmp_path):
    assert compare(tmp_path) == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda m: m.update(records=61), {("release", "records"): (60, 61)}),
        (lambda m: m.update(method="mondrian"),
         {("release", "method"): ("t-closeness-first", "mondrian")}),
        (lambda m: m["privacy"]["k"].update(asked=4), {("privacy", "k.asked"): (3, 4)}),
        (lambda m: m["privacy"]["t"]["pay"].update(largest_emd=0.2),
         {("privacy", "t.pay.largest_emd"): (0.25, 0.2)}),
        (lambda m: m["information_loss"].update(total=0.5),
         {("information_loss", "total"): (0.125, 0.5)}),
        (lambda m: m["classes"].update(largest=9), {("classes", "largest"): (4, 9)}),
        (lambda m: m["columns"][0].update(type="int32"),
         {("columns", "age: type"): ("int16", "int32")}),
        (lambda m: m["columns"].pop(0), {("columns", "age"): ("there", None)}),
        (lambda m: m["columns"].insert(0, m["columns"][0] | {"name": "zip"}),
         {("columns", "zip"): (None, "there")}),
        (lambda m: m["columns"].reverse(),
         {("columns", "order"): ("2 entries", "2 entries, others or in another order")}),
        (lambda m: m.update(noise=NOISE),
         {("noise", "pay.epsilon"): (None, 0.5), ("noise", "pay.values"): (None, "2 entries"),
          ("noise", "pay.mechanism"): (None, "randomised response"),
          ("noise", "pay.step"): (None, 1.0),
          ("noise", "pay.stochastic_t"): (None, 2.0)}),
        (lambda m: m["files"][0].update(bytes=10), {("files", "bytes"): (9, 10)}),
        (lambda m: m.update(code={"tclose": "0.2.0"}),
         {("release", "tclose"): ("0.1.0", "0.2.0")}),
    ],
)  # fmt: skip
def test_each_difference_is_found_and_told_once(change, expected, tmp_path):
    assert compare(tmp_path, change) == expected


def test_same_figures_of_other_rows_differ(tmp_path):
    found = compare(tmp_path, lambda m: m["files"][0].update(sha256="1" * 64))
    assert list(found) == [("files", "digest")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda p: p.update(seed=2), {("policy", "seed"): (1, 2)}),
        (lambda p: p["privacy"].update(t=0.5), {("policy", "privacy.t"): (0.3, 0.5)}),
        (lambda p: p["attributes"]["pay"].update(t=0.1),
         {("policy", "attributes.pay.t"): (None, 0.1)}),
        (lambda p: p["privacy"].update(over_time={"k": 4, "hold": {"at_most": 0.1}}),
         {("policy", "privacy.over_time.k"): (None, 4),
          ("policy", "privacy.over_time.hold.at_most"): (None, 0.1)}),
        (lambda p: p["attributes"].update(zip={"role": "identifier", "t": None}),
         {("policy", "attributes.zip.role"): (None, "identifier")}),
        (lambda p: p["input"].update(path="other"),
         {("policy", "input.path"): ("people.parquet", "other")}),
        (lambda p: p["engine"].update(workers=9), {}),
        (lambda p: p["output"].update(path="elsewhere"), {}),
    ],
)  # fmt: skip
def test_policies_are_compared_but_for_what_does_not_touch_the_release(change, expected, tmp_path):
    assert compare(tmp_path, change_policy=change) == expected


def test_values_of_the_data_are_never_told(tmp_path):
    """Orders, taxonomies, spellings of missing values, and folders named by values."""
    canary = "canary-value"

    def spoil(manifest):
        manifest["columns"][1] |= {"order": [canary, "rich"], "taxonomy": [[canary, "any"]]}
        path = f"data/age={canary}/part-00000.parquet"
        manifest |= {"files": [manifest["files"][0] | {"path": path}], "partition_by": ["age"]}

    def spoil_policy(policy):
        policy["input"]["missing_values"] = [canary, "?"]
        policy["attributes"]["pay"]["order"] = [canary, "rich"]
        policy["attributes"]["pay"]["groups"] = {canary: {canary: canary}}

    found = compare(tmp_path, spoil, spoil_policy)
    assert found == {
        ("policy", "input.missing_values"): ("1 entry", "2 entries"),
        ("policy", "attributes.pay.order"): ("2 entries", "2 entries, others or in another order"),
        ("policy", "attributes.pay.groups"): (None, "1 entry"),
        ("columns", "pay: order"): ("2 entries", "2 entries, others or in another order"),
        ("columns", "pay: taxonomy"): (None, "1 entry"),
        ("release", "partition_by"): ("", "age"),
        ("files", "digest"): found["files", "digest"],
    }
    assert canary not in repr(found)


def test_released_parts_are_compared_where_an_internal_one_is_away(tmp_path):
    first = write_fake(tmp_path, fake_manifest(A))
    second = write_fake(tmp_path, fake_manifest(B, records=61))
    assert compare_releases(first, second).has_policies
    shutil.rmtree(second / "internal")
    found = compare_releases(first, second)
    assert not found.has_policies
    assert [d.key for d in found.differences] == ["records"]


def test_damaged_manifest_is_refused(tmp_path):
    first = write_fake(tmp_path, fake_manifest(A))
    second = write_fake(tmp_path, fake_manifest(B))
    (second / "manifest.json").write_text("{}")
    with pytest.raises(OutputError, match="its manifest is missing or damaged"):
        compare_releases(first, second)


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (0.19914500000000002, 0.25, ("0.1991", "0.25")),
        (0.042712345, 0.042713345, ("0.042712", "0.042713")),
        (1.0, 1.0000000000000002, ("1", "1.0000000000000002")),
        (20_000, 20_001, ("20,000", "20,001")),
        (None, 0.5, ("-", "0.5")),
        (True, 1.5, ("true", "1.5")),
    ],
)
def test_figures_have_as_many_digits_as_it_takes_to_tell_them_apart(first, second, shown):
    from tclose.releases.catalog.diff import Difference, ReleaseDiff
    from tclose.render.catalog_tables import report_diff

    compared = ReleaseDiff((Difference("privacy", "t", first, second),), has_policies=True)
    lines = report_diff(Path("a"), Path("b"), compared).splitlines()
    assert lines[-1].split() == ["t", shown[0], "->", shown[1]]
