"""Settings of the methods that make clusters of near records: their start, and refusals."""

from typing import Any

import pytest
from pydantic import ValidationError

from tclose.methods.method import Method
from tclose.methods.method_registry import DEFAULT_METHOD, METHODS
from tclose.methods.microaggregation.microaggregation import Microaggregation
from tclose.methods.microaggregation.t_closeness_first import TClosenessFirst

STARTED = ("microaggregate-and-merge", "dp-confidential")


def read(name: str, **keys: Any) -> Method:
    return Method.model_validate({"name": name} | keys)


def gamma_of(name: str, **keys: Any) -> float | None:
    method = read(name, **keys)
    assert isinstance(method, Microaggregation)
    return method.vmdav_gamma


@pytest.mark.parametrize(
    ("name", "keys", "gamma"),
    [
        ("mdav", {}, None),
        ("v-mdav", {}, 0.2),
        ("v-mdav", {"gamma": 0}, 0.0),
        *((name, {}, None) for name in STARTED),
        *((name, {"start": "mdav"}, None) for name in STARTED),
        *((name, {"start": "v-mdav"}, 0.2) for name in STARTED),
        *((name, {"start": "v-mdav", "gamma": 1.5}, 1.5) for name in STARTED),
    ],
)
def test_gamma_is_that_of_vmdav(name: str, keys: dict[str, Any], gamma: float | None) -> None:
    assert gamma_of(name, **keys) == gamma


@pytest.mark.parametrize("name", STARTED)
def test_gamma_without_vmdav_is_refused(name: str) -> None:
    for keys in ({"gamma": 0.5}, {"gamma": 0.5, "start": "mdav"}):
        with pytest.raises(ValidationError, match="gamma goes with start: v-mdav, not with mdav"):
            read(name, **keys)


@pytest.mark.parametrize("name", ["v-mdav", *STARTED])
def test_gamma_is_not_negative(name: str) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        read(name, gamma=-0.1, **({} if name == "v-mdav" else {"start": "v-mdav"}))


def test_blocks_are_of_a_table_that_is_cut() -> None:
    method = read("t-closeness-first", block_clusters=7)
    assert isinstance(method, TClosenessFirst)
    assert method.clusters_per_block == 7
    default = read("t-closeness-first", scope="table")
    assert default.is_one_block
    with pytest.raises(ValidationError, match="block_clusters goes with scope: blocks"):
        read("t-closeness-first", scope="table", block_clusters=7)


@pytest.mark.parametrize("size", ["auto", "paper", 4])
def test_class_size_before_refinement_is_as_asked(size: int | str) -> None:
    assert read("t-closeness-first", class_size=size).initial_class_size == size


def test_alternatives_of_what_takes_long_take_less() -> None:
    for method in METHODS.classes().values():
        if issubclass(method, Microaggregation):
            assert method.max_records == 32_768
            assert method.alternatives[-1] == DEFAULT_METHOD
