"""What each method says that it can do, and what follows for policies that name it."""

from typing import Any

import pytest
from pydantic import ValidationError

from tclose.methods.method import Method, method_keys, name_methods, registered_methods
from tclose.methods.microaggregation.microaggregation import Microaggregation
from tclose.model.registry import name_of
from tclose.passes.plan.coarse_tree import count_regions

GENERALISING = {"mondrian", "incognito", "sabre"}
WITHOUT_T = {"mdav", "v-mdav", "dp-confidential"}
WHOLE = {"incognito", "sabre", "bucketization"}
QUADRATIC = {"mdav", "v-mdav", "microaggregate-and-merge", "k-anonymity-first", "dp-confidential"}
METHODS = registered_methods()
GIVEN: dict[str, Any] = {"bucketization": {"ratio": 2}}  # what has no default


def method_of(name: str, **keys: object) -> Method:
    return Method.model_validate({"name": name} | GIVEN.get(name, {}) | keys)


@pytest.mark.parametrize("name", METHODS)
def test_capabilities(name: str) -> None:
    method = method_of(name)
    assert type(method) is METHODS[name]
    assert method.name == name == name_of(type(method))
    assert method.version >= 1
    assert method.generalises == (name in GENERALISING)
    assert method.holds_t == (name not in WITHOUT_T)
    assert method.whole_table == (name in WHOLE)
    assert method.max_records == (32_768 if name in QUADRATIC else None)
    assert method.refines == (name not in {*GENERALISING, "bucketization"})
    assert method.cuts_by_subsets == (name == "t-closeness-first")
    assert method.has_relative_losses == (name == "t-closeness-first")
    assert method.draws_noise == (name == "dp-confidential")
    assert method.uses_intervals == (name == "incognito")
    assert method.cuts_buckets == method.releases_buckets == (name == "bucketization")
    assert set(method.alternatives) <= METHODS.keys() - WITHOUT_T


@pytest.mark.parametrize("name", METHODS)
def test_written_and_read_again(name: str) -> None:
    """As policies and plans are kept: without defaults, and with them."""
    method = METHODS[name](**GIVEN.get(name, {}))
    for written in (method.model_dump(exclude_unset=True), method.model_dump()):
        assert Method.model_validate(written) == method


def test_without_a_name() -> None:
    method = Method.model_validate({})
    assert (method.name, method.refine) == ("t-closeness-first", "fast")
    assert method.has_relative_losses
    assert method.holds_t
    assert not method.generalises
    assert method.max_records is None


def test_default_of_another_methods_key_may_be_said() -> None:
    keys = {"scope": "blocks", "class_size": "auto", "start": "mdav", "ratio": None}
    assert method_of("sabre", **keys) == method_of("sabre")


def test_names_by_what_holds_for_them() -> None:
    """Those for tables of any size come first."""
    assert name_methods(lambda m: m.draws_noise) == ["dp-confidential"]
    assert name_methods(lambda m: "gamma" in m.model_fields) == [
        "v-mdav", "microaggregate-and-merge", "dp-confidential"
    ]  # fmt: skip
    assert name_methods(lambda m: "scope" in m.model_fields)[:3] == [
        "t-closeness-first", "mondrian", "mdav"
    ]  # fmt: skip


def test_keys_of_all_methods() -> None:
    assert method_keys() == [
        "block_clusters", "buckets", "class_size", "gamma", "losses", "name", "ratio", "refine",
        "release", "scope", "start",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["mdav-2", "", 7, None, ["mdav"]])
def test_no_such_name(name: object) -> None:
    with pytest.raises(ValidationError, match=r"'t-closeness-first', 'mdav', .* or 'sabre'"):
        Method.model_validate({"name": name})


@pytest.mark.parametrize(("n_records", "n_regions"), [(1, 1), (100, 1), (101, 2), (201, 4)])
def test_regions_of_quadratic_methods(
    n_records: int, n_regions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as no region has more records than it may, a power of two."""
    monkeypatch.setattr(Microaggregation, "max_records", 100)
    assert count_regions(n_records, method_of("mdav").max_records) == n_regions
